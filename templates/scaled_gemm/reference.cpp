// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "ptxloom/numeric.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::uint64_t kMostProducts = 1 << 22;  // for all elements of D; of larger problems some are tried
constexpr double kStep = 32;                      // products that an instruction adds at once

/// A or B with its scales applied.
class Matrix {
 public:
  Matrix(const Operand& operand, const HostTensor& codes, const HostTensor& scales)
      : operand_(operand), codes_(codes.plan.elements()), scales_(scales.plan.elements()) {
    decode(codes.plan.type, codes.bytes, codes_);
    decode(scales.plan.type, scales.bytes, scales_);
  }
  double at(std::uint64_t row, std::uint64_t column) const {
    return codes_[row * operand_.ld + column] *
           scales_[row * operand_.scales() + column / operand_.format.block];
  }

 private:
  const Operand& operand_;
  std::vector<double> codes_, scales_;
};

class Reference {
 public:
  Reference(const Problem& p, std::span<const HostTensor> in)
      : p_(p), a_(p.a, in[0], in[2]), b_(p.b, in[1], in[3]) {}

  Expectation::Point point(std::uint64_t row, std::uint64_t column) const {
    double sum = 0, magnitudes = 0;
    for (std::uint64_t i = 0; i < p_.k; ++i) {
      const double product = a_.at(row, i) * b_.at(column, i);
      sum += product;
      magnitudes += std::abs(product);
    }
    const std::uint64_t index = row * p_.ldd + column;
    if (!std::isfinite(sum)) return {.index = index, .value = sum, .tolerance = 0};
    // Each instruction cuts its products and the accumulator off 24 bits below the largest of them.
    const double steps = std::ceil(p_.k / kStep);
    const double error = steps * (kStep + 2) * (std::ldexp(magnitudes, -24) + std::ldexp(1.0, -149));
    const double precision = p_.d == bf16 ? 0x1p-8 : p_.d == f16 ? 0x1p-11 : 0x1p-24;
    const double smallest = p_.d == f16 ? 0x1p-25 : 0x1p-133;
    const double tolerance = error + std::abs(sum) * precision + smallest;
    if (std::abs(sum) - tolerance > largest())
      return {.index = index, .value = std::copysign(HUGE_VAL, sum), .tolerance = 0};
    return {.index = index, .value = sum, .tolerance = tolerance};
  }

 private:
  double largest() const {
    if (p_.d == f16) return 65504;
    return p_.d == bf16 ? 0x1.fep127 : double(std::numeric_limits<float>::max());
  }

  const Problem& p_;
  Matrix a_, b_;
};

}  // namespace

Expectation expected(const Problem& p, std::span<const HostTensor> inputs) {
  const Reference reference(p, inputs);
  Expectation expected;
  expected.tensor = "d";
  for (std::uint64_t row = 0; row < p.m; ++row)
    for (std::uint64_t column = p.n; column < p.ldd; ++column)
      expected.untouched.push_back(row * p.ldd + column);
  const std::uint64_t elements = std::uint64_t{p.m} * p.n;
  expected.complete = elements * p.k <= kMostProducts;
  if (expected.complete) {
    for (std::uint64_t i = 0; i < elements; ++i) expected.points.push_back(reference.point(i / p.n, i % p.n));
    return expected;
  }
  // A random element of each 16 x 16 elements, but no more than the products allow.
  std::mt19937_64 random(elements);
  const std::uint64_t most = std::max<std::uint64_t>(kMostProducts / p.k, 64);
  const std::uint64_t down = (p.m + 15) / 16, across = (p.n + 15) / 16;
  const std::uint64_t step = (down * across + most - 1) / most;
  for (std::uint64_t tile = 0; tile < down * across; tile += step) {
    const std::uint64_t row = std::min<std::uint64_t>(tile / across * 16 + random() % 16, p.m - 1);
    const std::uint64_t column = std::min<std::uint64_t>(tile % across * 16 + random() % 16, p.n - 1);
    expected.points.push_back(reference.point(row, column));
  }
  expected.points.push_back(reference.point(p.m - 1, p.n - 1));
  return expected;
}

}  // namespace ptxloom::scaled_gemm
