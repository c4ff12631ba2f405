// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>

#include "exec/arithmetic/elementwise.hpp"
#include "exec/machine/bit_flow.hpp"
#include "exec/machine/decoder.hpp"

// Logic, shifts, bit fields and byte permutation (PTX ISA 9.7.1 and 9.7.8).
namespace ptxloom::exec {
namespace {

template <class T>
inline constexpr std::uint32_t kBits = 8 * sizeof(T);

// Applies f to predicates, or to integers as bits.
template <class F>
Semantic logic(std::string_view type, F f) {
  if (type == "pred") return lanewise<bool, bool>(f);
  return with_integer(type, [&]<class T>() { return lanewise<T, T>(f); });
}

void decode_logic(Decoder& decoder) {
  const std::string_view op = decoder.word("op"), t = decoder.word("type");
  if (op == "and") {
    decoder.emit(logic(t, [](auto a, auto b) { return static_cast<decltype(a)>(a & b); }));
  } else if (op == "or") {
    decoder.emit(logic(t, [](auto a, auto b) { return static_cast<decltype(a)>(a | b); }));
  } else {
    decoder.emit(logic(t, [](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); }));
  }
}

void decode_not(Decoder& decoder) {
  if (decoder.word("type") == "pred") return decoder.emit(lanewise<bool>([](bool a) { return !a; }));
  const bool logical = decoder.word("op") == "cnot";
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() {
    return logical ? lanewise<T>([](T a) { return static_cast<T>(a == 0); })
                   : lanewise<T>([](T a) { return static_cast<T>(~a); });
  }));
}

using Count = std::uint32_t;

// Shifts by more than the width give zero, or the sign.
template <class T>
T shift_left(T a, Count n) {
  return n >= kBits<T> ? T{0} : static_cast<T>(static_cast<Storage<T>>(a) << n);
}
template <class T>
T shift_right(T a, Count n) {
  if (n < kBits<T>) return static_cast<T>(a >> n);
  return static_cast<T>(a < 0 ? ~T{0} : T{0});
}

void decode_shift(Decoder& decoder) {
  const bool left = decoder.word("op") == "shl";
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() {
    return left ? lanewise<T, Count>([](T a, Count n) { return shift_left(a, n); })
                : lanewise<T, Count>([](T a, Count n) { return shift_right(a, n); });
  }));
}

// The 64 bits b:a shifted; .l gives the high word, .r the low one.
template <bool left, bool clamp>
std::uint32_t funnel(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  const std::uint32_t n = clamp ? std::min(c, 32u) : c & 31;
  const std::uint64_t both = std::uint64_t{b} << 32 | a;
  return static_cast<std::uint32_t>(left ? both << n >> 32 : both >> n);
}

void decode_funnel(Decoder& decoder) {
  using T = std::uint32_t;
  const bool left = decoder.word("direction") == "l", clamp = decoder.word("wrap") == "clamp";
  if (left) {
    decoder.emit(clamp ? lanewise<T, T, T>([](T a, T b, T c) { return funnel<true, true>(a, b, c); })
                       : lanewise<T, T, T>([](T a, T b, T c) { return funnel<true, false>(a, b, c); }));
  } else {
    decoder.emit(clamp ? lanewise<T, T, T>([](T a, T b, T c) { return funnel<false, true>(a, b, c); })
                       : lanewise<T, T, T>([](T a, T b, T c) { return funnel<false, false>(a, b, c); }));
  }
}

// Swaps adjacent bits, then adjacent pairs of bits, and so on.
template <class T>
T reverse(T value) {
  for (std::uint32_t width = 1; width < kBits<T>; width *= 2) {
    const T low = static_cast<T>(~T{0}) / static_cast<T>((T{1} << width) + 1);  // every other field
    value = static_cast<T>((value & low) << width | (value >> width & low));
  }
  return value;
}

