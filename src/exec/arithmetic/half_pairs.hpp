// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "exec/arithmetic/lanewise.hpp"

#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
#include <immintrin.h>
#define PTXLOOM_HALF_PAIRS [[gnu::target("avx2,fma,f16c"), gnu::always_inline]] static inline
#endif

// The 64 f16 that a register of pairs holds, all at once, where the processor converts f16 itself (F16C).
// Compilers do not find these instructions in a loop. Elsewhere, and for some lanes only, pairs go lane by
// lane.
namespace ptxloom::exec {

#ifdef PTXLOOM_HALF_PAIRS

struct AddPairs {
  PTXLOOM_HALF_PAIRS __m256 of(__m256 a, __m256 b, __m256i&) { return _mm256_add_ps(a, b); }
};
struct SubPairs {
  PTXLOOM_HALF_PAIRS __m256 of(__m256 a, __m256 b, __m256i&) { return _mm256_sub_ps(a, b); }
};
struct MulPairs {
  PTXLOOM_HALF_PAIRS __m256 of(__m256 a, __m256 b, __m256i&) { return _mm256_mul_ps(a, b); }
};
/// Rounded to f32 first, which does harm if that is a tie between two f16: of normal ones it is in doubt
/// then, of others always.
struct FmaPairs {
  PTXLOOM_HALF_PAIRS __m256 of(__m256 a, __m256 b, __m256 c, __m256i& doubtful) {
    const __m256 result = _mm256_fmadd_ps(a, b, c);
    const __m256i bits = _mm256_castps_si256(result);
    const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fff'ffff));
    const __m256i tie =
        _mm256_cmpeq_epi32(_mm256_and_si256(bits, _mm256_set1_epi32(0x1fff)), _mm256_set1_epi32(0x1000));
    const __m256i small = _mm256_cmpgt_epi32(_mm256_set1_epi32(113 << 23), magnitude);
    const __m256i zero = _mm256_cmpeq_epi32(magnitude, _mm256_setzero_si256());
    doubtful = _mm256_or_si256(doubtful, _mm256_or_si256(tie, _mm256_andnot_si256(zero, small)));
    return result;
  }
};

/// Eight f16, and their result in the low half of a vector.
template <class Op, class... Rows>
[[gnu::target("avx2,fma,f16c"), gnu::always_inline]] inline __m128i eight_halves(__m256i& doubtful,
                                                                                 Rows... rows) {
  const __m256 result =
      Op::of(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(rows)))..., doubtful);
  return _mm256_cvtps_ph(result, _MM_FROUND_TO_NEAREST_INT);
}

/// False where a result is in doubt.
template <class Op, class... Rows>
[[gnu::target("avx2,fma,f16c")]] bool all_halves(std::uint32_t* out, Rows... rows) {
  __m256i doubtful = _mm256_setzero_si256();
  for (int i = 0; i < kLanes; i += 8) {
    const __m128i low = eight_halves<Op>(doubtful, (rows + i)...),
                  high = eight_halves<Op>(doubtful, (rows + i + 4)...);
    const __m256i both = _mm256_set_m128i(high, low), nan = _mm256_set1_epi16(0x7fff);
    const __m256i is_nan = _mm256_cmpgt_epi16(_mm256_and_si256(both, nan), _mm256_set1_epi16(0x7c00));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm256_blendv_epi8(both, nan, is_nan));
  }
  return _mm256_testz_si256(doubtful, doubtful) != 0;
}

template <class Op, class F, class... In>
void run_half_pairs(Warp& warp, const Operation& op, Mask mask) {
  const bool whole = mask == kAllLanes && [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto row = [&](std::size_t i) {
      return reinterpret_cast<std::uint32_t*>(warp.registers() + op.slots[i].offset);
    };
    std::array<std::uint32_t, kLanes> results;
    if (!all_halves<Op>(results.data(), static_cast<const std::uint32_t*>(row(I + 1))...)) return false;
    std::copy(results.begin(), results.end(), row(0));
    return true;
  }(std::index_sequence_for<In...>{});
  if (!whole) run_lanewise<F, In...>(warp, op, mask);
}

#undef PTXLOOM_HALF_PAIRS

/// `lanewise<In...>(f)` of pairs of f16, whose halves Op gives too.
template <class Op, class... In, class F>
Semantic half_pairs(F f) {
  const bool converts =
      __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  return converts ? &run_half_pairs<Op, F, In...> : lanewise<In...>(f);
}

#else

struct AddPairs {};
struct SubPairs {};
struct MulPairs {};
struct FmaPairs {};

template <class Op, class... In, class F>
Semantic half_pairs(F f) {
  return lanewise<In...>(f);
}

#endif

}  // namespace ptxloom::exec
