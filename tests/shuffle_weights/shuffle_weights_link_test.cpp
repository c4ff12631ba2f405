// SPDX-License-Identifier: Apache-2.0
// Kernels of shuffle_weights link without a remark and do not spill, says nvJitLink.
#include "support/linking.hpp"

namespace ptxloom::shuffle_weights_test {
namespace {

using test::check_linked;

}  // namespace

TEST_CASE("linked shuffle_weights kernels do not spill") {
  for (const char* target : {"sm_75", "sm_90a"})
    for (const char* format : {"u4", "mxfp4", "mxfp6_e2m3"})
      check_linked("shuffle_weights", target, {{"n", "4096"}, {"k", "4097"}, {"format", format}});
}

}  // namespace ptxloom::shuffle_weights_test
