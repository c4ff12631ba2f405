// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>

// f16 and bf16 through the host's f32, branch-free, so that compilers vectorise loops. A sum or product of
// two is rounded twice, to f32 and then to 16 bits, which is innocuous because f32 has more than twice their
// precision plus two bits (Figueroa, "When is double rounding innocuous?", 1995). That does not hold for a
// fused multiply-add, which is first rounded to odd (Boldo and Melquiond, "Emulation of FMA and correctly
// rounded sums: proved algorithms using rounding to odd", 2008).
namespace ptxloom::exec {

inline constexpr std::uint32_t kSign32 = 0x8000'0000, kInfinity32 = 0x7f80'0000, kNan32 = 0x7fff'ffff;

inline bool is_nan(std::uint32_t f32) { return (f32 & ~kSign32) > kInfinity32; }

/// Values are held in the low 16 bits of a word.
struct Half {
  static constexpr std::uint32_t kInfinity = 0x7c00, kNan = 0x7fff;

  /// NaN stays NaN.
  static float widen(std::uint32_t bits) {
    const std::uint32_t magnitude = bits & 0x7fff, sign = (bits & 0x8000) << 16;
    constexpr std::uint32_t rebias = 112u << 23;
    const std::uint32_t normal = (magnitude << 13) + (magnitude >= kInfinity ? 2 * rebias : rebias);
    const auto subnormal =
        std::bit_cast<std::uint32_t>(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
    return std::bit_cast<float>(sign | (magnitude < 0x400 ? subnormal : normal));
  }
  /// Rounds to nearest.
  static std::uint32_t round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & ~kSign32, sign = bits >> 16 & 0x8000;
    const std::uint32_t normal = (magnitude - (112u << 23) + 0xfff + (magnitude >> 13 & 1)) >> 13;
    // Adding 1/2 aligns the last bit of the sum with that of a subnormal f16.
    const std::uint32_t subnormal = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                                    std::bit_cast<std::uint32_t>(0.5f);
    std::uint32_t result = magnitude < 113u << 23 ? subnormal : normal;
    if (magnitude >= 143u << 23) result = kInfinity;
    return magnitude > kInfinity32 ? kNan : sign | result;
  }
};

struct Brain {
  static constexpr std::uint32_t kInfinity = 0x7f80, kNan = 0x7fff;

  static float widen(std::uint32_t bits) { return std::bit_cast<float>(bits << 16); }
  static std::uint32_t round(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return is_nan(bits) ? kNan : rounded;
  }
};

/// a * b + c, where a * b is exact in f32, rounded to odd: towards zero, with the last bit set if inexact.
inline float fma_to_odd(float a, float b, float c) {
  const float product = a * b, sum = product + c, back = sum - product;
  const float rest = (product - (sum - back)) + (c - back);  // NaN next to an infinity
  const auto bits = std::bit_cast<std::uint32_t>(sum);
  const std::uint32_t inexact = (rest < 0) | (rest > 0),
                      differ = (std::bit_cast<std::uint32_t>(rest) ^ bits) >> 31;
  return std::bit_cast<float>((bits - (inexact & differ)) | inexact);
}

}  // namespace ptxloom::exec
