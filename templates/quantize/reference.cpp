// SPDX-License-Identifier: Apache-2.0
// The conversion as the specifications have it: OCP Microscaling Formats (MX) 1.0, sections 5 and 6.3, and
// OCP 8-bit Floating Point 1.0. The values of a format are listed from its exponent and mantissa bits, and a
// number is rounded by a search in that list. What is not a power of two is computed in f32, as
// docs/quantize.md says.
#include "quantize/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <random>

#include "ptxloom/numeric.hpp"
#include "ptxloom/sampling.hpp"

namespace ptxloom::quantize_kernel {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kBudget = std::uint64_t{1} << 22;  // elements that are compared

/// A format's numbers: those of a float, or integers if it has no exponent.
struct Numbers {
  std::string_view type;
  int exponent_bits, mantissa_bits, bias;
  int codes;  // positive ones that are numbers; those above are infinity or NaN
  bool nan;   // whether it has NaN
};
constexpr std::array<Numbers, 7> kNumbersOf = {{{"s8", 0, 7, 0, 128, false},
                                                {"s4", 0, 3, 0, 8, false},
                                                {"e4m3", 4, 3, 7, 127, true},
                                                {"e5m2", 5, 2, 15, 124, true},
                                                {"e2m3", 2, 3, 1, 32, false},
                                                {"e3m2", 3, 2, 3, 32, false},
                                                {"e2m1", 2, 1, 1, 8, false}}};

/// The values of a type that are not negative, in order.
class Values {
 public:
  explicit Values(std::string_view type) : numbers_(*std::ranges::find(kNumbersOf, type, &Numbers::type)) {
    for (int code = 0; code < numbers_.codes; ++code) values_.push_back(value_of(code));
  }

  double largest() const { return values_.back(); }
  int emax() const { return std::ilogb(largest()); }
  bool is_integer() const { return numbers_.exponent_bits == 0; }

  /// The nearest value, and of two that are as near the one with an even code. Numbers beyond the range
  /// become the largest of their sign; integers have one more below zero.
  double nearest(double x) const {
    if (std::isnan(x)) return numbers_.nan ? kNan : is_integer() ? 0 : largest();
    const double size = std::abs(x);
    if (is_integer() && x <= -largest() - 0.5) return -largest() - 1;
    const auto above = std::ranges::lower_bound(values_, size);
    if (above == values_.end()) return std::copysign(largest(), x);
    if (above == values_.begin()) return std::copysign(0.0, x);
    const double up = *above - size, down = size - *(above - 1);
    const bool even = (above - values_.begin()) % 2 == 0;
    return std::copysign(up < down || (up == down && even) ? *above : *(above - 1), x);
  }

  /// The code of a value of the format.
  unsigned code(double value) const {
    const auto place = std::ranges::lower_bound(values_, std::abs(value)) - values_.begin();
    const int sign_bit = numbers_.exponent_bits + numbers_.mantissa_bits;
    return static_cast<unsigned>(place) | (std::signbit(value) ? 1U << sign_bit : 0U);
  }

  /// The multiple of the distance between neighbours that is below or above x.
  double stochastic(double x, double fraction) const {
    if (!std::isfinite(x)) return x;
    const int least = 1 - numbers_.bias, exponent = x == 0 ? least : std::max(std::ilogb(x), least);
    const double distance = is_integer() ? 1 : std::ldexp(1.0, exponent - numbers_.mantissa_bits);
    const double sum = x / distance + fraction;
    // Of two numbers that cancel, the sum that is rounded down has a minus sign.
    return sum == 0 && std::signbit(x) ? -0.0 : distance * std::floor(sum);
  }

 private:
  double value_of(int code) const {
    if (is_integer()) return code;
    const int exponent = code >> numbers_.mantissa_bits,
              mantissa = code & ((1 << numbers_.mantissa_bits) - 1);
    const int whole = exponent == 0 ? mantissa : mantissa + (1 << numbers_.mantissa_bits);
    return std::ldexp(whole, std::max(exponent, 1) - numbers_.bias - numbers_.mantissa_bits);
  }

