// SPDX-License-Identifier: Apache-2.0
// Links wgmma kernels for random problems and configurations of the tuner's space: hardly any spill, and
// those that do are printed. (Default configurations must not: wgmma_link_test.) Hidden, because it takes
// minutes:
//   test_gemm "[.links]"      PTXLOOM_TEST_LINKS: how many (400)
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <random>

#include "ptxloom/gemm.hpp"
#include "ptxloom/jit.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/tuning_space.hpp"
#include "support/settings.hpp"

namespace ptxloom::test::random_link_test {
namespace {

constexpr int kOfProblem = 12;

class Random {
 public:
  bool one_of(unsigned many) { return random_() % many == 0; }
  std::string pick(const std::vector<std::string>& values) { return values[random_() % values.size()]; }
  std::string size(unsigned least, unsigned most) {
    return std::to_string(least + random_() % (most - least));
  }
  std::size_t below(std::size_t end) { return random_() % end; }

 private:
  std::mt19937 random_{Catch::getSeed()};
};

Settings random_problem(Random& random) {
  Settings words{{"m", random.size(1, 600)}, {"n", random.size(1, 600)}, {"k", random.size(64, 2000)}};
  words["a"] = random.pick({"bf16", "f16", "e4m3", "s8", "u8", "tf32"});
  const bool integers = words["a"] == "s8" || words["a"] == "u8";
  words["d"] = integers ? random.pick({"s32", "s8", "f32", "bf16"})
                        : random.pick({"f32", "bf16", "f16", "e4m3", "s8"});
  words["alpha"] = random.pick({"1", "-3"});
  words["beta"] = random.pick({"0", "2"});
  if (random.one_of(5)) words["batch"] = "2";
  if (words["a"] == "e4m3" && random.one_of(4)) words["sums"] = "promoted";
  if (words["d"] == "s32" || !random.one_of(3)) return words;
  words["bias"] = random.pick({"f32", "bf16"});
  words["activation"] = random.pick({"none", "relu", "gelu", "silu"});
  words["scale_a"] = random.pick({"none", "row"});
  words["scale_b"] = random.pick({"none", "col"});
  return words;
}

/// Strategy wgmma, mostly with wide tiles.
tune::Space space_of(const Specs& specs, const Target& target, const Settings& problem, Random& random) {
  tune::Space space = gemm_template().tuning_space(specs, target, problem);
  const bool wide = random.one_of(2);
  for (tune::Parameter& parameter : space.parameters) {
    if (parameter.name == "strategy") parameter.values = {"wgmma"};
    if (parameter.name == "loads") parameter.values = {random.one_of(3) ? "thread" : "warp"};
    if (parameter.name == "raster") parameter.values = {"8"};
    if (parameter.name == "stages") parameter.values = {"2", "3", "4"};
    if (parameter.name == "tile_n" && wide)
      parameter.values = {"96",  "104", "128", "136", "160", "176", "192",
                          "208", "216", "224", "240", "248", "256"};
  }
  return space;
}

}  // namespace

TEST_CASE("hardly any linked wgmma kernel spills", "[.links]") {
  const char* const given = std::getenv("PTXLOOM_TEST_LINKS");
  const int wanted = given == nullptr ? 400 : std::atoi(given);
  const auto specs = std::make_shared<const Specs>();
  const Target target("sm_90a");
  const Linker linker{Libraries()};
  Random random;
  int links = 0, spilling = 0;
  while (links < wanted) {
    const Settings problem = gemm_template().problem(random_problem(random));
    const tune::Admissible space = tune::admit(space_of(*specs, target, problem, random), target);
    for (int i = 0; i < kOfProblem && space.size() > 0; ++i, ++links) {
      const Settings config = space.settings(random.below(space.size()));
      INFO(words(problem) << "| " << words(config) << "| seed " << Catch::getSeed());
      const LinkResult linked =
          linker.link(print(gemm_template().emit(specs, target, problem, config).module),
                      {.target = std::string(target.name())});
      for (const Diagnostic& remark : linked.diagnostics) FAIL_CHECK(remark.message);
      const auto bytes = linked.resources.at(0).spill_stores;
      if (bytes == 0) continue;
      ++spilling;
      WARN(bytes << " bytes spilled");
    }
  }
  CHECK(spilling * 100 < links);
}

}  // namespace ptxloom::test::random_link_test
