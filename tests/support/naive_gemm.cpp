// SPDX-License-Identifier: Apache-2.0
#include "support/naive_gemm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <random>
#include <sstream>
#include <stdexcept>

#include "support/naive_matrices.hpp"
#include "support/narrow.hpp"

namespace ptxloom::test {
namespace {

using namespace naive;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::uint64_t kBlock = 128;  // of k, and of columns of B, for block scales
constexpr std::uint64_t kMaskedRows =
    64;  // up to a multiple of this, rows after a group's last may be overwritten
constexpr std::uint64_t kEnough = 200'000'000;  // products

bool is_fp8(Type type) { return type == e4m3 || type == e5m2; }

/// A number, and the error allowed for a correct kernel.
struct Interval {
  double value = 0, error = 0;
  double reach = 0;  // for a sum: the largest term, or sum of some of its terms
};

double activate(const std::string& activation, double x) {
  if (activation == "relu") return x < 0 ? 0 : x;
  if (activation == "silu") return x / (1 + std::exp(-x));
  if (activation == "gelu") return x * 0.5 * std::erfc(-x * std::numbers::sqrt2 / 2);
  if (activation == "gelu_tanh")
    return x * 0.5 * (1 + std::tanh(std::sqrt(2 * std::numbers::inv_pi) * (x + 0.044715 * x * x * x)));
  return x;
}

bool power_of_two(double x) {
  int exponent = 0;
  return std::abs(std::frexp(x, &exponent)) == 0.5;
}

class Naive {
 public:
  Naive(const Settings& problem, std::span<const HostTensor> tensors)
      : words_(problem),
        shape_(words_),
        a_(tensor(tensors, "a"), shape_.a, shape_.results(), shape_.m, shape_.k, false),
        b_(tensor(tensors, "b"), shape_.b, shape_.batch, shape_.n, shape_.k, true),
        unit_(a_.unit() * b_.unit()),
        c_(find(tensors, "c")),
        alpha_(words_.number("alpha", 1)),
        beta_(words_.number("beta", 0)),
        blocks_of_a_(words_.is("scale_a", "block")),
        blocks_of_b_(words_.is("scale_b", "block")),
        promoted_(words_.is("sums", "promoted")),
        c_last_(words_.is("add_c", "after")),
        activation_(words_.word("activation", "none")),
        bias_(words_.word("bias", "none") == "none" ? std::vector<double>{}
                                                    : values_of(tensors, "bias", words_.type("bias", "f32"))),
        scale_a_(values_of(tensors, "scale_a", f32)),
        scale_b_(values_of(tensors, "scale_b", f32)),
        scale_d_(values_of(tensors, "scale_d", f32)),
        groups_(values_of(tensors, shape_.masked ? "group_rows" : "group_of_rows", s32)) {
    if (beta_ != 0 && c_ == nullptr) throw std::invalid_argument("there is no tensor c");
    const double most = double(shape_.k) * a_.largest() * b_.largest();
    exact_ = shape_.a.type.is_integer() || most < unit_ * std::ldexp(1, bits());
  }

  const Shape& shape() const { return shape_; }
  /// Elements of D that a kernel computes.
  std::uint64_t computed() const {
    if (!shape_.masked && !shape_.contiguous) return shape_.batch * shape_.m * shape_.n;
    std::uint64_t rows = 0;
    for (std::uint64_t i = 0; i < groups_.size(); ++i) {
      if (shape_.masked)
        rows += static_cast<std::uint64_t>(std::clamp<double>(groups_[i], 0, double(shape_.m)));
      if (shape_.contiguous && b_of(0, i * kBlock)) rows += std::min(kBlock, shape_.m - i * kBlock);
    }
    return rows * shape_.n;
  }

  /// The B that multiplies a row of a result, if it is computed.
  std::optional<std::uint64_t> b_of(std::uint64_t batch, std::uint64_t row) const {
    if (shape_.masked) return double(row) < groups_.at(batch) ? std::optional(batch) : std::nullopt;
    if (!shape_.contiguous) return batch;
    const double group = groups_.at(row / kBlock);
    return group >= 0 && group < double(shape_.batch) ? std::optional(static_cast<std::uint64_t>(group))
                                                      : std::nullopt;
  }
  /// Whether the row may hold anything.
  bool free(std::uint64_t batch, std::uint64_t row) const {
    return shape_.masked && double(row / kMaskedRows * kMaskedRows) < groups_.at(batch);
  }

  /// The smallest and the largest correct D, before it is rounded.
  std::pair<double, double> element(std::uint64_t batch, std::uint64_t of_b, std::uint64_t i,
                                    std::uint64_t j) const {
    const double c = beta_ == 0 ? 0 : value_at(*c_, shape_.c.type, shape_.c.at(batch, i, j));
    if (shape_.exact) {
      const double d = integer(a_.row(batch, i), b_.row(of_b, j), c);
      return {d, d};
    }
    const Interval d = finish(sum(a_.row(batch, i), b_.row(of_b, j), i, j), beta_ * c, i, j);
    return {d.value - d.error, d.value + d.error};
  }

