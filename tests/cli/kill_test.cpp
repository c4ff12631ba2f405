// SPDX-License-Identifier: Apache-2.0
// A search that is killed leaves what it had found.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "cli/tool.hpp"

namespace ptxloom::test::kill_test {
namespace {

const std::vector<std::string> kTune = {"tune", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu"};

std::vector<std::string> tune(std::vector<std::string> more) {
  more.insert(more.begin(), kTune.begin(), kTune.end());
  return more;
}

/// Kills a search without an end once it has said what its best candidate takes. Returns what it said.
std::string kill_search(const TemporaryFolder& folder) {
  const std::filesystem::path said = folder / "said";
  std::string command = "exec " + tool_path();
  for (const std::string& word : tune({"--budget", "3600", "--strategy", "exhaustive"}))
    command += " " + word;
  command += " > /dev/null 2> " + said.string();
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("PTXLOOM_RECORDS", (folder / "records").c_str(), 1);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  const auto begin = std::chrono::steady_clock::now();
  while (read_text(said).find(" us  tile") == std::string::npos &&
         read_text(said).find(" us  best ") == std::string::npos &&
         std::chrono::steady_clock::now() - begin < std::chrono::minutes(2))
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFSIGNALED(status));
  return read_text(said);
}

/// The record as a program gets it.
nlohmann::json recorded(const TemporaryFolder& folder) {
  const ToolResult result =
      run_tool(tune({"--must-hit", "--json"}), {{"PTXLOOM_RECORDS", folder / "records"}});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(check_schema(json, read_schema("tune")) == "");
  return json["record"];
}

}  // namespace

TEST_CASE("a search that is killed leaves its best candidate as a record, which is used") {
  const TemporaryFolder folder;
  const std::string said = kill_search(folder);
  const nlohmann::json record = recorded(folder);
  CAPTURE(said, record.dump());
  CHECK(record["provisional"] == true);
  std::string words;
  for (const auto& [name, value] : record["config"].items())
    words += (words.empty() ? "" : " ") + name + "=" + value.get<std::string>();
  // Killed between keeping and saying, it has kept more than it has said.
  const auto lines = std::ranges::count(said, '\n');
  CHECK((said.find("  " + words + "\n") != std::string::npos || record["evaluations"] > lines));

  // The next search begins with it, and what it completes stands for it.
  const ToolResult next =
      run_tool(tune({"--budget", "2evals", "--json"}), {{"PTXLOOM_RECORDS", folder / "records"}});
  CAPTURE(next.err);
  REQUIRE(next.code == 0);
  CHECK(nlohmann::json::parse(next.out)["candidates"][0]["config"] == record["config"]);
  CHECK(!recorded(folder).contains("provisional"));
}

}  // namespace ptxloom::test::kill_test
