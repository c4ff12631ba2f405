// SPDX-License-Identifier: Apache-2.0
// The search of the tuner, against a driver that keeps books instead of running kernels: every launch "takes"
// the same time and computes nothing.
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <set>

#include "launch/fake_cubin.hpp"
#include "ptxloom/tune.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"

using namespace ptxloom;

namespace {

/// A task that doing nothing fulfils, or, with `must_write`, does not.
tune::Task make_task(bool must_write) {
  const TensorPlan in{.name = "x", .type = f32, .shape = {64}, .role = TensorPlan::Role::in};
  const TensorPlan out{.name = "y", .type = f32, .shape = {64}, .role = TensorPlan::Role::out};
  return {.tensors = {random_tensor(in, 1), poisoned_tensor(out)},
          .expected = {.tensor = "y", .complete = !must_write}};
}

tune::Candidate make_candidate(std::size_t index) {
  return {.config = {{"number", std::to_string(index)}},
          .cubin = fake_cubin(),
          .launch = {.entry = "kernel",
                     .block = {32, 1, 1},
                     .arguments = {{.name = "x", .type = u64, .tensor = "x"},
                                   {.name = "n", .type = u32, .bits = 64},
                                   {.name = "y", .type = u64, .tensor = "y"},
                                   {.name = "z", .type = u64, .tensor = "z"}}}};
}

struct Bench {
  FakeCuda& fake = fresh_fake();
  Libraries libraries = fake_libraries();
  DeviceContext device{libraries};
  Linker linker{libraries};

  tune::SearchResult search(const tune::Task& task, const tune::Source& source,
                            tune::SearchOptions options = {}) {
    fake.parameters = {{0, 8}, {8, 4}, {16, 8}, {24, 8}};
    options.target = "sm_90a";
    return tune::search(device, linker, task, source, options);
  }
};

tune::Source some(std::size_t count) {
  return [count](std::size_t index) {
    return index < count ? std::optional(make_candidate(index)) : std::nullopt;
  };
}

}  // namespace

TEST_CASE("every candidate is verified on poisoned outputs before it is timed") {
  Bench bench;
  const tune::SearchResult good = bench.search(make_task(false), some(7));
  CHECK(good.evaluations == 7);
  REQUIRE(good.measured.size() == 7);
  std::set<std::string> numbers;
  for (const tune::Measurement& measurement : good.measured) {
    CHECK(!measurement.problem);
    CHECK(measurement.time_us > 0);
    numbers.insert(measurement.config.at("number"));
  }
  CHECK(numbers.size() == 7);
  // The argument of a tensor that the problem lacks is null.
  CHECK(bench.fake.launches.at(0).parameters.at(24) == std::byte{0});
  CHECK(bench.fake.launches.at(0).parameters.at(8) == std::byte{64});

  const std::size_t launches = bench.fake.launches.size();
  const tune::SearchResult bad = bench.search(make_task(true), some(3));
  CHECK(bad.best() == nullptr);
  REQUIRE(bad.measured.size() == 3);
  for (const tune::Measurement& measurement : bad.measured)
    CHECK(measurement.problem->code == "wrong-result");
  CHECK(bench.fake.launches.size() == launches + 6);  // each with two poisons, and no timing
}

TEST_CASE("a search ends with its budget, with its candidates, or when it is told to") {
  Bench bench;
  CHECK(bench.search(make_task(false), some(50), {.budget = {.evaluations = 5}}).evaluations == 5);
  CHECK(bench.search(make_task(false), some(0)).best() == nullptr);
  CHECK(bench.search(make_task(false), some(100000), {.budget = {.seconds = 0.2}}).evaluations < 100000);

  std::atomic<bool> stop{false};
  const tune::SearchResult stopped = bench.search(
      make_task(false), some(100000), {.stop = &stop, .progress = [&](const tune::Progress& progress) {
                                         if (progress.evaluations == 3) stop = true;
                                       }});
  CHECK(stopped.interrupted);
  CHECK(stopped.evaluations == 3);
  CHECK(stopped.best() != nullptr);
}

TEST_CASE("candidates are taken in order however many threads make them") {
  Bench bench;
  std::vector<std::string> order;
  bench.search(make_task(false), some(40), {.jobs = 7, .progress = [&](const tune::Progress& progress) {
                                              order.push_back(progress.latest.config.at("number"));
                                            }});
  REQUIRE(order.size() == 40);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] == std::to_string(i));
}

TEST_CASE("a candidate that cannot be made, loaded or launched is out, and the search goes on") {
  Bench bench;
  const tune::Source source = [](std::size_t index) -> std::optional<tune::Candidate> {
    if (index == 0) throw Error(ErrorKind::refused, "inadmissible", "no");
    if (index == 1) throw std::runtime_error("something else");
    tune::Candidate candidate = make_candidate(index);
    if (index == 2) candidate.launch.entry = "other";
    if (index == 3) candidate.launch.block = {4096, 1, 1};
    return index < 5 ? std::optional(candidate) : std::nullopt;
  };
  std::vector<std::string> problems;
  const tune::SearchResult result =
      bench.search(make_task(false), source, {.progress = [&](const tune::Progress& progress) {
                     problems.push_back(progress.latest.problem ? progress.latest.problem->code : "");
                   }});
  CHECK(problems ==
        std::vector<std::string>{"inadmissible", "candidate-failed", "unknown-kernel", "launch-config", ""});
  REQUIRE(result.best() != nullptr);
  CHECK(result.best()->config.at("number") == "4");
}

TEST_CASE("a fault on the device ends the search with what it has") {
  Bench bench;
  const tune::SearchResult result =
      bench.search(make_task(false), some(50), {.progress = [&](const tune::Progress& progress) {
                     if (progress.evaluations == 4)
                       bench.fake.failures["cuStreamSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
                   }});
  bench.fake.failures.clear();
  REQUIRE(result.fault);
  CHECK(result.fault->code == "device-fault");
  CHECK(result.best() != nullptr);
  CHECK(result.measured.size() >= 4);
}
