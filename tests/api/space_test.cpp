// SPDX-License-Identifier: Apache-2.0
// What a parameter of each kind takes, and what it is where nothing is given.
#include "ptxloom/space.hpp"

#include <catch2/catch_test_macros.hpp>
#include <stdexcept>

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

TEST_CASE("what a problem needs is said with all that it needs") {
  space().require({{"m", "1"}, {"ld", "2"}, {"a", "f16"}}, {"m", "ld", "a"});
  const Error error = error_of([] { space().require({{"m", "1"}}, {"m", "ld", "a"}); });
  CHECK(error.code() == "missing-parameter");
  CHECK(error.diagnostics()[0].message == "t needs ld");
  CHECK(error.diagnostics()[0].hint == "give the parameters m, ld and a");
}

TEST_CASE("a pitch of 0 is that of the shortest rows, which begin at whole units") {
  const auto completed = [](const char* pitch, std::uint64_t length, ParameterSpace::RowUnit unit) {
    Settings settings{{"ld", pitch}};
    space().complete_pitch(settings, "ld", length, unit);
    return settings.at("ld");
  };
  CHECK(completed("0", 13, {}) == "13");
  CHECK(completed("0", 13, {4, 3}) == "16");
  CHECK(completed("20", 13, {4, 3}) == "20");
  const auto refused = [&](const char* pitch, ParameterSpace::RowUnit unit) {
    const Error error = error_of([&] { completed(pitch, 13, unit); });
    CHECK(error.code() == "bad-stride");
    return error.diagnostics()[0].message + "; " + error.diagnostics()[0].hint;
  };
  CHECK(refused("12", {}) ==
        "t: ld=12 is shorter than a row of 13 elements; give at least 13, or 0 for contiguous rows");
  CHECK(refused("12", {4, 3}) ==
        "t: ld=12 is shorter than a row of 13 elements; give at least 16, or 0 for the shortest rows");
  CHECK(refused("18", {4, 3}) ==
        "t: with ld=18 rows do not begin at multiples of 3 bytes; give a multiple of 4, or 0 for the "
        "shortest rows");
  CHECK(refused("15", {2, 1}) ==
        "t: with ld=15 rows do not begin at whole bytes; give a multiple of 2, or 0 for the shortest rows");
}

TEST_CASE("a size is a number of 32 bits") {
  CHECK(size_of({{"m", "4294967295"}}, "m") == 4294967295U);
  CHECK_THROWS_AS(size_of({{"m", "4294967296"}}, "m"), std::out_of_range);
  CHECK_THROWS_AS(size_of({{"m", "1"}}, "n"), std::out_of_range);
}

TEST_CASE("which values must go is said: one, else two, else nothing") {
  const Settings given{{"stages", "8"}, {"tile_m", "256"}, {"tile_n", "128"}};
  const auto hint = [&](const auto& fits) { return admissible_without(given, fits); };
  const auto lacks = [](const Settings& some, const char* name) { return !some.contains(name); };
  CHECK(hint([&](const Settings& some) { return lacks(some, "tile_m"); }) ==
        "it is admissible without tile_m=256");
  CHECK(hint([&](const Settings& some) { return lacks(some, "stages") || lacks(some, "tile_n"); }) ==
        "it is admissible without stages=8, or without tile_n=128");
  CHECK(hint([&](const Settings& some) { return lacks(some, "stages") && lacks(some, "tile_n"); }) ==
        "it is admissible without stages=8 tile_n=128");
  CHECK(hint([](const Settings& some) { return some.size() == 1; }) ==
        "it is admissible without stages=8 tile_m=256, or without stages=8 tile_n=128, or without "
        "tile_m=256 tile_n=128");
  CHECK(hint([](const Settings& some) { return some.empty(); }).empty());
  // Asking may take long, so pairs are not asked about where one value is enough, even the last one.
  int asked = 0;
  CHECK(hint([&](const Settings& some) { return ++asked, lacks(some, "tile_n"); }) ==
        "it is admissible without tile_n=128");
  CHECK(asked == 3);
}

}  // namespace ptxloom::space_test
