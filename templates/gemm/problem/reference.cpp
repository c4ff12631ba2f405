// SPDX-License-Identifier: Apache-2.0
#include "gemm/problem/reference.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <unordered_map>

#include "gemm/epilogue/terms.hpp"
#include "gemm/launch/batch.hpp"
#include "ptxloom/kit/activation.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/truncation.hpp"

namespace ptxloom::gemm_kernel {
namespace {

// Multiply-adds spent on a reference: about a second on one core.
constexpr double kBudget = 3e8;

const HostTensor& tensor(std::span<const HostTensor> inputs, std::string_view name) {
  const auto found =
      std::find_if(inputs.begin(), inputs.end(), [&](const HostTensor& t) { return t.plan.name == name; });
  if (found == inputs.end())
    throw Error(ErrorKind::usage, "missing-tensor", "gemm: the reference needs tensor " + std::string(name));
  return *found;
}

// The exponent of the lowest set bit.
int lowest_bit(double value) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const int exponent = static_cast<int>(bits >> 52 & 0x7ff), zeros = std::countr_zero(bits << 12 >> 12);
  return exponent == 0 ? zeros - 1074 : std::min(zeros, 52) + exponent - 1075;
}

// A or B with decoded elements: element (extent, k) of a batch.
class Values {
 public:
  Values(const Matrix& matrix, const HostTensor& tensor)
      : ld_(matrix.ld),
        stride_(matrix.stride),
        k_contiguous_(matrix.k_contiguous),
        k_(k_contiguous_ ? matrix.cols : matrix.rows),
        values_(tensor.plan.elements()) {
    decode(matrix.type, tensor.bytes, values_);
  }
  void choose(std::uint64_t batch) { first_ = batch * stride_; }
  double operator()(std::uint64_t extent, std::uint64_t k) const { return values_[index(extent, k)]; }
  /// A power of two that divides all values of a row of A, or of a column of B.
  double unit(std::uint64_t extent) {
    const auto [found, is_new] = units_.try_emplace(index(extent, 0), 1);
    if (is_new) {
      int lowest = 0;
      for (std::uint64_t k = 0; k < k_; ++k)
        if (const double value = (*this)(extent, k); value != 0 && std::isfinite(value))
          lowest = std::min(lowest, lowest_bit(value));
      found->second = std::ldexp(1, lowest);
    }
    return found->second;
  }

 private:
  std::size_t index(std::uint64_t extent, std::uint64_t k) const {
    return first_ + (k_contiguous_ ? extent * ld_ + k : k * ld_ + extent);
  }

  std::uint64_t ld_, stride_, first_ = 0;
  bool k_contiguous_;
  std::uint64_t k_;
  std::vector<double> values_;
  std::unordered_map<std::size_t, double> units_;  // by the index of the row's or column's first element
};

// A value per row, column, block or tensor, or its neutral stand-in.
class Vector {
 public:
  Vector(const Problem& p, std::span<const HostTensor> inputs, std::string_view name, double otherwise)
      : otherwise_(otherwise) {
    for (const TermTensor& one : term_tensors(p)) {
      if (one.name != name) continue;
      const HostTensor& given = tensor(inputs, name);
      values_.resize(given.plan.elements());
      decode(one.type, given.bytes, values_);
    }
  }
  double operator[](std::uint64_t index) const {
    if (values_.empty()) return otherwise_;
    return values_[values_.size() == 1 ? 0 : index];
  }

 private:
  double otherwise_;
  std::vector<double> values_;
};

// What the groups say about a row.
class Groups {
 public:
  Groups(const Problem& p, std::span<const HostTensor> inputs) : p_(p) {
    const auto plan = group_tensor(p);
    if (!plan) return;
    values_.resize(plan->elements());
    decode(s32, tensor(inputs, plan->name).bytes, values_);
  }
  /// The batch of B that multiplies a row of a result, if the row is computed.
  std::optional<std::uint64_t> of(std::uint64_t batch, std::uint64_t row) const {
    if (p_.groups == GemmGroups::none) return batch;
    if (p_.groups == GemmGroups::masked)
      return double(row) < values_[batch] ? std::optional(batch) : std::nullopt;
    const double group = values_[row / kGroupRows];
    return group >= 0 && group < p_.batch ? std::optional(static_cast<std::uint64_t>(group)) : std::nullopt;
  }
  /// Whether the row of D stays untouched.
  bool keeps(std::uint64_t batch, std::uint64_t row) const {
    if (p_.groups != GemmGroups::masked) return !of(batch, row);
    return double(row / kMaskedRows * kMaskedRows) >= values_[batch];
  }

