// SPDX-License-Identifier: Apache-2.0
// Candidates that break the device's context: each costs only itself.
#include <signal.h>

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "support/faulty_candidates.hpp"
#include "support/gpu.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;
using namespace ptxloom::test;

namespace {

tune::Candidate linked(const Context& context, const std::string& fault) {
  tune::Candidate candidate = make_candidate(fault);
  candidate.cubin =
      context.linker().link(candidate.ptx, {.target = std::string(context.target().name())}).cubin;
  return candidate;
}

}  // namespace

TEST_CASE("planted faults on a GPU cost their candidate only", "[gpu]") {
  const TemporaryFolder folder;
  const Context context = require_gpu(folder);
  const auto worker = tune::make_worker(make_task(Catch::getSeed()), {.candidate_seconds = 5});
  const auto measure = [&](const tune::Candidate& candidate) {
    return worker->measure({.config = {}, .candidate = candidate, .verify = true, .samples = 3});
  };
  const tune::Candidate good = linked(context, "good");
  const tune::Trial rival{.config = {}, .candidate = good};
  worker->set_rival(&rival);
  struct Fault {
    const char* name;
    const char* code;  // empty: correct
    bool restarts;
  };
  const Fault faults[] = {{"address", "device-fault", true},
                          {"trap", "device-fault", true},
                          {"loop", "time-limit", true},
                          {"memory", "out-of-device-memory", false},
                          {"wrong", "wrong-result", false},
                          {"hole", "wrong-result", false},
                          {"spill", "wrong-result", false},
                          {"outside", "wrong-result", false},
                          {"spoil", "", false}};
  for (const Fault& fault : faults) {
    CAPTURE(fault.name);
    const tune::Reading reading = measure(linked(context, fault.name));
    CHECK((reading.problem ? reading.problem->code : "") == fault.code);
    CHECK(reading.restarted == fault.restarts);
    const tune::Reading after = measure(good);
    INFO((after.problem ? to_string(*after.problem) : ""));
    CHECK(!after.problem);
    CHECK(after.us.size() == 3);
    CHECK(after.rival_us.size() == 3);
  }
  std::thread killer([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    for (const pid_t child : children_of_this_process()) ::kill(child, SIGKILL);
  });
  const tune::Reading killed = measure(linked(context, "loop"));
  killer.join();
  REQUIRE(killed.problem);
  CHECK(killed.problem->code == "worker-died");
  CHECK(!measure(good).problem);
}
