// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/problem/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <unordered_map>
#include <utility>

#include "ptxloom/kit/activation.hpp"
#include "ptxloom/numeric.hpp"
#include "ptxloom/sampling.hpp"
#include "ptxloom/truncation.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr std::uint64_t kMostProducts = 1 << 22;  // for all elements of D; of larger problems some are tried
constexpr std::size_t kMostKept = 1 << 22;        // elements of rows that are not computed
constexpr double kStep = 32;                      // products that an instruction adds at once
constexpr std::uint64_t kRun = 128;               // products of fp8 that are promoted at once, at most

/// What products of weights and their scales are rounded to, if anything: the part of them that the epilogue
/// does not multiply by.
struct Rounding {
  std::optional<Type> type = {};
  double factor = 1;
  bool codes = false;  // without their scales
};

Rounding rounding_of(const Problem& p) {
  if (!p.b.shuffled || p.a.format.element == s8) return {};
  if (!p.row_scales()) return {.type = p.a.format.element, .factor = p.weight_factor()};
  if (p.b.zero_points()) return {.type = e4m3, .codes = true};
  if (p.b.format.scale == ue4m3) return {.type = e4m3, .factor = 8};
  return {};
}

/// A or B with its scales applied. Rows are counted over all batches.
class Matrix {
 public:
  struct Row {
    std::vector<double> values;
    std::vector<double> scales;  // of each group, if there are any
    // What a kernel that makes bf16 of both operands may lose of each value; empty: of none.
    std::vector<double> lost;
    bool too_large = false;  // some value is infinite as bf16
  };

  /// `scales` and `zeros` may be null.
  Matrix(const Operand& operand, const HostTensor& codes, const HostTensor* scales,
         const HostTensor* zeros = nullptr, Rounding rounding = {})
      : operand_(operand), codes_(codes), scales_(scales), zeros_(zeros), rounding_(rounding) {
    if (operand.shuffled) layout_.emplace(operand.weights());
  }
  /// It is decoded once: many elements of D need it.
  const Row& row(std::uint64_t number) {
    const auto [place, fresh] = rows_.try_emplace(number);
    if (fresh) place->second = decoded(number);
    return place->second;
  }

 private:
  Row decoded(std::uint64_t row) const {
    Row made;
    made.values.resize(operand_.k);
    const std::uint64_t group = operand_.format.block;
    for (std::uint64_t i = 0; i < operand_.k; ++i) {
      double value = decode(operand_.format.element, code_at(row, i));
      if (scales_ != nullptr) {
        if (i % group == 0) made.scales.push_back(scale(row, i));
        if (zeros_ != nullptr)
          value -= double(load_element(u8, zeros_->bytes, scale_at(row, i)) & kZeroPointMask);
        if (rounding_.codes) value = rounded(value);
        value *= made.scales.back();
        if (rounding_.type && operand_.wide_scales()) value = decode(f32, encode(f32, value));
        if (rounding_.type && !rounding_.codes) value = rounded(value);
      }
      made.values[i] = value;
      if (!operand_.shuffled && operand_.scaled()) lose(made, i);
    }
    return made;
  }
  /// What bf16 does not have of a value.
  void lose(Row& row, std::uint64_t i) const {
    const double value = row.values[i], kept = decode(bf16, encode(bf16, value));
    if (kept == value || !std::isfinite(value)) return;
    row.too_large = row.too_large || !std::isfinite(kept);
    row.lost.resize(operand_.k);
    row.lost[i] = std::abs(value - kept);
  }
  double rounded(double value) const {
    const Type type = *rounding_.type;
    return decode(type, encode(type, value / rounding_.factor)) * rounding_.factor;
  }
  double scale(std::uint64_t row, std::uint64_t column) const {
    const Type type = operand_.format.scale;
    return decode(type, load_element(type, scales_->bytes, scale_at(row, column)));
  }
  std::uint64_t code_at(std::uint64_t row, std::uint64_t column) const {
    if (!layout_ && operand_.format.element.bits == 6) return padded(row * operand_.ld + column);
    if (!layout_) return load_element(operand_.format.element, codes_.bytes, row * operand_.ld + column);
    std::uint64_t code = 0;
    const std::uint64_t of_batch = row / operand_.extent * layout_->bytes() * 8;
    for (int bit = 0; bit < operand_.format.element.bits; ++bit)
      code |= load_element(b1, codes_.bytes, of_batch + layout_->bit(row % operand_.extent, column, bit))
              << bit;
    return code;
  }
  // 16 elements lie in the first 12 of 16 bytes.
  std::uint64_t padded(std::uint64_t index) const {
    std::uint64_t code = 0;
    for (std::uint64_t bit = 0; bit < 6; ++bit)
      code |= load_element(b1, codes_.bytes, index / 16 * 128 + index % 16 * 6 + bit) << bit;
    return code;
  }
  std::uint64_t scale_at(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t group = operand_.format.block;
    if (layout_)
      return row / operand_.extent * layout_->group_values(group) +
             layout_->group_position(row % operand_.extent, column / group, group);
    return row * operand_.scales() + column / group;
  }

