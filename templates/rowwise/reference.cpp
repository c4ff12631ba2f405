// SPDX-License-Identifier: Apache-2.0
#include "rowwise/reference.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "ptxloom/numeric.hpp"
#include "ptxloom/sampling.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kBudget = std::uint64_t{1} << 22;  // elements that are compared
constexpr double kUnit = 0x1p-24;                          // the rounding error of f32
constexpr double kApproximate = 0x1p-21;                   // of ex2, lg2, rcp and rsqrt, with a margin
constexpr double kSmallest = 0x1p-126;                     // f32 below it may be flushed

/// Elements that a thread adds one after the other: at most 256, and then as many such sums as there are.
double depth_of(std::uint32_t n) { return std::min<double>(n, 256 + double(n) / 256); }
/// The relative error of a sum of numbers of one sign; of other sums, relative to that of their magnitudes.
double summing_error(std::uint32_t n) { return (depth_of(n) / 2 + 16) * kUnit; }

const HostTensor* find(std::span<const HostTensor> inputs, std::string_view name) {
  for (const HostTensor& input : inputs)
    if (input.plan.name == name) return &input;
  return nullptr;
}

std::vector<double> values_of(const HostTensor* tensor, std::uint64_t begin, std::uint32_t n,
                              double otherwise) {
  std::vector<double> values(n, otherwise);
  if (tensor == nullptr) return values;
  for (std::uint32_t i = 0; i < n; ++i)
    values[i] = decode(tensor->plan.type, load_element(tensor->plan.type, tensor->bytes, begin + i));
  return values;
}

/// A result before it is rounded to the type of y, and how far it may be off.
struct Result {
  double value = 0, error = 0;
};

/// The type of y: the spacing of its numbers, relative and absolute, and what rounds to infinity.
struct Grid {
  double relative, smallest, infinite;
};

Grid grid_of(Type type) {
  if (type == f16) return {0x1p-10, 0x1p-24, first_infinite(f16)};
  if (type == e4m3) return {0x1p-3, 0x1p-9, kInfinity};  // what is beyond 448 becomes 448
  if (type == bf16) return {0x1p-7, kSmallest, first_infinite(bf16)};
  return {0x1p-23, kSmallest, first_infinite(f32)};
}

Expectation::Point point(Type type, std::uint64_t index, const Result& r) {
  if (!std::isfinite(r.value)) return {index, r.value, 0};
  const Grid grid = grid_of(type);
  const double size = std::abs(r.value);
  if (size - r.error >= grid.infinite) return {index, std::copysign(kInfinity, r.value), 0};
  if (size + r.error >= grid.infinite) return {index, r.value, kInfinity};  // a finite number may be right
  return {index, r.value, r.error + (grid.relative * (size + r.error) + grid.smallest) / 2};
}

/// One row: what the kernel sees, and what is the same for all of its elements.
class ReferenceRow {
 public:
  ReferenceRow(const Problem& p, std::vector<double> values, std::vector<double> errors)
      : p_(p), values_(std::move(values)), errors_(std::move(errors)) {
    p.is_norm() ? measure() : sum_exponentials();
  }

  /// Element `i`, with its factor and summand.
  Result at(std::uint32_t i, double weight, double bias) const {
    return p_.is_norm() ? normalised(i, weight, bias) : exponential(i);
  }

 private:
  /// exp(x - max) and its relative error: of the argument, which is a difference and a product, and of ex2.
  Result power(std::uint32_t i) const {
    const double below = values_[i] - max_;
    return {std::exp(below), 4 * std::abs(below) * kUnit + kApproximate};
  }

  void sum_exponentials() {
    max_ = -kInfinity;
    for (const double value : values_) max_ = std::fmax(max_, value);
    double error = 0;
    for (std::uint32_t i = 0; i < p_.n; ++i) {
      const Result one = power(i);
      sum_ += one.value;
      if (one.value > 0) error += one.value * one.error;
    }
    sum_error_ = error / sum_ + summing_error(p_.n) + kApproximate;
  }

  Result exponential(std::uint32_t i) const {
    const double below = values_[i] - max_;
    if (p_.op == Op::log_softmax) {
      const double log = std::log(sum_), value = below - log;
      return {value, sum_error_ + (std::abs(below) + std::abs(value)) * kUnit + (1 + log) * kApproximate};
    }
    const Result e = power(i);
    const double value = e.value / sum_;
    return {value, std::isfinite(e.error) ? value * (e.error + sum_error_ + 2 * kApproximate) : 0};
  }

  /// The mean distance from mean_, or its square.
  ///@{
  double mean_distance() const {
    double sum = 0;
    for (const double value : values_) sum += std::abs(value - mean_);
    return sum / p_.n;
  }
  double mean_square() const {
    double sum = 0;
    for (const double value : values_) sum += (value - mean_) * (value - mean_);
    return sum / p_.n;
  }
  ///@}

