// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>

#include "exec/machine/bit_flow.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"

// Integer arithmetic (PTX ISA 9.7.1 and 9.7.2). Sums and products use unsigned integers, which wrap.
namespace ptxloom::exec {
namespace {

__extension__ using int128 = __int128;
__extension__ using uint128 = unsigned __int128;

template <class T>
struct Doubled;
// clang-format off
template <> struct Doubled<std::uint16_t> { using type = std::uint32_t; };
template <> struct Doubled<std::int16_t> { using type = std::int32_t; };
template <> struct Doubled<std::uint32_t> { using type = std::uint64_t; };
template <> struct Doubled<std::int32_t> { using type = std::int64_t; };
template <> struct Doubled<std::uint64_t> { using type = uint128; };
template <> struct Doubled<std::int64_t> { using type = int128; };
// clang-format on

template <class T>
T add(T a, T b) {
  return static_cast<T>(static_cast<Storage<T>>(a) + static_cast<Storage<T>>(b));
}
template <class T>
T sub(T a, T b) {
  return static_cast<T>(static_cast<Storage<T>>(a) - static_cast<Storage<T>>(b));
}
template <class T>
T mul_lo(T a, T b) {
  return static_cast<T>(static_cast<Storage<T>>(a) * static_cast<Storage<T>>(b));
}
template <class T>
auto mul_wide(T a, T b) {
  using Wide = typename Doubled<T>::type;
  return static_cast<Wide>(static_cast<Wide>(a) * static_cast<Wide>(b));
}
template <class T>
T mul_hi(T a, T b) {
  return static_cast<T>(mul_wide(a, b) >> (8 * sizeof(T)));
}
template <class T>
T clamp_to(std::int64_t value) {
  return static_cast<T>(
      std::clamp<std::int64_t>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

// f on each element of packed values.
template <class T, class F>
Semantic on_elements(F) {
  return lanewise<std::uint32_t, std::uint32_t>([](std::uint32_t a, std::uint32_t b) {
    std::uint32_t result = 0;
    for (unsigned shift = 0; shift < 32; shift += 8 * sizeof(T)) {
      const T element = F{}(static_cast<T>(a >> shift), static_cast<T>(b >> shift));
      result |= std::uint32_t{static_cast<std::make_unsigned_t<T>>(element)} << shift;
    }
    return result;
  });
}

// f(a, b) for integers of the slot `type`, including packed ones. f is generic in the type.
template <class F>
Semantic binary(const Decoder& decoder, F f) {
  const std::string_view type = decoder.word("type");
  if (type == "u16x2") return on_elements<std::uint16_t>(f);
  if (type == "s16x2") return on_elements<std::int16_t>(f);
  if (type == "u8x4") return on_elements<std::uint8_t>(f);
  if (type == "s8x4") return on_elements<std::int8_t>(f);
  return with_integer(type, [&]<class T>() { return lanewise<T, T>(f); });
}

void decode_add(Decoder& decoder) {
  decoder.emit(decoder.word("op") == "add" ? binary(decoder, [](auto a, auto b) { return add(a, b); })
                                           : binary(decoder, [](auto a, auto b) { return sub(a, b); }));
}

// Of at most 32 bits.
template <class T>
T add_saturated(T a, T b, bool subtract) {
  if constexpr (sizeof(T) > 4) return a;
  const auto other = static_cast<std::int64_t>(b);
  return clamp_to<T>(static_cast<std::int64_t>(a) + (subtract ? -other : other));
}

void decode_add_saturated(Decoder& decoder) {
  const bool is_add = decoder.word("op").starts_with("add");
  decoder.emit(is_add ? binary(decoder, [](auto a, auto b) { return add_saturated(a, b, false); })
                      : binary(decoder, [](auto a, auto b) { return add_saturated(a, b, true); }));
}

// The carry flag of a lane is its bit in Warp::carry: the carry out of the adder. A difference is computed as
// a + ~b + 1 or, with carry in, as a + ~b + carry. So after a subtraction a borrow is a clear flag, and a
// subtraction that follows an addition reads a carry as "no borrow" (as on an H200).
struct Carry {
  bool subtract = false, in = false, out = false;
};

/// Adds b(lane) to a(lane) into the first operand; both return an unsigned T.
template <class T, class A, class B>
void add_with_carry(Warp& warp, const Operation& op, Mask mask, A a, B b) {
  const auto& how = op.plan_as<Carry>();
  const Mask flags = warp.carry(), in = how.in ? flags : how.subtract ? kAllLanes : 0;
  const T inverted = how.subtract ? static_cast<T>(~T{0}) : T{0};
  const Lanes<T> out(warp.registers(), op.slots[0]);
  Mask carried = 0;
  for_lanes(mask, [&](int lane) {
    const T first = a(lane), sum = static_cast<T>(first + (b(lane) ^ inverted)),
            result = static_cast<T>(sum + (in >> lane & 1));
    carried |= Mask{sum < first || result < sum} << lane;
    out.set(lane, result);
  });
  if (how.out) warp.carry() = (flags & ~mask) | (carried & mask);
}

// add.cc, addc, sub.cc, subc.
template <class T>
void run_add_carry(Warp& warp, const Operation& op, Mask mask) {
  const Lanes<T> a(warp.registers(), op.slots[1]), b(warp.registers(), op.slots[2]);
  add_with_carry<T>(warp, op, mask, [&](int lane) { return a[lane]; }, [&](int lane) { return b[lane]; });
}

void decode_add_carry(Decoder& decoder) {
  const std::string_view op = decoder.word("op");
  const Carry carry{.subtract = op.starts_with("sub"), .in = op.ends_with('c'), .out = decoder.has("cc")};
  const bool wide = decoder.word("type").ends_with("64");
  decoder.emit(
      wide ? base::fastest<&run_add_carry<std::uint64_t>>() : base::fastest<&run_add_carry<std::uint32_t>>(),
      std::make_shared<Carry>(carry));
}

// mad.cc, madc: the carry is that of the addition.
template <class T, bool high>
void run_mad_carry(Warp& warp, const Operation& op, Mask mask) {
  using U = std::make_unsigned_t<T>;
  const Lanes<T> a(warp.registers(), op.slots[1]), b(warp.registers(), op.slots[2]);
  const Lanes<U> c(warp.registers(), op.slots[3]);
  add_with_carry<U>(
      warp, op, mask,
      [&](int lane) { return static_cast<U>(high ? mul_hi(a[lane], b[lane]) : mul_lo(a[lane], b[lane])); },
      [&](int lane) { return c[lane]; });
}

void decode_mad_carry(Decoder& decoder) {
  const Carry carry{.in = decoder.word("op") == "madc", .out = decoder.has("cc")};
  const bool high = decoder.word("part") == "hi";
  decoder.emit(with_integer(decoder.word("type"),
                            [&]<class T>() -> Semantic {
                              return high ? base::fastest<&run_mad_carry<T, true>>()
                                          : base::fastest<&run_mad_carry<T, false>>();
                            }),
               std::make_shared<Carry>(carry));
}

void decode_mul(Decoder& decoder) {
  const std::string_view part = decoder.word("part");
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() -> Semantic {
    if (part == "lo") return lanewise<T, T>([](T a, T b) { return mul_lo(a, b); });
    if (part == "hi") return lanewise<T, T>([](T a, T b) { return mul_hi(a, b); });
    if constexpr (sizeof(T) < 8) return lanewise<T, T>([](T a, T b) { return mul_wide(a, b); });
    return nullptr;
  }));
}

void decode_mad(Decoder& decoder) {
  const std::string_view part = decoder.word("part");
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() -> Semantic {
    if (part == "lo") return lanewise<T, T, T>([](T a, T b, T c) { return add(mul_lo(a, b), c); });
    if (part == "hi") return lanewise<T, T, T>([](T a, T b, T c) { return add(mul_hi(a, b), c); });
    if constexpr (sizeof(T) < 8) {
      using Wide = typename Doubled<T>::type;
      return lanewise<T, T, Wide>([](T a, T b, Wide c) { return add(mul_wide(a, b), c); });
    }
    return nullptr;
  }));
}

