// SPDX-License-Identifier: Apache-2.0
// Kernels of the default choice link without a remark and do not spill, says nvJitLink.
#include "support/linking.hpp"

using namespace ptxloom;

namespace {

void check_linked(const char* target, const Settings& problem) {
  test::check_linked("quantize", target, problem);
}

}  // namespace

TEST_CASE("linked quantize kernels of the default choice do not spill", "[slow]") {
  for (const char* n : {"4096", "50257"})
    for (const char* x : {"bf16", "f32"}) {
      const Settings size{{"rows", "4096"}, {"n", n}, {"x", x}};
      for (const char* target : {"sm_75", "sm_90a", "sm_120a"})
        for (const char* format : {"s8", "s4"}) check_linked(target, test::with(size, {{"format", format}}));
      for (const char* target : {"sm_89", "sm_90a", "sm_100a"})
        for (const char* format : {"e5m2", "mxfp8_e4m3"})
          check_linked(target, test::with(size, {{"format", format}}));
      for (const char* target : {"sm_100a", "sm_120a"})
        for (const char* format : {"mxfp6_e2m3", "mxfp6_e3m2", "mxfp4", "nvfp4"})
          check_linked(target, test::with(size, {{"format", format}}));
      check_linked("sm_90a", test::with(size, {{"format", "mxfp8_e4m3"}, {"transpose", "yes"}}));
      check_linked("sm_90a", test::with(size, {{"format", "e4m3"}, {"scales", "block"}}));
      for (const char* scales : {"row", "block"})
        check_linked("sm_90a",
                     test::with(size, {{"format", "e4m3"}, {"scales", scales}, {"transpose", "yes"}}));
      check_linked(
          "sm_90a",
          test::with(size, {{"format", "e4m3"}, {"scales", "tensor"}, {"scale_of_tensor", "computed"}}));
      check_linked("sm_100a", test::with(size, {{"format", "nvfp4"}, {"scale_of_tensor", "computed"}}));
      check_linked("sm_100a", test::with(size, {{"format", "nvfp4"}, {"scale_layout", "tiles"}}));
      check_linked("sm_100a", test::with(size, {{"format", "mxfp4"}, {"round", "stochastic"}}));
    }
}
