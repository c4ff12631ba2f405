// SPDX-License-Identifier: Apache-2.0
// Tuning a kernel that a user brings, through a context: in a worker on the executor, or with given times.
#include "ptxloom/tuner.hpp"

#include <algorithm>
#include <atomic>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "base/file.hpp"
#include "support/errors.hpp"
#include "support/faulty_candidates.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::tuner_test {
namespace {

struct Rig {
  TemporaryFolder folder;
  Context context{{.device = "cpu", .records_folder = folder / "records"}};
  std::uint64_t seed = Catch::getSeed();

  Tunable what() const {
    return {.name = "add_one",
            .problem = {{"n", "997"}},
            .space = {.parameters = {{"fault", {"good", "wrong", "hole", "good2", "throw"}}}},
            .make = [](const Settings& config) { return make_candidate(config.at("fault")); },
            .task = [seed = seed] { return make_task(seed); }};
  }
};

}  // namespace

TEST_CASE("a user's kernel is tuned, and what is wrong is kept as a bug with all that reproduces it") {
  const Rig rig;
  const auto worker = tune::make_worker(make_task(rig.seed), {.device = "cpu"});
  const TuneResult result =
      tune_kernel(rig.context, rig.what(), {.budget = {}, .seed = rig.seed, .measurer = worker.get()});
  CHECK(result.search.evaluations == 5);
  REQUIRE(result.record);
  CHECK(result.record->config.at("fault").starts_with("good"));
  CHECK(rig.context.records().all().size() == 1);
  int wrong = 0;
  for (const tune::Measurement& one : result.search.candidates) {
    if (!one.problem || one.problem->code != "wrong-result") continue;
    ++wrong;
    CHECK(read_file(one.saved / "kernel.ptx") == make_candidate(one.config.at("fault")).ptx);
    const auto json = nlohmann::json::parse(read_file(one.saved / "reproduce.json"));
    CHECK(json["config"]["fault"] == one.config.at("fault"));
    CHECK(json["seed"] == rig.seed);
    CHECK(json["problem"]["n"] == "997");
    CHECK(json["message"] == one.problem->message);
  }
  CHECK(wrong == 2);
}

TEST_CASE("the previous best is tried first") {
  const Rig rig;
  std::vector<std::string> order;
  const auto given = tune::make_measurer([&](const Settings& config) {
    order.push_back(config.at("fault"));
    return config.at("fault") == "throw" ? 1.0 : 2.0;
  });
  const TuneOptions options{.budget = {.evaluations = 1}, .jobs = 1, .measurer = given.get()};
  Record old{.device = device_key(rig.context),
             .kernel_template = "add_one",
             .problem = {{"n", "997"}},
             .config = {{"fault", "good2"}},
             .time_us = 3,
             .library = "0.0.1"};
  rig.context.records().add(old);
  tune_kernel(rig.context, rig.what(), options);
  CHECK(order.at(0) == "good2");
}

TEST_CASE("the default configuration is tried early, after the previous best") {
  const Rig rig;
  std::vector<std::string> order;
  const auto given = tune::make_measurer([&](const Settings& config) {
    order.push_back(config.at("fault"));
    return 2.0;
  });
  Tunable what = rig.what();
  what.standard = {{"fault", "hole"}};
  rig.context.records().add({.device = device_key(rig.context),
                             .kernel_template = "add_one",
                             .problem = what.problem,
                             .config = {{"fault", "wrong"}},
                             .time_us = 3,
                             .library = "0.0.1"});
  const TuneResult result =
      tune_kernel(rig.context, what, {.budget = {.evaluations = 2}, .jobs = 1, .measurer = given.get()});
  // The two are measured again in turns: only the order in which they first come is asked for.
  CHECK(order.at(0) == "wrong");
  const auto second =
      std::find_if(order.begin(), order.end(), [](const auto& one) { return one != "wrong"; });
  REQUIRE(second != order.end());
  CHECK(*second == "hole");
  CHECK(result.standard == what.standard);
}

TEST_CASE("two processes that tune one problem share one search") {
  const Rig rig;
  std::atomic<int> measured = 0;
  const auto tune_it = [&] {
    const auto given = tune::make_measurer([&](const Settings&) {
      ++measured;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      return 2.0;
    });
    return tune_kernel(rig.context, rig.what(), {.budget = {}, .measurer = given.get()});
  };
  TuneResult one, other;
  std::thread first([&] { one = tune_it(); });
  std::thread second([&] { other = tune_it(); });
  first.join();
  second.join();
  CHECK((one.source == TuneResult::Source::record) != (other.source == TuneResult::Source::record));
  REQUIRE(one.record);
  REQUIRE(other.record);
  CHECK(one.record->config == other.record->config);
}

