// SPDX-License-Identifier: Apache-2.0
// cvt between narrow formats as whole instructions, against the host functions of the CUDA headers: all
// inputs of 16 bits and less, a stride over those of 32.
#include "exec/harness.hpp"
#include "support/narrow.hpp"
#include "support/require.hpp"

#if __has_include(<cuda_fp8.h>) && __has_include(<cuda_fp4.h>)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>

#include <bit>
#include <cmath>
#include <functional>

namespace ptxloom::exec::test::convert_narrow_test {
namespace {

using U16 = std::uint16_t;
using U32 = std::uint32_t;

struct Narrow {
  std::string name;
  int stride;  // bits from one element of a pair to the next
  U32 (*of_float)(float);
  U32 (*of_half)(__half_raw);
  U32 (*of_brain)(__nv_bfloat16_raw);
  U16 (*to_half)(U32);
};

const Narrow kNarrow[] = {
    {"e4m3", 8, [](float x) { return U32{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3)}; },
     [](__half_raw x) { return U32{__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, __NV_E4M3)}; },
     [](__nv_bfloat16_raw x) { return U32{__nv_cvt_bfloat16raw_to_fp8(x, __NV_SATFINITE, __NV_E4M3)}; },
     [](U32 x) { return __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), __NV_E4M3).x; }},
    {"e5m2", 8, [](float x) { return U32{__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2)}; },
     [](__half_raw x) { return U32{__nv_cvt_halfraw_to_fp8(x, __NV_SATFINITE, __NV_E5M2)}; },
     [](__nv_bfloat16_raw x) { return U32{__nv_cvt_bfloat16raw_to_fp8(x, __NV_SATFINITE, __NV_E5M2)}; },
     [](U32 x) { return __nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(x), __NV_E5M2).x; }},
    {"e2m3", 8, [](float x) { return U32{__nv_cvt_float_to_fp6(x, __NV_E2M3, cudaRoundNearest)}; },
     [](__half_raw x) { return U32{__nv_cvt_halfraw_to_fp6(x, __NV_E2M3, cudaRoundNearest)}; },
     [](__nv_bfloat16_raw x) { return U32{__nv_cvt_bfloat16raw_to_fp6(x, __NV_E2M3, cudaRoundNearest)}; },
     [](U32 x) { return __nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(x), __NV_E2M3).x; }},
    {"e3m2", 8, [](float x) { return U32{__nv_cvt_float_to_fp6(x, __NV_E3M2, cudaRoundNearest)}; },
     [](__half_raw x) { return U32{__nv_cvt_halfraw_to_fp6(x, __NV_E3M2, cudaRoundNearest)}; },
     [](__nv_bfloat16_raw x) { return U32{__nv_cvt_bfloat16raw_to_fp6(x, __NV_E3M2, cudaRoundNearest)}; },
     [](U32 x) { return __nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(x), __NV_E3M2).x; }},
    {"e2m1", 4, [](float x) { return U32{__nv_cvt_float_to_fp4(x, __NV_E2M1, cudaRoundNearest)}; },
     [](__half_raw x) { return U32{__nv_cvt_halfraw_to_fp4(x, __NV_E2M1, cudaRoundNearest)}; },
     [](__nv_bfloat16_raw x) { return U32{__nv_cvt_bfloat16raw_to_fp4(x, __NV_E2M1, cudaRoundNearest)}; },
     [](U32 x) { return __nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(x), __NV_E2M1).x; }},
};

