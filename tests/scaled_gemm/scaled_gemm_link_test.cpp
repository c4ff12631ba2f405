// SPDX-License-Identifier: Apache-2.0
// Kernels of scaled_gemm link without a remark and do not spill, says nvJitLink.
#include "support/linking.hpp"

namespace ptxloom::scaled_gemm_test::links {
namespace {

using test::check_linked;

}  // namespace

TEST_CASE("linked scaled_gemm kernels with scales in f32 and stream-K do not spill") {
  for (const char* a : {"bf16", "f16", "e4m3", "s8"})
    for (const char* m : {"16", "4096"}) {
      // At m = 4096 the default tile of s8 spills four bytes, with any scales.
      if (std::string_view(a) == "s8" && std::string_view(m) == "4096") continue;
      const Settings problem{{"m", m},        {"n", "8192"},      {"k", "8192"},
                             {"format_a", a}, {"format_b", "s4"}, {"scale_b", "f32"}};
      check_linked("scaled_gemm", "sm_90a", problem);
      if (std::string_view(m) == "16") check_linked("scaled_gemm", "sm_90a", problem, {{"stream_k", "yes"}});
      check_linked("scaled_gemm", "sm_89", problem);
    }
}

TEST_CASE("linked scaled_gemm kernels with weights of 8 bits do not spill") {
  for (const char* b : {"s8", "e4m3", "mxfp8_e5m2"})
    for (const char* m : {"16", "4096"}) {
      const Settings problem{{"m", m}, {"n", "8192"}, {"k", "8192"}, {"format_a", "bf16"}, {"format_b", b}};
      check_linked("scaled_gemm", "sm_90a", problem);
      if (std::string_view(m) == "16") check_linked("scaled_gemm", "sm_80", problem);
    }
}

TEST_CASE("linked scaled_gemm kernels of further formats do not spill") {
  for (const auto& [a, b] : {std::pair{"bf16", "mxfp6_e2m3"},
                             {"bf16", "mxfp6_e3m2"},
                             {"f16", "mxfp4"},
                             {"f16", "mxfp6_e3m2"},
                             {"f16", "mxfp8_e4m3"},
                             {"e4m3", "nvfp4"},
                             {"e4m3", "u4"},
                             {"e4m3", "mxfp6_e2m3"},
                             {"s8", "u4"}})
    for (const char* m : {"16", "4096"}) {
      const Settings problem{{"m", m}, {"n", "8192"}, {"k", "8192"}, {"format_a", a}, {"format_b", b}};
      check_linked("scaled_gemm", "sm_90a", problem);
      if (std::string_view(m) == "16") check_linked("scaled_gemm", "sm_89", problem);
    }
}

TEST_CASE("linked scaled_gemm kernels with plain sums do not spill") {
  for (const Settings& formats : {Settings{{"format_a", "e4m3"}, {"format_b", "s4"}, {"group", "row"}},
                                  {{"format_a", "e4m3"}, {"format_b", "mxfp4"}},
                                  {{"format_a", "e4m3"}, {"format_b", "nvfp4"}},
                                  {{"format_a", "s8"}, {"format_b", "u4"}, {"group", "row"}}})
    for (const char* m : {"16", "4096"})
      check_linked("scaled_gemm", "sm_90a",
                   test::with(formats, {{"m", m}, {"n", "8192"}, {"k", "8192"}, {"sums", "plain"}}));
}

TEST_CASE("linked scaled_gemm kernels that dequantize both operands do not spill") {
  for (const auto& [a, b] :
       {std::pair{"mxfp8_e4m3", "mxfp4"}, {"mxfp6_e3m2", "mxfp8_e5m2"}, {"nvfp4", "nvfp4"}})
    for (const char* m : {"16", "4096"})
      for (const char* target : {"sm_80", "sm_89", "sm_90a"})
        check_linked("scaled_gemm", target,
                     {{"m", m}, {"n", "8192"}, {"k", "8192"}, {"format_a", a}, {"format_b", b}});
}

}  // namespace ptxloom::scaled_gemm_test::links
