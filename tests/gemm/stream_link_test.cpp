// SPDX-License-Identifier: Apache-2.0
// mma.sync kernels with stream-K, linked for every kind of target: no spills.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/gemm.hpp"
#include "ptxloom/ptx.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::stream_link_test {
namespace {

void check_link(const std::string& name, const Settings& wanted, const Settings& config) {
  const auto specs = std::make_shared<const Specs>();
  const Target target(name);
  const Settings problem = gemm_template().problem(wanted);
  const Settings whole = gemm_template().config(*specs, target, problem,
                                                with(config, {{"strategy", "mma"}, {"stream_k", "yes"}}));
  INFO(name << ", " << words(wanted) << "| " << words(whole));
  const LinkResult linked =
      Linker(Libraries())
          .link(print(gemm_template().emit(specs, target, problem, whole).module), {.target = name});
  for (const Diagnostic& remark : linked.diagnostics) FAIL_CHECK(remark.message);
  REQUIRE(linked.resources.size() == 1);
  CHECK(linked.resources[0].registers > 0);
  CHECK(linked.resources[0].spill_stores == 0);
}

Settings tiles(const char* m, const char* n, const char* warps_m, const char* warps_n) {
  return {{"tile_m", m}, {"tile_n", n}, {"warps_m", warps_m}, {"warps_n", warps_n}};
}

}  // namespace

TEST_CASE("linked mma.sync stream-K kernels do not spill, on any target", "[gemm][slow]") {
  const Settings sizes = shape(512, 520, 8192);
  for (const char* target : {"sm_75", "sm_80", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    check_link(target, with(sizes, {{"a", "f16"}}), {});
    check_link(target, with(sizes, {{"a", "s8"}, {"k", "8191"}}), {});
  }
  for (const char* a : {"bf16", "tf32", "f64"})
    for (const char* target : {"sm_80", "sm_90a"}) check_link(target, with(sizes, {{"a", a}}), {});
}

TEST_CASE("linked mma.sync stream-K kernels with typical tiles do not spill", "[gemm][slow]") {
  const Settings sizes = with(shape(512, 520, 8192), {{"a", "bf16"}});
  const Settings function{{"bias", "f32"},    {"activation", "gelu"}, {"scale_a", "row"},
                          {"scale_b", "col"}, {"beta", "1"},          {"add_c", "after"}};
  for (const Settings& config :
       {tiles("128", "64", "2", "2"), tiles("128", "128", "2", "4"), tiles("64", "64", "2", "2")})
    for (const char* d : {"f32", "bf16"})
      for (const Settings& problem : {sizes, with(sizes, function)})
        for (const char* bake : {"none", "mnk"})
          check_link("sm_90a", with(problem, {{"d", d}}), with(config, {{"static", bake}}));
  for (const Settings& config :
       {tiles("64", "64", "2", "2"), tiles("64", "128", "2", "4"), tiles("128", "64", "4", "2")})
    for (const char* mma : {"m16n8k4", "m16n8k8"})
      check_link("sm_90a", with(sizes, {{"a", "f64"}, {"beta", "1.5"}}), with(config, {{"mma", mma}}));
  check_link("sm_120a", with(sizes, {{"a", "e4m3"}, {"scale_a", "block"}, {"scale_b", "block"}}),
             tiles("64", "64", "2", "2"));
}

}  // namespace ptxloom::test::stream_link_test