// In every register, upper and lower element differ.
constexpr U32 kOther = 0x9e37'79b9;
std::vector<U32> all_16() {
  std::vector<U32> values(1 << 16);
  for (U32 i = 0; i < values.size(); ++i) values[i] = i | i * 40503 << 16;
  return values;
}
std::vector<U32> strided(Random& random) {
  std::vector<U32> values(1 << 18);
  const U32 start = static_cast<U32>(random.bits());
  for (U32 i = 0; i < values.size(); ++i) values[i] = start + i * 16'369;
  // Near every f16 and bf16, the ties among them.
  for (U32 i = 0; i < (1 << 16); ++i) values[i] = (i << 16) + random.below(5) - 2 + (random.below(2) << 15);
  for (U32 i = 0; i < (1 << 16); ++i)
    values[(1 << 16) + i] = (i << 13 | (i << 16 & 0x8000'0000)) + 0x3000'0000 + random.below(5) - 2;
  return values;
}
float as_float(U32 bits) { return std::bit_cast<float>(bits); }

// .relu: negative values become +0, NaN stays what it is.
U32 relu(U32 bits, int width) { return (bits >> (width - 1) & 1) != 0 ? 0 : bits; }
bool negative_number(float x) { return std::signbit(x) && x == x; }

template <class In, class F>
void compare(const std::string& statements, const std::vector<In>& in, F reference,
             const std::string& target = "sm_100a") {
  const auto out = each_thread_on<U32>(target, statements, in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    const U32 expected = reference(in[i]);
    if (out[i] == expected) continue;
    CAPTURE(statements, in[i], out[i], expected);
    FAIL("wrong result");
  }
}

const std::string kSecond = ".reg .b32 %s; xor.b32 %s, %a, " + std::to_string(kOther) + "; ";

}  // namespace

TEST_CASE("cvt of f32 pairs to fp8, fp6 and fp4 is what the CUDA headers give") {
  Random random;
  INFO("seed " << random.seed);
  const auto in = strided(random);
  for (const Narrow& type : kNarrow) {
    for (const bool with_relu : {false, true}) {
      const auto element = [&](U32 bits) {
        const float x = as_float(bits);
        return with_relu && negative_number(x) ? 0 : type.of_float(x);
      };
      const std::string narrow = type.stride == 4 ? ".b8" : ".b16";
      compare(kSecond + ".reg " + narrow + " %h; cvt.rn.satfinite" + (with_relu ? ".relu." : ".") +
                  type.name + "x2.f32 %h, %a, %s; " +
                  (type.stride == 4 ? "cvt.u32.u8 %d, %h;" : "cvt.u32.u16 %d, %h;"),
              in, [&](U32 bits) { return element(bits) << type.stride | element(bits ^ kOther); });
    }
  }
}

TEST_CASE("cvt between f16 pairs and fp8, fp6 and fp4 is what the CUDA headers give") {
  const auto in = all_16();
  for (const Narrow& type : kNarrow) {
    const U32 mask = type.stride == 4                                             ? 15
                     : type.name.starts_with("e4") || type.name.starts_with("e5") ? 255
                                                                                  : 63;
    for (const bool with_relu : {false, true}) {
      const std::string words = with_relu ? ".relu." : ".", narrow = type.stride == 4 ? ".b8" : ".b16";
      compare(".reg " + narrow + " %h; " +
                  (type.stride == 4 ? "cvt.u8.u32 %h, %a; " : "cvt.u16.u32 %h, %a; ") + "cvt.rn" + words +
                  "f16x2." + type.name + "x2 %d, %h;",
              in, [&](U32 bits) {
                const auto half = [&](U32 element) {
                  const U32 wide = type.to_half(element & mask);
                  return with_relu && (wide & 0x7fff) <= 0x7c00 ? relu(wide, 16) : wide;
                };
                return half(bits >> type.stride) << 16 | half(bits);
              });
      compare(".reg " + narrow + " %h; cvt.rn.satfinite" + words + type.name + "x2.f16x2 %h, %a; " +
                  (type.stride == 4 ? "cvt.u32.u8 %d, %h;" : "cvt.u32.u16 %d, %h;"),
              in, [&](U32 bits) {
                const auto element = [&](U32 raw) {
                  const bool negative = (raw & 0x8000) != 0 && (raw & 0x7fff) <= 0x7c00;
                  return with_relu && negative ? 0 : type.of_half(__half_raw{static_cast<U16>(raw)});
                };
                return element(bits >> 16) << type.stride | element(bits & 0xffff);
              });
    }
  }
}

TEST_CASE("cvt between bf16 pairs and fp8, fp6 and fp4 is what the CUDA headers give") {
  const auto in = all_16();
  for (const Narrow& type : kNarrow) {
    const std::string narrow = type.stride == 4 ? ".b8" : ".b16", size = type.stride == 4 ? "u8" : "u16";
    compare(".reg " + narrow + " %h; cvt.rn.satfinite." + type.name + "x2.bf16x2 %h, %a; cvt.u32." + size +
                " %d, %h;",
            in, [&](U32 bits) {
              const auto element = [&](U32 raw) {
                return type.of_brain(__nv_bfloat16_raw{static_cast<U16>(raw)});
              };
              return element(bits >> 16) << type.stride | element(bits & 0xffff);
            });
    // To bf16, all values are exact.
    const Type element = *find_type(type.name);
    compare(".reg " + narrow + " %h; cvt." + size + ".u32 %h, %a; cvt.rn.bf16x2." + type.name + "x2 %d, %h;",
            in, [&](U32 bits) {
              const auto wide = [&](U32 low) {
                const double value = narrow::decode(element, low & ((1U << element.bits) - 1));
                return static_cast<U32>(narrow::encode(bf16, value));
              };
              return wide(bits >> type.stride) << 16 | wide(bits);
            });
  }
}

TEST_CASE("cvt of fixed-point pairs to bf16 gives 64ths of two's complement") {
  for (const bool with_relu : {false, true}) {
    const std::string opcode = std::string("cvt.rn") + (with_relu ? ".relu" : "") + ".bf16x2.s2f6x2";
    compare(".reg .b16 %h; cvt.u16.u32 %h, %a; " + opcode + " %d, %h;", all_16(), [&](U32 bits) {
      const auto half = [&](U32 element) {
        const int fixed =
            (element & 0x80) != 0 ? static_cast<int>(element & 0xff) - 256 : static_cast<int>(element & 0xff);
        return static_cast<U32>(narrow::encode(bf16, with_relu && fixed < 0 ? 0.0 : fixed / 64.0));
      };
      return half(bits >> 8) << 16 | half(bits);
    });
  }
}

TEST_CASE("cvt to ue5m3 rounds magnitudes, and pzo takes the sign of zeros") {
  const auto in = all_16();
  const auto scale = [](Type from, U32 bits) {
    return static_cast<U32>(narrow::encode(ue5m3, std::fabs(narrow::decode(from, bits & 0xffff))));
  };
  for (const Type from : {f16, bf16}) {
    const std::string pair = std::string(from.name) + "x2";
    compare(
        ".reg .b16 %h; cvt.rn.ue5m3x2." + pair + " %h, %a; cvt.u32.u16 %d, %h;", in,
        [&](U32 bits) { return scale(from, bits >> 16) << 8 | scale(from, bits); }, "sm_107a");
    compare(
        ".reg .b16 %h; cvt.rn.satfinite.pzo.e4m3x2." + pair + " %h, %a; cvt.u32.u16 %d, %h;", in,
        [&](U32 bits) {
          const auto element = [&](U32 raw) {
            const U32 signed_one = from == f16 ? kNarrow[0].of_half(__half_raw{static_cast<U16>(raw)})
                                               : kNarrow[0].of_brain({static_cast<U16>(raw)});
            return signed_one == 0x80 ? 0 : signed_one;
          };
          return element(bits >> 16) << 8 | element(bits & 0xffff);
        },
        "sm_107a");
  }
}

TEST_CASE("cvt to and from ue8m0 scales is what the CUDA headers give") {
  Random random;
  INFO("seed " << random.seed);
  const auto in = strided(random);
  for (const bool up : {false, true}) {
    for (const bool finite : {false, true}) {
      const cudaRoundMode mode = up ? cudaRoundPosInf : cudaRoundZero;
      const __nv_saturation_t saturation = finite ? __NV_SATFINITE : __NV_NOSAT;
      const std::string words = std::string(up ? "rp" : "rz") + (finite ? ".satfinite" : "");
      const auto of_float = [&](U32 bits) {
        return U32{__nv_cvt_float_to_e8m0(as_float(bits), saturation, mode)};
      };
      compare(kSecond + ".reg .b16 %h; cvt." + words + ".ue8m0x2.f32 %h, %a, %s; cvt.u32.u16 %d, %h;", in,
              [&](U32 bits) { return of_float(bits) << 8 | of_float(bits ^ kOther); });
      const auto of_bfloat = [&](U32 bits) {
        return U32{__nv_cvt_bfloat16raw_to_e8m0(__nv_bfloat16_raw{static_cast<U16>(bits)}, saturation, mode)};
      };
      compare(".reg .b16 %h; cvt." + words + ".ue8m0x2.bf16x2 %h, %a; cvt.u32.u16 %d, %h;", all_16(),
              [&](U32 bits) { return of_bfloat(bits >> 16) << 8 | of_bfloat(bits & 0xffff); });
    }
  }
  compare(".reg .b16 %h; cvt.u16.u32 %h, %a; cvt.rn.bf16x2.ue8m0x2 %d, %h;", all_16(), [](U32 bits) {
    const auto wide = [](U32 scale) {
      return U32{__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(scale)).x};
    };
    return wide(bits >> 8 & 0xff) << 16 | wide(bits & 0xff);
  });
}