  Numbers numbers_;
  std::vector<double> values_;
};

/// A scale as it is stored, and what elements are divided by, in the arithmetic of the definition.
struct Scale {
  double stored;
  double divisor;      // exact; 0 where `factor` is used
  float factor = 0.F;  // in f32
};

Scale power_of_two(const Values& values, bool up, double largest) {
  if (!std::isfinite(largest)) return {kNan, kNan};
  int exponent = largest == 0 ? -127 : std::ilogb(largest) - values.emax();
  if (up && largest > std::ldexp(values.largest(), exponent)) ++exponent;
  exponent = std::max(exponent, -127);
  if (exponent > 127) return {kNan, kNan};
  return {std::ldexp(1.0, exponent), std::ldexp(1.0, exponent)};
}

Scale in_f32(const Values& values, double largest) {
  if (!std::isfinite(largest)) return {kNan, kNan};
  const auto magnitude = std::max(static_cast<float>(largest), 0x1p-100F);
  const auto top = static_cast<float>(values.largest());
  return {magnitude / top, 0, top / magnitude};
}

Scale in_e4m3(const Values& values, double largest, float tensor_scale) {
  if (!std::isfinite(largest) || std::isnan(tensor_scale)) return {kNan, kNan};
  const float wanted = static_cast<float>(largest) / (tensor_scale * static_cast<float>(values.largest()));
  const double stored = Values("e4m3").nearest(wanted);
  const float both = static_cast<float>(stored) * tensor_scale;
  return {stored, 0, both == 0 ? 0 : 1 / both};
}

double scaled(double x, const Scale& scale) {
  if (scale.divisor != 0 || std::isnan(scale.divisor)) return x / scale.divisor;
  return static_cast<float>(x) * scale.factor;
}

const HostTensor* find_input(std::span<const HostTensor> inputs, std::string_view name) {
  for (const HostTensor& input : inputs)
    if (input.plan.name == name) return &input;
  return nullptr;
}

float given_scale(std::span<const HostTensor> inputs, std::string_view name) {
  return static_cast<float>(decode(f32, load_element(f32, find_input(inputs, name)->bytes, 0)));
}

/// Word i % 4 of Philox 4x32-10 for element i of a row: the counter is (i / 4, row, 0, 0), the key the seed.
std::uint32_t random_word(std::uint64_t seed, std::uint32_t row, std::uint32_t i) {
  std::array<std::uint64_t, 4> c{i / 4, row, 0, 0};
  std::uint32_t key0 = static_cast<std::uint32_t>(seed), key1 = static_cast<std::uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = c[0] * 0xd2511f53, product1 = c[2] * 0xcd9e8d57;
    c = {(product1 >> 32) ^ c[1] ^ key0, product1 & 0xffffffff, (product0 >> 32) ^ c[3] ^ key1,
         product0 & 0xffffffff};
    key0 += 0x9e3779b9;
    key1 += 0xbb67ae85;
  }
  return static_cast<std::uint32_t>(c[i % 4]);
}

class Reference {
 public:
  Reference(const Problem& p, std::span<const HostTensor> inputs)
      : p_(p),
        values_(p.format->element.name),
        x_(*find_input(inputs, "x")),
        tensor_scale_(p.format->tensor_scale && !p.computed ? given_scale(inputs, "tensor_scale") : 0),
        scale_(p.scales == Scales::tensor && !p.computed ? given_scale(inputs, "scale") : 0) {
    if (!p.computed) return;
    for (std::uint32_t row = 0; row < p.rows; ++row) {
      const double largest = largest_of(row, 0, p.n);
      if (!(largest <= of_tensor_) && !std::isnan(of_tensor_)) of_tensor_ = largest;
    }
    // The largest group then has the largest scale of its format, 448.
    const auto size = std::max(static_cast<float>(of_tensor_), 0x1p-100F);
    if (p.format->tensor_scale)
      tensor_scale_ = std::isfinite(of_tensor_) ? size / static_cast<float>(values_.largest() * 448)
                                                : std::numeric_limits<float>::quiet_NaN();
  }

