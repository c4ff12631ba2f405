// SPDX-License-Identifier: Apache-2.0
// PTXLOOM_REQUIRE: the components that it names must be present.
#include "support/require.hpp"

#include <catch2/catch_test_macros.hpp>
#include <filesystem>
#include <stdexcept>

#include "support/environment.hpp"
#include "support/ptxas.hpp"

namespace ptxloom::test::require_test {

TEST_CASE("components: a list names what it names, and nothing that is unknown", "[support]") {
  CHECK(names_component("ptxas,nvcc", "nvcc"));
  CHECK(names_component("gpu", "gpu"));
  CHECK_FALSE(names_component("ptxas,nvcc", "gpu"));
  CHECK_FALSE(names_component("", "ptxas"));
  CHECK_THROWS_AS(names_component("ptxas,nvc", "ptxas"), std::invalid_argument);
  CHECK_THROWS_AS(names_component("ptxas, nvcc", "ptxas"), std::invalid_argument);
  CHECK_THROWS_AS(names_component("ptxas,,nvcc", "ptxas"), std::invalid_argument);
  CHECK_THROWS_AS(names_component("", "browser"), std::invalid_argument);
}

TEST_CASE("components: this run's PTXLOOM_REQUIRE names components", "[support]") {
  CHECK_NOTHROW(requires_component("ptxas"));
}

TEST_CASE("a test that misses a component", "[.part][missing]") {
  skip_without("gpu", "it is made to miss one");
}

TEST_CASE("components: a test that misses one fails if it is required, and is skipped if not", "[support]") {
  const std::string self = "'" + std::filesystem::read_symlink("/proc/self/exe").string() + "' '[missing]'";
  const auto run = [&](const std::string& required) {
    const ScopedVariable variable("PTXLOOM_REQUIRE", required);
    return run_command(self);
  };
  constexpr int kSkipped = 4;
  CHECK(run("").status == kSkipped);
  CHECK(run("ptxas,nvcc").status == kSkipped);
  const CommandResult failed = run("ptxas,gpu");
  CHECK(failed.status != 0);
  CHECK(failed.status != kSkipped);
  CHECK(failed.output.find("PTXLOOM_REQUIRE names gpu, but it is made to miss one") != std::string::npos);
  const CommandResult unknown = run("gpus");
  CHECK(unknown.status != 0);
  CHECK(unknown.status != kSkipped);
  CHECK(unknown.output.find("there is no component 'gpus'") != std::string::npos);
}

}  // namespace ptxloom::test::require_test
