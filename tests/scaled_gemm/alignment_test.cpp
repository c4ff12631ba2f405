// SPDX-License-Identifier: Apache-2.0
// Addresses that the kernels of scaled_gemm cannot take.
#include "support/misaligned.hpp"

namespace ptxloom::scaled_gemm_test::alignment {

using test::check_misaligned;
using test::with;

TEST_CASE("scaled_gemm: misaligned tensors are refused before anything is launched") {
  const Settings size{{"m", "40"}, {"n", "64"}, {"k", "128"}};
  for (const char* d : {"bf16", "f32"}) {
    const Settings all = with(size, {{"d", d}, {"bias", "f32"}, {"c", "f16"}, {"row_weights", "yes"}});
    for (const char* target : {"sm_90a", "sm_80"}) {
      check_misaligned("scaled_gemm", target,
                       with(all, {{"format_a", "bf16"}, {"format_b", "u4"}, {"scale_b", "f32"}}));
      check_misaligned("scaled_gemm", target, with(all, {{"format_a", "s8"}, {"format_b", "s4"}}));
    }
    check_misaligned("scaled_gemm", "sm_120a", with(all, {{"format_a", "nvfp4"}}));
  }
}

}  // namespace ptxloom::scaled_gemm_test::alignment
