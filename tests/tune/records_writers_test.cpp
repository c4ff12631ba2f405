// SPDX-License-Identifier: Apache-2.0
// Several threads and processes that write records and claim problems at the same time, some of which are
// killed.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

#include "base/file.hpp"
#include "ptxloom/record.hpp"
#include "support/temporary_folder.hpp"
#include "tune/sample_record.hpp"

namespace ptxloom::record_test {

TEST_CASE("searches under way at the same time lose nothing of each other, nor of what is no record") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  records.add(record("1", 1));
  std::ofstream(files(folder).at(0), std::ios::app) << "of a newer version\n";
  std::vector<std::thread> threads;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      Record one = record(std::to_string(100 + t), 50);
      one.provisional = true;
      for (; one.time_us > 40; one.time_us -= 1) {
        one.made = record_time();
        Records(folder.path()).add(one);
      }
      one.provisional = t % 2 == 0;  // half of them are completed
      one.made = record_time();
      Records(folder.path()).add(one);
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::string content = read_file(files(folder).at(0));
  CHECK(std::ranges::count(content, '\n') == 8);
  CHECK(content.find("of a newer version\n") != std::string::npos);
  REQUIRE(records.all().size() == 7);
  for (const Record& one : records.all()) CHECK(one.time_us == (one.problem.at("m") == "1" ? 1 : 40));
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

TEST_CASE("a line that a killed writer left half done spoils nothing") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  records.add(record("5", 12));
  std::ofstream(files(folder).at(0), std::ios::app) << to_json(record("6", 3)).substr(0, 40);
  records.add(record("7", 4));
  CHECK(records.all().size() == 2);
  CHECK(records.find(kDevice, "gemm", {{"m", "7"}, {"n", "8"}}));
}

TEST_CASE("64 processes append, some are killed, and nothing is lost or torn") {
  const TemporaryFolder folder;
  constexpr int kProcesses = 64, kEach = 8;
  std::vector<pid_t> children;
  for (int process = 0; process < kProcesses; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      const Records records(folder.path());
      for (int i = 0; i < kEach; ++i) {
        records.add(record(std::to_string(1 + process * kEach + i), 1 + i));
        std::ofstream(folder / ("done-" + std::to_string(process)), std::ios::app) << i << '\n';
      }
      ::_exit(0);
    }
    REQUIRE(child > 0);
    children.push_back(child);
  }
  for (int victim = 0; victim < kProcesses; victim += 4) {
    ::usleep(3000);
    ::kill(children[static_cast<std::size_t>(victim)], SIGKILL);
  }
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);

  std::vector<std::string> warnings;
  const Records records(folder.path(),
                        Log([&](LogLevel, std::string_view line) { warnings.emplace_back(line); }));
  records.add(record("100000", 1));
  std::set<Settings> there;
  for (const Record& one : records.all()) there.insert(one.problem);
  // What a writer was told is kept must be there, whatever became of the others.
  int told = 0;
  for (int process = 0; process < kProcesses; ++process) {
    std::ifstream done(folder / ("done-" + std::to_string(process)));
    for (int i = 0; done >> i; ++told)
      CHECK(there.contains({{"m", std::to_string(1 + process * kEach + i)}, {"n", "8"}}));
  }
  CHECK(told >= 48 * kEach);
  CHECK(warnings.size() <= 16);  // a killed writer may leave half of its own line
}

TEST_CASE("a problem is tuned by one at a time, and the next one knows that it waited") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  const Settings problem = {{"m", "5"}}, elsewhere = {{"m", "6"}};
  std::optional<Claim> first = Claim::wait(records, kDevice, "gemm", problem, {});
  REQUIRE(first);
  CHECK(!first->waited());
  CHECK(!Claim::wait(records, kDevice, "gemm", elsewhere, {})->waited());
  std::atomic<bool> stop{true};
  CHECK(!Claim::wait(records, kDevice, "gemm", problem, {}, &stop));
  std::thread release([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    first.reset();
  });
  const std::optional<Claim> second = Claim::wait(records, kDevice, "gemm", problem, {});
  release.join();
  REQUIRE(second);
  CHECK(second->waited());
}

TEST_CASE("a claim ends with the process that has it, also when that is killed") {
  const TemporaryFolder folder;
  const Records records(folder.path());
  const pid_t child = ::fork();
  if (child == 0) {
    const auto claim = Claim::wait(records, kDevice, "gemm", {{"m", "5"}}, {});
    std::ofstream(folder / "claimed") << 1;
    ::pause();
    ::_exit(0);
  }
  while (!std::filesystem::exists(folder / "claimed")) ::usleep(1000);
  std::atomic<bool> stop{true};
  CHECK(!Claim::wait(records, kDevice, "gemm", {{"m", "5"}}, {}, &stop));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(Claim::wait(records, kDevice, "gemm", {{"m", "5"}}, {}));
}

}  // namespace ptxloom::record_test
