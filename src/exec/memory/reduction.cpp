// SPDX-License-Identifier: Apache-2.0
#include "exec/memory/reduction.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/numeric_arithmetic.hpp"
#include "base/numeric_format.hpp"

namespace ptxloom::exec {
namespace {

using Bits = std::uint64_t;

template <class T, class F>
constexpr Reduction::Combine of(F) {
  return
      [](Bits old, Bits value) { return static_cast<Bits>(F{}(static_cast<T>(old), static_cast<T>(value))); };
}

// Combines both elements of a packed value.
template <Reduction::Combine combine>
Bits each_half(Bits old, Bits value) {
  return combine(old & 0xffff, value & 0xffff) | combine(old >> 16 & 0xffff, value >> 16 & 0xffff) << 16;
}

template <const base::FloatFormat& format, bool ftz = false>
Bits add_float(Bits old, Bits value) {
  return base::add(format, old, value, {.ftz = ftz});
}

template <const base::FloatFormat& format>
bool is_nan(Bits bits) {
  return (bits & ~format.sign(true)) > format.infinity();
}

// The NaN that results from an f64 sum, as on an H200: in shared memory it is that of an addition with the
// memory's value as second operand; in global memory a NaN is kept as it is, even a signalling one, with the
// operand's NaN taking precedence over the memory's.
Bits add_f64_on_shared(Bits old, Bits value) { return base::add(base::kF64, value, old); }
Bits add_f64_on_global(Bits old, Bits value) {
  if (is_nan<base::kF64>(value)) return value;
  return is_nan<base::kF64>(old) ? old : base::add(base::kF64, old, value);
}

// The smaller or larger value; -0 is below +0, and a number wins over NaN.
template <const base::FloatFormat& format, bool is_min>
Bits choose_float(Bits old, Bits value) {
  const Bits sign = format.sign(true);
  const auto rank = [&](Bits bits) {
    const auto magnitude = static_cast<std::int64_t>(bits & ~sign);
    return (bits & sign) != 0 ? -magnitude - 1 : magnitude;
  };
  if (is_nan<format>(old)) return is_nan<format>(value) ? format.nan : value;
  if (is_nan<format>(value)) return old;
  return (rank(value) < rank(old)) == is_min ? value : old;
}

constexpr auto kAdd = [](auto old, auto value) { return old + value; };
constexpr auto kMin = [](auto old, auto value) { return std::min(old, value); };
constexpr auto kMax = [](auto old, auto value) { return std::max(old, value); };
constexpr auto kAnd = [](auto old, auto value) { return old & value; };
constexpr auto kOr = [](auto old, auto value) { return old | value; };
constexpr auto kXor = [](auto old, auto value) { return old ^ value; };
constexpr auto kInc = [](auto old, auto value) { return old >= value ? 0 : old + 1; };
constexpr auto kDec = [](auto old, auto value) { return old == 0 || old > value ? value : old - 1; };

using U32 = std::uint32_t;
using S32 = std::int32_t;
using U64 = std::uint64_t;
using S64 = std::int64_t;

constexpr Reduction kReductions[] = {
    {"and", "b32", 4, of<U32>(kAnd)},
    {"and", "b64", 8, of<U64>(kAnd)},
    {"or", "b32", 4, of<U32>(kOr)},
    {"or", "b64", 8, of<U64>(kOr)},
    {"xor", "b32", 4, of<U32>(kXor)},
    {"xor", "b64", 8, of<U64>(kXor)},
    {"inc", "u32", 4, of<U32>(kInc)},
    {"dec", "u32", 4, of<U32>(kDec)},
    {"add", "u32", 4, of<U32>(kAdd)},
    {"add", "s32", 4, of<U32>(kAdd)},
    {"add", "u64", 8, of<U64>(kAdd)},
    {"add", "s64", 8, of<U64>(kAdd)},
    {"min", "u32", 4, of<U32>(kMin)},
    {"min", "s32", 4, of<S32>(kMin)},
    {"min", "u64", 8, of<U64>(kMin)},
    {"min", "s64", 8, of<S64>(kMin)},
    {"max", "u32", 4, of<U32>(kMax)},
    {"max", "s32", 4, of<S32>(kMax)},
    {"max", "u64", 8, of<U64>(kMax)},
    {"max", "s64", 8, of<S64>(kMax)},
    {"add", "f32", 4, add_float<base::kF32>, add_float<base::kF32, true>, add_float<base::kF32>},
    {"add", "f32.noftz", 4, add_float<base::kF32>},
    {"add", "f32.ftz", 4, add_float<base::kF32, true>},
    {"add", "f64", 8, add_f64_on_shared, add_f64_on_global},
    {"add", "f16", 2, add_float<base::kF16>},
    {"add", "bf16", 2, add_float<base::kBf16>},
    {"add", "f16x2", 4, each_half<add_float<base::kF16>>},
    {"add", "bf16x2", 4, each_half<add_float<base::kBf16>>},
    {"min", "f16", 2, choose_float<base::kF16, true>},
    {"min", "bf16", 2, choose_float<base::kBf16, true>},
    {"min", "f16x2", 4, each_half<choose_float<base::kF16, true>>},
    {"min", "bf16x2", 4, each_half<choose_float<base::kBf16, true>>},
    {"max", "f16", 2, choose_float<base::kF16, false>},
    {"max", "bf16", 2, choose_float<base::kBf16, false>},
    {"max", "f16x2", 4, each_half<choose_float<base::kF16, false>>},
    {"max", "bf16x2", 4, each_half<choose_float<base::kBf16, false>>},
};

}  // namespace

void Reduction::apply(std::byte* to, const std::byte* from, std::size_t count) const {
  const Combine f = in_copy != nullptr ? in_copy : on(true);
  for (std::size_t i = 0; i < count; i += bytes) {
    Bits old = 0, value = 0;
    std::memcpy(&old, to + i, bytes);
    std::memcpy(&value, from + i, bytes);
    value = f(old, value);
    std::memcpy(to + i, &value, bytes);
  }
}

const Reduction* find_reduction(std::string_view op, std::string_view type, bool noftz) {
  if (noftz && type == "f32") type = "f32.noftz";
  const auto found =
      std::ranges::find_if(kReductions, [&](const Reduction& r) { return r.op == op && r.type == type; });
  return found == std::end(kReductions) ? nullptr : found;
}

}  // namespace ptxloom::exec