  // The kernel subtracts a mean with an error, and then the mean of what is left.
  void measure() {
    const double all = mean_distance();
    if (p_.op == Op::layer_norm) {
      for (const double value : values_) mean_ += value / p_.n;
      first_error_ = all * summing_error(p_.n) + std::abs(mean_) * kUnit;
      const double left = mean_distance() + first_error_;
      mean_error_ = left * summing_error(p_.n);
      for (const double error : errors_) mean_error_ += error / p_.n;
    }
    const double square = mean_square(), spread = std::sqrt(square);
    double off = mean_error_ + 4 * kUnit * (spread + first_error_);
    for (const double error : errors_) off = std::max(off, error);
    const double square_error = square * summing_error(p_.n) + 2 * spread * off + off * off;
    factor_ = 1 / std::sqrt(square + p_.eps);
    factor_error_ = square_error / (square + p_.eps) + 2 * kApproximate;
  }

  Result normalised(std::uint32_t i, double weight, double bias) const {
    const double left = values_[i] - mean_, scaled = left * factor_ * weight;
    const double off = errors_[i] + mean_error_ + 2 * kUnit * (std::abs(left) + first_error_);
    const double value = scaled + bias;
    return {value, std::abs(scaled) * (factor_error_ + 4 * kUnit) + off * factor_ * std::abs(weight) +
                       kUnit * (std::abs(value) + std::abs(bias))};
  }

  const Problem& p_;
  std::vector<double> values_, errors_;
  double max_ = 0, sum_ = 0, sum_error_ = 0;                                            // of a softmax
  double mean_ = 0, first_error_ = 0, mean_error_ = 0, factor_ = 1, factor_error_ = 0;  // of a norm
};

/// The scale that makes the largest magnitude of a row 448; a row of zeros has that of 2^-100.
Result scale_of(const Problem& p, const ReferenceRow& row, const std::vector<double>& weight,
                const std::vector<double>& bias) {
  double largest = 0x1p-100, most = largest;
  for (std::uint32_t i = 0; i < p.n; ++i) {
    const Result one = row.at(i, weight[i], bias[i]);
    largest = std::fmax(largest, std::abs(one.value));
    most = std::fmax(most, std::abs(one.value) + one.error);
  }
  if (std::isinf(largest)) return {largest, 0};
  return {largest / 448, (most - largest + 2 * kUnit * largest) / 448};
}

Result divided(const Result& result, const Result& scale) {
  const double value = result.value / scale.value;
  if (std::isinf(scale.value)) return {value, 0};
  return {value, result.error / scale.value +
                     std::abs(value) * (scale.error / scale.value + 2 * kApproximate + 4 * kUnit)};
}

}  // namespace

std::vector<Expectation> reference(const Problem& p, std::span<const HostTensor> inputs) {
  const HostTensor *x = find(inputs, "x"), *residual = find(inputs, "residual");
  const std::vector<double> weight = values_of(find(inputs, "weight"), 0, p.n, 1),
                            bias = values_of(find(inputs, "bias"), 0, p.n, 0);
  std::mt19937_64 random(p.rows * 7919ULL + p.n);
  Expectation expected{.tensor = "y"}, scales{.tensor = "scale"};
  for (const std::uint32_t row : sampled_places(p.rows, kBudget / p.n, random)) {
    std::vector<double> values = values_of(x, row * p.pitch_x, p.n, 0), errors(p.n, 0);
    const std::vector<double> added = values_of(residual, row * p.pitch_x, p.n, 0);
    for (std::uint32_t i = 0; residual != nullptr && i < p.n; ++i) {
      values[i] += added[i];
      errors[i] = std::abs(values[i]) * kUnit;
    }
    const ReferenceRow one(p, std::move(values), std::move(errors));
    std::optional<Result> scale;
    if (p.quantised()) {
      scale = scale_of(p, one, weight, bias);
      scales.points.push_back(point(f32, row, *scale));
    }
    for (const std::uint32_t i : sampled_places(p.n, kBudget, random)) {
      const Result result = one.at(i, weight[i], bias[i]);
      expected.points.push_back(point(p.y, row * p.pitch_y + i, scale ? divided(result, *scale) : result));
    }
  }
  const bool all = std::uint64_t{p.rows} <= kBudget / p.n && p.n <= kBudget;
  const bool padding_known = list_padding(p.rows, p.n, p.pitch_y, expected.untouched);
  expected.complete = all || !padding_known;
  scales.complete = p.rows <= std::max<std::uint64_t>(kBudget / p.n, 1);
  if (!p.quantised()) return {expected};
  return {expected, scales};
}

}  // namespace ptxloom::rowwise_kernel
