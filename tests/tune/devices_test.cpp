// SPDX-License-Identifier: Apache-2.0
// One search over several devices, without any.
#include <map>

#include "support/errors.hpp"
#include "tune/devices.hpp"

using namespace ptxloom;
using namespace ptxloom::tune;

TEST_CASE("devices share the candidates, and their times mean the same") {
  // One is 2 % slower: that must not show in the times that are told.
  Device first("gpu a", 1), second("gpu b", 1.02);
  const SearchResult result = run({first.measurer.get(), second.measurer.get()});
  check_each_once(result);
  REQUIRE(result.best() != nullptr);
  CHECK(result.best()->config == kBest);
  REQUIRE(result.devices.size() == 2);
  CHECK(result.devices[0].name == "gpu a");
  CHECK(std::abs(result.devices[1].ratio - 1.02) < 1e-9);
  std::map<std::size_t, std::uint64_t> by_device;
  for (const Measurement& one : result.candidates) {
    ++by_device[one.device];
    CHECK(std::abs(one.time_us / time_of(one.config) - 1) < 1e-9);
  }
  for (const std::size_t device : {std::size_t{0}, std::size_t{1}}) {
    CHECK(result.devices[device].evaluations == by_device[device]);
    CHECK(by_device[device] > 60);  // both had their part
  }
}

TEST_CASE("a device that disagrees on the common candidate is left out and reported") {
  Device first("gpu a", 1), second("gpu b", 1.15), third("gpu c", 0.98);
  const std::vector<Measurer*> all = {first.measurer.get(), second.measurer.get(), third.measurer.get()};
  const SearchResult result = run(all);
  check_each_once(result);
  REQUIRE(result.devices[1].left_out);
  CHECK(result.devices[1].left_out->code == "device-differs");
  CHECK(result.devices[1].left_out->message.find("+15.0 %") != std::string::npos);
  CHECK(result.devices[1].evaluations == 0);
  CHECK(!result.devices[0].left_out);
  CHECK(!result.devices[2].left_out);
  CHECK(result.devices[2].evaluations > 30);

  const SearchResult lenient = run(all, {.margin = 0.2});
  CHECK(!lenient.devices[1].left_out);
}

TEST_CASE("measurers of one device need not agree: they take turns at it") {
  Device first("cpu", 1), second("cpu", 1.3);
  const SearchResult result = run({first.measurer.get(), second.measurer.get()});
  check_each_once(result);
  CHECK(!result.devices[1].left_out);
  CHECK(result.best()->config == kBest);
}

TEST_CASE("a device that disappears costs none of its candidates") {
  Device first("gpu a", 1), second("gpu b", 1);
  Mortal mortal(*second.measurer, 12);
  const SearchResult result = run({first.measurer.get(), &mortal});
  check_each_once(result);
  CHECK(!result.fault);
  REQUIRE(result.devices[1].left_out);
  CHECK(result.devices[1].left_out->code == "worker-lost");
  CHECK(result.devices[1].evaluations == 10);  // and two times to agree
  CHECK(result.best()->config == kBest);
}

TEST_CASE("when the last device disappears, the search ends with what it has") {
  Device only("gpu a", 1);
  Mortal mortal(*only.measurer, 10);
  const SearchResult result = run({&mortal});
  REQUIRE(result.fault);
  CHECK(result.fault->code == "worker-lost");
  CHECK(result.evaluations == 10);
  REQUIRE(result.best() != nullptr);
  for (const Measurement& one : result.candidates) CHECK(one.time_us >= result.best()->time_us);
}

TEST_CASE("when the first device disappears before it has found anything, the next one begins") {
  Device first("gpu a", 1), second("gpu b", 1), third("gpu c", 1.01);
  Mortal mortal(*first.measurer, 0);
  const SearchResult result = run({&mortal, second.measurer.get(), third.measurer.get()});
  check_each_once(result);
  CHECK(!result.fault);
  CHECK(result.best()->config == kBest);
  CHECK(result.devices[0].left_out.value().code == "worker-lost");
  CHECK(result.devices[0].evaluations == 0);
  CHECK(!result.devices[1].left_out);
  CHECK(std::abs(result.devices[2].ratio - 1.01) < 1e-9);
  CHECK(result.devices[2].evaluations > 30);
}

TEST_CASE("when a device disappears while the best few are compared, the next one compares them") {
  Device first("gpu a", 1), second("gpu b", 1);
  const SearchResult whole = run({first.measurer.get(), second.measurer.get()});
  REQUIRE(!whole.final.empty());
  // It tries what it can get, and is gone at its next: in the end game, or just before.
  Mortal mortal(*second.measurer, static_cast<int>(whole.devices[1].evaluations) + 2);
  const SearchResult result = run({&mortal, first.measurer.get()});
  CHECK(!result.fault);
  CHECK(result.best()->config == kBest);
  CHECK(!result.final.empty());
}

TEST_CASE("who is told to stop gets the result before what is being measured is done") {
  std::atomic<bool> stop = false;
  const auto quick = make_measurer(time_of, "gpu");
  std::atomic<int> asked = 0;
  const auto slow = make_measurer(
      [&](const Settings& config) {
        if (++asked > 2) {  // both to agree
          stop = true;
          std::this_thread::sleep_for(std::chrono::seconds(2));
        }
        return time_of(config);
      },
      "gpu");
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds = [&] {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double found_s = 0;
  std::string found;
  SearchOptions options{.stop = &stop};
  options.found = [&](const SearchResult& result) {
    found_s = seconds();
    found = result.best()->config.at("x");
  };
  const SearchResult result = run({quick.get(), slow.get()}, options);
  CHECK(result.interrupted);
  CHECK(found == result.best()->config.at("x"));
  CHECK(found_s < 1);
  CHECK(seconds() > 2);
}

TEST_CASE("a search without anything to measure with is an error") {
  CHECK(error_of([] { run({}); }).diagnostics().front().code == "no-device");
}
