// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string_view>

#include "exec/arithmetic/elementwise.hpp"
#include "exec/machine/decoder.hpp"
#include "ptxloom/numeric.hpp"

// .sat and .relu for floats: the destination is clamped after the instruction without them has run. That
// equals clamping before rounding, because 0 and 1 exist in every format and rounding keeps signs.
namespace ptxloom::exec {

/// The Semantic that clamps the first operand, of type f64, f32, f16, bf16 or a pair: to [0, 1] with NaN to
/// 0, or to non-negative values with NaN kept. Null if the modifiers ask for no clamp.
Semantic clamp_of(std::string_view type, const Modifiers& modifiers);

/// A plan, followed by what clamps the result of the Semantic that uses it.
template <class Plan>
struct ClampedPlan : Plan {
  Semantic plain = nullptr, clamp = nullptr;
};

template <class Plan>
void run_clamped(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = static_cast<const ClampedPlan<Plan>&>(op.plan_as<Plan>());
  plan.plain(warp, op, mask);
  plan.clamp(warp, op, mask);
}

/// Emits `plain`, followed by `clamp` unless that is null.
template <class Plan = NoPlan>
void emit_clamped(Decoder& decoder, Semantic plain, Semantic clamp, const Plan& plan = {}) {
  if (clamp == nullptr) return decoder.emit(plain, std::make_shared<Plan>(plan));
  const std::shared_ptr<const Plan> both =
      std::make_shared<ClampedPlan<Plan>>(ClampedPlan<Plan>{plan, plain, clamp});
  decoder.emit(&run_clamped<Plan>, both);
}

}  // namespace ptxloom::exec
