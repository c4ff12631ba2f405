// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <sstream>

#include "cli/tool.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::check_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

struct Verdicts {
  int code = -1;
  std::vector<json> lines;
};

Verdicts check_jsonl(const std::string& input, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"check", "--jsonl", "-"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const ToolResult result = run_tool(arguments, {}, input);
  CAPTURE(result.err);
  Verdicts verdicts{.code = result.code, .lines = {}};
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    verdicts.lines.push_back(json::parse(line));
    CHECK(check_schema(verdicts.lines.back(), read_schema("check")) == "");
  }
  return verdicts;
}

json first_error(const std::string& line) {
  const Verdicts verdicts = check_jsonl(line + "\n");
  CHECK(verdicts.code == 1);
  REQUIRE(verdicts.lines.size() == 1);
  CHECK(verdicts.lines[0]["ok"] == false);
  REQUIRE(verdicts.lines[0]["errors"].size() >= 1);
  return verdicts.lines[0]["errors"][0];
}

}  // namespace

TEST_CASE("check --jsonl answers each line with an object of the same id") {
  const json legal = {
      {"id", "a"}, {"ptx", "add.s32 x, x, 1;"}, {"decls", ".reg .b32 x;"}, {"target", "sm_80"}};
  const json illegal = {
      {"id", 7}, {"ptx", "add.s32 x,\n  x, 1.5;"}, {"decls", ".reg .b32 x;"}, {"target", "sm_80"}};
  CHECK(check_schema(legal, read_schema("check_in")) == "");
  const Verdicts verdicts = check_jsonl(legal.dump() + "\n" + illegal.dump() + "\n");
  CHECK(verdicts.code == 1);
  REQUIRE(verdicts.lines.size() == 2);
  CHECK(verdicts.lines[0] ==
        json{{"id", "a"}, {"ok", true}, {"errors", json::array()}, {"warnings", json::array()}});
  CHECK(verdicts.lines[1]["id"] == 7);
  CHECK(verdicts.lines[1]["errors"][0]["code"] == "operand-literal");
  CHECK(verdicts.lines[1]["errors"][0]["line"] == 1);
  CHECK(check_jsonl(legal.dump() + "\n").code == 0);
  CHECK(check_jsonl("").code == 0);
}

TEST_CASE("check --jsonl: what is wrong with a line is said in its own object") {
  CHECK(first_error("add.s32 x, x, 1;")["code"] == "bad-json");
  CHECK(first_error("")["code"] == "bad-json");
  CHECK(first_error("[1, 2]")["code"] == "bad-json");
  CHECK(first_error(R"({"id": 1, "ptx": "ret;"})")["code"] == "missing-field");
  CHECK(first_error(R"({"target": "sm_80"})")["code"] == "missing-field");
  CHECK(first_error(R"({"ptx": 5, "target": "sm_80"})")["code"] == "bad-field");
  CHECK(first_error(R"({"ptx": "ret;", "target": "sm_81"})")["code"] == "unknown-target");
  CHECK(first_error(R"({"ptx": "ret;", "target": "sm_80", "version": "new"})")["code"] == "bad-version");
  CHECK(first_error(R"({"ptx": "ret;", "target": "sm_80", "version": "6.3"})")["code"] == "version-too-low");
  CHECK(first_error("{\"ptx\": \"\xff\xfe\", \"target\": \"sm_80\"}")["line"] == 0);
  const Verdicts between = check_jsonl("{\n{\"ptx\": \"ret;\", \"target\": \"sm_80\"}\n");
  REQUIRE(between.lines.size() == 2);
  CHECK(between.lines[0]["ok"] == false);
  CHECK(between.lines[1]["ok"] == true);
}

TEST_CASE("check --jsonl takes the target of lines that name none from --target") {
  CHECK(check_jsonl("{\"ptx\": \"ret;\"}\n", {"--target", "sm_90"}).code == 0);
  CHECK(check_jsonl("{\"ptx\": \"cp.async.wait_all;\"}\n", {"--target", "sm_75"}).code == 1);
}

TEST_CASE("check --jsonl answers who waits for it before the next line") {
  RunningTool tool({"check", "--jsonl", "-"});
  for (int i = 0; i < 3; ++i) {
    tool.write(R"({"id": )" + std::to_string(i) +
               R"(, "ptx": "add.s32 x, x, 1;", "decls": ".reg .b32 x;", "target": "sm_80"})" + "\n");
    const std::string line = tool.read_line();
    REQUIRE(!line.empty());
    CHECK(json::parse(line)["id"] == i);
  }
  const ToolResult rest = tool.finish();
  CHECK(rest.code == 0);
  CHECK(rest.out.empty());
}

