// SPDX-License-Identifier: Apache-2.0
// What a parameter of each kind takes, and what it is where nothing is given.
#include "ptxloom/space.hpp"

#include <catch2/catch_test_macros.hpp>

#include "support/errors.hpp"

namespace ptxloom::space_test {
namespace {

const ParameterSpace& space() {
  static const ParameterSpace made(R"({"template": "t", "doc": "d",
    "problem": [{"name": "m", "kind": "size", "doc": "rows"},
                {"name": "ld", "kind": "stride", "default": "0", "doc": "pitch"},
                {"name": "far", "kind": "distance", "default": "0", "doc": "between batches"},
                {"name": "alpha", "kind": "number", "default": "1", "doc": "factor"},
                {"name": "a", "values": "f16|bf16", "default": "f16", "doc": "type"},
                {"name": "b", "values": "f16|bf16", "default": "=a", "doc": "type"}],
    "config": [{"name": "tile", "values": "64|128", "doc": "rows of a tile"}]})");
  return made;
}

Settings complete(const Settings& given) { return space().complete(space().problem(), given); }

std::string code_of(const Settings& given) {
  return error_of([&] { complete(given); }).diagnostics()[0].code;
}

}  // namespace

TEST_CASE("a parameter that is not given has its default, which may be the value of another one") {
  CHECK(complete({}) == Settings{{"ld", "0"}, {"far", "0"}, {"alpha", "1"}, {"a", "f16"}, {"b", "f16"}});
  CHECK(complete({{"a", "bf16"}}).at("b") == "bf16");
  CHECK(complete({{"a", "bf16"}, {"b", "f16"}}).at("b") == "f16");
}

TEST_CASE("each kind of parameter has its range") {
  const struct {
    const char* name;
    std::vector<const char*> taken, refused;
  } kinds[] = {
      {"m", {"1", "2147483647"}, {"0", "-1", "2147483648", "12x", " 1", "", "99999999999999999999"}},
      {"ld", {"0", "2147483647"}, {"-1", "2147483648", "1.5"}},
      {"far", {"0", "2147483648", "70368744177664"}, {"-1", "70368744177665"}},
      {"alpha", {"-1.5", "0", "1e30"}, {"nan", "inf", "1e999", "one", "1 "}},
      {"a", {"f16", "bf16"}, {"f32", "", "f16|bf16"}},
  };
  for (const auto& kind : kinds) {
    for (const char* value : kind.taken) {
      CAPTURE(kind.name, value);
      CHECK(complete({{kind.name, value}}).at(kind.name) == value);
    }
    for (const char* value : kind.refused) {
      CAPTURE(kind.name, value);
      CHECK(code_of({{kind.name, value}}) == "bad-value");
    }
  }
  CHECK(code_of({{"n", "1"}}) == "unknown-parameter");
  CHECK(code_of({{"tile", "64"}}) == "unknown-parameter");  // of the other part
}

TEST_CASE("parameters are split into the problem and the configuration") {
  const auto [problem, config] = space().split({{"m", "5"}, {"tile", "64"}});
  CHECK(problem == Settings{{"m", "5"}});
  CHECK(config == Settings{{"tile", "64"}});
  CHECK(error_of([] { space().split({{"tiles", "64"}}); }).diagnostics()[0].code == "unknown-parameter");
}

TEST_CASE("a name means one parameter of a space") {
  const auto diagnostic_of = [](const std::string& problem, const std::string& config) {
    const auto parameter = [](const std::string& name) {
      return R"({"name": ")" + name + R"(", "kind": "size", "doc": "d"})";
    };
    return error_of([&] {
             ParameterSpace(R"({"template": "t", "doc": "d", "problem": [)" + parameter("m") + "," +
                            parameter(problem) + R"(], "config": [)" + parameter("tile") + "," +
                            parameter(config) + "]}");
           })
        .diagnostics()[0];
  };
  CHECK(diagnostic_of("m", "x").message.find("two parameters 'm'") != std::string::npos);
  CHECK(diagnostic_of("x", "tile").message.find("two parameters 'tile'") != std::string::npos);
  CHECK(diagnostic_of("x", "m").code == "bad-space");
  CHECK(diagnostic_of("x", "optimise").message.find("build parameter") != std::string::npos);
}

TEST_CASE("a parameter's former names are those of its records") {
  const ParameterSpace renamed(R"({"template": "t", "doc": "d",
    "problem": [{"name": "m", "kind": "size", "doc": "rows", "was": "height|rows"}],
    "config": [{"name": "tile", "values": "64|128", "doc": "rows of a tile"}]})");
  const RecordParameters parameters = renamed.record_parameters();
  CHECK(parameters.names ==
        std::set<std::string, std::less<>>{"m", "tile", "maxnreg", "minnctapersm", "optimise", "link"});
  CHECK(parameters.former == std::map<std::string, std::string, std::less<>>{{"height", "m"}, {"rows", "m"}});
  CHECK(error_of([] {
          ParameterSpace(R"({"template": "t", "doc": "d",
            "problem": [{"name": "m", "kind": "size", "doc": "rows", "was": "tile"}],
            "config": [{"name": "tile", "values": "64|128", "doc": "rows of a tile"}]})");
        }).code() == "bad-space");
}

}  // namespace ptxloom::space_test
