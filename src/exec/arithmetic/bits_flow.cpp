// SPDX-License-Identifier: Apache-2.0
#include "exec/arithmetic/bits_flow.hpp"

#include "exec/arithmetic/bits.hpp"
#include "exec/arithmetic/elementwise.hpp"
#include "exec/machine/bit_flow.hpp"

namespace ptxloom::exec {

namespace {
using Bits = std::uint64_t;
}

FormFlow logic_flow(const Variant& variant) {
  const std::string_view op = variant.slot("op").value_or("");
  if (op == "and") return computed_by(bitwise<2, Bits, Bits>([](Bits a, Bits b) { return a & b; }));
  if (op == "or") return computed_by(bitwise<2, Bits, Bits>([](Bits a, Bits b) { return a | b; }));
  return computed_by(bitwise<2, Bits, Bits>([](Bits a, Bits b) { return a ^ b; }));
}

FormFlow not_flow(const Variant& variant) {
  return {variant.slot("op") == "cnot" ? FlowRule::smear : FlowRule::pack};
}

FormFlow shift_flow(const Variant& variant) {
  const bool left = variant.slot("op") == "shl";
  return computed_by(with_integer(variant.slot("type").value_or(""), [&]<class T>() {
    return left ? moves<1, T, Count>([](T a, Count n) { return shift_left(a, n); })
                : moves<1, T, Count>([](T a, Count n) { return shift_right(a, n); });
  }));
}

FormFlow funnel_flow(const Variant& variant) {
  using T = std::uint32_t;
  const bool left = variant.slot("direction") == "l", clamp = variant.slot("wrap") == "clamp";
  if (left && clamp)
    return computed_by(moves<2, T, T, T>([](T a, T b, T c) { return funnel<true, true>(a, b, c); }));
  if (left) return computed_by(moves<2, T, T, T>([](T a, T b, T c) { return funnel<true, false>(a, b, c); }));
  if (clamp)
    return computed_by(moves<2, T, T, T>([](T a, T b, T c) { return funnel<false, true>(a, b, c); }));
  return computed_by(moves<2, T, T, T>([](T a, T b, T c) { return funnel<false, false>(a, b, c); }));
}

FormFlow count_flow(const Variant& variant) {
  if (variant.slot("op") != "brev") return {FlowRule::smear};
  return computed_by(with_integer(variant.slot("type").value_or(""), []<class T>() -> FlowFunction {
    if constexpr (std::is_unsigned_v<T>) return moves<1, T>([](T a) { return reverse(a); });
    return nullptr;
  }));
}

FormFlow extract_flow(const Variant& variant) {
  return computed_by(with_integer(variant.slot("type").value_or(""), []<class T>() {
    return moves<1, T, Count, Count>(
        [](T a, Count start, Count length) { return extract(a, start, length); });
  }));
}

FormFlow insert_flow(const Variant& variant) {
  return computed_by(with_integer(variant.slot("type").value_or(""), []<class T>() {
    return moves<2, T, T, Count, Count>(
        [](T a, T b, Count start, Count length) { return insert(a, b, start, length); });
  }));
}

FormFlow extend_flow(const Variant& variant) {
  const bool clamp = variant.slot("wrap") == "clamp";
  return computed_by(with_integer(variant.slot("type").value_or(""), [&]<class T>() -> FlowFunction {
    if constexpr (sizeof(T) != 4) return nullptr;
    return clamp ? moves<1, T, Count>([](T a, Count n) { return extend<T, true>(a, n); })
                 : moves<1, T, Count>([](T a, Count n) { return extend<T, false>(a, n); });
  }));
}

std::uint64_t table_flow(std::span<const FlowOperand> in, std::size_t result) {
  constexpr FlowFunction flow = bitwise<3, Bits, Bits, Bits, Bits>([](Bits a, Bits b, Bits c, Bits table) {
    const auto low = [](Bits bits) { return static_cast<std::uint32_t>(bits); };
    return look_up(low(a), low(b), low(c), low(table));
  });
  return flow(in, result);
}

// D, then P. The last operand is Q.
std::uint64_t table_and_predicate_flow(std::span<const FlowOperand> in, std::size_t result) {
  const std::uint64_t d = table_flow(in, 0);
  return result == 0 ? d : std::uint64_t{d != 0 || in.back().undefined != 0};
}

FormFlow permute_flow(const Variant& variant) {
  using T = std::uint32_t;
  const auto mode = variant.slot("mode");
  if (!mode) return computed_by(moves<2, T, T, T>([](T a, T b, T c) { return permute(a, b, c & 0xffff); }));
  FlowFunction function = nullptr;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    ((kPermuteModes[I].name == * mode ? function = moves<2, T, T, T>([](T a, T b, T c) {
                                          return permute(a, b, kPermuteModes[I].selectors[c & 3]);
                                        })
                                      : nullptr),
     ...);
  }(std::make_index_sequence<kPermuteModes.size()>{});
  return computed_by(function);
}

}  // namespace ptxloom::exec
