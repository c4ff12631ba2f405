// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/reference.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <unordered_map>

#include "ptxloom/numeric.hpp"
#include "ptxloom/sampling.hpp"

namespace ptxloom::sparse_gemm {
namespace {

constexpr std::uint64_t kMostProducts = 1 << 24;  // for all elements of D; of larger problems some are tried
constexpr double kStep = 8;                       // products that an instruction adds at once, at least
constexpr double kSmallest = 0x1p-149;

const HostTensor* find(std::span<const HostTensor> inputs, std::string_view name) {
  for (const HostTensor& tensor : inputs)
    if (tensor.plan.name == name) return &tensor;
  return nullptr;
}

double element(const HostTensor* tensor, std::uint64_t index) {
  if (tensor == nullptr) return 0;
  return decode(tensor->plan.type, load_element(tensor->plan.type, tensor->bytes, index));
}

class Reference {
 public:
  Reference(const Problem& p, std::span<const HostTensor> in)
      : p_(p),
        layout_(p.layout()),
        a_(find(in, "a")),
        values_(find(in, "values")),
        metadata_(find(in, "metadata")),
        bias_(find(in, "bias")),
        c_(find(in, "c")) {}

  Expectation::Point point(std::uint64_t row, std::uint64_t column) {
    const std::vector<double>& b = decoded(columns_, column, [&] { return dense(column); });
    const std::vector<double>& a = decoded(rows_, row, [&] { return of_a(row); });
    double sum = 0, low = 0, high = 0, term = 0;
    int lean = 0;  // positive minus negative products: each is truncated towards zero
    for (std::uint64_t i = 0; i < p_.k; ++i) {
      const double product = a[i] * b[i];
      lean += (product > 0 ? 1 : 0) - (product < 0 ? 1 : 0);
      sum += product;
      low = std::min(low, sum), high = std::max(high, sum), term = std::max(term, std::abs(product));
    }
    const std::uint64_t index = row * p_.ldd + column;
    const double bias = element(bias_, column), c = element(c_, row * p_.ldc + column);
    const double value = sum + bias + c;
    if (p_.d == s32) return {.index = index, .value = value, .tolerance = 0};
    // No partial sum exceeds the distance from the smallest to the largest, however k is divided.
    const double steps = std::ceil(p_.k / kStep) + 4;
    const double summing =
        p_.type == s8 ? 0 : (4 * steps + std::abs(lean)) * std::max(high - low, term) * kept() + kSmallest;
    const double adding = std::ldexp(std::abs(sum) + std::abs(bias) + std::abs(c), -22);
    const double reach = std::max(high - low, term) + std::abs(bias) + std::abs(c);
    const bool certain = reach <= std::abs(value);  // all that is added has one sign
    if (std::isfinite(value) && reach >= first_infinite(f32) && !certain)
      return {.index = index, .value = value, .tolerance = HUGE_VAL};  // infinities on the way
    return rounded(index, value, summing + adding);
  }

 private:
  /// Of the largest term or partial sum, what the tensor cores keep: 13 bits of fp8 on some targets.
  double kept() const { return p_.type.bits == 8 ? 0x1p-13 : 0x1p-23; }

  Expectation::Point rounded(std::uint64_t index, double value, double error) const {
    const double relative = p_.d == bf16 ? 0x1p-8 : p_.d == f16 ? 0x1p-11 : 0x1p-24;
    const double smallest = p_.d == f16 ? 0x1p-25 : 0x1p-133;
    const double infinite = first_infinite(p_.d);
    const double tolerance = error + (std::abs(value) + error) * relative + smallest;
    if (!std::isfinite(value)) return {.index = index, .value = value, .tolerance = 0};
    if (std::abs(value) - tolerance >= infinite)
      return {.index = index, .value = std::copysign(HUGE_VAL, value), .tolerance = 0};
    if (std::abs(value) + tolerance >= infinite)  // a finite number may be right, too
      return {.index = index, .value = value, .tolerance = HUGE_VAL};
    return {.index = index, .value = value, .tolerance = tolerance};
  }

  using Rows = std::unordered_map<std::uint64_t, std::vector<double>>;
  static const std::vector<double>& decoded(Rows& rows, std::uint64_t number, const auto& make) {
    const auto [place, fresh] = rows.try_emplace(number);
    if (fresh) place->second = make();
    return place->second;
  }

  std::vector<double> of_a(std::uint64_t row) const {
    std::vector<double> made(p_.k);
    for (std::uint64_t i = 0; i < p_.k; ++i) made[i] = element(a_, row * p_.lda + i);
    return made;
  }

  /// A column of B with its zeros.
  std::vector<double> dense(std::uint64_t column) const {
    std::vector<double> made(2 * layout_.stored());
    const auto group = static_cast<std::uint64_t>(layout_.group()), count = group / 2;
    for (std::uint64_t i = 0; i < layout_.stored(); ++i) {
      const std::uint64_t at = layout_.metadata_bit(column, i / count);
      const unsigned code = std::to_integer<unsigned>(metadata_->bytes[at / 8] >> at % 8) & 0xfU;
      const unsigned position = count == 1 ? code / 8 : code >> (i % 2 * 2) & 3U;
      made[i / count * group + position] = element(values_, column * layout_.stored() + i);
    }
    return made;
  }

  const Problem& p_;
  kit::SparseLayout layout_;
  const HostTensor *a_, *values_, *metadata_, *bias_, *c_;
  Rows rows_, columns_;
};

}  // namespace

std::vector<Expectation> reference(const Problem& p, std::span<const HostTensor> inputs) {
  Reference d(p, inputs);
  Expectation expected{.tensor = "d"};
  const bool padding_known = list_padding(p.m, p.n, p.ldd, expected.untouched);
  const std::uint64_t elements = std::uint64_t{p.m} * p.n;
  const bool all = elements * p.k <= kMostProducts;
  expected.complete = all || !padding_known;
  for (std::uint64_t i = 0; all && i < elements; ++i) expected.points.push_back(d.point(i / p.n, i % p.n));
  if (all) return {std::move(expected)};
  std::mt19937_64 random(elements);
  const std::uint64_t most = std::max<std::uint64_t>(kMostProducts / p.k, 64);
  for (const auto& [row, column] : sampled_elements(p.m, p.n, most, random))
    expected.points.push_back(d.point(row, column));
  return {std::move(expected)};
}

}  // namespace ptxloom::sparse_gemm
