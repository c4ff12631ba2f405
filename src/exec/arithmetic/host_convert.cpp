// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <limits>

#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/host_float.hpp"
#include "exec/arithmetic/lanewise.hpp"
#include "exec/arithmetic/rounding.hpp"

namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;
using Short = std::uint16_t;

template <class Format>
Short narrowed(float value) {
  return static_cast<Short>(Format::round(value));
}

// The first operand becomes the upper half.
template <class Format>
Semantic to_pair() {
  return lanewise<float, float>(
      [](float high, float low) { return Format::round(high) << 16 | Format::round(low); });
}

// An integral value clamped to the range of T; NaN is 0.
template <class T>
T clamped(float value) {
  constexpr float lowest = static_cast<float>(std::numeric_limits<T>::min());
  constexpr float end = 2.0f * static_cast<float>(std::uint32_t{1} << (std::numeric_limits<T>::digits - 1));
  const bool inside = value >= lowest && value < end;
  const T within = static_cast<T>(inside ? value : 0.0f);
  if (value >= end) return std::numeric_limits<T>::max();
  return value < lowest ? std::numeric_limits<T>::min() : within;
}

template <class T>
Semantic from_f32(std::string_view rounding) {
  if (rounding == "rzi") return lanewise<float>([](float value) { return clamped<T>(value); });
  if (rounding == "rni") return lanewise<float>([](float value) { return clamped<T>(std::rint(value)); });
  return nullptr;
}

Semantic to_f32(std::string_view from) {
  if (from == "f16") {
    return lanewise<Short>([](Short value) {
      const float wide = Half::widen(value);
      return wide != wide ? std::bit_cast<float>(kNan32) : wide;
    });
  }
  if (from == "bf16") return lanewise<Short>([](Short value) { return Word{value} << 16; });  // NaN stays
  return with_integer(
      from, []<class T>() { return lanewise<T>([](T value) { return static_cast<float>(value); }); });
}

}  // namespace

Semantic host_conversion(std::string_view to, std::string_view from, std::string_view rounding,
                         const Modifiers& modifiers) {
  if (modifiers.saturation != Saturation::none || modifiers.relu) return nullptr;
  if (to == "s32" && from == "f32") return from_f32<std::int32_t>(rounding);
  if (to == "u32" && from == "f32") return from_f32<std::uint32_t>(rounding);
  if (!is_plain(modifiers) || rounding.ends_with('i')) return nullptr;
  if (to == "f32") return to_f32(from);
  if (from != "f32") return nullptr;
  if (to == "f16") return lanewise<float>([](float value) { return narrowed<Half>(value); });
  if (to == "bf16") return lanewise<float>([](float value) { return narrowed<Brain>(value); });
  if (to == "f16x2") return to_pair<Half>();
  return to == "bf16x2" ? to_pair<Brain>() : nullptr;
}

}  // namespace ptxloom::exec