  void row(std::uint32_t row) {
    for (std::uint32_t begin = 0; begin < p_.n; begin += p_.group)
      block(row, begin, std::min(p_.group, p_.n - begin));
    if (padded()) return add_padded_row(row);
    // The byte in which the row ends is filled up with zeros, or the three bytes of four elements of 6 bits.
    const unsigned bits = p_.format->element.bits;
    for (std::uint64_t i = p_.n; i * bits % 8 != 0 && i < p_.pitch_y; ++i)
      y_.points.push_back({row * p_.pitch_y + i, 0, 0});
  }

  std::vector<Expectation> finish(bool all) {
    const bool padding_known = list_padding();
    y_.complete = all || !padding_known;
    scales_.complete = all;
    if (p_.tiled_scales) pad_scales();
    if (p_.scales == Scales::tensor && !p_.computed) return {std::move(y_)};
    if (p_.scales == Scales::tensor) scales_.points = {{0, scale_for(0).stored, 0}};
    scales_.complete |= p_.scales == Scales::tensor;
    if (!p_.computed || !p_.format->tensor_scale) return {std::move(y_), std::move(scales_)};
    const Expectation of_tensor{
        .tensor = "tensor_scale", .points = {{0, tensor_scale_, 0}}, .complete = true};
    return {of_tensor, std::move(y_), std::move(scales_)};
  }

 private:
  bool padded() const { return p_.packing == kit::NarrowPacking::padded; }

  void add(std::uint32_t row, std::uint32_t i, double value) {
    if (padded())
      codes_.push_back(values_.code(value));
    else
      y_.points.push_back({row * p_.pitch_y + i, value, 0});
  }

  /// The bytes of a row: 16 elements of 6 bits, lowest bit first, in the first 12 of 16.
  void add_padded_row(std::uint32_t row) {
    std::vector<unsigned> bytes((codes_.size() + 15) / 16 * 16);
    for (std::size_t bit = 0; bit < codes_.size() * 6; ++bit) {
      const std::size_t element = bit / 6, in_unit = element % 16 * 6 + bit % 6;
      bytes[element / 16 * 16 + in_unit / 8] |= (codes_[element] >> (bit % 6) & 1U) << (in_unit % 8);
    }
    for (std::size_t i = 0; i < bytes.size(); ++i)
      y_.points.push_back({row * p_.pitch_y + i, double(bytes[i]), 0});
    codes_.clear();
  }

  double x_at(std::uint64_t row, std::uint32_t i) const {
    const std::uint64_t place = p_.transposed ? i * p_.pitch_x + row : row * p_.pitch_x + i;
    return decode(p_.x, load_element(p_.x, x_.bytes, place));
  }

  /// The largest magnitude of elements of a row; NaN if there is one.
  double largest_of(std::uint64_t row, std::uint32_t begin, std::uint32_t count) const {
    double largest = 0;
    for (std::uint32_t i = begin; i < begin + count; ++i) {
      const double size = std::abs(x_at(row, i));
      if (!(size <= largest) && !std::isnan(largest)) largest = size;
    }
    return largest;
  }

  /// The same of the 128 rows of a block. Rows come in order, so those of the last band are remembered.
  double largest_of_block(std::uint32_t row, std::uint32_t begin, std::uint32_t count) {
    const std::uint32_t band = row / 128;
    if (band != band_) of_band_.clear();
    band_ = band;
    const auto [place, fresh] = of_band_.try_emplace(begin, 0);
    for (std::uint32_t r = band * 128; fresh && r < std::min(band * 128 + 128, p_.rows); ++r) {
      const double size = largest_of(r, begin, count);
      if (!(size <= place->second) && !std::isnan(place->second)) place->second = size;
    }
    return place->second;
  }