void decode_count(Decoder& decoder) {
  const std::string_view op = decoder.word("op");
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() -> Semantic {
    if constexpr (std::is_unsigned_v<T>) {
      if (op == "popc") return lanewise<T>([](T a) { return static_cast<std::uint32_t>(std::popcount(a)); });
      if (op == "clz")
        return lanewise<T>([](T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); });
      return lanewise<T>([](T a) { return reverse(a); });
    }
    return nullptr;
  }));
}

// The highest bit that differs from the sign; all ones if there is none.
template <class T>
std::uint32_t find_highest(T a) {
  const auto bits = static_cast<std::make_unsigned_t<T>>(a < 0 ? ~a : a);
  return bits == 0 ? ~0u : kBits<T> - 1 - static_cast<std::uint32_t>(std::countl_zero(bits));
}

void decode_bfind(Decoder& decoder) {
  const bool shift_amount = decoder.has("shiftamt");
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() {
    return shift_amount ? lanewise<T>([](T a) {
      const std::uint32_t found = find_highest(a);
      return found == ~0u ? found : kBits<T> - 1 - found;
    })
                        : lanewise<T>([](T a) { return find_highest(a); });
  }));
}

// `length` bits from `start`; beyond the top they are copies of the sign (PTX ISA 9.7.1.20).
template <class T>
T extract(T a, std::uint32_t start, std::uint32_t length) {
  using U = std::make_unsigned_t<T>;
  start &= 255;
  length &= 255;
  const auto bit = [&](std::uint32_t i) { return static_cast<U>(static_cast<U>(a) >> i & 1); };
  const bool negative =
      std::is_signed_v<T> && length != 0 && bit(std::min(start + length - 1, kBits<T> - 1)) != 0;
  U field = start >= kBits<T> ? U{0} : static_cast<U>(static_cast<U>(a) >> start);
  const std::uint32_t valid = start >= kBits<T> ? 0 : std::min(length, kBits<T> - start);
  const U mask = valid >= kBits<T> ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << valid) - 1);
  field &= mask;
  return static_cast<T>(negative ? field | static_cast<U>(~mask) : field);
}

void decode_bfe(Decoder& decoder) {
  using N = std::uint32_t;
  decoder.emit(with_integer(decoder.word("type"), []<class T>() {
    return lanewise<T, N, N>([](T a, N start, N length) { return extract(a, start, length); });
  }));
}

template <class T>
T insert(T a, T b, std::uint32_t start, std::uint32_t length) {
  start &= 255;
  length &= 255;
  if (start >= kBits<T> || length == 0) return b;
  const T ones = length >= kBits<T> ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << length) - 1);
  const T mask = static_cast<T>(ones << start);
  return static_cast<T>((b & ~mask) | (static_cast<T>(a << start) & mask));
}

void decode_bfi(Decoder& decoder) {
  using N = std::uint32_t;
  decoder.emit(with_integer(decoder.word("type"), []<class T>() {
    return lanewise<T, T, N, N>([](T a, T b, N start, N length) { return insert(a, b, start, length); });
  }));
}

// The low n bits of a, sign-extended if T is signed.
template <class T, bool clamp>
T extend(T a, std::uint32_t n) {
  if (clamp && n >= 32) return a;
  n &= 31;
  if (n == 0) return 0;
  return static_cast<T>(static_cast<T>(static_cast<std::uint32_t>(a) << (32 - n)) >> (32 - n));
}

void decode_szext(Decoder& decoder) {
  const bool clamp = decoder.word("wrap") == "clamp";
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() -> Semantic {
    if constexpr (sizeof(T) != 4) return nullptr;
    return clamp ? lanewise<T, std::uint32_t>([](T a, std::uint32_t n) { return extend<T, true>(a, n); })
                 : lanewise<T, std::uint32_t>([](T a, std::uint32_t n) { return extend<T, false>(a, n); });
  }));
}

