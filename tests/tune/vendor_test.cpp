// SPDX-License-Identifier: Apache-2.0
// The vendor's library against the winner, by readings that are made up.
#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

#include <deque>

#include "ptxloom/tune.hpp"

using namespace ptxloom;
using Catch::Approx;

namespace {

/// Gives these readings of the vendor's library, one after the other, the last for ever.
class Given : public tune::Measurer {
 public:
  explicit Given(std::deque<tune::Reading> readings) : readings_(std::move(readings)) {}
  tune::Reading measure(const tune::Trial&) override { return {}; }
  void set_rival(const tune::Trial* rival) override { rival_ptx = rival->candidate.ptx; }
  Code code() const override { return Code::ptx; }
  std::string name() const override { return "a plan"; }
  tune::Reading measure_vendor(int samples) override {
    asked += samples;
    tune::Reading reading = readings_.front();
    if (readings_.size() > 1) readings_.pop_front();
    return reading;
  }
  std::string rival_ptx;
  int asked = 0;

 private:
  std::deque<tune::Reading> readings_;
};

/// Twelve rounds in which the library takes these times and the winner 10, or twice that: a slow clock.
tune::Reading rounds(double fast, double slow) {
  tune::Reading reading{.library = "cuBLASLt 13.4.2"};
  for (int i = 0; i < 12; ++i) {
    const double clock = i % 3 == 0 ? 2 : 1;
    reading.us.push_back(clock * (i % 2 == 0 ? fast : slow));
    reading.rival_us.push_back(clock * 10);
  }
  return reading;
}

tune::SearchResult search() {
  return {.candidates = {{.config = {{"x", "1"}}, .time_us = 9}, {.config = {{"x", "2"}}, .time_us = 8}},
          .winner = 1,
          .kernel = {.ptx = "the winner's"}};
}

}  // namespace

TEST_CASE("the ratio is taken per round, so that clock drift cancels out") {
  Given given({rounds(15, 15.01)});
  const tune::VendorTime vendor = tune::time_vendor(given, search());
  CHECK(given.rival_ptx == "the winner's");
  CHECK(!vendor.problem);
  CHECK(vendor.library == "cuBLASLt 13.4.2");
  CHECK(vendor.ratio == Approx(1.5005));
  CHECK(vendor.time_us == Approx(1.5005 * 8));
  CHECK(vendor.low == Approx(1.5));
  CHECK(vendor.high == Approx(1.501));
  CHECK(vendor.rounds == 12);
  CHECK(given.asked == 12);
}

TEST_CASE("an uncertain ratio is measured longer, but not forever") {
  Given given({rounds(10, 20)});
  const tune::VendorTime vendor = tune::time_vendor(given, search());
  CHECK(vendor.rounds == 96);
  CHECK(vendor.low == Approx(1));
  CHECK(vendor.high == Approx(2));
}

TEST_CASE("without a time there is a reason; with some, they stand") {
  tune::Reading missing{.problem = Diagnostic{.code = "no-cublaslt", .message = "not found"}};
  Given none({missing});
  const tune::VendorTime vendor = tune::time_vendor(none, search());
  REQUIRE(vendor.problem);
  CHECK(vendor.problem->code == "no-cublaslt");
  CHECK(vendor.library == "cuBLASLt");
  CHECK(vendor.rounds == 0);

  Given died({rounds(10, 20), {.problem = Diagnostic{.code = "worker-died", .message = "gone"}}});
  const tune::VendorTime some = tune::time_vendor(died, search());
  CHECK(!some.problem);
  CHECK(some.rounds == 12);

  const auto times = tune::make_measurer([](const Settings&) { return 1.0; });
  REQUIRE(tune::time_vendor(*times, search()).problem);
  CHECK(tune::time_vendor(*times, search()).problem->code == "no-vendor");
}
