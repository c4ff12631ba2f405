// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "exec/arithmetic/clamped.hpp"
#include "exec/arithmetic/half.hpp"
#include "exec/arithmetic/half_rows.hpp"
#include "exec/arithmetic/host_convert.hpp"
#include "exec/arithmetic/select.hpp"

// cvt to f16 in any rounding direction, from f32 and whatever f32 can stand for (half_rows.hpp).
namespace ptxloom::exec {
namespace {

struct ToHalf {
  float most = 0;  ///< larger magnitudes become this one
  Rounding rounding = Rounding::rn;
};

float limited(float value, float most) {
  const float raised = select(value < -most, -most, value);  // NaN passes through
  return select(raised > most, most, raised);
}

struct OfSingle {
  using Stored = float;
  static float of(float value) { return value; }
};
struct OfHalf {
  using Stored = std::uint16_t;
  static float of(std::uint16_t value) { return Half::widen(value); }
};
struct OfBrain {
  using Stored = std::uint16_t;
  static float of(std::uint16_t value) { return Brain::widen(value); }
};
/// Integers of more than 17 bits exceed f16; their maximum in f32 does so in every direction too.
template <class T>
struct OfInteger {
  using Stored = T;
  static float of(T value) {
    if constexpr (sizeof(T) < 4) {
      return value;
    } else {
      constexpr T end = 0x2'0000;
      T inside = value > end ? end : value;
      if constexpr (std::is_signed_v<T>) inside = inside < -end ? -end : inside;
      return static_cast<float>(static_cast<std::int32_t>(inside));
    }
  }
};

// All lanes, even those outside the mask: that is faster than selecting some.
template <class Source>
void run_one(Warp& warp, const Operation& op, Mask mask) {
  const auto [most, rounding] = op.plan_as<ToHalf>();
  const Lanes<typename Source::Stored> in(warp.registers(), op.slots[1]);
  FloatRow<false> row;
  for (int lane = 0; lane < kLanes; ++lane)
    row[static_cast<std::size_t>(lane)] = limited(Source::of(in[lane]), most);
  store_halves<false>(warp, op, mask, row, rounding);
}

// The first operand becomes the upper half.
void run_two(Warp& warp, const Operation& op, Mask mask) {
  const auto [most, rounding] = op.plan_as<ToHalf>();
  const Lanes<float> high(warp.registers(), op.slots[1]), low(warp.registers(), op.slots[2]);
  FloatRow<true> row;
  for (int lane = 0; lane < kLanes; ++lane) {
    const auto at = 2 * static_cast<std::size_t>(lane);
    row[at] = limited(low[lane], most);
    row[at + 1] = limited(high[lane], most);
  }
  store_halves<true>(warp, op, mask, row, rounding);
}

Semantic run_of(const Type& from, int inputs) {
  if (inputs == 2) return from == f32 ? base::fastest<&run_two>() : nullptr;
  if (from == f32) return base::fastest<&run_one<OfSingle>>();
  if (from == f16) return base::fastest<&run_one<OfHalf>>();
  if (from == bf16) return base::fastest<&run_one<OfBrain>>();
  return with_any_integer(from.name, []<class T>() { return base::fastest<&run_one<OfInteger<T>>>(); });
}

}  // namespace

bool emit_to_f16(Decoder& decoder, const Type& from, int inputs, const Modifiers& modifiers) {
  const Semantic run = run_of(from, inputs);
  if (run == nullptr) return false;
  const float most =
      modifiers.saturation == Saturation::satfinite ? 65504.0f : std::numeric_limits<float>::infinity();
  emit_clamped(decoder, run, clamp_of("f16", modifiers),
               ToHalf{.most = most, .rounding = modifiers.rounding});
  return true;
}

}  // namespace ptxloom::exec