 private:
  const Problem& p_;
  std::vector<double> values_;
};

// Scales of A and B: those that all products of an element of D share, and those of a block.
class Scales {
 public:
  Scales(const Problem& p, std::span<const HostTensor> inputs)
      : p_(p), a_(p, inputs, "scale_a", 1), b_(p, inputs, "scale_b", 1) {}

  double whole(std::uint64_t row, std::uint64_t column) const {
    return (a_of_blocks() ? 1 : a_[row]) * (b_of_blocks() ? 1 : b_[column]);
  }
  double block(std::uint64_t row, std::uint64_t column, std::uint64_t k) const {
    const std::uint64_t block = k / 128, blocks = (p_.k + std::uint64_t{127}) / 128;
    return (a_of_blocks() ? a_[block * p_.m + row] : 1) *
           (b_of_blocks() ? b_[column / 128 * blocks + block] : 1);
  }

 private:
  bool a_of_blocks() const { return p_.terms.scale_a == GemmScale::block; }
  bool b_of_blocks() const { return p_.terms.scale_b == GemmScale::block; }

  const Problem& p_;
  Vector a_, b_;
};

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The spacing of a type's numbers: relative, and the smallest one; and the largest number, if larger values
/// saturate to it, or what rounds to infinity.
struct Grid {
  double relative = 0, smallest = 0, largest = kInfinity, infinite = kInfinity;
};
Grid grid(Type type) {
  if (type == f64) return {.relative = 0x1p-52};
  if (type == f32) return {.relative = 0x1p-23, .infinite = first_infinite(f32)};
  if (type == f16) return {.relative = 0x1p-10, .smallest = 0x1p-24, .infinite = first_infinite(f16)};
  if (type == bf16) return {.relative = 0x1p-7, .infinite = first_infinite(bf16)};
  if (type == e4m3) return {.relative = 0x1p-3, .smallest = 0x1p-9, .largest = 448};
  if (type == e5m2) return {.relative = 0x1p-2, .smallest = 0x1p-16, .largest = 57344};
  return {.smallest = 1, .largest = 127};  // s8
}

// The precision that the tensor cores keep of an accumulation, relative to its largest term or partial sum.
double kept_of(const Problem& p) { return is_fp8(p.a.type) ? kKeptOfFp8 : grid(p.arithmetic).relative; }

// Units of it that an accumulation may lose, beyond what the signs of its products have in common.
double units_of(const Problem& p, std::uint64_t products) {
  constexpr double kStep = 8;  // products that an instruction adds at once, at least
  if (is_fp8(p.a.type)) return truncation_units(products);
  return 4 * (std::ceil(static_cast<double>(products) / kStep) + 4);
}

struct Dot {
  double sum = 0;
  double rounded = 0;  // grows with the partial sums that the accumulator rounds
  double scaled = 0;   // and with those of the f32 sum of scaled blocks
  double reach = 0;    // no partial sum is larger, however k is divided; |sum| if all products have one sign
  double accumulated = 0;  // the same of the tensor cores' sums, before the scales of blocks
};

Dot dot(const Problem& p, Values& a, Values& b, const Scales& scales, std::uint64_t row,
        std::uint64_t column) {
  Dot result;
  const std::uint64_t together = p.promoted ? kPromoted : p.k;
  const double kept = kept_of(p), unit = a.unit(row) * b.unit(column);
  for (std::uint64_t begin = 0; begin < p.k; begin += together) {
    const std::uint64_t end = std::min<std::uint64_t>(p.k, begin + together);
    double sum = 0, low = 0, high = 0, term = 0;
    int lean = 0;  // positive minus negative products: each is truncated towards zero
    for (std::uint64_t k = begin; k < end; ++k) {
      const double product = a(row, k) * b(column, k);
      lean += (product > 0 ? 1 : 0) - (product < 0 ? 1 : 0);
      sum += product;
      low = std::min(low, sum);
      high = std::max(high, sum);
      term = std::max(term, std::abs(product));
    }
    const double scale = scales.block(row, column, begin), before = std::abs(result.sum);
    result.sum += sum * scale;
    // However k is divided, no partial sum exceeds the distance from the smallest to the largest. If all
    // products are multiples of what is kept at that magnitude, nothing is dropped.
    const double reach = std::max(high - low, term);
    const bool exact = reach * kept <= unit;
    result.reach += reach * std::abs(scale);
    result.accumulated = std::max(result.accumulated, reach);
    if (!exact)
      result.rounded +=
          (units_of(p, end - begin) + std::abs(lean)) * (std::max(high, -low) * std::abs(scale) + 1e-30);
    // Each stage, at least 8 of k, is added to the f32 sum: 16 times half an ulp.
    if (p.terms.by_block()) result.scaled += 8 * (before + reach * std::abs(scale));
  }
  return result;
}

// What the element at (row, column) needs of the epilogue's operands.
struct Terms {
  double factor = 1, c = 0, bias = 0, scale_d = 1;
};

// The largest sum on the way to the product, as a part of the range of its type: from 1 on it is infinite.
double part_of_range(const Problem& p, const Dot& dot, double factor) {
  return std::max(dot.accumulated / grid(p.accumulator).infinite,
                  dot.reach * std::max(1.0, std::abs(factor)) / grid(p.arithmetic).infinite);
}

// Whether the activation is approximate, and not made of straight lines.
bool is_bent(Activation activation) {
  return activation != Activation::none && activation != Activation::relu;
}

// D's element before it is rounded.
double result_of(const EpilogueTerms& f, const Terms& terms, double product, double c) {
  const double argument = product + (f.c_last ? 0 : c) + terms.bias;
  return (kit::activate(f.activation, argument) + (f.c_last ? c : 0)) * terms.scale_d;
}

// The same where an operand is infinite, or the sum in the kernel's arithmetic. nullopt: it may be anything,
// since infinities may meet, or meet an approximate activation.
std::optional<double> infinite_result(const Problem& p, const Dot& dot, const Terms& terms, double c) {
  constexpr double kSurely = 1.01;
  const EpilogueTerms& f = p.terms;
  if (is_bent(f.activation)) return std::nullopt;
  const double product = terms.factor * dot.sum, part = part_of_range(p, dot, terms.factor);
  const bool is_given = !std::isfinite(dot.sum) || !std::isfinite(c) || !std::isfinite(terms.bias);
  if (!std::isfinite(dot.sum) || part < 1)
    return is_given ? std::optional(result_of(f, terms, product, c)) : std::nullopt;
  const bool one_sign = dot.reach <= std::abs(dot.sum);
  const double made = result_of(f, terms, std::copysign(kInfinity, product), c);
  return one_sign && part >= kSurely && !std::isnan(made) ? std::optional(made) : std::nullopt;
}

// D from the sum, in the result's type, and the error allowed for the kernel's accumulator type: tensor cores
// align the products of a step to the largest and truncate there.
Expectation::Point point(const Problem& p, const Dot& dot, const Terms& terms, std::uint64_t index) {
  if (p.arithmetic == s32) {
    const auto wide = static_cast<std::uint64_t>(static_cast<std::int64_t>(dot.sum)) *
                          static_cast<std::uint64_t>(static_cast<std::int64_t>(p.alpha)) +
                      static_cast<std::uint64_t>(static_cast<std::int64_t>(terms.c)) *
                          static_cast<std::uint64_t>(static_cast<std::int64_t>(p.beta));
    return {index, static_cast<double>(static_cast<std::int32_t>(wide)), 0};
  }
  const EpilogueTerms& f = p.terms;
  const double product = terms.factor * dot.sum, c = p.beta * terms.c;
  const double argument = product + (f.c_last ? 0 : c) + terms.bias;
  const double wanted = result_of(f, terms, product, c);
  const Grid d = grid(p.d.type);
  const auto clamped = [&](double x) { return std::clamp(x, p.d.type == s8 ? -128 : -d.largest, d.largest); };
  const double value = clamped(wanted), size = std::abs(product) + std::abs(c) + std::abs(terms.bias);
  if (!(std::max(part_of_range(p, dot, terms.factor), size / grid(p.arithmetic).infinite) < 1)) {
    const std::optional<double> infinite = infinite_result(p, dot, terms, c);
    return {index, infinite ? clamped(*infinite) : value, infinite ? 0 : kInfinity};
  }

  const double step = grid(p.arithmetic).relative;
  const double sums = dot.rounded * kept_of(p) + dot.scaled * step;
  const double summing = p.accumulator == s32 ? 0 : sums * std::abs(terms.factor);
  const double scaling = 4 * step * size;
  // The slope of an activation is at most 1.13; its building blocks are approximate.
  const double bending = is_bent(f.activation) ? 8 * step * std::abs(argument) : 0;
  const double before = 1.13 * (summing + scaling) + bending;
  const double around = before * std::abs(terms.scale_d);
  if (std::abs(wanted) - around >= d.infinite) return {index, std::copysign(kInfinity, wanted), 0};
  if (std::abs(wanted) + around >= d.infinite)
    return {index, value, kInfinity};  // a finite number may be right, too
  const double rounding = (d.relative * (std::abs(value) + around) + d.smallest) / 2;
  return {index, value, around + rounding};
}

// All of a batch's D row by row, or a random element from each cell of a grid, and the corners.
std::vector<std::pair<std::uint64_t, std::uint64_t>> places(const Problem& p, std::uint64_t batch,
                                                            bool complete) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> list;
  if (complete) {
    for (std::uint64_t i = 0; i < p.m; ++i)
      for (std::uint64_t j = 0; j < p.n; ++j) list.emplace_back(i, j);
    return list;
  }
  for (const std::uint64_t i : {0U, p.m - 1})
    for (const std::uint64_t j : {0U, p.n - 1}) list.emplace_back(i, j);
  const double cells = std::max(1.0, kBudget / p.k / p.results());
  const double side = std::sqrt(double(p.m) * p.n / cells);
  const auto cell = [side](std::uint32_t extent) {
    return std::clamp<std::uint64_t>(static_cast<std::uint64_t>(side), 1, extent);
  };
  std::mt19937_64 random(p.m * 7919ULL + p.n * 104729ULL + p.k + batch * 1299709ULL);
  for (std::uint64_t i = 0; i < p.m; i += cell(p.m))
    for (std::uint64_t j = 0; j < p.n; j += cell(p.n))
      list.emplace_back(std::min<std::uint64_t>(p.m - 1, i + random() % cell(p.m)),
                        std::min<std::uint64_t>(p.n - 1, j + random() % cell(p.n)));
  return list;
}

