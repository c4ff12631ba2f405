// SPDX-License-Identifier: Apache-2.0
// How a worker handles a candidate on a GPU, against a fake driver that only records calls: every launch
// "takes" the same time and computes nothing.
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "launch/fake_cubin.hpp"
#include "support/errors.hpp"
#include "support/fake_driver.hpp"
#include "tune/worker/session.hpp"

namespace ptxloom::test::session_fake_test {
namespace {

/// A task that a kernel which does nothing fulfils or, with `must_write`, does not.
tune::Task make_task(bool must_write) {
  const TensorPlan in{.name = "x", .type = f32, .shape = {64}, .role = TensorPlan::Role::in};
  const TensorPlan out{.name = "y", .type = f32, .shape = {64}, .role = TensorPlan::Role::out};
  return {.tensors = {random_tensor(in, 1), poisoned_tensor(out)},
          .expected = {{.tensor = "y", .complete = !must_write}}};
}

tune::Candidate make_candidate() {
  return {.cubin = fake_cubin(),
          .launches = {{.entry = "kernel",
                        .block = {32, 1, 1},
                        .arguments = {{.name = "x", .type = u64, .tensor = "x"},
                                      {.name = "n", .type = u32, .bits = 64},
                                      {.name = "y", .type = u64, .tensor = "y"},
                                      {.name = "z", .type = u64, .tensor = "z"}}}}};
}

struct Rig {
  explicit Rig(bool must_write = false) : task(make_task(must_write)) {
    fake.parameters = {{0, 8}, {8, 4}, {16, 8}, {24, 8}};
  }
  tune::Reading measure(const tune::Candidate& candidate, int samples = 3) {
    return session.measure(candidate, true, samples, lost);
  }
  std::string problem(const tune::Candidate& candidate) {
    const tune::Reading reading = measure(candidate);
    return reading.problem ? reading.problem->code : "";
  }

  FakeCuda& fake = fresh_fake();
  DeviceContext device{fake_libraries()};
  tune::Task task;
  std::unique_ptr<tune::Bench> bench = tune::make_gpu_bench(device, task);
  tune::Session session{*bench, task};
  bool lost = false;
};

}  // namespace

TEST_CASE("a candidate is verified on poisoned outputs before it is timed") {
  Rig good;
  const tune::Reading reading = good.measure(make_candidate(), 7);
  CHECK(!reading.problem);
  CHECK(reading.us.size() == 7);
  CHECK(reading.rival_us.empty());
  CHECK(reading.busy_us > 0);
  // The argument for a tensor that the problem lacks is null.
  CHECK(good.fake.launches.at(0).parameters.at(24) == std::byte{0});
  CHECK(good.fake.launches.at(0).parameters.at(8) == std::byte{64});

  Rig bad(true);
  CHECK(bad.problem(make_candidate()) == "wrong-result");
  CHECK(!bad.lost);
  CHECK(bad.fake.launches.size() == 4);  // two poisons, and again on fresh inputs; no timing
}

TEST_CASE("a candidate and its rival are timed in alternation") {
  Rig rig;
  const tune::Candidate candidate = make_candidate();
  rig.session.set_rival(&candidate);
  const tune::Reading reading = rig.measure(candidate, 4);
  CHECK(reading.us.size() == 4);
  CHECK(reading.rival_us.size() == 4);
  rig.session.set_rival(nullptr);
  CHECK(rig.measure(candidate, 4).rival_us.empty());
}

TEST_CASE("scratch buffers are a candidate's own") {
  Rig rig;
  tune::Candidate candidate = make_candidate();
  candidate.scratch = {{.name = "z", .type = u8, .shape = {100}}};
  CHECK(rig.problem(candidate).empty());
  std::uint64_t address = 0;  // the fourth parameter
  std::memcpy(&address, rig.fake.launches.at(0).parameters.data() + 24, sizeof address);
  CHECK(address != 0);
}

TEST_CASE("several launches are one pass") {
  Rig rig;
  tune::Candidate candidate = make_candidate();
  candidate.launches.push_back(candidate.launches.front());
  candidate.launches.back().grid = {5, 1, 1};
  CHECK(rig.problem(candidate).empty());
  CHECK(rig.fake.launches.at(0).config.gridDimX == 1);
  CHECK(rig.fake.launches.at(1).config.gridDimX == 5);
}

TEST_CASE("what a launch clears is cleared before it, in each pass and on its stream") {
  Rig rig;
  tune::Candidate candidate = make_candidate();
  candidate.launches.push_back(candidate.launches.front());
  candidate.launches.back().clear = {{"y", 64, 128}};
  CHECK(rig.problem(candidate).empty());
  std::size_t clears = 0;
  for (const FakeCuda::Fill& fill : rig.fake.fills) {
    if (fill.bytes != 128) continue;
    ++clears;
    CHECK(fill.value == 0);
    CHECK(fill.launches % 2 == 1);
    std::uint64_t y = 0;  // the third parameter
    std::memcpy(&y, rig.fake.launches.at(fill.launches - 1).parameters.data() + 16, sizeof y);
    CHECK(fill.to == y + 64);
    CHECK(fill.stream == rig.fake.launches.at(fill.launches - 1).config.hStream);
  }
  CHECK(clears == rig.fake.launches.size() / 2);
}

TEST_CASE("a candidate that cannot be loaded or launched fails, and the device stays usable") {
  Rig rig;
  tune::Candidate other = make_candidate();
  other.launches.front().entry = "other";
  CHECK(rig.problem(other) == "unknown-kernel");
  tune::Candidate large = make_candidate();
  large.launches.front().block = {4096, 1, 1};
  CHECK(rig.problem(large) == "launch-size");
  rig.fake.failures["cuMemAlloc"] = CUDA_ERROR_OUT_OF_MEMORY;
  tune::Candidate hungry = make_candidate();
  hungry.scratch = {{.name = "z", .type = u8, .shape = {100}}};
  CHECK(rig.problem(hungry) == "out-of-device-memory");
  rig.fake.failures.clear();
  CHECK(!rig.lost);
  CHECK(rig.problem(make_candidate()).empty());
}

TEST_CASE("a fault loses the device, and says so") {
  Rig rig;
  rig.fake.failures["cuStreamSynchronize"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  CHECK(rig.problem(make_candidate()) == "device-fault");
  CHECK(rig.lost);
  rig.fake.failures.clear();
}

}  // namespace ptxloom::test::session_fake_test
