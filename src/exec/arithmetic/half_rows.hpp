// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "exec/arithmetic/half.hpp"
#include "exec/machine/lanewise.hpp"
#include "ptxloom/numeric.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#include <immintrin.h>
#define PTXLOOM_F16C gnu::target("avx2,fma,f16c")
#endif

// The f16 values of a register as a row of f32: 32 of them or, for packed pairs, 64 with the low half of each
// lane first. An f16 instruction is then a loop over rows between two conversions, which use the processor's
// instructions if it has them (F16C).
namespace ptxloom::exec {

template <bool pair>
struct alignas(64) FloatRow : std::array<float, pair ? 2 * kLanes : kLanes> {};

/// NaN stays NaN, possibly with another payload.
void widen_halves(const std::byte* registers, std::span<float> row);
/// For all roundings except nearest with ties away; NaN becomes PTX's NaN.
void narrow_halves(std::span<const float> row, Rounding rounding, std::byte* registers);

/// Rounds a row into the first operand, for the lanes of the mask.
template <bool pair>
void store_halves(Warp& warp, const Operation& op, Mask mask, const FloatRow<pair>& row, Rounding rounding) {
  std::byte* const out = warp.registers() + op.slots[0].offset;
  if (mask == kAllLanes) return narrow_halves(row, rounding, out);
  std::array<std::uint32_t, kLanes> results;
  narrow_halves(row, rounding, reinterpret_cast<std::byte*>(results.data()));
  const Lanes<std::uint32_t> lanes(warp.registers(), op.slots[0]);
  for_lanes(mask, [&](int lane) { lanes.set(lane, results[static_cast<std::size_t>(lane)]); });
}

// Computes all lanes, even those outside the mask: that is faster than selecting some.
template <bool pair, class F, std::size_t... I>
void run_half_rows(Warp& warp, const Operation& op, Mask mask) {
  std::array<FloatRow<pair>, sizeof...(I)> in;
  (widen_halves(warp.registers() + op.slots[I + 1].offset, in[I]), ...);
  FloatRow<pair> out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = F{}(in[I][i]...);
  store_halves<pair>(warp, op, mask, out, Rounding::rn);
}

#ifdef PTXLOOM_F16C

bool has_f16c();

/// Eight f16 of a row, starting at element i.
template <bool pair>
[[PTXLOOM_F16C, gnu::always_inline]] inline __m256 widen_eight(const std::byte* registers, std::size_t i) {
  if constexpr (pair)
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(registers + 2 * i)));
  const __m256i words = _mm256_and_si256(
      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(registers + 4 * i)), _mm256_set1_epi32(0xffff));
  return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
template <bool pair, int direction>
[[PTXLOOM_F16C, gnu::always_inline]] inline void narrow_eight(__m256 row, std::byte* registers,
                                                              std::size_t i) {
  const __m128i nan = _mm_set1_epi16(Half::kNan), infinity = _mm_set1_epi16(Half::kInfinity);
  const __m128i rounded = _mm256_cvtps_ph(row, direction);
  const __m128i halves =
      _mm_blendv_epi8(rounded, nan, _mm_cmpgt_epi16(_mm_and_si128(rounded, nan), infinity));
  if constexpr (pair) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(registers + 2 * i), halves);
  } else {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(registers + 4 * i), _mm256_cvtepu16_epi32(halves));
  }
}

// Eight at a time, which stay in vector registers: whole rows in memory take twice as long.
template <bool pair, class F, std::size_t... I>
[[PTXLOOM_F16C, gnu::flatten]] void run_all_halves(Warp& warp, const Operation& op, Mask mask) {
  if (mask != kAllLanes) return run_half_rows<pair, F, I...>(warp, op, mask);
  std::byte* const out = warp.registers() + op.slots[0].offset;
  const std::array in{static_cast<const std::byte*>(warp.registers() + op.slots[I + 1].offset)...};
  for (std::size_t i = 0; i < FloatRow<pair>{}.size(); i += 8) {
    alignas(32) float values[sizeof...(I)][8], results[8];
    (_mm256_store_ps(values[I], widen_eight<pair>(in[I], i)), ...);
    for (int k = 0; k < 8; ++k) results[k] = F{}(values[I][k]...);
    narrow_eight<pair, _MM_FROUND_TO_NEAREST_INT>(_mm256_load_ps(results), out, i);
  }
}

template <bool pair, class F, std::size_t... I>
Semantic fastest_halves() {
  return has_f16c() ? &run_all_halves<pair, F, I...> : base::fastest<&run_half_rows<pair, F, I...>>();
}

#else

template <bool pair, class F, std::size_t... I>
Semantic fastest_halves() {
  return base::fastest<&run_half_rows<pair, F, I...>>();
}

#endif

/// The Semantic that sets the first operand to f(the others), a float function of floats, rounded to nearest
/// f16.
template <std::size_t arity, class F>
Semantic half_rows(bool pair, F) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return pair ? fastest_halves<true, F, I...>() : fastest_halves<false, F, I...>();
  }(std::make_index_sequence<arity>());
}

}  // namespace ptxloom::exec