// Elements in D's buffer that belong to no result: some of those after each row, after a batch, and in rows
// of no group.
class Untouched {
 public:
  Untouched(const Problem& p, const Groups& groups) : p_(p), groups_(groups) { find(); }

  /// A sample of them.
  const std::vector<std::uint64_t>& list() const { return list_; }
  /// The sample contains all of them.
  bool complete() const { return complete_; }

 private:
  static constexpr std::uint64_t kUntouched = 4096, kBehind = 16;

  void find() {
    for (std::uint64_t batch = 0; batch < p_.results(); ++batch) {
      most_ = kUntouched * (batch + 1) / p_.results();
      const std::uint64_t first = batch * p_.d.stride, end = p_.m * p_.d.ld;
      for (std::uint64_t row = 0; row < p_.m; ++row) {
        const std::uint64_t begin = first + row * p_.d.ld;
        if (groups_.keeps(batch, row))
          add(begin, begin + p_.n);
        else if (!groups_.of(batch, row))
          complete_ = false;
        add(begin + p_.n, begin + row_end(batch, row), kBehind);
      }
      add(first + end, first + p_.d.stride, kBehind);
    }
  }

  // The position in the row where something else begins.
  std::uint64_t row_end(std::uint64_t batch, std::uint64_t row) const {
    const Result& d = p_.d;
    const std::uint64_t others = p_.results() - 1;
    const bool last = batch == others, side_by_side = others * d.stride + p_.n <= d.ld;
    if (side_by_side) return last ? d.ld - others * d.stride : d.stride;
    return last ? d.ld : std::min(d.ld, d.stride - row * d.ld);
  }
  void add(std::uint64_t begin, std::uint64_t end, std::uint64_t most = kUntouched) {
    if (begin >= end) return;
    const std::uint64_t some = std::min({end - begin, most, most_ - list_.size()});
    complete_ = complete_ && some == end - begin;
    for (std::uint64_t i = 0; i < some; ++i) list_.push_back(begin + i);
  }

