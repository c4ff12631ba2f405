// SPDX-License-Identifier: Apache-2.0
// Kernels of sparse_gemm link without a remark and do not spill, says nvJitLink.
#include "support/linking.hpp"

namespace ptxloom::sparse_gemm_test {
namespace {

using test::check_linked;
using test::shape;
using test::with;

}  // namespace

TEST_CASE("linked sparse_gemm kernels of the default choice do not spill") {
  for (const char* type : {"f16", "tf32", "s8", "e4m3"}) {
    check_linked("sparse_gemm", "sm_90a",
                 with(shape(4096, 4096, 4096), {{"type", type}, {"bias", "f32"}, {"d", "bf16"}}));
    check_linked("sparse_gemm", "sm_89",
                 with(shape(64, 4096, 4096), {{"type", type}, {"c", "bf16"}, {"d", "bf16"}}));
  }
  check_linked("sparse_gemm", "sm_80", with(shape(4097, 4099, 4100), {{"type", "bf16"}}));
}

}  // namespace ptxloom::sparse_gemm_test