  void block(std::uint32_t row, std::uint32_t begin, std::uint32_t count) {
    const bool blocks = p_.scales == Scales::block;
    const Scale scale =
        scale_for(blocks ? largest_of_block(row, begin, count) : largest_of(row, begin, count));
    for (std::uint32_t i = 0; i < count; ++i)
      add(row, begin + i, rounded(scaled(x_at(row, begin + i), scale), row, begin + i));
    if (p_.scales != Scales::tensor)
      scales_.points.push_back({scale_index(blocks ? row / 128 : row, begin / p_.group), scale.stored, 0});
  }

  double rounded(double x, std::uint32_t row, std::uint32_t i) const {
    if (!p_.stochastic) return values_.nearest(x);
    const double fraction = double(random_word(p_.seed, row, i) >> 8) / 0x1p24;
    return values_.nearest(values_.stochastic(x, fraction));
  }

  // In tiles of 128 rows and 4 columns row r follows 4 (r / 32) + 16 (r % 32) bytes after the first one.
  std::uint64_t scale_index(std::uint64_t row, std::uint64_t column) const {
    if (!p_.tiled_scales) return row * p_.scales_per_row() + column;
    const std::uint64_t across = (p_.scales_per_row() + 3U) / 4, in_tile = row % 128;
    return (row / 128 * across + column / 4) * 512 + in_tile % 32 * 16 + in_tile / 32 * 4 + column % 4;
  }

  /// Scales outside the matrix in tiles.
  void pad_scales() {
    const double zero = p_.format->scale == ue8m0 ? 0x1p-127 : 0;  // the value of the code 0
    for (std::uint64_t row = 0; row < (p_.rows + 127U) / 128 * 128; ++row)
      for (std::uint64_t column = 0; column < (p_.scales_per_row() + 3U) / 4 * 4; ++column)
        if (row >= p_.rows || column >= p_.scales_per_row())
          scales_.points.push_back({scale_index(row, column), zero, 0});
  }

  Scale scale_for(double largest) const {
    if (p_.scales == Scales::tensor && !p_.computed) return {0, 0, 1 / scale_};
    if (p_.scales == Scales::tensor) return in_f32(values_, of_tensor_);
    if (p_.format->scale == ue8m0) return power_of_two(values_, p_.scales_up, largest);
    return p_.format->scale == f32 ? in_f32(values_, largest) : in_e4m3(values_, largest, tensor_scale_);
  }

  /// The padding of y, or some of it. Whether it is all.
  bool list_padding() {
    const unsigned bits = p_.format->element.bits;
    std::uint64_t first = p_.n;
    while (padded() ? first % 16 != 0 : first * bits % 8 != 0) ++first;
    return ptxloom::list_padding(p_.rows, first, p_.pitch_y, y_.untouched);
  }

  const Problem& p_;
  Values values_;
  const HostTensor& x_;
  float tensor_scale_, scale_;
  double of_tensor_ = 0;                     // the largest magnitude, if the scale of the tensor is computed
  std::vector<unsigned> codes_;              // of the row so far, if it is padded
  std::uint32_t band_ = 0;                   // the 128 rows whose blocks are in
  std::map<std::uint32_t, double> of_band_;  // by their first column
  Expectation y_{.tensor = "y"}, scales_{.tensor = "scale"};
};

}  // namespace

std::vector<Expectation> reference(const Problem& p, std::span<const HostTensor> inputs) {
  std::mt19937_64 random(p.rows * 7919ULL + p.n);
  Reference expected(p, inputs);
  for (const std::uint32_t row : sampled_places(p.rows, kBudget / p.n, random)) expected.row(row);
  return expected.finish(p.rows <= std::max<std::uint64_t>(kBudget / p.n, 1));
}

}  // namespace ptxloom::quantize_kernel
