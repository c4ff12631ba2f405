// SPDX-License-Identifier: Apache-2.0
// What is printed may be lost; work never is, and nothing is printed into somebody's file.
#include <catch2/catch_test_macros.hpp>
#include <filesystem>

#include "cli/tool.hpp"
#include "support/ptxas.hpp"

namespace ptxloom::test::streams_test {
namespace {

namespace fs = std::filesystem;

/// What a search on the executor leaves behind.
struct Search {
  TemporaryFolder folder;
  ToolResult run(const Streams& streams, const std::map<std::string, std::string>& more = {}) const {
    std::map<std::string, std::string> environment = {{"PTXLOOM_RECORDS", folder / "records"}};
    environment.insert(more.begin(), more.end());
    return run_tool_with(streams,
                         {"tune", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu", "--budget",
                          "3evals", "--json", "--report", folder / "report.html"},
                         environment);
  }
  /// The lines of all records files; each must be a record.
  std::size_t records() const {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(folder / "records")) {
      if (entry.path().extension() != ".jsonl") continue;
      std::istringstream text(read_text(entry.path()));
      for (std::string line; std::getline(text, line); ++count)
        CHECK(check_schema(nlohmann::json::parse(line), read_schema("record")) == "");
    }
    return count;
  }
  bool has_report() const { return read_text(folder / "report.html").ends_with("</html>\n"); }
};

}  // namespace

TEST_CASE("a stderr that cannot be written to changes nothing else, whatever the subcommand", "[slow]") {
  const TemporaryFolder folder;
  for (const Use& use : uses_of_all_subcommands(folder.path())) {
    const ToolResult usual = run_tool(use.arguments);
    std::vector<std::string> wrong = use.arguments;
    wrong.emplace_back("--no-such-option");
    for (const std::string err : {"/dev/full", "closed"}) {
      const ToolResult result = run_tool_with({.err = err}, use.arguments);
      CAPTURE(err, use.arguments, usual.err);
      CHECK(result.code == usual.code);
      CHECK(result.out.empty() == usual.out.empty());
      CHECK(run_tool_with({.err = err}, wrong).code == 2);
    }
  }
}

TEST_CASE("a stdout that cannot be written to is an error wherever there is something to print", "[slow]") {
  const TemporaryFolder folder;
  for (const Use& use : uses_of_all_subcommands(folder.path())) {
    if (run_tool(use.arguments).out.empty()) continue;
    for (const std::string out : {"/dev/full", "closed"}) {
      const ToolResult result = run_tool_with({.out = out}, use.arguments);
      CAPTURE(out, use.arguments, result.err);
      CHECK(result.code == 2);
      CHECK(result.err.find("[unwritable-file]") != std::string::npos);
      CHECK(result.err.find("cannot write to stdout") != std::string::npos);
    }
  }
}

TEST_CASE("a search keeps its record and its report, whichever stream fails") {
  for (const Streams& streams :
       {Streams{.err = "/dev/full"}, Streams{.err = "closed"}, Streams{.out = "/dev/full"},
        Streams{.out = "closed"}, Streams{.out = "closed", .err = "closed"}}) {
    const Search search;
    const ToolResult result = search.run(streams);
    CAPTURE(streams.out, streams.err, result.err);
    CHECK(result.code == (streams.out.empty() ? 0 : 2));
    CHECK(search.records() >= 1);
    CHECK(search.has_report());
  }
}

TEST_CASE("with stderr closed nothing is printed into the files that are opened instead") {
  const Search search;
  const ToolResult result = search.run({.err = "closed"}, {{"PTXLOOM_LOG", "debug"}});
  CHECK(result.code == 0);
  CHECK(check_schema(nlohmann::json::parse(result.out), read_schema("tune")) == "");
  CHECK(search.records() >= 1);

  const TemporaryFolder folder;
  const auto emit = [&](const Streams& streams, const std::string& file) {
    return run_tool_with(streams, {"emit", "gemm", "--set", "m=16", "n=8", "k=32", "-o", folder / file}, {});
  };
  REQUIRE(emit({}, "usual.ptx").code == 0);
  REQUIRE(emit({.out = "closed", .err = "closed"}, "closed.ptx").code == 0);
  CHECK(read_text(folder / "closed.ptx") == read_text(folder / "usual.ptx"));
}

TEST_CASE("a reader that goes away ends neither search nor tool by a signal") {
  const TemporaryFolder folder;
  const std::string tune = "PTXLOOM_RECORDS=" + (folder / "records").string() + " " + tool_path() +
                           " tune gemm --set m=16 n=8 k=32 --device cpu --budget 3evals";
  // The shell's own SIGPIPE is what a pipeline gives its programs.
  const CommandResult err =
      run_command("{ " + tune + " 2>&1 >/dev/null; echo $? > " + (folder / "err").string() + "; } | true");
  CHECK(err.status == 0);
  CHECK(read_text(folder / "err") == "0\n");
  CHECK(!fs::is_empty(folder / "records"));
  run_command("{ " + tool_path() + " list --json; echo $? > " + (folder / "out").string() + "; } | true");
  CHECK(read_text(folder / "out") == "2\n");
}

TEST_CASE("a closed stdin is unreadable, not empty") {
  for (const std::string arguments : {"check -", "check --jsonl -"}) {
    const CommandResult result = run_command(tool_path() + " " + arguments + " <&-");
    CAPTURE(arguments, result.output);
    CHECK(result.status == 2);
    CHECK(result.output.find("[unreadable-file]") != std::string::npos);
  }
}

}  // namespace ptxloom::test::streams_test
