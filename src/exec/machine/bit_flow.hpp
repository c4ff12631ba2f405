// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "exec/machine/form_flow.hpp"

// Functions that say which bits of a result are undefined, for FormFlow. Where F is a parameter it is a
// lambda without captures that computes the result from operands of types In.
namespace ptxloom::exec {

/// F computes each bit of the result from the same bit of its first `count` operands, as `and` and lop3 do. A
/// bit is undefined if it changes with undefined bits of these.
template <std::size_t count, class... In, class F>
constexpr FlowFunction bitwise(F) {
  return [](std::span<const FlowOperand> in, std::size_t) {
    const auto flipped = [&]<std::size_t... I>(std::size_t which, std::index_sequence<I...>) {
      return static_cast<std::uint64_t>(
          F{}(static_cast<In>(in[I].value ^ ((which >> I & 1) != 0 ? in[I].undefined : 0))...));
    };
    const auto possible = [&](std::size_t which) {  // a register that is read twice has one value
      for (std::size_t i = 0; i < count; ++i)
        for (std::size_t j = 0; j < i; ++j)
          if (in[i].reg != nullptr && in[i].reg == in[j].reg && (which >> i & 1) != (which >> j & 1))
            return false;
      return true;
    };
    const std::uint64_t result = flipped(0, std::index_sequence_for<In...>{});
    std::uint64_t changes = 0;
    for (std::size_t which = 1; which < std::size_t{1} << count; ++which)
      if (possible(which)) changes |= flipped(which, std::index_sequence_for<In...>{}) ^ result;
    return changes;
  };
}

/// F moves bits of its first `count` operands, and fills up with zeros, as the others say: a shift, a
/// permutation. The undefined bits move with them.
template <std::size_t count, class... In, class F>
constexpr FlowFunction moves(F) {
  return [](std::span<const FlowOperand> in, std::size_t) {
    for (const FlowOperand& operand : in.subspan(count))
      if (operand.undefined != 0) return ~std::uint64_t{0};
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return static_cast<std::uint64_t>(F{}(static_cast<In>(I < count ? in[I].undefined : in[I].value)...));
    }(std::index_sequence_for<In...>{});
  };
}

/// The result has two halves of `bits` bits, each computed from the same half of all operands.
template <int bits>
constexpr FlowFunction halves() {
  return [](std::span<const FlowOperand> in, std::size_t) {
    constexpr std::uint64_t low = (std::uint64_t{1} << bits) - 1;
    std::uint64_t result = 0;
    for (const FlowOperand& operand : in) {
      const int half = operand.bits / 2;
      if ((operand.undefined & ((std::uint64_t{1} << half) - 1)) != 0) result |= low;
      if (operand.undefined >> half != 0) result |= low << bits;
    }
    return result;
  };
}

/// The result has two halves of `bits` bits: the upper one is computed from the first operand, the lower one
/// from the second.
template <int bits>
constexpr FlowFunction joined() {
  return [](std::span<const FlowOperand> in, std::size_t) {
    constexpr std::uint64_t low = (std::uint64_t{1} << bits) - 1;
    return (in[0].undefined != 0 ? low << bits : 0) | (in[1].undefined != 0 ? low : 0);
  };
}

/// For instructions with packed types: halves of f16x2 and f32x2, all of others.
inline FormFlow packed_flow(const Variant& variant) {
  const std::string_view type = variant.slot("type").value_or("");
  if (!type.ends_with("x2")) return {FlowRule::smear};
  return computed_by(type == "f32x2" ? halves<32>() : halves<16>());
}

}  // namespace ptxloom::exec
