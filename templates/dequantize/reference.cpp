// SPDX-License-Identifier: Apache-2.0
// The values of codes as the specifications have them: OCP Microscaling Formats (MX) 1.0, section 5, and OCP
// 8-bit Floating Point 1.0.
#include "dequantize/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "ptxloom/sampling.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr std::uint64_t kBudget = std::uint64_t{1} << 22;  // elements that are compared

/// A format of codes with a sign; integers have no exponent.
struct Codes {
  std::string_view type;
  int bits, exponent_bits, mantissa_bits, bias;
  int infinity, nan;  // the lowest code without sign that is infinite, or NaN; 0: there is none
};
constexpr std::array<Codes, 8> kCodes = {{{"s8", 8, 0, 7, 0, 0, 0},
                                          {"s4", 4, 0, 3, 0, 0, 0},
                                          {"e4m3", 8, 4, 3, 7, 0, 0x7f},
                                          {"e5m2", 8, 5, 2, 15, 0x7c, 0x7d},
                                          {"e2m3", 6, 2, 3, 1, 0, 0},
                                          {"e3m2", 6, 3, 2, 3, 0, 0},
                                          {"e2m1", 4, 2, 1, 1, 0, 0},
                                          {"ue4m3", 8, 4, 3, 7, 0, 0x7f}}};

const Codes& codes_of(Type type) { return *std::ranges::find(kCodes, type.name, &Codes::type); }

double value_of(const Codes& format, unsigned code) {
  const unsigned sign = 1U << (format.bits - 1);
  if (format.exponent_bits == 0) return code < sign ? int(code) : int(code) - int(2 * sign);
  const int size = static_cast<int>(code & (sign - 1));
  const double one = (code & sign) != 0 && format.type != "ue4m3" ? -1 : 1;
  if (format.nan != 0 && size >= format.nan) return kNan;
  if (format.infinity != 0 && size >= format.infinity) return one * kInfinity;
  const int exponent = size >> format.mantissa_bits, mantissa = size & ((1 << format.mantissa_bits) - 1);
  const int whole = exponent == 0 ? mantissa : mantissa + (1 << format.mantissa_bits);
  return one * std::ldexp(whole, std::max(exponent, 1) - format.bias - format.mantissa_bits);
}

/// Bits [first, first + count) of a buffer, lowest first.
unsigned bits_at(const std::vector<std::byte>& bytes, std::uint64_t first, int count) {
  unsigned bits = 0;
  for (int i = 0; i < count; ++i) {
    const std::uint64_t at = first + static_cast<std::uint64_t>(i);
    bits |= (std::to_integer<unsigned>(bytes[at / 8]) >> (at % 8) & 1U) << i;
  }
  return bits;
}

float f32_at(const std::vector<std::byte>& bytes, std::uint64_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

/// Rounded to nearest even, in a type with this many bits of mantissa and this range of exponents.
double rounded(double value, int mantissa_bits, int least_exponent, int largest_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  const int exponent = std::max(std::ilogb(value), least_exponent);
  const double result =
      std::ldexp(std::nearbyint(std::ldexp(value, mantissa_bits - exponent)), exponent - mantissa_bits);
  return std::abs(result) >= std::ldexp(1.0, largest_exponent + 1) ? std::copysign(kInfinity, value) : result;
}

double rounded_to(Type type, double value) {
  if (type == f32) return rounded(value, 23, -126, 127);
  return type == f16 ? rounded(value, 10, -14, 15) : rounded(value, 7, -126, 127);
}

const HostTensor* find_input(std::span<const HostTensor> inputs, std::string_view name) {
  for (const HostTensor& input : inputs)
    if (input.plan.name == name) return &input;
  return nullptr;
}

class Reference {
 public:
  Reference(const Problem& p, std::span<const HostTensor> inputs)
      : p_(p),
        x_(find_input(inputs, "x")->bytes),
        scale_(find_input(inputs, "scale")->bytes),
        tensor_scale_(p.format->tensor_scale ? f32_at(find_input(inputs, "tensor_scale")->bytes, 0) : 1) {}

  void row(std::uint32_t row) {
    const Codes& codes = codes_of(p_.format->element);
    for (std::uint32_t i = 0; i < p_.n; ++i) {
      const std::uint64_t first = first_bit(row, i, static_cast<std::uint64_t>(codes.bits));
      // The product of an element and a scale is rounded to f32, and then to the type of y.
      const double product = rounded_to(f32, value_of(codes, bits_at(x_, first, codes.bits)) * scale(row, i));
      expected_.points.push_back({row * p_.pitch_y + i, rounded_to(p_.y, product), 0});
    }
  }

  std::vector<Expectation> finish(bool all) {
    const bool padding_known = list_padding(p_.rows, p_.n, p_.pitch_y, expected_.untouched);
    expected_.complete = all || !padding_known;
    return {std::move(expected_)};
  }

 private:
  std::uint64_t first_bit(std::uint64_t row, std::uint64_t i, std::uint64_t bits) const {
    const std::uint64_t place = row * p_.pitch_x + i;
    if (p_.packing == kit::NarrowPacking::dense) return place * bits;
    return place / 16 * 128 + place % 16 * bits;  // 16 elements in 16 bytes
  }

  // In tiles of 128 rows and 4 columns row r follows 4 (r / 32) + 16 (r % 32) bytes after the first one.
  std::uint64_t scale_index(std::uint64_t row, std::uint64_t column) const {
    if (p_.scales == Scales::tensor) return 0;
    if (p_.scales == Scales::block) row /= 128;
    if (!p_.tiled_scales) return row * p_.scales_per_row() + column;
    const std::uint64_t across = (p_.scales_per_row() + 3U) / 4, in_tile = row % 128;
    return (row / 128 * across + column / 4) * 512 + in_tile % 32 * 16 + in_tile / 32 * 4 + column % 4;
  }

  double scale(std::uint32_t row, std::uint32_t i) const {
    const std::uint64_t index = scale_index(row, i / p_.group);
    if (p_.format->scale == f32) return f32_at(scale_, index);
    const auto code = std::to_integer<unsigned>(scale_[index]);
    if (p_.format->scale == ue8m0) return code == 255 ? kNan : std::ldexp(1.0, static_cast<int>(code) - 127);
    return static_cast<float>(value_of(codes_of(ue4m3), code)) * tensor_scale_;
  }

  const Problem& p_;
  const std::vector<std::byte>&x_, &scale_;
  float tensor_scale_;
  Expectation expected_{.tensor = "y"};
};

}  // namespace

std::vector<Expectation> reference(const Problem& p, std::span<const HostTensor> inputs) {
  std::mt19937_64 random(p.rows * 7919ULL + p.n);
  Reference expected(p, inputs);
  for (const std::uint32_t row : sampled_places(p.rows, kBudget / p.n, random)) expected.row(row);
  return expected.finish(p.rows <= std::max<std::uint64_t>(kBudget / p.n, 1));
}

}  // namespace ptxloom::dequantize_kernel