  const Operand& operand_;
  const HostTensor& codes_;
  const HostTensor *scales_, *zeros_;
  Rounding rounding_;
  std::optional<kit::WeightLayout> layout_;
  std::unordered_map<std::uint64_t, Row> rows_;
};

/// The input of this name; null if there is none.
const HostTensor* find(std::span<const HostTensor> inputs, std::string_view name) {
  for (const HostTensor& tensor : inputs)
    if (tensor.plan.name == name) return &tensor;
  return nullptr;
}

/// An element of a tensor; 0 if there is none.
double summand(const HostTensor* tensor, std::uint64_t index) {
  if (tensor == nullptr) return 0;
  return decode(tensor->plan.type, load_element(tensor->plan.type, tensor->bytes, index));
}

/// An element of a tensor of f32; 1 if there is none.
double factor(const HostTensor* tensor, std::uint64_t index) {
  return tensor == nullptr ? 1 : decode(f32, load_element(f32, tensor->bytes, index));
}

class Reference {
 public:
  Reference(const Problem& p, std::span<const HostTensor> in)
      : p_(p),
        a_(p.a, in[0], p.a.scaled() ? find(in, "scale_a") : nullptr),
        b_(p.b, in[1], p.b.scaled() ? find(in, "scale_b") : nullptr, find(in, "zero_b"), rounding_of(p)),
        tensor_a_(find(in, p.whole_scales == WholeScales::tensor ? "scale_a" : "tensor_scale_a")),
        tensor_b_(find(in, p.whole_scales == WholeScales::tensor ? "scale_b" : "tensor_scale_b")),
        row_scales_(p.scaled_rows() ? find(in, "scale_a") : nullptr),
        column_scales_(p.scaled_columns() ? find(in, "scale_b") : nullptr),
        row_weights_(find(in, "row_weights")),
        bias_(find(in, "bias")),
        c_(find(in, "c")),
        groups_(p.groups == Groups::none ? nullptr : find(in, p.products().tensor()->name)) {}

  /// The B that a row of D is a product with, rows counted over all batches; nullopt: it is not computed.
  std::optional<std::uint64_t> batch_of(std::uint64_t row) const {
    const std::uint64_t batch = row / p_.m, own = row % p_.m;
    if (groups_ == nullptr) return batch;
    const bool masked = p_.groups == Groups::masked;
    const auto value =
        static_cast<std::int32_t>(load_element(s32, groups_->bytes, masked ? batch : own / kGroupRows));
    if (masked) return static_cast<std::int64_t>(own) < value ? std::optional(batch) : std::nullopt;
    if (value < 0 || static_cast<std::uint32_t>(value) >= p_.batch) return std::nullopt;
    return static_cast<std::uint64_t>(value);
  }

  /// `row`: counted over all batches; it is computed.
  Expectation::Point point(std::uint64_t row, std::uint64_t column) const {
    Sum result = p_.swiglu ? gated(row, column) : sum_of(row, column);
    double added = p_.beta * summand(c_, row * p_.ldc + column);
    if (!p_.c_last) {
      result.error += std::ldexp(std::abs(result.value) + std::abs(added), -22) + kLeast;
      result.value += std::exchange(added, 0);
    }
    if (p_.activation != Activation::none) result = activated(result);
    const double weight = factor(row_weights_, row);
    const double value = result.value * weight + added;
    const std::uint64_t index = row * p_.ldd + column;
    if (result.open || loses_infinity(result, value))
      return {.index = index, .value = value, .tolerance = HUGE_VAL};
    if (!std::isfinite(value)) return {.index = index, .value = value, .tolerance = 0};
    const double precision = p_.d == bf16 ? 0x1p-8 : p_.d == f16 ? 0x1p-11 : 0x1p-24;
    const double smallest = p_.d == f16 ? 0x1p-25 : 0x1p-133;
    const double weighing = weight == 1 && c_ == nullptr
                                ? 0
                                : std::ldexp(std::abs(result.value * weight) + std::abs(added), -22) + kLeast;
    const double tolerance =
        result.error * std::abs(weight) + weighing + std::abs(value) * precision + smallest;
    if (std::abs(value) - tolerance >= first_infinite(p_.d))
      return {.index = index, .value = std::copysign(HUGE_VAL, value), .tolerance = 0};
    if (std::abs(value) + tolerance >= first_infinite(p_.d))  // a finite number may be right, too
      return {.index = index, .value = value, .tolerance = HUGE_VAL};
    return {.index = index, .value = value, .tolerance = tolerance};
  }

