// SPDX-License-Identifier: Apache-2.0
// What D must hold, in double precision.
#include <algorithm>
#include <cmath>
#include <ptxloom/numeric.hpp>
#include <ptxloom/sampling.hpp>
#include <random>

#include "swiglu.hpp"

namespace swiglu {
namespace {

constexpr std::uint64_t kMostProducts = 1 << 22;  // for all elements of D; of larger problems some are tried

struct Sum {
  double value = 0, of_magnitudes = 0;
};

class Reference {
 public:
  Reference(const Problem& p, std::span<const pl::HostTensor> inputs)
      : p_(p), a_(decoded(inputs[0])), b_(decoded(inputs[1])) {}

  pl::Expectation::Point point(std::uint64_t row, std::uint64_t column) const {
    const Sum gate = sum(row, 2 * column), value = sum(row, 2 * column + 1);
    const double sigmoid = 1 / (1 + std::exp(-gate.value)), silu = gate.value * sigmoid;
    // An instruction adds 16 products, and may cut off 2^-22 of their sum; the slope of silu is below 1.1.
    const double cut = std::ldexp(p_.k / 16 + 2.0, -22);
    const double error =
        cut * (1.1 * gate.of_magnitudes * std::abs(value.value) + std::abs(silu) * value.of_magnitudes +
               1.1 * cut * gate.of_magnitudes * value.of_magnitudes);
    const double result = silu * value.value;
    const double rounding = std::abs(result) * (p_.d == pl::bf16  ? 0x1p-8
                                                : p_.d == pl::f16 ? 0x1p-11
                                                                  : 0x1p-20);
    return {.index = row * p_.ldd + column, .value = result, .tolerance = error + rounding + 0x1p-24};
  }

 private:
  static std::vector<double> decoded(const pl::HostTensor& tensor) {
    std::vector<double> values(tensor.plan.elements());
    pl::decode(tensor.plan.type, tensor.bytes, values);
    return values;
  }
  Sum sum(std::uint64_t row, std::uint64_t column) const {
    Sum all;
    for (std::uint64_t i = 0; i < p_.k; ++i) {
      const double product = a_[row * p_.lda + i] * b_[column * p_.ldb + i];
      all.value += product;
      all.of_magnitudes += std::abs(product);
    }
    return all;
  }

  const Problem& p_;
  std::vector<double> a_, b_;
};

}  // namespace

std::vector<pl::Expectation> reference(const Problem& p, std::span<const pl::HostTensor> inputs) {
  const Reference d(p, inputs);
  pl::Expectation expected;
  expected.tensor = "d";
  // The last row has no padding behind it.
  const bool padding_known = pl::list_padding(p.m - 1, p.n, p.ldd, expected.untouched);
  const std::uint64_t elements = std::uint64_t{p.m} * p.n;
  const bool all = elements * p.k <= kMostProducts;
  expected.complete = all || !padding_known;
  if (all) {
    for (std::uint64_t i = 0; i < elements; ++i) expected.points.push_back(d.point(i / p.n, i % p.n));
    return {expected};
  }
  std::mt19937_64 random(elements);
  const std::uint64_t most = std::max<std::uint64_t>(kMostProducts / p.k, 64);
  for (const auto& [row, column] : pl::sampled_elements(p.m, p.n, most, random))
    expected.points.push_back(d.point(row, column));
  return {expected};
}

}  // namespace swiglu