TEST_CASE("cvt of f32 to f16, bf16 and pairs of them is what the CUDA headers give") {
  Random random;
  INFO("seed " << random.seed);
  const auto in = strided(random);
  struct Wide {
    std::string type, mode;
    U32 (*of)(float);
    U32 largest;
  };
  const Wide formats[] = {
      {"f16", "rn", [](float x) { return U32{__half_raw(__float2half_rn(x)).x}; }, 0x7bff},
      {"f16", "rz", [](float x) { return U32{__half_raw(__float2half_rz(x)).x}; }, 0x7bff},
      {"bf16", "rn", [](float x) { return U32{__nv_bfloat16_raw(__float2bfloat16_rn(x)).x}; }, 0x7f7f},
      {"bf16", "rz", [](float x) { return U32{__nv_bfloat16_raw(__float2bfloat16_rz(x)).x}; }, 0x7f7f},
  };
  for (const Wide& format : formats) {
    for (const bool with_relu : {false, true}) {
      for (const bool finite : {false, true}) {
        const auto element = [&](U32 bits) -> U32 {
          const float x = as_float(bits);
          if (x != x) return 0x7fff;
          if (with_relu && std::signbit(x)) return 0;
          const U32 rounded = format.of(x);
          return finite && (rounded & 0x7fff) > format.largest ? (rounded & 0x8000) | format.largest
                                                               : rounded;
        };
        const std::string words =
            format.mode + (with_relu ? ".relu" : "") + (finite ? ".satfinite." : ".") + format.type;
        compare(kSecond + "cvt." + words + "x2.f32 %d, %a, %s;", in,
                [&](U32 bits) { return element(bits) << 16 | element(bits ^ kOther); });
        compare(".reg .b16 %h; cvt." + words + ".f32 %h, %a; cvt.u32.u16 %d, %h;", in, element);
      }
    }
  }
}

}  // namespace ptxloom::exec::test::convert_narrow_test

#else
TEST_CASE("cvt between narrow formats is what the CUDA headers give") {
  ptxloom::test::skip_without("cuda-headers", "built without the CUDA headers of version 13");
}
#endif
