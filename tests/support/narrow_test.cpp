// SPDX-License-Identifier: Apache-2.0
// The tests' own conversions against the host implementations in the CUDA headers, for every pattern, and
// against values written out from the formats' definitions.
#include "support/narrow.hpp"

#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#if __has_include(<cuda_fp8.h>) && __has_include(<cuda_fp4.h>)
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#define PTXLOOM_HAS_NARROW_HEADERS 1
#endif

#include "support/require.hpp"

namespace ptxloom::test::narrow_test {
namespace {

using narrow::Overflow;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

}  // namespace

TEST_CASE("narrow types: what their definitions give as examples", "[support]") {
  struct Example {
    Type type;
    std::uint64_t bits;
    double value;
  };
  const Example examples[] = {
      {e4m3, 0x7e, 448},
      {e4m3, 0x08, 0x1p-6},
      {e4m3, 0x01, 0x1p-9},
      {e4m3, 0x07, 0x1.cp-7},
      {e4m3, 0x80, -0.0},
      {e5m2, 0x7b, 57344},
      {e5m2, 0x7c, kInfinity},
      {e5m2, 0xfc, -kInfinity},
      {e5m2, 0x04, 0x1p-14},
      {e5m2, 0x01, 0x1p-16},
      {e3m2, 0x1f, 28},
      {e3m2, 0x04, 0.25},
      {e3m2, 0x01, 0.0625},
      {e2m3, 0x1f, 7.5},
      {e2m3, 0x08, 1},
      {e2m3, 0x01, 0.125},
      {e2m1, 0x7, 6},
      {e2m1, 0x1, 0.5},
      {e2m1, 0xf, -6},
      {ue8m0, 0x00, 0x1p-127},
      {ue8m0, 0x7f, 1},
      {ue8m0, 0xfe, 0x1p127},
      {ue4m3, 0x7e, 448},
      {ue4m3, 0x01, 0x1p-9},
      {ue5m3, 0xfe, 114688},
      {ue5m3, 0x01, 0x1p-17},
      {f16, 0x7bff, 65504},
      {f16, 0x0001, 0x1p-24},
      {f16, 0xfc00, -kInfinity},
      {bf16, 0x3f80, 1},
      {bf16, 0x0001, 0x1p-133},
      {bf16, 0x7f7f, 0x1.fep127},
      {tf32, 0x3f80'1fff, 1},
      {tf32, 0x3f80'2000, 1 + 0x1p-10},
      {tf32, 0xff80'0000, -kInfinity},
      {s8, 0x80, -128},
      {u8, 0x80, 128},
      {s4, 0xf, -1},
      {s32, 0xffff'fffe, -2},
      {b1, 1, 1},
      {f32, 0x4048'0000, 3.125},
  };
  for (const Example& one : examples) {
    CAPTURE(one.type.name, one.bits, one.value);
    CHECK(same(narrow::decode(one.type, one.bits), one.value));
    const std::uint64_t kept = one.type == tf32 ? ~std::uint64_t{0x1fff} : ~std::uint64_t{0};
    CHECK(narrow::encode(one.type, one.value) == (one.bits & kept));
  }
  for (const auto& [type, bits] : {std::pair{e4m3, 0x7f},
                                   {e4m3, 0xff},
                                   {e5m2, 0x7d},
                                   {ue8m0, 0xff},
                                   {ue4m3, 0x7f},
                                   {ue5m3, 0xff},
                                   {f16, 0x7c01},
                                   {bf16, 0xffff},
                                   {tf32, 0x7fc0'0000}})
    CHECK(std::isnan(narrow::decode(type, static_cast<std::uint64_t>(bits))));
}

TEST_CASE("narrow types: ties go to the even pattern, and what is out of range where it belongs",
          "[support]") {
  for (const auto& [value, bits] : {std::pair{1.0625, 0x38},
                                    {1.1875, 0x3a},
                                    {-1.0625, 0xb8},
                                    {0x1p-10, 0x00},
                                    {0x1.8p-9, 0x02},
                                    {464.0, 0x7e},
                                    {464.1, 0x7f},
                                    {-1e9, 0xff}})
    CHECK(narrow::encode(e4m3, value) == static_cast<std::uint64_t>(bits));
  CHECK(narrow::encode(e4m3, 1e9, Overflow::finite) == 0x7e);
  CHECK(narrow::encode(e5m2, 61440) == 0x7c);
  CHECK(narrow::encode(e5m2, 61439) == 0x7b);
  CHECK(narrow::encode(e5m2, -kInfinity, Overflow::finite) == 0xfb);
  CHECK(narrow::encode(f16, 65520) == 0x7c00);
  CHECK(narrow::encode(f16, 65519.9) == 0x7bff);
  CHECK(narrow::encode(e2m1, 1e9) == 0x7);
  CHECK(narrow::encode(ue8m0, 1e60) == 0xff);
  CHECK(narrow::encode(s8, 2.5) == 2);
  CHECK(narrow::encode(s8, -1e10) == 0x80);
  CHECK(narrow::encode(u8, -3) == 0);
  CHECK(narrow::encode(tf32, 1 + 0x1p-11) == 0x3f80'0000);
  CHECK(narrow::encode(tf32, 1 + 0x1.8p-10) == 0x3f80'4000);
  for (const auto& [type, nan] :
       {std::pair{e4m3, 0x7f}, {e5m2, 0x7f}, {e2m1, 0x7}, {f16, 0x7fff}, {ue8m0, 0xff}})
    CHECK(narrow::encode(type, std::nan("")) == static_cast<std::uint64_t>(nan));
}

TEST_CASE("narrow types: elements lie without gaps, lowest bit first", "[support]") {
  std::array<std::byte, 3> bytes{};
  for (std::size_t i = 0; i < 4; ++i) narrow::store(e2m3, bytes, i, 0x21 + i);
  CHECK(bytes == std::array{std::byte{0xa1}, std::byte{0x38}, std::byte{0x92}});
  for (std::size_t i = 0; i < 4; ++i) CHECK(narrow::load(e2m3, bytes, i) == 0x21 + i);
  narrow::store(e2m1, bytes, 1, 0x5);
  CHECK(bytes[0] == std::byte{0x51});
}

#ifdef PTXLOOM_HAS_NARROW_HEADERS
namespace {

double widened(__half_raw raw) { return static_cast<double>(__half2float(__half(raw))); }
double widened(__nv_bfloat16_raw raw) { return static_cast<double>(__bfloat162float(__nv_bfloat16(raw))); }

/// Numbers that decide rounding to a format: its values, the midpoints between them, and their neighbours.
std::vector<double> decisive(Type type) {
  std::vector<double> found{kInfinity, -kInfinity, 0, -0.0, 1e30, 0x1p-140};
  const std::uint64_t count = std::uint64_t{1} << type.bits;
  for (std::uint64_t bits = 0; bits + 1 < count; ++bits) {
    const double here = narrow::decode(type, bits), next = narrow::decode(type, bits + 1);
    const double middle = std::isfinite(next) ? here + (next - here) / 2 : here * (1 + 0x1p-4);
    for (const double x : {here, middle})
      for (const double y :
           {x, std::nextafter(float(x), 1e38F) * 1.0, std::nextafter(float(x), -1e38F) * 1.0})
        if (std::isfinite(y)) found.push_back(y);
  }
  return found;
}

template <typename Theirs>
void check_values(Type type, const Theirs& theirs) {
  const std::uint64_t count = std::uint64_t{1} << type.bits;
  std::uint64_t wrong = 0;
  for (std::uint64_t bits = 0; bits < count; ++bits)
    if (!same(narrow::decode(type, bits), theirs(bits))) {
      ++wrong;
      UNSCOPED_INFO(type.name << " pattern " << bits);
    }
  CHECK(wrong == 0);
}

template <typename Theirs>
void check_rounding(Type type, Overflow overflow, const Theirs& theirs) {
  std::uint64_t wrong = 0;
  for (const double value : decisive(type))
    if (narrow::encode(type, value, overflow) != static_cast<std::uint64_t>(theirs(value))) {
      if (++wrong < 4)
        UNSCOPED_INFO(type.name << " of " << value << " is " << narrow::encode(type, value, overflow));
    }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("narrow types: every pattern has the value that the CUDA headers give it", "[support]") {
  const auto fp8 = [](__nv_fp8_interpretation_t kind) {
    return [=](std::uint64_t bits) {
      return widened(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(bits), kind));
    };
  };
  const auto fp6 = [](__nv_fp6_interpretation_t kind) {
    return [=](std::uint64_t bits) {
      return widened(__nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(bits), kind));
    };
  };
  check_values(e4m3, fp8(__NV_E4M3));
  check_values(e5m2, fp8(__NV_E5M2));
  check_values(e3m2, fp6(__NV_E3M2));
  check_values(e2m3, fp6(__NV_E2M3));
  check_values(e2m1, [](std::uint64_t bits) {
    return widened(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(bits), __NV_E2M1));
  });
  check_values(ue8m0, [](std::uint64_t bits) {
    return widened(__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(bits)));
  });
  check_values(f16,
               [](std::uint64_t bits) { return widened(__half_raw{static_cast<unsigned short>(bits)}); });
  check_values(
      bf16, [](std::uint64_t bits) { return widened(__nv_bfloat16_raw{static_cast<unsigned short>(bits)}); });
}

TEST_CASE("narrow types: numbers are rounded to them as by the CUDA headers", "[support]") {
  for (const auto& [type, kind] : {std::pair{e4m3, __NV_E4M3}, {e5m2, __NV_E5M2}}) {
    check_rounding(type, Overflow::finite,
                   [k = kind](double x) { return __nv_cvt_double_to_fp8(x, __NV_SATFINITE, k); });
    check_rounding(type, Overflow::natural,
                   [k = kind](double x) { return __nv_cvt_double_to_fp8(x, __NV_NOSAT, k); });
  }
  for (const auto& [type, kind] : {std::pair{e3m2, __NV_E3M2}, {e2m3, __NV_E2M3}})
    check_rounding(type, Overflow::natural,
                   [k = kind](double x) { return __nv_cvt_double_to_fp6(x, k, cudaRoundNearest); });
  check_rounding(e2m1, Overflow::natural,
                 [](double x) { return __nv_cvt_double_to_fp4(x, __NV_E2M1, cudaRoundNearest); });
  check_rounding(f16, Overflow::natural,
                 [](double x) { return static_cast<__half_raw>(__double2half(x)).x; });
  check_rounding(bf16, Overflow::natural,
                 [](double x) { return static_cast<__nv_bfloat16_raw>(__double2bfloat16(x)).x; });
}
#else
TEST_CASE("narrow types: agree with the CUDA headers", "[support]") {
  skip_without("cuda-headers", "built without the CUDA headers of version 13");
}
#endif

}  // namespace ptxloom::test::narrow_test