// `width` ones starting at bit `start`, clipped at the top.
std::uint32_t mask_of(std::uint32_t start, std::uint32_t width) {
  return static_cast<std::uint32_t>(((std::uint64_t{1} << width) - 1) << start);
}

void decode_bmsk(Decoder& decoder) {
  using T = std::uint32_t;
  decoder.emit(decoder.word("wrap") == "clamp"
                   ? lanewise<T, T>([](T a, T b) { return a >= 32 ? 0 : mask_of(a, std::min(b, 32u)); })
                   : lanewise<T, T>([](T a, T b) { return mask_of(a & 31, b & 31); }));
}

// The position of the n-th set bit from `base`, upwards or, for negative n, downwards (PTX ISA 9.7.1.17); for
// n = 0 of the one at `base`. All ones if there is none. The n whose magnitude does not fit in 32 bits gives
// 0 on an H200.
std::uint32_t find_nth(std::uint32_t mask, std::uint32_t base, std::int32_t n) {
  if (n == std::numeric_limits<std::int32_t>::min()) return 0;
  if (base >= 32) return ~0u;
  const int step = n < 0 ? -1 : 1, end = n == 0 ? static_cast<int>(base) + 1 : n < 0 ? -1 : 32;
  std::int64_t left = std::max<std::int64_t>(std::abs(std::int64_t{n}), 1);
  for (int i = static_cast<int>(base); i != end; i += step) {
    if ((mask >> i & 1) != 0 && --left == 0) return static_cast<std::uint32_t>(i);
  }
  return ~0u;
}

void decode_fns(Decoder& decoder) {
  using T = std::uint32_t;
  decoder.emit(
      lanewise<T, T, std::int32_t>([](T mask, T base, std::int32_t n) { return find_nth(mask, base, n); }));
}

// Bit i of the result is the table's bit at index (a b c), formed from bit i of each input (PTX ISA 9.7.8.6).
std::uint32_t look_up(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
  std::uint32_t result = 0;
  for (std::uint32_t row = 0; row < 8; ++row) {
    const std::uint32_t wanted = 0 - (table >> row & 1);
    result |= wanted & ((row & 4) != 0 ? a : ~a) & ((row & 2) != 0 ? b : ~b) & ((row & 1) != 0 ? c : ~c);
  }
  return result;
}

void decode_lop3(Decoder& decoder) {
  using T = std::uint32_t;
  decoder.emit(lanewise<T, T, T, T>([](T a, T b, T c, T table) { return look_up(a, b, c, table); }));
}

// Operands: D, P, A, B, C, table, Q. P = (D != 0) or/and Q.
template <bool is_or>
void lop3_with_predicate(Warp& warp, const Operation& op, Mask mask) {
  const auto in = [&](std::size_t i) { return Lanes<std::uint32_t>(warp.registers(), op.slots[i]); };
  const auto out = in(0), a = in(2), b = in(3), c = in(4), table = in(5);
  const Mask q = Lanes<bool>(warp.registers(), op.slots[6]).mask();
  Mask p = 0;
  for_lanes(mask, [&](int lane) {
    const std::uint32_t result = look_up(a[lane], b[lane], c[lane], table[lane]);
    out.set(lane, result);
    p |= Mask{result != 0} << lane;
  });
  Lanes<bool>(warp.registers(), op.slots[1]).set(mask, is_or ? p | q : p & q);
}

void decode_lop3_bool(Decoder& decoder) {
  decoder.emit(decoder.word("bool") == "or" ? base::fastest<&lop3_with_predicate<true>>()
                                            : base::fastest<&lop3_with_predicate<false>>());
}

// Four selectors of four bits: three choose one of the eight bytes b:a, the top one copies the sign of that
// byte.
std::uint32_t permute(std::uint32_t a, std::uint32_t b, std::uint32_t selectors) {
  std::uint32_t result = 0;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t selector = selectors >> (4 * i);
    const std::uint32_t word = (selector & 4) != 0 ? b : a, byte = word >> (8 * (selector & 3)) & 0xff;
    const std::uint32_t sign = (byte & 0x80) != 0 ? 0xff : 0;
    result |= ((selector & 8) != 0 ? sign : byte) << (8 * i);
  }
  return result;
}

