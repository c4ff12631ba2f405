// SPDX-License-Identifier: Apache-2.0
// Warnings: a line for each kind with how many there are and where the first is; all of them with -v and in
// --json.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/tool.hpp"
#include "support/require.hpp"

namespace ptxloom::test::warnings_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

// 40 instructions that ptxas takes and the manual does not promise, and 3 less aligned than their access.
std::string warned() {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.shared .align 4 .b8 "
      "s[16];\n.reg "
      ".b16 %h<3>; .reg .b32 %r<3>; .reg .b64 %d; .reg .pred %p;\nmov.u16 %h0, 5;\nmov.u16 %h1, 6;\n";
  for (int i = 0; i < 40; ++i) text += "set.lo.f16.u16 %h2, %h0, %h1;\n";
  for (int i = 0; i < 3; ++i) text += "ld.shared.b64 %d, [s+4];\n";
  return text + "ret;\n}\n";
}

std::size_t count(const std::string& text, const std::string& word) {
  std::size_t found = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

struct Fixture {
  TemporaryFolder folder;
  std::string file = (folder / "k.ptx").string();
  Fixture() { write_text(file, warned()); }

  ToolResult run(std::vector<std::string> words, const std::vector<std::string>& more) const {
    words.insert(words.end(), more.begin(), more.end());
    return run_tool(words);
  }
};

}  // namespace

TEST_CASE("check tells a line for each kind of warning, with its count and first place") {
  const Fixture f;
  const json all = json::parse(run_tool({"check", f.file, "--json"}).out);
  CHECK(check_schema(all, read_schema("check_file")) == "");
  CHECK(all["ok"] == true);
  CHECK(all["errors"].empty());
  const auto of_code = [&](const std::string& code) {
    return std::ranges::count_if(all["warnings"], [&](const json& one) { return one["code"] == code; });
  };
  REQUIRE(of_code("undocumented") == 40);
  REQUIRE(of_code("misaligned-address") == 3);

  const ToolResult brief = run_tool({"check", f.file});
  CAPTURE(brief.out);
  CHECK(brief.code == 0);
  CHECK(count(brief.out, "\n") == 2);
  CHECK_THAT(brief.out, ContainsSubstring("k.ptx:10:1: warning: "));
  CHECK_THAT(brief.out, ContainsSubstring("[undocumented] (first of 40)\n"));
  CHECK_THAT(brief.out, ContainsSubstring("[misaligned-address] (first of 3)\n"));

  for (const ToolResult& full : {run_tool({"check", f.file, "-v"}), run_tool({"-v", "check", f.file}),
                                 run_tool({"check", "--verbose", f.file})}) {
    CHECK(full.code == 0);
    CHECK(count(full.out, "[undocumented]") == 40);
    CHECK(count(full.out, "[misaligned-address]") == 3);
    CHECK(full.out.find("first of") == std::string::npos);
    CHECK(full.out.find("ptxloom: ") == std::string::npos);
  }
}

TEST_CASE("check shows every error, and its exit code is theirs") {
  const TemporaryFolder folder;
  std::string text = warned();
  text.insert(text.rfind("ret;"), "add.f33 %h0, %h0, %h1;\nadd.f34 %h0, %h0, %h1;\n");
  write_text(folder / "k.ptx", text);
  const std::string file = (folder / "k.ptx").string();
  const ToolResult brief = run_tool({"check", file});
  CHECK(brief.code == 1);
  CHECK(count(brief.out, ": error: ") == 2);
  CHECK(count(brief.out, ": warning: ") == 2);
  const ToolResult in_json = run_tool({"check", file, "--json"});
  CHECK(in_json.code == 1);
  const json all = json::parse(in_json.out);
  CHECK(check_schema(all, read_schema("check_file")) == "");
  CHECK(all["ok"] == false);
  CHECK(all["errors"].size() == 2);
  CHECK(all["warnings"].size() == 43);
  // What stops it from running is told alone.
  const ToolResult run = run_tool({"run", file, "--device", "cpu", "--grid", "1", "--block", "1"});
  CHECK(run.code == 1);
  CHECK(count(run.err, "error: ") == 2);
}

TEST_CASE("run tells a line for each kind of warning, all with -v, and in --json") {
  const Fixture f;
  const std::vector<std::string> words = {"run",    f.file, "--device", "cpu", "--no-judge",
                                          "--grid", "1",    "--block",  "1"};
  // The kernel is at fault at its loads; what is said before is the matter here.
  const ToolResult brief = f.run(words, {});
  CAPTURE(brief.err);
  CHECK(count(brief.err, "warning: ") == 4);  // "ptxloom: warning: 10:1: warning: ..."
  CHECK_THAT(brief.err, ContainsSubstring("[undocumented] (first of 40)\n"));
  const ToolResult full = f.run(words, {"-v"});
  CHECK(count(full.err, "[undocumented]") == 40);
  CHECK(count(full.err, "[misaligned-address]") == 3);

  std::string text = warned();
  text.erase(text.find("ld.shared"), text.find("ret;") - text.find("ld.shared"));
  write_text(f.file, text);
  const ToolResult in_json = f.run(words, {"--json"});
  CAPTURE(in_json.err);
  REQUIRE(in_json.code == 0);
  const json report = json::parse(in_json.out);
  CHECK(check_schema(report, read_schema("run")) == "");
  CHECK(report["warnings"].size() == 40);
  CHECK(report["warnings"][0]["line"] == 10);
}

TEST_CASE("compile --json names the cubin, its kernels and the linker's remarks") {
  const Fixture f;
  const ToolResult result = run_tool({"compile", f.file, "--json"});
  if (result.code == 3) skip_without("nvjitlink", "there is no nvJitLink: " + result.err);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const json report = json::parse(result.out);
  CHECK(check_schema(report, read_schema("compile")) == "");
  CHECK(report["target"] == "sm_80");
  CHECK(report["kernels"][0]["kernel"] == "k");
  CHECK(report["bytes"] == std::filesystem::file_size(report["output"].get<std::string>()));
  CHECK(run_tool({"compile", f.file, "--json", "-o", "-"}).code == 2);
}

}  // namespace ptxloom::test::warnings_test