void decode_mad_hi_saturated(Decoder& decoder) {
  using T = std::int32_t;
  decoder.emit(lanewise<T, T, T>([](T a, T b, T c) { return clamp_to<T>(std::int64_t{mul_hi(a, b)} + c); }));
}

void decode_minmax(Decoder& decoder) {
  const bool is_min = decoder.word("op") == "min";
  if (decoder.has("relu")) {
    decoder.emit(
        is_min ? binary(decoder, [](auto a, auto b) { return std::max<decltype(a)>(std::min(a, b), 0); })
               : binary(decoder, [](auto a, auto b) { return std::max<decltype(a)>(std::max(a, b), 0); }));
    return;
  }
  decoder.emit(is_min ? binary(decoder, [](auto a, auto b) { return std::min(a, b); })
                      : binary(decoder, [](auto a, auto b) { return std::max(a, b); }));
}

void decode_sign(Decoder& decoder) {
  const bool is_abs = decoder.word("op") == "abs";
  if (decoder.word("type") == "s8x4") {
    return decoder.emit(lanewise<std::uint32_t>([](std::uint32_t bytes) {
      std::uint32_t result = 0;
      for (unsigned shift = 0; shift < 32; shift += 8) result |= ((0 - (bytes >> shift)) & 0xff) << shift;
      return result;
    }));
  }
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() {
    return is_abs ? lanewise<T>([](T a) { return a < 0 ? sub(T{0}, a) : a; })
                  : lanewise<T>([](T a) { return sub(T{0}, a); });
  }));
}

