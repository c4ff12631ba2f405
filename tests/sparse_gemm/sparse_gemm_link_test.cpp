// SPDX-License-Identifier: Apache-2.0
// Kernels of sparse_gemm, and of scaled_gemm with scales in f32 and stream-K, link without a remark (such as
// that wgmma is serialised) and do not spill, says nvJitLink.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/jit.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/templates.hpp"
#include "support/settings.hpp"

namespace ptxloom::sparse_gemm_test {
namespace {

using test::shape;
using test::with;

void check_linked(const char* name, const char* target_name, const Settings& wanted,
                  const Settings& given = {}) {
  const auto specs = std::make_shared<const Specs>();
  static const Templates all;
  const Template& one = all.find(name);
  const Target target(target_name);
  const Settings problem = one.problem(wanted), config = one.config(*specs, target, problem, given);
  INFO(name << " " << target_name << ": " << test::words(problem) << test::words(config));
  const LinkResult linked = Linker(Libraries())
                                .link(print(one.emit(specs, target, problem, config).module),
                                      {.target = std::string(target.name())});
  for (const Diagnostic& remark : linked.diagnostics) FAIL_CHECK(remark.message);
  REQUIRE_FALSE(linked.resources.empty());
  for (const Resources& kernel : linked.resources) {
    CHECK(kernel.registers > 0);
    CHECK(kernel.spill_stores == 0);
  }
}

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

TEST_CASE("linked shuffle_weights kernels do not spill") {
  for (const char* target : {"sm_75", "sm_90a"})
    for (const char* format : {"u4", "mxfp4"})
      check_linked("shuffle_weights", target, {{"n", "4096"}, {"k", "4097"}, {"format", format}});
}

}  // namespace ptxloom::sparse_gemm_test
