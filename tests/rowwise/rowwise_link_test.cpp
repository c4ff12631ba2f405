// SPDX-License-Identifier: Apache-2.0
// Kernels are linked for the number of thread blocks that the estimate of their registers allows. nvJitLink
// reports that they do not spill.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <random>

#include "ptxloom/ptx.hpp"
#include "ptxloom/templates.hpp"
#include "support/settings.hpp"

using namespace ptxloom;

namespace {

constexpr const char* kTargets[] = {"sm_75", "sm_80", "sm_90a", "sm_120a"};
constexpr const char* kLinkedOps[] = {"softmax", "log_softmax", "rms_norm", "layer_norm"};

/// Of some configurations that the default choice does not make, in bytes of a thread: the tuner times them.
constexpr int kFewSpills = 256;

void check_link(const char* target_name, const Settings& wanted, const Settings& config, int spills = 0) {
  const auto specs = std::make_shared<const Specs>();
  const Template& rowwise = Templates().find("rowwise");
  const Target target(target_name);
  const Settings problem = rowwise.problem(wanted), whole = rowwise.config(*specs, target, problem, config);
  INFO(target_name << ": " << test::words(problem) << test::words(whole) << "seed " << Catch::getSeed());
  const LinkResult linked = Linker(Libraries())
                                .link(print(rowwise.emit(specs, target, problem, whole).module),
                                      {.target = std::string(target.name())});
  for (const Diagnostic& remark : linked.diagnostics) FAIL_CHECK(remark.message);
  REQUIRE(linked.resources.size() == 1);
  CHECK(linked.resources[0].registers > 0);
  CHECK(linked.resources[0].spill_stores <= spills);
}

}  // namespace

TEST_CASE("linked rowwise kernels of the default choice do not spill", "[slow]") {
  for (const char* target : kTargets)
    for (const char* op : kLinkedOps)
      for (const auto& [rows, n] : {std::pair{"32768", "4096"}, {"4096", "50257"}, {"2", "1000003"}}) {
        Settings problem{{"op", op}, {"rows", rows}, {"n", n}, {"x", "f16"}};
        check_link(target, problem, {});
        if (std::string(op).ends_with("norm"))
          check_link(
              target,
              test::with(problem, {{"x", "f32"}, {"residual", "bf16"}, {"weight", "f32"}, {"bias", "f16"}}),
              {});
      }
}

TEST_CASE("linked rowwise kernels of random configurations spill little", "[slow]") {
  std::mt19937 random(Catch::getSeed());
  const auto below = [&](std::size_t n) { return static_cast<int>(random() % n); };
  constexpr const char* kTypes[] = {"f32", "f16", "bf16"};
  constexpr const char* kOptional[] = {"none", "f32", "f16", "bf16"};
  const Specs specs;
  const Template& rowwise = Templates().find("rowwise");
  for (int i = 0; i < 40; ++i) {
    const char* target = kTargets[below(4)];
    const std::string y = target == std::string("sm_75") ? kTypes[below(2)] : kTypes[below(3)];
    Settings problem{{"op", kLinkedOps[below(4)]}, {"rows", "1000"}, {"x", kTypes[below(3)]}, {"y", y}};
    problem["n"] = std::to_string(1 + below(std::size_t{1} << (4 + below(14))));
    if (problem["op"].ends_with("norm"))
      for (const char* name : {"residual", "weight", "bias"}) problem[name] = kOptional[below(4)];
    const tune::Admissible all =
        admit(rowwise.tuning_space(specs, Target(target), rowwise.problem(problem)), Target(target));
    check_link(target, problem, all.settings(random() % all.size()), kFewSpills);
  }
}