// Divides as f64, which vectorises: a non-integral 32-bit quotient is farther from an integer than rounding
// can move it. Adding 1.5 * 2^52 puts the integer, of either sign, into the low bits.
template <class T>
T truncated_quotient(T a, T b) {
  const auto wide = [](T value) {
    if constexpr (std::is_signed_v<T> || sizeof(T) < 4)
      return static_cast<double>(static_cast<std::int32_t>(value));
    const auto word = static_cast<std::uint32_t>(value);  // processors convert signed ones
    return static_cast<double>(static_cast<std::int32_t>(word ^ 0x8000'0000)) + 0x1p31;
  };
  const double quotient = std::trunc(wide(a) / (b == 0 ? 1.0 : wide(b)));
  return static_cast<T>(std::bit_cast<std::uint64_t>(quotient + 0x1.8p52));
}

// "Division by zero yields an unspecified, machine-specific value": all ones here. A quotient that does not
// fit wraps.
template <class T>
T divide(T a, T b) {
  if constexpr (sizeof(T) <= 4) {
    const T quotient = truncated_quotient(a, b);
    return b == 0 ? static_cast<T>(~T{0}) : quotient;
  } else {
    if (b == 0) return ~T{0};
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return sub(T{0}, a);
    }
    return a / b;
  }
}
template <class T>
T remainder(T a, T b) {
  return b == 0 ? static_cast<T>(~T{0}) : sub(a, mul_lo(b, divide(a, b)));
}

void decode_div(Decoder& decoder) {
  decoder.emit(decoder.word("op") == "div" ? binary(decoder, [](auto a, auto b) { return divide(a, b); })
                                           : binary(decoder, [](auto a, auto b) { return remainder(a, b); }));
}

// 24-bit factors in the low bits of their registers; `high`: bits 16 to 47 of the product.
template <class T, bool high>
T mul24(T a, T b) {
  const auto factor = [](T value) {
    return static_cast<std::int64_t>(static_cast<T>(static_cast<T>(std::uint32_t(value) << 8) >> 8));
  };
  return static_cast<T>(factor(a) * factor(b) >> (high ? 16 : 0));
}

void decode_mul24(Decoder& decoder) {
  const bool high = decoder.word("part") == "hi";
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() -> Semantic {
    if constexpr (sizeof(T) != 4) return nullptr;
    return high ? lanewise<T, T>([](T a, T b) { return mul24<T, true>(a, b); })
                : lanewise<T, T>([](T a, T b) { return mul24<T, false>(a, b); });
  }));
}

void decode_mad24(Decoder& decoder) {
  const bool high = decoder.word("part") == "hi";
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() -> Semantic {
    if constexpr (sizeof(T) != 4) return nullptr;
    return high ? lanewise<T, T, T>([](T a, T b, T c) { return add(mul24<T, true>(a, b), c); })
                : lanewise<T, T, T>([](T a, T b, T c) { return add(mul24<T, false>(a, b), c); });
  }));
}

void decode_mad24_saturated(Decoder& decoder) {
  using T = std::int32_t;
  decoder.emit(
      lanewise<T, T, T>([](T a, T b, T c) { return clamp_to<T>(std::int64_t{mul24<T, true>(a, b)} + c); }));
}

