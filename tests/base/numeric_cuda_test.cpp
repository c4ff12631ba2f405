// SPDX-License-Identifier: Apache-2.0
// Conversions against the host implementations in the CUDA headers, written by other people for other ends.
#include <catch2/catch_test_macros.hpp>

#include "support/require.hpp"

#if __has_include(<cuda_fp8.h>) && __has_include(<cuda_fp4.h>)

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

namespace ptxloom::test {
namespace {

float f32_of(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
double f64_of(std::uint64_t bits) { return std::bit_cast<double>(bits); }
std::uint64_t bits_of(__half value) { return static_cast<__half_raw>(value).x; }
std::uint64_t bits_of(__nv_bfloat16 value) { return static_cast<__nv_bfloat16_raw>(value).x; }

std::vector<std::uint64_t> patterns(int bits) {
  std::vector<std::uint64_t> all(1ull << bits);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

auto converter(Type to, Type from, Rounding rounding, Saturation saturation = Saturation::none) {
  return [=](std::uint64_t bits) {
    return convert(to, from, bits, {.rounding = rounding, .saturation = saturation});
  };
}

struct Fp8 {
  Type type;
  __nv_fp8_interpretation_t kind;
};
constexpr Fp8 kFp8[] = {{e4m3, __NV_E4M3}, {e5m2, __NV_E5M2}};

}  // namespace

TEST_CASE("every narrow pattern widens as the CUDA headers widen it") {
  for (const Fp8& fp8 : kFp8) {
    INFO(fp8.type.name);
    require_same(patterns(8), converter(f16, fp8.type, Rounding::rn), [&](std::uint64_t bits) {
      return __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), fp8.kind).x;
    });
  }
  const auto fp6_to_half = [](__nv_fp6_interpretation_t kind) {
    return [=](std::uint64_t bits) {
      return __nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(bits), kind).x;
    };
  };
  require_same(patterns(6), converter(f16, e2m3, Rounding::rn), fp6_to_half(__NV_E2M3));
  require_same(patterns(6), converter(f16, e3m2, Rounding::rn), fp6_to_half(__NV_E3M2));
  require_same(patterns(4), converter(f16, e2m1, Rounding::rn), [](std::uint64_t bits) {
    return __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(bits), __NV_E2M1).x;
  });
  require_same(patterns(8), converter(bf16, ue8m0, Rounding::rn), [](std::uint64_t bits) {
    const std::uint64_t wide = __nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(bits)).x;
    return bits == 0xff ? 0x7fff : wide;  // cvt has one NaN; the header picks another
  });
  const auto value_bits = [](Type type) {
    return [=](std::uint64_t bits) { return std::bit_cast<std::uint64_t>(decode(type, bits)); };
  };
  const auto without_nan = [](std::vector<std::uint64_t> bits, std::uint64_t infinity) {
    std::erase_if(bits, [=](std::uint64_t value) { return (value & 0x7fff) > infinity; });
    return bits;
  };
  require_same(without_nan(patterns(16), 0x7c00), value_bits(f16), [](std::uint64_t bits) {
    const __half_raw raw{static_cast<unsigned short>(bits)};
    return std::bit_cast<std::uint64_t>(static_cast<double>(__half2float(__half(raw))));
  });
  require_same(without_nan(patterns(16), 0x7f80), value_bits(bf16), [](std::uint64_t bits) {
    const __nv_bfloat16_raw raw{static_cast<unsigned short>(bits)};
    return std::bit_cast<std::uint64_t>(static_cast<double>(__bfloat162float(__nv_bfloat16(raw))));
  });
}

TEST_CASE("f32 narrows to f16 and bf16 in every mode as the CUDA headers do it") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto cases = rounding_cases(32, seed);
  const auto half = [](auto function) {
    return [=](std::uint64_t bits) { return bits_of(function(f32_of(bits))); };
  };
  require_same(cases, converter(f16, f32, Rounding::rn), half([](float x) { return __float2half_rn(x); }));
  require_same(cases, converter(f16, f32, Rounding::rz), half([](float x) { return __float2half_rz(x); }));
  require_same(cases, converter(f16, f32, Rounding::rm), half([](float x) { return __float2half_rd(x); }));
  require_same(cases, converter(f16, f32, Rounding::rp), half([](float x) { return __float2half_ru(x); }));
  require_same(cases, converter(bf16, f32, Rounding::rn),
               half([](float x) { return __float2bfloat16_rn(x); }));
  require_same(cases, converter(bf16, f32, Rounding::rz),
               half([](float x) { return __float2bfloat16_rz(x); }));
}

TEST_CASE("f32 narrows to bf16 downward and upward as the CUDA headers do it") {
  // The header's host code truncates the mantissa of values beyond the largest bf16 and steps once: the same.
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto cases = rounding_cases(32, seed);
  require_same(cases, converter(bf16, f32, Rounding::rm),
               [](std::uint64_t bits) { return bits_of(__float2bfloat16_rd(f32_of(bits))); });
  require_same(cases, converter(bf16, f32, Rounding::rp),
               [](std::uint64_t bits) { return bits_of(__float2bfloat16_ru(f32_of(bits))); });
}