 private:
  static const HostTensor& tensor(std::span<const HostTensor> tensors, const char* name) {
    if (const HostTensor* found = find(tensors, name)) return *found;
    throw std::invalid_argument("there is no tensor " + std::string(name));
  }
  /// Whether tensor cores accumulate at most 128 products and the rest is f32.
  bool by_stages() const { return blocks_of_a_ || blocks_of_b_ || promoted_; }
  /// The fraction bits that tensor cores keep, at least.
  int bits() const { return is_fp8(shape_.a.type) ? 13 : 23; }

  double integer(const double* a, const double* b, double c) const {
    std::uint64_t sum = 0;  // wraps around
    for (std::uint64_t k = 0; k < shape_.k; ++k)
      sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(a[k]) * static_cast<std::int64_t>(b[k]));
    const auto whole = [](double x) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(x)); };
    return double(static_cast<std::int32_t>(sum * whole(alpha_) + whole(c) * whole(beta_)));
  }

  Interval part(const double* a, const double* b, std::uint64_t begin, std::uint64_t end) const {
    double sum = 0, low = 0, high = 0, largest = 0, all = 0;
    std::int64_t lean = 0;
    if (exact_ && !by_stages()) {
      for (std::uint64_t k = begin; k < end; ++k) sum += a[k] * b[k];
      return {sum};
    }
    for (std::uint64_t k = begin; k < end; ++k) {
      const double product = a[k] * b[k];
      sum += product;
      low = std::min(low, sum), high = std::max(high, sum);
      all += std::abs(product);
      largest = std::max(largest, std::abs(product));
      lean += int{product > 0} -
              int{product < 0};  // branch-free, because a branch would be mispredicted half the time
    }
    const auto count = double(end - begin);
    if (shape_.a.type == f64) return {sum, count * 0x1p-52 * all};
    const double reach = std::max(largest, high - low);
    if (reach == 0 || !std::isfinite(sum)) return {sum, 0, reach};
    const double ulp = std::ldexp(1, std::ilogb(reach) - bits());
    if (ulp <= unit_) return {sum, 0, reach};
    const double steps = std::ceil(count / (is_fp8(shape_.a.type) ? 16 : 4)) + 8;
    return {sum, (std::abs(double(lean)) + steps + 3 * std::sqrt(count)) * ulp, reach};
  }

  /// The sum of the products, each scale block times its scale.
  Interval sum(const double* a, const double* b, std::uint64_t i, std::uint64_t j) const {
    if (!by_stages()) return part(a, b, 0, shape_.k);
    const std::uint64_t blocks = (shape_.k + kBlock - 1) / kBlock;
    Interval whole;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const double scale = (blocks_of_a_ ? scale_a_.at(block * shape_.m + i) : 1) *
                           (blocks_of_b_ ? scale_b_.at(j / kBlock * blocks + block) : 1);
      const Interval one = part(a, b, block * kBlock, std::min(shape_.k, (block + 1) * kBlock));
      const double largest = std::abs(whole.value) + one.reach * std::abs(scale);
      whole.value += one.value * scale;
      whole.error += one.error * std::abs(scale);
      if (blocks_of_a_ || blocks_of_b_ || largest > unit_ * 0x1p24) whole.error += 0x1p-20 * largest;
    }
    return whole;
  }

  double factor(std::uint64_t i, std::uint64_t j) const {
    double factor = alpha_;
    if (!scale_a_.empty() && !blocks_of_a_) factor *= scale_a_.at(scale_a_.size() == 1 ? 0 : i);
    if (!scale_b_.empty() && !blocks_of_b_) factor *= scale_b_.at(scale_b_.size() == 1 ? 0 : j);
    return factor;
  }

  Interval finish(const Interval& sum, double c, std::uint64_t i, std::uint64_t j) const {
    const double by = factor(i, j), product = by * sum.value, bias = bias_.empty() ? 0 : bias_.at(j);
    const double argument = product + bias + (c_last_ ? 0 : c);
    const double scale = scale_d_.empty() ? 1 : scale_d_.at(0);
    const double step = shape_.a.type == f64 ? 0x1p-50 : 0x1p-21;
    const bool scales = !scale_a_.empty() || !scale_b_.empty() || !scale_d_.empty();
    const bool only_sum = beta_ == 0 && bias_.empty() && !scales && (power_of_two(by) || by == 0);
    double error = std::abs(by) * sum.error;
    if (!only_sum) error += step * (std::abs(product) + std::abs(c) + std::abs(bias));
    // An integer accumulator is converted to f32.
    if (shape_.a.type.is_integer() && std::abs(sum.value) > 0x1p24) error += 0x1p-23 * std::abs(product);
    if (activation_ != "none" && activation_ != "relu") error = 1.13 * error + 0x1p-20 * std::abs(argument);
    return {scale * (activate(activation_, argument) + (c_last_ ? c : 0)), std::abs(scale) * error};
  }

  Words words_;
  Shape shape_;
  Rows a_, b_;
  double unit_;  // all products are multiples of it
  const HostTensor* c_;
  double alpha_, beta_;
  bool blocks_of_a_, blocks_of_b_;  // which have a scale each
  bool promoted_, c_last_;
  std::string activation_;
  std::vector<double> bias_, scale_a_, scale_b_, scale_d_, groups_;
  bool exact_ = false;
};

