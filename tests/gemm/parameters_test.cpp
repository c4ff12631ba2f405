// SPDX-License-Identifier: Apache-2.0
// The table of the parameters of a configuration has those of space.json, and reads what it prints.
#include "gemm/config/parameters.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "gemm/executor.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/space.hpp"

namespace ptxloom::test::parameters_test {
using namespace gemm_kernel;

TEST_CASE("gemm's parameters are those of space.json, and each value is read and printed", "[gemm]") {
  const ParameterSpace space(gemm_template().space());
  CHECK(space.config().size() == parameters().size());
  for (const TemplateParameter& listed : space.config()) {
    const Parameter& parameter = parameter_named(listed.name);
    if (parameter.read == nullptr) continue;  // mma, which base_config reads
    for (const std::string& value : listed.values) {
      Config config;
      config.strategy = strategies().front();
      read_parameters(config, {{listed.name, value}});
      INFO(listed.name << "=" << value);
      CHECK(parameter.print(config) == value);
      CHECK(print_parameters(config).at(listed.name) == value);
    }
  }
  CHECK_THROWS_AS(parameter_named("tile_x"), Error);
}

TEST_CASE("no two parameters of gemm have one name", "[gemm]") {
  CHECK(std::ranges::adjacent_find(parameters(), std::ranges::greater_equal{}, &Parameter::name) ==
        parameters().end());
}

TEST_CASE("a parameter of one strategy of gemm is refused with every other unless it has its default",
          "[gemm]") {
  const Settings problem = gemm_template().problem({{"m", "256"}, {"n", "384"}, {"k", "512"}});
  const ParameterSpace space(gemm_template().space());
  int refused = 0;
  for (const TemplateParameter& listed : space.config())
    for (const Strategy* other : strategies()) {
      const Parameter& parameter = parameter_named(listed.name);
      if (parameter.strategy == nullptr || parameter.strategy == other) continue;
      const std::string unset = parameter.print(Config{});
      for (const std::string& value : listed.values) {
        const std::string text =
            config_refusal(problem, {{"strategy", std::string(other->name())}, {listed.name, value}});
        INFO(other->name() << ' ' << listed.name << '=' << value << ": " << text);
        const std::string reason = "with strategy=" + std::string(other->name()) + ' ' + listed.name +
                                   " must be " + unset +
                                   ": only strategy=" + std::string(parameter.strategy->name());
        CHECK((value == unset) == (text == "it was accepted"));
        CHECK((value == unset) != (text.find(reason) != std::string::npos));
        refused += value == unset ? 0 : 1;
      }
    }
  CHECK(refused > 0);
}

TEST_CASE("a partial configuration has the largest tiles and the smallest counts", "[gemm]") {
  Config base;
  base.strategy = strategies().back();
  const Config open = partial_config(base, {{"stages", "4"}});
  CHECK((open.tile_m == 256 && open.tile_n == 256 && open.tile_k == 256));
  CHECK((open.warps_m == 1 && open.warps_n == 1 && open.split == 1));
  CHECK(open.stages == 4);
}

TEST_CASE("each instruction shape of gemm belongs to one strategy", "[gemm]") {
  const ParameterSpace space(gemm_template().space());
  for (const TemplateParameter& listed : space.config()) {
    if (listed.name == "strategy") {
      CHECK(listed.values.size() == strategies().size());
      for (const std::string& name : listed.values) CHECK(strategy_named(name).name() == name);
    }
    if (listed.name != "mma") continue;
    for (const std::string& shape : listed.values) {
      int owners = 0;
      for (const Strategy* strategy : strategies()) owners += strategy->owns(shape) ? 1 : 0;
      CHECK(owners == 1);
    }
  }
}

}  // namespace ptxloom::test::parameters_test