 private:
  static constexpr double kLeast = 0x1p-147;

  struct Sum {
    double value = 0, error = 0;
    bool open = false;  // anything may come of it: what is added up exceeds the range of f32 on the way
  };

  /// An element of the product, with the scales of tensors.
  Sum sum_of(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t batch = *batch_of(row);
    double sum = 0, positive = 0, negative = 0;
    const Matrix::Row &a = a_.row(row), &b = b_.row(batch * p_.n + column);
    for (std::uint64_t i = 0; i < p_.k; ++i) {
      const double product = a.values[i] * b.values[i];
      sum += product;
      (product < 0 ? negative : positive) += std::abs(product);
    }
    const double magnitudes = positive + negative;
    // Each instruction cuts its products and the accumulator off 24 bits below the largest of them. Where it
    // keeps 13 bits of all of k, error_of_runs() is enough.
    const bool fp8 = p_.a.format.element == e4m3 && p_.row_scales();
    const double steps = std::ceil(p_.k / kStep),
                 cut = fp8 && !p_.promotes() ? 0 : std::ldexp(magnitudes, -24);
    double error = steps * (kStep + 2) * (cut + std::ldexp(1.0, -149));
    error += error_of_halves(a, b);
    if (fp8) error += error_of_runs(a, b);
    const double scale = p_.alpha * factor(tensor_a_, p_.separate() ? batch : 0) * factor(tensor_b_, batch) *
                         factor(row_scales_, row) * factor(column_scales_, batch * p_.n + column);
    const double bias = summand(bias_, batch * p_.n + column);
    const double scaling =
        scale == 1 && bias_ == nullptr ? 0 : std::ldexp(std::abs(sum * scale) + std::abs(bias), -22) + kLeast;
    const double value = sum * scale + bias, against = sum < 0 ? positive : negative;
    const bool overflow = overflows(std::isinf(sum) ? against : magnitudes, scale, bias);
    return {.value = value,
            .error = error * std::abs(scale) + scaling,
            .open = a.too_large || b.too_large || (overflow && !(against == 0 && is_infinite(value)))};
  }

  static bool is_infinite(double value) { return std::abs(value) >= first_infinite(f32); }
  /// Whether a kernel that computes sum * scale + bias may exceed the range of f32.
  static bool overflows(double sum, double scale, double bias) {
    return is_infinite(scale) || is_infinite(sum * std::max(1.0, std::abs(scale)) + std::abs(bias));
  }

  /// What a kernel loses that makes bf16 of both operands.
  double error_of_halves(const Matrix::Row& a, const Matrix::Row& b) const {
    double error = 0;
    for (std::uint64_t i = 0; i < a.lost.size(); ++i) error += a.lost[i] * 2 * std::abs(b.values[i]);
    for (std::uint64_t i = 0; i < b.lost.size(); ++i) error += b.lost[i] * 2 * std::abs(a.values[i]);
    return error;
  }