// The named modes: the bytes they take for each value of the two low bits of C (PTX ISA 9.7.9.7).
struct PermuteMode {
  std::string_view name;
  std::array<std::uint16_t, 4> selectors;
};
constexpr std::array kPermuteModes{
    PermuteMode{"f4e", {0x3210, 0x4321, 0x5432, 0x6543}},
    PermuteMode{"b4e", {0x5670, 0x6701, 0x7012, 0x0123}},
    PermuteMode{"rc8", {0x0000, 0x1111, 0x2222, 0x3333}},
    PermuteMode{"ecl", {0x3210, 0x3211, 0x3222, 0x3333}},
    PermuteMode{"ecr", {0x0000, 0x1110, 0x2210, 0x3210}},
    PermuteMode{"rc16", {0x1010, 0x3232, 0x1010, 0x3232}},
};

/// The four selectors of a mode.
struct Selectors {
  std::uint64_t of_mode = 0;
};

void decode_permute(Decoder& decoder) {
  using T = std::uint32_t;
  if (!decoder.has("mode"))
    return decoder.emit(lanewise<T, T, T>([](T a, T b, T c) { return permute(a, b, c & 0xffff); }));
  const auto mode = std::ranges::find(kPermuteModes, decoder.word("mode"), &PermuteMode::name);
  if (mode == kPermuteModes.end()) return decoder.emit(nullptr);
  Selectors selectors;
  for (std::size_t i = 0; i < 4; ++i) selectors.of_mode |= std::uint64_t{mode->selectors[i]} << (16 * i);
  decoder.emit(planned<Selectors, T, T, T>([](const Selectors& s, T a, T b, T c) {
                 return permute(a, b, static_cast<T>(s.of_mode >> (16 * (c & 3)) & 0xffff));
               }),
               std::make_shared<Selectors>(selectors));
}

// --- data flow
// -----------------------------------------------------------------------------------------------

using Bits = std::uint64_t;

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

constexpr FlowFunction kTableFlow =
    bitwise<3, Bits, Bits, Bits, Bits>([](Bits a, Bits b, Bits c, Bits table) {
      const auto low = [](Bits bits) { return static_cast<std::uint32_t>(bits); };
      return look_up(low(a), low(b), low(c), low(table));
    });

// D, then P. The last operand is Q.
std::uint64_t table_and_predicate_flow(std::span<const FlowOperand> in, std::size_t result) {
  const std::uint64_t d = kTableFlow(in, 0);
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

constexpr std::array kForms{
    Semantics{"logic", decode_logic, {.of_variant = logic_flow}},
    Semantics{"not", decode_not, {.of_variant = not_flow}},
    Semantics{"shift", decode_shift, {.of_variant = shift_flow}},
    Semantics{"shf", decode_funnel, {.of_variant = funnel_flow}},
    Semantics{"count", decode_count, {.of_variant = count_flow}},
    Semantics{"bfind", decode_bfind, {FlowRule::smear}},
    Semantics{"bfe", decode_bfe, {.of_variant = extract_flow}},
    Semantics{"bfi", decode_bfi, {.of_variant = insert_flow}},
    Semantics{"lop3", decode_lop3, computed_by(kTableFlow)},
    Semantics{"lop3.bool", decode_lop3_bool, computed_by(table_and_predicate_flow)},
    Semantics{"prmt", decode_permute, {.of_variant = permute_flow}},
    Semantics{"szext", decode_szext, {.of_variant = extend_flow}},
    Semantics{"bmsk", decode_bmsk, {FlowRule::smear}},
    Semantics{"fns", decode_fns, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> bit_semantics() { return kForms; }

}  // namespace ptxloom::exec