  const Problem& p_;
  const Groups& groups_;
  std::uint64_t most_ = 0;
  std::vector<std::uint64_t> list_;
  bool complete_ = true;
};

}  // namespace

Expectation reference(const Problem& p, std::span<const HostTensor> inputs) {
  Values a(p.a, tensor(inputs, "a")), b(p.b, tensor(inputs, "b"));
  const bool complete = double(p.m) * p.n * p.k * p.results() <= kBudget;
  Expectation expected{.tensor = "d", .points = {}, .untouched = {}};
  const Vector bias(p, inputs, "bias", 0), scale_d(p, inputs, "scale_d", 1);
  const Scales scales(p, inputs);
  const Groups groups(p, inputs);
  const auto index = [](const Result& x, std::uint64_t batch, std::uint64_t row, std::uint64_t column) {
    return batch * x.stride + row * x.ld + column;
  };
  for (std::uint64_t batch = 0; batch < p.results(); ++batch)
    for (const auto& [row, column] : places(p, batch, complete)) {
      const auto of_b = groups.of(batch, row);
      if (!of_b) continue;
      a.choose(batch);
      b.choose(*of_b);
      Terms terms{.factor = p.alpha * scales.whole(row, column), .bias = bias[column], .scale_d = scale_d[0]};
      if (p.reads_c())
        terms.c = decode(p.c.type,
                         load_element(p.c.type, tensor(inputs, "c").bytes, index(p.c, batch, row, column)));
      expected.points.push_back(
          point(p, dot(p, a, b, scales, row, column), terms, index(p.d, batch, row, column)));
    }
  const Untouched untouched(p, groups);
  expected.untouched = untouched.list();
  expected.complete = complete || !untouched.complete();
  return expected;
}

}  // namespace ptxloom::gemm_kernel
