// SPDX-License-Identifier: Apache-2.0
#include "tune/search/feeder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>
#include <string>
#include <thread>

using namespace ptxloom;
using namespace ptxloom::tune;

namespace {

Made next(Feeder& feeder) {
  for (;;) {
    if (std::optional<Made> made = feeder.take()) return std::move(*made);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

/// Makes candidates at once, but one that takes its time.
Maker slow_at(const char* slow) {
  return [slow](const Settings& config) {
    if (config.at("name") == slow) std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return Candidate{};
  };
}

Feeder::Options options() { return {.code = Measurer::Code::ptx, .target = "sm_90a", .jobs = 4}; }

}  // namespace

TEST_CASE("what was put in first is taken first, however long it takes") {
  Feeder feeder(slow_at("a"), nullptr, options());
  for (const char* name : {"a", "b", "c", "d"}) feeder.put({}, {{"name", name}});
  CHECK(next(feeder).config.at("name") == "a");
  std::set<std::string> others;
  for (int i = 0; i < 3; ++i) others.insert(next(feeder).config.at("name"));
  CHECK(others == std::set<std::string>{"b", "c", "d"});
  CHECK(feeder.under_way() == 0);
}

TEST_CASE("after the first, a slow candidate holds nobody up") {
  Feeder feeder(slow_at("b"), nullptr, options());
  feeder.put({}, {{"name", "a"}});
  CHECK(next(feeder).config.at("name") == "a");
  for (const char* name : {"b", "c"}) feeder.put({}, {{"name", name}});
  CHECK(next(feeder).config.at("name") == "c");
  CHECK(next(feeder).config.at("name") == "b");
}

TEST_CASE("a first that cannot be made holds nobody up") {
  const Maker make = [](const Settings& config) -> Candidate {
    if (config.at("name") == "a") throw Error(ErrorKind::refused, "no-such", "it is not to be made");
    return {};
  };
  Feeder feeder(make, nullptr, options());
  for (const char* name : {"a", "b"}) feeder.put({}, {{"name", name}});
  const Made first = next(feeder);
  CHECK(first.config.at("name") == "a");
  REQUIRE(first.problem);
  CHECK(first.problem->code == "no-such");
  CHECK(next(feeder).config.at("name") == "b");
}
