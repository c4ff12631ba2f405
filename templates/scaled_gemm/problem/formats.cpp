// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/problem/formats.hpp"

#include "ptxloom/kit/scaled_format.hpp"
#include "ptxloom/kit/weight_layout.hpp"

namespace ptxloom::scaled_gemm {

bool plain_floats(const Format& a, const Format& b) {
  const auto is_one = [](const Format& one) {
    return one.block == 0 && one.element.is_float() && one.element.bits <= 8;
  };
  return is_one(a) && is_one(b);
}

bool multiplies(const Format& a, const Format& b) {
  if (a.block != 0) return b.block != 0;
  if (plain_floats(a, b)) return true;
  // Weights of 6 and 4 bits that are floats have scales of blocks, and 8 bits beside weights are e4m3 or s8.
  const bool scaled = b.block != 0 || !b.element.is_float() || b.element.bits == 8;
  return scaled && a.element != e5m2 && kit::WeightLayout::has(b.element, a.element);
}

bool shuffles(const Format& a, const Format& b) { return a.block == 0 && !plain_floats(a, b); }

bool widens(const Format& one, const Format& other) {
  return one.element.bits < 8 && (one.element.bits == 6 || other.element.bits > 4 || one.block == 0);
}

Format format_named(const std::string& name) {
  const kit::ScaledFormat* const format = kit::find_scaled_format(name);
  if (format != nullptr && format->block != 0)
    return {format->name, format->element, format->scale, static_cast<std::uint32_t>(format->block),
            format->tensor_scale};
  const Type type = *find_type(name);  // ParameterSpace admits no other
  return {.name = type.name, .element = type};
}

}  // namespace ptxloom::scaled_gemm