std::uint64_t round_into(Type d, double value) {
  return narrow::encode(d, value, d.bits == 8 ? narrow::Overflow::finite : narrow::Overflow::natural);
}

bool between(Type d, double low, double got, double high) {
  if (std::isnan(low) || std::isnan(high)) return std::isnan(got);
  return narrow::decode(d, round_into(d, low)) <= got && got <= narrow::decode(d, round_into(d, high));
}

struct Element {
  std::uint64_t batch, row, column;
};

bool small(const Shape& s) { return s.m * s.n * s.results() <= kEnough / s.k; }

/// All, or alternately one of each row and one of each column.
template <typename Work>
void each_element(const Shape& s, const Work& work) {
  const std::uint64_t of_one = s.m * s.n, all = of_one * s.results();
  if (small(s)) {
    for (std::uint64_t i = 0; i < all; ++i) work({i / of_one, i % of_one / s.n, i % s.n});
    return;
  }
  std::mt19937_64 random(s.m * 31 + s.n * 17 + s.k);
  for (std::uint64_t i = 0; i < std::max(kEnough / s.k, 2 * s.results() * std::max(s.m, s.n)); ++i) {
    const std::uint64_t turn = i / 2, row = i % 2 == 0 ? turn % s.m : random() % s.m;
    work({random() % s.results(), row, i % 2 == 0 ? random() % s.n : turn % s.n});
  }
}

void note(Comparison& result, const std::string& text) {
  if (result.first.empty()) result.first = text;
}

/// Elements outside the result.
void compare_others(const Naive& naive, const HostTensor& d, Comparison& result) {
  const Shape& s = naive.shape();
  const auto size = static_cast<std::uint64_t>(s.d.type.bytes());
  std::vector<bool> inside(d.bytes.size() / size);
  for (std::uint64_t batch = 0; batch < s.results(); ++batch)
    for (std::uint64_t i = 0; i < s.m; ++i)
      if (naive.b_of(batch, i) || naive.free(batch, i))
        for (std::uint64_t j = 0; j < s.n; ++j) inside.at(s.d.at(batch, i, j)) = true;
  for (std::uint64_t i = 0; i < inside.size(); ++i) {
    if (inside[i]) continue;
    const auto begin = d.bytes.begin() + static_cast<std::ptrdiff_t>(i * size);
    if (std::all_of(begin, begin + static_cast<std::ptrdiff_t>(size),
                    [](std::byte b) { return b == kPoison; }))
      continue;
    ++result.touched;
    note(result, "d[" + std::to_string(i) + "] is outside the result and was written to");
  }
}

}  // namespace

Comparison compare_gemm(const Settings& problem, std::span<const HostTensor> tensors) {
  const Naive naive(problem, tensors);
  const HostTensor* d = find(tensors, "d");
  if (d == nullptr) throw std::invalid_argument("there is no tensor d");
  const Place& place = naive.shape().d;
  Comparison result{.computed = naive.computed(), .sampled = !small(naive.shape())};
  each_element(naive.shape(), [&](const Element& at) {
    const auto of_b = naive.b_of(at.batch, at.row);
    if (!of_b) return;
    const auto [low, high] = naive.element(at.batch, *of_b, at.row, at.column);
    const double got = value_at(*d, place.type, place.at(at.batch, at.row, at.column));
    ++result.compared;
    if (between(place.type, low, got, high)) return;
    ++result.wrong;
    std::ostringstream text;
    text.precision(9);
    text << "d[" << at.batch << ", " << at.row << ", " << at.column << "] is " << got << ", expected " << low
         << " to " << high << " before rounding";
    note(result, text.str());
  });
  compare_others(naive, *d, result);
  return result;
}

HostTensor naive_gemm(const Settings& problem, const TensorPlan& d, std::span<const HostTensor> inputs) {
  const Naive naive(problem, inputs);
  const Place& place = naive.shape().d;
  HostTensor made{d, std::vector<std::byte>(d.bytes(), kPoison)};
  each_element(naive.shape(), [&](const Element& at) {
    const auto of_b = naive.b_of(at.batch, at.row);
    if (!of_b) return;
    const auto [low, high] = naive.element(at.batch, *of_b, at.row, at.column);
    narrow::store(place.type, made.bytes, place.at(at.batch, at.row, at.column),
                  round_into(place.type, low + (high - low) / 2));
  });
  return made;
}

HostTensor whole_tensor(const TensorPlan& plan, std::uint64_t seed) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  std::mt19937_64 random(seed * 1000003 + std::hash<std::string>()(plan.name));
  const bool negative = plan.type.kind != TypeKind::unsigned_integer;
  for (std::uint64_t i = 0; i < plan.elements(); ++i) {
    const auto value = static_cast<double>(random() % 7) - (negative ? 3 : 0);
    narrow::store(plan.type, tensor.bytes, i, narrow::encode(plan.type, value));
  }
  return tensor;
}

}  // namespace ptxloom::test
