// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>

#include "exec/arithmetic/bits.hpp"
#include "exec/arithmetic/bits_flow.hpp"
#include "exec/arithmetic/elementwise.hpp"
#include "exec/machine/decoder.hpp"

// Logic, shifts, bit fields and byte permutation (PTX ISA 9.7.1 and 9.7.8): how they are decoded.
namespace ptxloom::exec {
namespace {

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

void decode_shift(Decoder& decoder) {
  const bool left = decoder.word("op") == "shl";
  decoder.emit(with_integer(decoder.word("type"), [&]<class T>() {
    return left ? lanewise<T, Count>([](T a, Count n) { return shift_left(a, n); })
                : lanewise<T, Count>([](T a, Count n) { return shift_right(a, n); });
  }));
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

void decode_bfe(Decoder& decoder) {
  using N = std::uint32_t;
  decoder.emit(with_integer(decoder.word("type"), []<class T>() {
    return lanewise<T, N, N>([](T a, N start, N length) { return extract(a, start, length); });
  }));
}

void decode_bfi(Decoder& decoder) {
  using N = std::uint32_t;
  decoder.emit(with_integer(decoder.word("type"), []<class T>() {
    return lanewise<T, T, N, N>([](T a, T b, N start, N length) { return insert(a, b, start, length); });
  }));
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

constexpr std::array kForms{
    Semantics{"logic", decode_logic, {.of_variant = logic_flow}},
    Semantics{"not", decode_not, {.of_variant = not_flow}},
    Semantics{"shift", decode_shift, {.of_variant = shift_flow}},
    Semantics{"shf", decode_funnel, {.of_variant = funnel_flow}},
    Semantics{"count", decode_count, {.of_variant = count_flow}},
    Semantics{"bfind", decode_bfind, {FlowRule::smear}},
    Semantics{"bfe", decode_bfe, {.of_variant = extract_flow}},
    Semantics{"bfi", decode_bfi, {.of_variant = insert_flow}},
    Semantics{"lop3", decode_lop3, computed_by(table_flow)},
    Semantics{"lop3.bool", decode_lop3_bool, computed_by(table_and_predicate_flow)},
    Semantics{"prmt", decode_permute, {.of_variant = permute_flow}},
    Semantics{"szext", decode_szext, {.of_variant = extend_flow}},
    Semantics{"bmsk", decode_bmsk, {FlowRule::smear}},
    Semantics{"fns", decode_fns, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> bit_semantics() { return kForms; }

}  // namespace ptxloom::exec
