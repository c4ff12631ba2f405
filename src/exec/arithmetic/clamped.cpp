// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/clamped.hpp"

#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/select.hpp"

namespace ptxloom::exec {
namespace {

struct DoubleBits {
  using Bits = std::uint64_t;
  static constexpr Bits kSign = Bits{1} << 63, kInfinity = Bits{0x7ff} << 52, kOne = Bits{0x3ff} << 52;
};
struct SingleBits {
  using Bits = std::uint32_t;
  static constexpr Bits kSign = kSign32, kInfinity = kInfinity32, kOne = 0x3f80'0000;
};
struct HalfBits {
  using Bits = std::uint16_t;
  static constexpr Bits kSign = 0x8000, kInfinity = Half::kInfinity, kOne = 0x3c00;
};
struct BrainBits {
  using Bits = std::uint16_t;
  static constexpr Bits kSign = 0x8000, kInfinity = Brain::kInfinity, kOne = 0x3f80;
};

struct ToUnit {
  template <class Format>
  static typename Format::Bits of(typename Format::Bits value) {
    using Bits = typename Format::Bits;
    const Bits least = value < Format::kOne ? value : Format::kOne;
    return when(value <= Format::kInfinity, least);  // else it is NaN or negative
  }
};
// A NaN result has no sign.
struct ToPositive {
  template <class Format>
  static typename Format::Bits of(typename Format::Bits value) {
    return static_cast<typename Format::Bits>(value & ~sign_mask(value));
  }
};

// All elements of a row of words at once: bits above a single f16 are never read.
template <class Format, class Clamp>
void run_clamp(Warp& warp, const Operation& op, Mask mask) {
  using Bits = typename Format::Bits;
  using Element [[gnu::may_alias]] = Bits;
  constexpr int per_lane = sizeof(Storage<Bits>) / sizeof(Bits), elements = per_lane * kLanes;
  auto* row = reinterpret_cast<Element*>(warp.registers() + op.slots[0].offset);
  if (mask == kAllLanes) {
    for (int i = 0; i < elements; ++i) row[i] = Clamp::template of<Format>(row[i]);
    return;
  }
  for_lanes(mask, [&](int lane) {
    for (int i = per_lane * lane; i < per_lane * (lane + 1); ++i) row[i] = Clamp::template of<Format>(row[i]);
  });
}

template <class Format>
Semantic clamp_in(const Modifiers& modifiers) {
  if (modifiers.saturation == Saturation::sat) return base::fastest<&run_clamp<Format, ToUnit>>();
  return modifiers.relu ? base::fastest<&run_clamp<Format, ToPositive>>() : nullptr;
}

}  // namespace

Semantic clamp_of(std::string_view type, const Modifiers& modifiers) {
  if (type.starts_with("f16")) return clamp_in<HalfBits>(modifiers);
  if (type.starts_with("bf16")) return clamp_in<BrainBits>(modifiers);
  if (type == "f64") return clamp_in<DoubleBits>(modifiers);
  return type == "f32" ? clamp_in<SingleBits>(modifiers) : nullptr;
}

}  // namespace ptxloom::exec
