// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>
#include <unistd.h>

#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <thread>

#include "base/file.hpp"
#include "ptxloom/tune.hpp"
#include "support/errors.hpp"
#include "support/temporary_folder.hpp"

using namespace ptxloom;

namespace {

const DeviceKey kDevice{.name = "NVIDIA Test 1/2", .sm = "sm_90a", .sms = 132, .memory_mhz = 3201};

Record record(const std::string& m, double time_us) {
  return {.device = kDevice,
          .kernel_template = "gemm",
          .problem = {{"m", m}, {"n", "8"}},
          .config = {{"tile_m", "64"}},
          .time_us = time_us,
          .spread = 0.01,
          .linker = "13.0",
          .flags = "-O3",
          .resources = Resources{.registers = 40, .shared = 1024},
          .evaluations = 7};
}

std::vector<std::filesystem::path> files(const TemporaryFolder& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".jsonl") found.push_back(entry.path());
  }
  return found;
}

}  // namespace

TEST_CASE("a record survives the way to JSON and back") {
  const Record before = record("5", 12.25);
  const Record after = record_from_json(to_json(before));
  CHECK(to_json(after) == to_json(before));
  CHECK(after.device == before.device);
  CHECK(after.problem == before.problem);
  CHECK(after.resources->registers == 40);
  CHECK(to_json(before).find('\n') == std::string::npos);
}

TEST_CASE("what is kept is found by device, template and problem") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  CHECK(!records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}}));
  records.add(record("5", 12));
  records.add(record("6", 3));
  CHECK(records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}})->time_us == 12);
  CHECK(!records.find(kDevice, "gemm", {{"m", "7"}, {"n", "8"}}));
  CHECK(!records.find(kDevice, "attention", {{"m", "5"}, {"n", "8"}}));
  DeviceKey other = kDevice;
  other.memory_mhz = 2619;
  CHECK(!records.find(other, "gemm", {{"m", "5"}, {"n", "8"}}));
  REQUIRE(files(folder).size() == 1);
  CHECK(files(folder)[0].filename().string().starts_with("NVIDIA_Test_1_2-"));
}

TEST_CASE("of two records of one problem the faster stays") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  for (const double time : {12.0, 9.0, 10.0}) records.add(record("5", time));
  CHECK(records.all().size() == 1);
  CHECK(records.all()[0].time_us == 9);
}

TEST_CASE("files of other hosts are merged on reading") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  records.add(record("5", 12));
  write_file(folder / "NVIDIA_Test_1_2-elsewhere.jsonl",
             to_json(record("5", 11)) + "\n" + to_json(record("9", 1)) + "\n");
  CHECK(records.all().size() == 3);
  CHECK(records.find(kDevice, "gemm", {{"m", "5"}, {"n", "8"}})->time_us == 11);
  CHECK(records.find(kDevice, "gemm", {{"m", "9"}, {"n", "8"}}));
}

TEST_CASE("a record of another version is a hint, never an answer") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  Record old = record("5", 2);
  old.library = "0.0.1";
  records.add(old);
  const Settings problem = {{"m", "5"}, {"n", "8"}};
  CHECK(!records.find(kDevice, "gemm", problem));
  REQUIRE(records.hints(kDevice, "gemm", problem).size() == 1);
  records.add(record("5", 12));
  CHECK(records.find(kDevice, "gemm", problem)->time_us == 12);
  CHECK(records.hints(kDevice, "gemm", problem)[0].time_us == 2);
}

TEST_CASE("a line that is no record is passed over with a warning, and kept") {
  const TemporaryFolder folder;
  std::vector<std::string> warnings;
  const Records records(folder.path(),
                        Log([&](LogLevel, std::string_view line) { warnings.emplace_back(line); }));
  records.add(record("5", 12));
  const std::filesystem::path file = files(folder).at(0);
  std::ofstream(file, std::ios::app) << "{\"schema\": 1, \"device\"\n" << "{\"schema\": 9}\n" << "{}\n";
  CHECK(records.all().size() == 1);
  REQUIRE(warnings.size() == 3);
  CHECK(warnings[0].find(file.string() + ":2") != std::string::npos);
  records.add(record("6", 1));
  CHECK(records.all().size() == 2);
  const std::string content = read_file(file);
  CHECK(content.find("{\"schema\": 1, \"device\"\n") != std::string::npos);
}

TEST_CASE("a file can be merged in, good lines only") {
  const TemporaryFolder folder;
  const Records records(folder / "records");
  write_file(folder / "given.txt", to_json(record("5", 12)) + "\nrubbish\n" + to_json(record("6", 3)));
  CHECK(records.merge(folder / "given.txt") == 2);
  CHECK(records.all().size() == 2);
}

TEST_CASE("records that cannot be written are an error that names the folder") {
  const TemporaryFolder folder;
  write_file(folder / "file", "");
  const Error error = error_of([&] { Records(folder / "file" / "records").add(record("5", 1)); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK(error.diagnostics().front().code == "unwritable-file");
  CHECK(error.diagnostics().front().hint.find("PTXLOOM_RECORDS") != std::string::npos);
}

TEST_CASE("writers at the same time lose nothing") {
  const TemporaryFolder folder;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) Records(folder.path()).add(record(std::to_string(100 * t + i), 1));
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(Records(folder.path()).all().size() == 40);
}

TEST_CASE("a budget is seconds or evaluations") {
  CHECK(parse_budget("1.5").seconds == 1.5);
  CHECK(parse_budget("200evals").evaluations == 200);
  CHECK(parse_budget("200evals").seconds == 0);
  for (const char* bad : {"", "0", "-1", "1.5evals", "evals", "10s", "1e99"}) {
    CHECK(error_of([&] { parse_budget(bad); }).diagnostics().front().code == "bad-budget");
  }
}