TEST_CASE("the best so far is on disk before it is reported, and is replaced by the winner") {
  const Rig rig;
  double time_us = 10;
  const auto given = tune::make_measurer([&](const Settings&) { return time_us *= 0.9; });
  int looks = 0;
  TuneOptions options{.budget = {}, .jobs = 1, .measurer = given.get()};
  options.progress = [&](const tune::Progress& progress) {
    REQUIRE(progress.best != nullptr);
    const auto kept = rig.context.records().find(device_key(rig.context), "add_one", rig.what().problem);
    REQUIRE(kept);
    CHECK(kept->provisional);
    CHECK(kept->config == progress.best->config);
    CHECK(kept->time_us == progress.best->time_us);
    CHECK(!kept->made.empty());
    ++looks;
  };
  const TuneResult result = tune_kernel(rig.context, rig.what(), options);
  CHECK(looks == 5);
  REQUIRE(result.record);
  CHECK(!result.record->provisional);
  REQUIRE(rig.context.records().all().size() == 1);
  CHECK(to_json(rig.context.records().all()[0]) == to_json(*result.record));
}

TEST_CASE("records that cannot be written half-way do not affect the search") {
  const Rig rig;
  const auto given = tune::make_measurer([](const Settings&) { return 2.0; });
  TuneOptions options{.budget = {}, .jobs = 1, .measurer = given.get()};
  options.progress = [&](const tune::Progress&) {
    std::filesystem::remove_all(rig.folder / "records");
    write_file(rig.folder / "records", "in the way");
  };
  const TuneResult result = tune_kernel(rig.context, rig.what(), options);
  CHECK(result.search.evaluations == 5);
  CHECK(result.record);
  REQUIRE(result.unkept);
  CHECK(result.unkept->code == "unwritable-file");
}

TEST_CASE("a process that waited for a killed search then searches itself") {
  const Rig rig;
  Record left{.device = device_key(rig.context),
              .kernel_template = "add_one",
              .problem = {{"n", "997"}},
              .config = {{"fault", "good2"}},
              .time_us = 3,
              .provisional = true,
              .made = record_time()};
  rig.context.records().add(left);
  auto claim = Claim::wait(rig.context.records(), left.device, left.kernel_template, left.problem, {});
  std::thread killed([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    claim.reset();
  });
  const auto given = tune::make_measurer([](const Settings&) { return 2.0; });
  const TuneResult result = tune_kernel(rig.context, rig.what(), {.budget = {}, .measurer = given.get()});
  killed.join();
  CHECK(result.source == TuneResult::Source::search);
  CHECK(result.search.candidates.at(0).config == left.config);
}

TEST_CASE("options out of range are refused before anything is started") {
  const Rig rig;
  const auto given = tune::make_measurer([](const Settings&) { return 2.0; });
  const double nan = std::nan("");
  const TuneOptions wrong[] = {{.jobs = kMostJobs + 1},     {.jobs = 99999999},
                               {.candidate_seconds = nan},  {.candidate_seconds = 0},
                               {.candidate_seconds = -1},   {.candidate_seconds = 1e300},
                               {.link_seconds = nan},       {.budget = {.seconds = nan}},
                               {.budget = {.seconds = -1}}, {.budget = {.seconds = 1 / 0.0}}};
  for (TuneOptions options : wrong) {
    options.measurer = given.get();
    const Error error = error_of([&] { tune_kernel(rig.context, rig.what(), options); });
    CHECK(error.kind() == ErrorKind::usage);
    CHECK(error.diagnostics().front().code == "bad-option");
  }
}

TEST_CASE("a record that cannot be kept is said, and the result is there") {
  TemporaryFolder folder;
  write_file(folder / "file", "");
  const Context context({.device = "cpu", .records_folder = folder / "file" / "records"});
  const auto given = tune::make_measurer([](const Settings&) { return 2.0; });
  const TuneResult result = tune_kernel(context, Rig().what(), {.budget = {}, .measurer = given.get()});
  REQUIRE(result.unkept);
  CHECK(result.unkept->code == "unwritable-file");
  CHECK(result.record);
}