  /// What the tensor cores drop of fp8 products: each is cut off towards zero. Of a group whose scale is
  /// below 2^-14 of the largest in its run, what e4m3 does not have is rounded.
  double error_of_runs(const Matrix::Row& a, const Matrix::Row& b) const {
    double error = 0;
    const std::uint64_t run = p_.promotes() ? kRun : p_.k;
    for (std::uint64_t begin = 0; begin < p_.k; begin += run) {
      const std::uint64_t end = std::min<std::uint64_t>(p_.k, begin + run), group = p_.b.format.block;
      double sum = 0, low = 0, high = 0, term = 0, largest = 0;
      int lean = 0;  // positive minus negative products
      for (std::uint64_t i = begin; i < end; ++i) {
        const double product = a.values[i] * b.values[i];
        lean += (product > 0 ? 1 : 0) - (product < 0 ? 1 : 0);
        sum += product;
        low = std::min(low, sum), high = std::max(high, sum), term = std::max(term, std::abs(product));
        largest = std::max(largest, b.scales[i / group]);
      }
      // However k is divided, no partial sum exceeds the distance from the smallest to the largest.
      error += (truncation_units(run) + std::abs(lean)) * std::max(high - low, term) * kKeptOfFp8;
      const bool six = p_.b.format.element.bits == 6;
      for (std::uint64_t i = begin; p_.b.format.scale == ue8m0 && i < end; ++i)
        if (b.scales[i / group] < largest * (six ? 0x1p-9 : 0x1p-14))
          error += std::abs(a.values[i]) * largest * (six ? 0x1p-14 : 0x1p-16);
    }
    return error;
  }

  /// Whether a kernel may have infinity in f32, of which it makes NaN or infinity where `made` is finite.
  static bool loses_infinity(const Sum& x, double made) {
    return is_infinite(std::abs(x.value) + x.error) && std::isfinite(made) && !is_infinite(made);
  }

  /// The slope of an activation is at most 1.13, and its building blocks are approximate.
  Sum activated(const Sum& x) const {
    const bool bent = p_.activation != Activation::relu;
    const double made = kit::activate(p_.activation, x.value);
    return {.value = made,
            .error = 1.13 * x.error + (bent ? std::abs(x.value) * 0x1p-20 + kLeast : 0),
            .open = x.open || (bent && loses_infinity(x, made))};
  }

  /// silu(gate) * value. The slope of silu is at most 1.1; the approximations that it is made of are good to
  /// about 2^-22, and subnormal ones of them count as zero.
  Sum gated(std::uint64_t row, std::uint64_t column) const {
    const std::uint64_t first = column / kGateColumns * 2 * kGateColumns + column % kGateColumns;
    const Sum gate = sum_of(row, first), value = sum_of(row, first + kGateColumns);
    const double bent = gate.value / (1 + std::exp(-gate.value)), product = bent * value.value;
    const double bending = 1.1 * gate.error + std::abs(gate.value) * 0x1p-125;
    return {
        .value = product,
        .error = bending * (std::abs(value.value) + value.error) + std::abs(bent) * value.error +
                 std::ldexp(std::abs(product), -19) + kLeast,
        .open = gate.open || value.open || loses_infinity(gate, product) || loses_infinity(value, product)};
  }

  const Problem& p_;
  mutable Matrix a_, b_;
  const HostTensor *tensor_a_, *tensor_b_, *row_scales_, *column_scales_, *row_weights_, *bias_, *c_,
      *groups_;  // null: there is none
};

}  // namespace

std::vector<Expectation> reference(const Problem& p, std::span<const HostTensor> inputs) {
  const Reference d(p, inputs);
  Expectation expected{.tensor = "d"};
  const std::uint64_t columns = p.columns();
  bool padding_known = list_padding(p.all_rows(), columns, p.ldd, expected.untouched);
  std::vector<std::uint64_t> rows;  // that are computed
  for (std::uint64_t row = 0; row < p.all_rows(); ++row) {
    if (d.batch_of(row)) {
      rows.push_back(row);
      continue;
    }
    if (expected.untouched.size() > kMostKept) padding_known = false;
    for (std::uint64_t column = 0; padding_known && column < columns; ++column)
      expected.untouched.push_back(row * p.ldd + column);
  }
  const std::uint64_t elements = rows.size() * columns;
  const bool all = elements * p.k <= kMostProducts;
  expected.complete = all || !padding_known;
  if (all) {
    for (std::uint64_t i = 0; i < elements; ++i)
      expected.points.push_back(d.point(rows[i / columns], i % columns));
    return {std::move(expected)};
  }
  std::mt19937_64 random(elements);
  const std::uint64_t most = std::max<std::uint64_t>(kMostProducts / p.k, 64);
  for (const auto& [row, column] : sampled_elements(rows.size(), columns, most, random))
    expected.points.push_back(d.point(rows[row], column));
  return {std::move(expected)};
}

}  // namespace ptxloom::scaled_gemm