void decode_absolute_difference(Decoder& decoder) {
  decoder.emit(with_integer(decoder.word("type"), []<class T>() {
    return lanewise<T, T, T>([](T a, T b, T c) { return add(c, a < b ? sub(b, a) : sub(a, b)); });
  }));
}

// Two products of 16-bit values with the bytes starting at `byte`, plus the addend.
template <class A, class B, int byte>
Semantic dot2() {
  using T = std::uint32_t;
  return lanewise<T, T, T>([](T a, T b, T c) {
    for (int i = 0; i < 2; ++i) {
      const int product = static_cast<A>(a >> (16 * i)) * static_cast<B>(b >> (8 * (byte + i)));
      c += static_cast<T>(product);
    }
    return c;
  });
}

template <class A, class B>
Semantic dot2(bool high) {
  return high ? dot2<A, B, 2>() : dot2<A, B, 0>();
}

void decode_dot2(Decoder& decoder) {
  using std::int16_t, std::uint16_t, std::int8_t, std::uint8_t;
  const bool signed_b = decoder.word("b") == "s32", high = decoder.word("bytes") == "hi";
  if (decoder.word("a") == "s32")
    return decoder.emit(signed_b ? dot2<int16_t, int8_t>(high) : dot2<int16_t, uint8_t>(high));
  decoder.emit(signed_b ? dot2<uint16_t, int8_t>(high) : dot2<uint16_t, uint8_t>(high));
}

// Four products of bytes, plus the addend.
template <class A, class B>
Semantic dot4() {
  using T = std::uint32_t;
  return lanewise<T, T, T>([](T a, T b, T c) {
    for (int byte = 0; byte < 4; ++byte) {
      const int product = static_cast<A>(a >> (8 * byte)) * static_cast<B>(b >> (8 * byte));
      c += static_cast<T>(product);
    }
    return c;
  });
}

void decode_dot4(Decoder& decoder) {
  const bool signed_a = decoder.word("a") == "s32", signed_b = decoder.word("b") == "s32";
  if (signed_a)
    return decoder.emit(signed_b ? dot4<std::int8_t, std::int8_t>() : dot4<std::int8_t, std::uint8_t>());
  decoder.emit(signed_b ? dot4<std::uint8_t, std::int8_t>() : dot4<std::uint8_t, std::uint8_t>());
}

// A product without carries, plus C without carries.
template <bool high>
Semantic carryless() {
  using T = std::uint64_t;
  return lanewise<T, T, T>([](T a, T b, T c) {
    uint128 product = 0;
    for (unsigned i = 0; i < 64; ++i) product ^= (a >> i & 1) != 0 ? uint128{b} << i : uint128{0};
    return static_cast<T>(high ? product >> 64 : product) ^ c;
  });
}

void decode_carryless(Decoder& decoder) {
  decoder.emit(decoder.word("part") == "hi" ? carryless<true>() : carryless<false>());
}

constexpr std::array kForms{
    Semantics{"add.int", decode_add, {.of_variant = packed_flow}},
    Semantics{"add.sat", decode_add_saturated, {FlowRule::smear}},
    Semantics{"add.carry", decode_add_carry, {FlowRule::smear}},
    Semantics{"mul.int", decode_mul, {FlowRule::smear}},
    Semantics{"mad.int", decode_mad, {FlowRule::smear}},
    Semantics{"clmad", decode_carryless, {FlowRule::smear}},
    Semantics{"mad.sat", decode_mad_hi_saturated, {FlowRule::smear}},
    Semantics{"mad.carry", decode_mad_carry, {FlowRule::smear}},
    Semantics{"div.int", decode_div, {.rule = FlowRule::smear, .divides = true}},
    Semantics{"min.int", decode_minmax, {.of_variant = packed_flow}},
    Semantics{"abs.int", decode_sign, {FlowRule::smear}},
    Semantics{"mul24", decode_mul24, {FlowRule::smear}},
    Semantics{"mad24", decode_mad24, {FlowRule::smear}},
    Semantics{"mad24.sat", decode_mad24_saturated, {FlowRule::smear}},
    Semantics{"sad", decode_absolute_difference, {FlowRule::smear}},
    Semantics{"dp4a", decode_dot4, {FlowRule::smear}},
    Semantics{"dp2a", decode_dot2, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> integer_semantics() { return kForms; }

}  // namespace ptxloom::exec