TEST_CASE("check --jsonl answers the lines before one that is too long, and the last without a line break") {
  const std::string legal = R"({"id":1,"ptx":"ret;","target":"sm_80"})";
  const ToolResult result =
      run_tool({"check", "--jsonl", "-"}, {}, legal + "\n" + std::string((16 << 20) + 1, ' ') + "\n" + legal);
  CHECK(result.code == 2);
  CHECK(result.out.starts_with(
      "{\"id\":1,\"ok\":true,\"errors\":[],\"warnings\":[]}\n{\"schema\":1,\"error\":"));
  CHECK(result.err.find("[input-too-large]") != std::string::npos);

  const std::string spaces((16 << 20) - legal.size(), ' ');  // as long as a line may be
  const ToolResult most = run_tool({"check", "--jsonl", "-"}, {}, legal + spaces + "\n\n" + legal);
  CHECK(most.code == 1);
  CHECK(std::ranges::count(most.out, '\n') == 3);
  CHECK(most.out.ends_with("{\"id\":1,\"ok\":true,\"errors\":[],\"warnings\":[]}\n"));
}

TEST_CASE("check --jsonl keeps the order of thousands of lines") {
  std::string input;
  for (int i = 0; i < 5000; ++i)
    input += json{{"id", i}, {"ptx", i % 3 == 0 ? "ret" : "ret;"}, {"target", "sm_80"}}.dump() + "\n";
  const ToolResult result = run_tool({"check", "--jsonl", "-"}, {}, input);
  CHECK(result.code == 1);
  std::istringstream lines(result.out);
  int i = 0;
  for (std::string line; std::getline(lines, line); ++i) {
    const json verdict = json::parse(line);
    if (verdict["id"] != i || verdict["ok"] != (i % 3 != 0)) FAIL("line " << i << ": " << line);
  }
  CHECK(i == 5000);
}

TEST_CASE("check quotes the line with a caret below the place") {
  const TemporaryFolder folder;
  write_text(folder / "k.ptx",
             ".version 9.0\n.target sm_90a\n.address_size 64\n.entry k() {\n\t.reg .f32 f;\n\tadd.f33 f, f, "
             "f;\n}\n");
  const ToolResult result = run_tool({"check", (folder / "k.ptx").string()});
  CHECK(result.code == 1);
  CHECK_THAT(result.out,
             ContainsSubstring("k.ptx:6:5: error: .f33 is not a modifier of add; did you mean .f32?"));
  CHECK_THAT(result.out, ContainsSubstring("     6 | \tadd.f33 f, f, f;\n       | \t   ^\n"));
  CHECK_THAT(result.out, ContainsSubstring("legal: .f32"));
}

TEST_CASE(
    "check and list take a form of tomorrow's PTX, with its version, target and type, from an overlay") {
  const TemporaryFolder folder;
  write_text(folder / "targets.json",
             R"({"ptx": ["9.1"],
                 "chips": ["chip family sms shared_per_block shared_per_sm threads_per_sm blocks_per_sm registers_per_sm mma_fraction_bits mma_halves",
                           "130 13 64 232448 233472 2048 32 65536 25 no"],
                 "targets": ["target since", "sm_130a 9.1"]})");
  write_text(folder / "types.json", R"({"types": ["name bits kind lanes literals", "q9 32 float 1 no"]})");
  write_text(
      folder / "form.json",
      R"({"form": "tomorrow", "family": "tomorrow", "doc": "Not yet.", "text": "tomorrow<.rnd>.<t> D, A;",
                 "ops": {"D": "out <t>", "A": "in <t>"}, "mods": {"rnd": "-|rn", "t": "q9|b64"}, "need": "sm_130a:9.1"})");
  const std::vector<std::string> overlay{"--specs", folder.path().string()};
  const auto code = [&](const json& line) { return check_jsonl(line.dump() + "\n", overlay).code; };
  json line = {
      {"ptx", "tomorrow.rn.q9 x, x;"}, {"decls", ".reg .b32 x;"}, {"target", "sm_130a"}, {"version", "9.1"}};
  CHECK(code(line) == 0);
  CHECK(check_jsonl(line.dump() + "\n").code == 1);  // without the overlay
  line["target"] = "sm_90a";
  CHECK(code(line) == 1);
  line["target"] = "sm_130a";
  line["ptx"] = "tomorrow.rn.q9 x, 1.5;";
  CHECK(code(line) == 1);
  line["ptx"] = "add.s32 x, x, 1;";
  CHECK(code(line) == 0);
  const ToolResult list = run_tool({"list", "tomorrow", "--variants", "--specs", folder.path().string()});
  CHECK(list.out == "tomorrow.q9\ntomorrow.b64\ntomorrow.rn.q9\ntomorrow.rn.b64\n");
  const ToolResult show = run_tool({"show", "tomorrow.rn.q9", "--specs", folder.path().string()});
  CHECK(show.code == 0);
  CHECK_THAT(show.out, ContainsSubstring("sm_130a (9.1)"));
}

}  // namespace ptxloom::test::check_test
