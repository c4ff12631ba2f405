// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/host_float.hpp"

#include "exec/arithmetic/clamped.hpp"

namespace ptxloom::exec {
namespace {

Semantic arithmetic(std::string_view op, std::string_view type, const Modifiers& modifiers) {
  if (type == "f32") return host_single(op, false, modifiers);
  if (type == "f32x2") return host_single(op, true, modifiers);
  if (type == "f64") return modifiers.ftz ? nullptr : host_double(op, modifiers.rounding);
  return modifiers.rounding == Rounding::rn ? host_half(op, type, modifiers.ftz) : nullptr;
}

}  // namespace

bool emit_host_arithmetic(Decoder& decoder, std::string_view op, std::string_view type,
                          const Modifiers& modifiers) {
  const Semantic run = arithmetic(op, type, modifiers);
  if (run == nullptr) return false;
  emit_clamped(decoder, run, clamp_of(type, modifiers));
  return true;
}

}  // namespace ptxloom::exec