TEST_CASE("several devices share the search of a context") {
  const Rig rig;
  const TuneResult result =
      tune_kernel(rig.context, rig.what(), {.budget = {}, .seed = rig.seed, .devices = {"cpu", "cpu"}});
  REQUIRE(result.search.devices.size() == 2);
  CHECK(result.search.devices[0].name.starts_with("cpu of "));
  CHECK(!result.search.devices[1].left_out);
  CHECK(result.search.devices[1].ratio > 0);
  CHECK(result.search.evaluations == 5);
  REQUIRE(result.record);
  CHECK(result.record->config.at("fault").starts_with("good"));
  CHECK(rig.context.records().all().size() == 1);
}

TEST_CASE("the executor is tuned only if it is named") {
  const Rig rig;
  CHECK(error_of([&] { tune_kernel(rig.context, rig.what(), {}); }).diagnostics().front().code ==
        "no-device");
}

TEST_CASE("a task that cannot be made, a space with nothing in it and words that contradict are errors") {
  const Rig rig;
  const auto code = [&](const Tunable& what, const Settings& config) {
    const Error error =
        error_of([&] { tune_kernel(rig.context, what, {.config = config, .devices = {"cpu"}}); });
    return error.diagnostics().front().code;
  };
  Tunable none = rig.what();
  none.space.parameters.clear();
  CHECK(code(none, {}) == "bad-space");
  none = rig.what();
  none.space.rules.push_back(
      {.name = "nothing goes", .reads = {"fault"}, .allows = [](const Settings&) { return false; }});
  CHECK(code(none, {}) == "no-configuration");
  CHECK(code(rig.what(), {{"fault", "bad"}}) == "bad-value");
  CHECK(code(rig.what(), {{"fault", "good|bad"}}) == "bad-value");
  CHECK(code(rig.what(), {{"colour", "red"}}) == "unknown-parameter");
  none = rig.what();
  none.task = []() -> tune::Task { throw Error(ErrorKind::usage, "npy-shape", "an input does not fit"); };
  CHECK(code(none, {}) == "npy-shape");
  // Nothing is kept of it, and nobody waits for a claim that is left.
  CHECK(rig.context.records().all().empty());
  CHECK(tune_kernel(rig.context, rig.what(), {.budget = {}, .devices = {"cpu"}}).record);
}

TEST_CASE("a reference that disagrees with itself is an error before anything is tried") {
  const Rig rig;
  Tunable what = rig.what();
  const auto with = [&](double off, double tolerance) {
    what.task = [seed = rig.seed, off, tolerance] {
      tune::Task task = make_task(seed);
      Expectation::Point twice = task.expected.at(0).points.at(7);
      twice.value += off;
      twice.tolerance = tolerance;
      task.expected.at(0).points.push_back(twice);
      return task;
    };
    return tune_kernel(rig.context, what, {.budget = {}, .devices = {"cpu"}});
  };
  const Error error = error_of([&] { with(2, 1); });
  CHECK(error.diagnostics().front().code == "bad-reference");
  CHECK(error.diagnostics().front().message.find("element 7 of tensor y") != std::string::npos);
  CHECK(rig.context.records().all().empty());
  CHECK(with(2, 2).record);  // some value is within both tolerances
}

TEST_CASE("records that cannot be read do not stop a search, and nothing of them is lost") {
  const Rig rig;
  std::filesystem::create_directories(rig.folder / "records");
  const std::string kept = "{\"schema\": 2, \"from\": \"a newer version\"}\nnot JSON at all\n";
  write_file(rig.folder / "records" / "elsewhere.jsonl", kept);
  const TuneResult result = tune_kernel(rig.context, rig.what(), {.budget = {}, .devices = {"cpu"}});
  CHECK(!result.unkept);
  CHECK(rig.context.records().all().size() == 1);
  CHECK(read_file(rig.folder / "records" / "elsewhere.jsonl") == kept);
}

TEST_CASE("a reference that does not belong to the task is an error of the task") {
  tune::Task task = make_task(1);
  task.expected.at(0).tensor = "nothing";
  const auto worker = tune::make_worker(task, {.device = "cpu"});
  const tune::Candidate candidate = make_candidate("good");
  const tune::Reading reading = worker->measure({.config = {}, .candidate = candidate});
  REQUIRE(reading.problem);
  CHECK(reading.problem->code == "missing-tensor");
}

}  // namespace ptxloom::test::tuner_test
