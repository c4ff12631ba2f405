// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <map>
#include <set>

#include "ptxloom/tuning_space.hpp"
#include "support/errors.hpp"

namespace ptxloom::tune::space_test {
namespace {

int number(const Settings& config, const char* name) { return std::stoi(config.at(name)); }

/// tile 16 .. 256, warps 1 .. 16, stages 2 .. 4.
Space make_space() {
  return {
      .parameters = {{"tile", {"16", "32", "64", "128", "256"}},
                     {"warps", {"1", "2", "4", "8", "16"}},
                     {"stages", {"2", "3", "4"}}},
      .rules = {{.name = "a warp has 16 rows",
                 .reads = {"tile", "warps"},
                 .allows = [](const Settings& c) { return number(c, "tile") >= 16 * number(c, "warps"); }},
                {.name = "no three",
                 .reads = {"stages"},
                 .allows = [](const Settings& c) { return c.at("stages") != "3"; }}},
      .demand = [](const Settings& c) {
        return Demand{.threads = 32 * number(c, "warps"),
                      .registers = 2 * number(c, "tile") / number(c, "warps"),
                      .shared_bytes = static_cast<std::uint64_t>(number(c, "tile")) * 400 *
                                      static_cast<std::uint64_t>(number(c, "stages"))};
      }};
}

std::uint64_t removed_by(const Admissible& space, const std::string& rule) {
  for (const auto& [name, count] : space.removed()) {
    if (name == rule) return count;
  }
  FAIL("no rule " << rule);
  return 0;
}

}  // namespace

TEST_CASE("what is admitted is what one finds by asking every rule of every configuration") {
  const Space space = make_space();
  const Admissible found = admit(space, Target("sm_90a"));
  CHECK(found.configurations() == 75);
  std::set<Settings> expected;
  std::map<std::string, std::uint64_t> removed;
  for (const char* tile : {"16", "32", "64", "128", "256"})
    for (const char* warps : {"1", "2", "4", "8", "16"})
      for (const char* stages : {"2", "3", "4"}) {
        const Settings config = {{"tile", tile}, {"warps", warps}, {"stages", stages}};
        const Demand demand = space.demand(config);
        std::string why;
        if (!space.rules[0].allows(config))
          why = "a warp has 16 rows";
        else if (!space.rules[1].allows(config))
          why = "no three";
        else if (demand.registers > 255)
          why = "registers of a thread";
        else if (demand.shared_bytes > 232448)
          why = "shared memory of a thread block";
        if (why.empty())
          expected.insert(config);
        else
          ++removed[why];
      }
  std::set<Settings> admitted;
  for (std::size_t i = 0; i < found.size(); ++i) {
    admitted.insert(found.settings(i));
    CHECK(found.find(found.settings(i)) == i);
  }
  CHECK(admitted == expected);
  CHECK(removed.size() == 4);  // each rule has something to do
  std::uint64_t sum = found.size();
  for (const auto& [rule, count] : found.removed()) {
    CHECK(count == removed[rule]);
    sum += count;
  }
  CHECK(sum == found.configurations());
}

TEST_CASE("limits are the target's") {
  Space space = make_space();
  CHECK(removed_by(admit(space, Target("sm_90a")), "shared memory of a thread block") == 3);
  CHECK(removed_by(admit(space, Target("sm_86")), "shared memory of a thread block") > 5);
  space.demand = [](const Settings& c) {
    return Demand{.threads = 128 * number(c, "warps"), .cluster = number(c, "stages")};
  };
  CHECK(removed_by(admit(space, Target("sm_90a")), "threads of a thread block") > 0);
  CHECK(removed_by(admit(space, Target("sm_90a")), "thread blocks of a cluster") == 0);
  const Error error = error_of([&] { admit(space, Target("sm_80")); });
  CHECK(error.kind() == ErrorKind::refused);
  CHECK(error.diagnostics().front().code == "no-configuration");
  CHECK(error.diagnostics().front().hint.find("thread blocks of a cluster: ") != std::string::npos);
}

TEST_CASE("fixed words narrow a space, and what contradicts itself is said with its reasons") {
  const Admissible found = admit(make_space(), Target("sm_90a"), {{"tile", "64"}});
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found.settings(i).at("tile") == "64");
  CHECK(found.configurations() == 15);
  CHECK(admit(make_space(), Target("sm_90a"), {{"tile", "64|128"}}).configurations() == 30);
  const Error error =
      error_of([] { admit(make_space(), Target("sm_90a"), {{"tile", "16"}, {"warps", "8"}}); });
  CHECK(error.diagnostics().front().hint.find("a warp has 16 rows: 3") != std::string::npos);
}

TEST_CASE("a space that makes no sense is refused") {
  const auto code = [](const Space& space) {
    return error_of([&] { admit(space, Target("sm_90a")); }).diagnostics().front().code;
  };
  CHECK(code({}) == "bad-space");
  CHECK(code({.parameters = {{"tile", {}}}}) == "bad-space");
  CHECK(code({.parameters = {{"tile", std::vector<std::string>(256, "1")}}}) == "bad-space");
  CHECK(code({.parameters = {{"tile", {"1"}}},
              .rules = {{.name = "r", .reads = {"tiel"}, .allows = [](const Settings&) { return true; }}}}) ==
        "bad-space");
}

TEST_CASE("a sample is a part, the same for the same seed") {
  const Admissible all = admit(make_space(), Target("sm_90a"));
  const Admissible part = all.sample(7, 1), again = all.sample(7, 1), other = all.sample(7, 2);
  REQUIRE(part.size() == 7);
  std::set<Settings> seen;
  bool differs = false;
  for (std::size_t i = 0; i < 7; ++i) {
    CHECK(part.settings(i) == again.settings(i));
    CHECK(part.demand(i).threads == 32 * number(part.settings(i), "warps"));
    CHECK(all.find(part.settings(i)) < all.size());
    differs = differs || part.settings(i) != other.settings(i);
    seen.insert(part.settings(i));
  }
  CHECK(seen.size() == 7);
  CHECK(differs);
  CHECK(all.sample(1000, 1).size() == all.size());
}

}  // namespace ptxloom::tune::space_test