TEST_CASE("f64 narrows to f16 and bf16 with one rounding, as the CUDA headers do it") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  auto cases = rounding_cases(64, seed);
  std::erase_if(cases,
                [](std::uint64_t bits) { return f64_of(bits) != f64_of(bits); });  // NaN is the header's own
  require_same(cases, converter(f16, f64, Rounding::rn),
               [](std::uint64_t bits) { return bits_of(__double2half(f64_of(bits))); });
  require_same(cases, converter(bf16, f64, Rounding::rn),
               [](std::uint64_t bits) { return bits_of(__double2bfloat16(f64_of(bits))); });
}

TEST_CASE("f32, f16 and bf16 narrow to fp8, fp6 and fp4 as the CUDA headers do it") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto wide = rounding_cases(32, seed);
  const auto halves = rounding_cases(16, seed);
  for (const Fp8& fp8 : kFp8) {
    for (const bool finite : {false, true}) {
      INFO(fp8.type.name << " satfinite " << finite);
      const auto theirs = finite ? __NV_SATFINITE : __NV_NOSAT;
      const auto ours = finite ? Saturation::satfinite : Saturation::none;
      require_same(wide, converter(fp8.type, f32, Rounding::rn, ours),
                   [&](std::uint64_t bits) { return __nv_cvt_float_to_fp8(f32_of(bits), theirs, fp8.kind); });
      require_same(halves, converter(fp8.type, f16, Rounding::rn, ours), [&](std::uint64_t bits) {
        return __nv_cvt_halfraw_to_fp8({static_cast<unsigned short>(bits)}, theirs, fp8.kind);
      });
      require_same(halves, converter(fp8.type, bf16, Rounding::rn, ours), [&](std::uint64_t bits) {
        return __nv_cvt_bfloat16raw_to_fp8({static_cast<unsigned short>(bits)}, theirs, fp8.kind);
      });
    }
  }
  for (const auto& [ours, theirs] :
       {std::pair(Rounding::rn, cudaRoundNearest), {Rounding::rz, cudaRoundZero}}) {
    INFO("rounding " << static_cast<int>(ours));
    require_same(wide, converter(e2m1, f32, ours), [rounding = theirs](std::uint64_t bits) {
      return __nv_cvt_float_to_fp4(f32_of(bits), __NV_E2M1, rounding);
    });
    require_same(wide, converter(e2m3, f32, ours), [rounding = theirs](std::uint64_t bits) {
      return __nv_cvt_float_to_fp6(f32_of(bits), __NV_E2M3, rounding);
    });
    require_same(wide, converter(e3m2, f32, ours), [rounding = theirs](std::uint64_t bits) {
      return __nv_cvt_float_to_fp6(f32_of(bits), __NV_E3M2, rounding);
    });
  }
}

TEST_CASE("f64 narrows to fp8, fp6 and fp4 as the CUDA headers do it") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  auto cases = rounding_cases(64, seed);
  const auto ours = [](Type type, Saturation saturation) {
    return [=](std::uint64_t bits) { return encode(type, f64_of(bits), Rounding::rn, saturation); };
  };
  require_same(cases, ours(e2m1, Saturation::satfinite), [](std::uint64_t bits) {
    return __nv_cvt_double_to_fp4(f64_of(bits), __NV_E2M1, cudaRoundNearest);
  });
  require_same(cases, ours(e2m3, Saturation::none), [](std::uint64_t bits) {
    return __nv_cvt_double_to_fp6(f64_of(bits), __NV_E2M3, cudaRoundNearest);
  });
  require_same(cases, ours(e3m2, Saturation::none), [](std::uint64_t bits) {
    return __nv_cvt_double_to_fp6(f64_of(bits), __NV_E3M2, cudaRoundNearest);
  });
  // From f64 the fp8 header keeps signs and payloads of NaN, which cvt does not.
  std::erase_if(cases, [](std::uint64_t bits) { return (bits & ~0ull >> 1) > 0x7ff0'0000'0000'0000; });
  for (const Fp8& fp8 : kFp8) {
    require_same(cases, ours(fp8.type, Saturation::none), [&](std::uint64_t bits) {
      return __nv_cvt_double_to_fp8(f64_of(bits), __NV_NOSAT, fp8.kind);
    });
    require_same(cases, ours(fp8.type, Saturation::satfinite), [&](std::uint64_t bits) {
      return __nv_cvt_double_to_fp8(f64_of(bits), __NV_SATFINITE, fp8.kind);
    });
  }
}

TEST_CASE("f32 becomes a ue8m0 scale as the CUDA headers do it") {
  const std::uint64_t seed = std::random_device{}();
  INFO("seed " << seed);
  const auto cases = rounding_cases(32, seed);
  for (const bool finite : {false, true}) {
    const auto theirs = finite ? __NV_SATFINITE : __NV_NOSAT;
    const auto ours = finite ? Saturation::satfinite : Saturation::none;
    INFO("satfinite " << finite);
    require_same(cases, converter(ue8m0, f32, Rounding::rz, ours), [=](std::uint64_t bits) {
      return __nv_cvt_float_to_e8m0(f32_of(bits), theirs, cudaRoundZero);
    });
    require_same(cases, converter(ue8m0, f32, Rounding::rp, ours), [=](std::uint64_t bits) {
      return __nv_cvt_float_to_e8m0(f32_of(bits), theirs, cudaRoundPosInf);
    });
  }
}

}  // namespace ptxloom::test

#else

TEST_CASE("conversions agree with the CUDA headers") {
  ptxloom::test::skip_without("cuda-headers", "built without the CUDA headers of version 13");
}

#endif
