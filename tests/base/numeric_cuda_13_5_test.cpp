// SPDX-License-Identifier: Apache-2.0
// Conversions that the host code of the CUDA headers has since 13.5, against these.
#include <catch2/catch_test_macros.hpp>

#include "support/require.hpp"

#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#endif

#if defined(CUDART_VERSION) && CUDART_VERSION >= 13050

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <bit>
#include <random>
#include <vector>

#include "base/numeric_cases.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::test::newest_headers {
namespace {

using Storage = __nv_fp8_storage_t;

std::vector<std::uint64_t> codes(std::uint64_t count) {
  std::vector<std::uint64_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

auto widened(Type to, Type from) {
  return [=](std::uint64_t bits) { return convert(to, from, bits, {}); };
}

float f32_of(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }

}  // namespace

TEST_CASE("every code of ue5m3 widens as the CUDA headers widen it") {
  require_same(codes(256), widened(f16, ue5m3),
               [](std::uint64_t bits) { return __nv_cvt_ue5m3_to_halfraw(static_cast<Storage>(bits)).x; });
  require_same(codes(256), widened(bf16, ue5m3),
               [](std::uint64_t bits) { return __nv_cvt_ue5m3_to_bf16raw(static_cast<Storage>(bits)).x; });
}

TEST_CASE("every narrow code becomes bf16 as the CUDA headers convert it") {
  require_same(codes(256), widened(bf16, e4m3), [](std::uint64_t bits) {
    return __nv_cvt_fp8_to_bf16raw(static_cast<Storage>(bits), __NV_E4M3).x;
  });
  require_same(codes(256), widened(bf16, e5m2), [](std::uint64_t bits) {
    return __nv_cvt_fp8_to_bf16raw(static_cast<Storage>(bits), __NV_E5M2).x;
  });
  require_same(codes(64), widened(bf16, e2m3), [](std::uint64_t bits) {
    return __nv_cvt_fp6_to_bf16raw(static_cast<__nv_fp6_storage_t>(bits), __NV_E2M3).x;
  });
  require_same(codes(64), widened(bf16, e3m2), [](std::uint64_t bits) {
    return __nv_cvt_fp6_to_bf16raw(static_cast<__nv_fp6_storage_t>(bits), __NV_E3M2).x;
  });
  require_same(codes(16), widened(bf16, e2m1), [](std::uint64_t bits) {
    return __nv_cvt_fp4_to_bf16raw(static_cast<__nv_fp4_storage_t>(bits), __NV_E2M1).x;
  });
}

TEST_CASE("f32, f16 and bf16 become ue5m3 as the CUDA headers convert them") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto wide = rounding_cases(32, seed), halves = rounding_cases(16, seed);
  constexpr std::pair<Rounding, cudaRoundMode> kRoundings[] = {{Rounding::rn, cudaRoundNearest},
                                                               {Rounding::rz, cudaRoundZero},
                                                               {Rounding::rm, cudaRoundMinInf},
                                                               {Rounding::rp, cudaRoundPosInf}};
  for (const auto& [rounding, theirs] : kRoundings) {
    for (const bool finite : {false, true}) {
      INFO("rounding " << static_cast<int>(rounding) << ", satfinite " << finite);
      const __nv_saturation_t limit = finite ? __NV_SATFINITE : __NV_NOSAT;
      const Modifiers options{.rounding = rounding,
                              .saturation = finite ? Saturation::satfinite : Saturation::none};
      const auto ours = [&](Type from) {
        return [&options, from](std::uint64_t bits) { return convert(ue5m3, from, bits, options); };
      };
      const cudaRoundMode mode = theirs;
      require_same(wide, ours(f32),
                   [=](std::uint64_t bits) { return __nv_cvt_float_to_ue5m3(f32_of(bits), limit, mode); });
      require_same(halves, ours(f16), [=](std::uint64_t bits) {
        return __nv_cvt_halfraw_to_ue5m3({static_cast<unsigned short>(bits)}, limit, mode);
      });
      require_same(halves, ours(bf16), [=](std::uint64_t bits) {
        return __nv_cvt_bfloat16raw_to_ue5m3({static_cast<unsigned short>(bits)}, limit, mode);
      });
    }
  }
}

}  // namespace ptxloom::test::newest_headers

#else

TEST_CASE("conversions agree with the CUDA headers of 13.5") {
  ptxloom::test::skip_without("cuda-headers-13.5", "built with CUDA headers older than 13.5");
}

#endif
