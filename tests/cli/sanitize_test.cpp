// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "cli/bad_input.hpp"
#include "cli/tool.hpp"
#include "support/folders.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::sanitize_test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// `sanitize` on the sample that lacks a barrier, with more options.
struct Reverse {
  TemporaryFolder folder;

  ToolResult run(const std::vector<std::string>& options) const {
    std::vector<std::string> words{"sanitize", source_folder() + "/samples/reverse.ptx",
                                   "--grid",   "1",
                                   "--block",  "64",
                                   "--arg",    "out=u32[64]:" + (folder.path() / "out.npy").string()};
    words.insert(words.end(), options.begin(), options.end());
    return run_tool(words);
  }
};

}  // namespace

TEST_CASE("sanitize reports a race once, with both sides and its count, and writes the outputs") {
  const Reverse reverse;
  const ToolResult text = reverse.run({});
  CHECK(text.code == 1);
  CHECK_THAT(text.out, ContainsSubstring("reverse.ptx:14:3: data-race: ") &&
                           ContainsSubstring("reverse.ptx:18:3: `ld.shared.u32 %value, [%place];`") &&
                           ContainsSubstring("64 times") && ContainsSubstring("1 finding (seed"));
  CHECK(std::filesystem::exists(reverse.folder.path() / "out.npy"));
}

TEST_CASE("sanitize --format json follows its schema, on failure too") {
  const Reverse reverse;
  const ToolResult result = reverse.run({"--format", "json"});
  CHECK(result.code == 1);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(check_schema(json, read_schema("sanitize")) == "");
  REQUIRE(json["findings"].size() == 1);
  CHECK(json["findings"][0]["code"] == "data-race");
  CHECK(json["findings"][0]["count"] == 64);
  CHECK(json["findings"][0]["address"] == "shared + 0x80");
  const ToolResult failed = reverse.run({"--format", "json", "--allow", "no-such-code"});
  CHECK(failed.code == 2);
  CHECK(check_schema(nlohmann::json::parse(failed.out), read_schema("error")) == "");
}

TEST_CASE("sanitize --format sarif has a rule and the place of each finding") {
  const auto json = nlohmann::json::parse(Reverse().run({"--format", "sarif"}).out);
  const auto& run = json["runs"][0];
  CHECK(json["version"] == "2.1.0");
  CHECK(run["tool"]["driver"]["rules"][0]["id"] == "data-race");
  CHECK(run["results"][0]["ruleId"] == "data-race");
  CHECK(run["results"][0]["locations"][0]["physicalLocation"]["region"]["startLine"] == 14);
  CHECK(run["results"][0]["relatedLocations"].size() == 1);
}

TEST_CASE("sanitize leaves out what is allowed, and fails on what it is told to") {
  const Reverse reverse;
  CHECK(reverse.run({"--allow", "data-race"}).code == 0);
  CHECK(reverse.run({"--allow", "data-race:18"}).code == 0);
  CHECK(reverse.run({"--allow", "data-race:17"}).code == 1);
  CHECK(reverse.run({"--fail-on", "none"}).code == 0);
  CHECK(reverse.run({"--fail-on", "proxy-fence,data-race"}).code == 1);
  CHECK(reverse.run({"--fail-on", "proxy-fence"}).code == 0);
  const std::string file = (reverse.folder.path() / "allowed").string();
  std::ofstream(file) << "# known\n\ndata-race:14  # the sample\n";
  CHECK(reverse.run({"--suppressions", file}).code == 0);
}

TEST_CASE("sanitize says what is wrong with its options before it runs") {
  const Reverse reverse;
  const std::string file = (reverse.folder.path() / "allowed").string();
  std::ofstream(file) << "data-race\ndata-rice:3\n";
  const ToolResult unknown = reverse.run({"--suppressions", file});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("allowed:2: there is no code 'data-rice'") &&
                              ContainsSubstring("did you mean 'data-race'?"));
  const ToolResult far = reverse.run({"--allow", "foo"});
  CHECK_THAT(far.err, ContainsSubstring("there is no code 'foo'") &&
                          ContainsSubstring("findings.md lists the codes") &&
                          !ContainsSubstring("did you mean"));
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{{"--schedules", "0"},
                                                                                   {"--allow", "data-race:0"},
                                                                                   {"--allow", "data-race:"},
                                                                                   {"--fail-on", "often"}}) {
    CAPTURE(bad);
    const ToolResult result = reverse.run(bad);
    CHECK(result.code == 2);
    CHECK(!std::filesystem::exists(reverse.folder.path() / "out.npy"));
  }
}

TEST_CASE("a schedule repeats its findings") {
  const Reverse reverse;
  const std::vector<std::string> options{"--schedules", "4", "--seed", "7"};
  CHECK(reverse.run(options).out == reverse.run(options).out);
}

TEST_CASE("the schedule that a finding names repeats it") {
  const std::string file = source_folder() + "/samples/first_warp.ptx";
  const auto run = [&](const std::vector<std::string>& options) {
    std::vector<std::string> words{"sanitize", file, "--grid", "1", "--block", "64"};
    words.insert(words.end(), options.begin(), options.end());
    return run_tool(words);
  };
  CHECK(run({}).code == 0);
  const ToolResult tried = run({"--schedules", "40", "--seed", "7", "--format", "json"});
  const auto findings = nlohmann::json::parse(tried.out)["findings"];
  REQUIRE(findings.size() == 1);
  CHECK(check_schema(nlohmann::json::parse(tried.out), read_schema("sanitize")) == "");
  const std::string schedule = findings[0]["schedule"].dump() + "/" + findings[0].value("delays", "");
  CHECK(schedule.starts_with("0/0.1@"));
  const ToolResult repeated = run({"--schedule", schedule, "--seed", "7"});
  CHECK(repeated.code == 1);
  CHECK_THAT(repeated.out, ContainsSubstring("--seed 7 --schedule " + schedule + " repeats it"));
  const ToolResult sarif = run({"--schedule", schedule, "--seed", "7", "--format", "sarif"});
  CHECK(nlohmann::json::parse(sarif.out)["runs"][0]["results"][0]["properties"] ==
        nlohmann::json{{"schedule", schedule}, {"seed", 7}});
  CHECK(run({"--schedule", schedule, "--schedules", "2"}).code == 2);
  for (const char* bad : {"first", "", "0/", "0/0.1@2", "0/0.1@2-", "0/0.1@2-0.1@x", "0/0.1@2-copies2", "-1"})
    CHECK(run({"--schedule", bad}).code == 2);
}

TEST_CASE("sanitize --format sarif and html say why a kernel was not run") {
  const Reverse reverse;
  const auto sarif = nlohmann::json::parse(reverse.run({"--format", "sarif"}).out);
  CHECK(sarif["runs"][0]["invocations"] == nlohmann::json::parse(R"([{"executionSuccessful": true}])"));
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "cut.ptx").string();
  const std::string whole = read_file(source_folder() + "/samples/reverse.ptx");
  std::ofstream(file) << whole.substr(0, whole.size() / 2);
  for (const std::vector<std::string>& bad :
       {std::vector<std::string>{"sanitize", file, "--grid", "1"},
        {"sanitize", source_folder() + "/samples/reverse.ptx", "--grid", "1000000000"},
        {"sanitize", source_folder() + "/samples/reverse.ptx", "--allow", "no-such-code"}}) {
    CAPTURE(bad);
    const auto run = [&](const std::string& format) {
      std::vector<std::string> words = bad;
      words.insert(words.end(), {"--block", "64", "--arg", "out=u32[64]", "--format", format});
      return run_tool(words);
    };
    const ToolResult failed = run("sarif");
    CHECK(failed.code != 0);
    const auto log = nlohmann::json::parse(failed.out)["runs"][0];
    CHECK(log["results"].empty());
    CHECK(log["invocations"][0]["executionSuccessful"] == false);
    const auto& notification = log["invocations"][0]["toolExecutionNotifications"][0];
    CHECK(notification["level"] == "error");
    const auto error = nlohmann::json::parse(run("json").out)["error"];
    CHECK(notification["descriptor"]["id"] == error["code"]);
    CHECK_THAT(notification["message"]["text"].get<std::string>(),
               ContainsSubstring(error["message"].get<std::string>()));
    const bool has_line = error.contains("line");
    CHECK(notification.contains("locations") == has_line);
    CHECK_THAT(run("html").out, ContainsSubstring("The kernel was not run.") &&
                                    ContainsSubstring(error["code"].get<std::string>()) &&
                                    ContainsSubstring("</html>"));
  }
}

TEST_CASE("sanitize says in each format that an option is wrong") {
  const Reverse reverse;
  for (const std::vector<std::string>& bad : std::vector<std::vector<std::string>>{{"--schedules", "0"},
                                                                                   {"--seed", "-1"},
                                                                                   {"--step-limit", "x"},
                                                                                   {"--smem", "q"},
                                                                                   {"--schedule", "first"},
                                                                                   {"--no-such-option"},
                                                                                   {"--docs-url", ""}}) {
    CAPTURE(bad);
    const auto run = [&](const std::string& format) {
      std::vector<std::string> words = bad;
      words.insert(words.end(), {"--format", format});
      const ToolResult result = reverse.run(words);
      CHECK(result.code == 2);
      return result.out;
    };
    const auto error = nlohmann::json::parse(run("json"))["error"];
    const auto invocation = nlohmann::json::parse(run("sarif"))["runs"][0]["invocations"][0];
    CHECK(invocation["executionSuccessful"] == false);
    CHECK(invocation["toolExecutionNotifications"][0]["descriptor"]["id"] == error["code"]);
    CHECK_THAT(run("html"), ContainsSubstring("reverse.ptx") &&
                                ContainsSubstring("The kernel was not run.") &&
                                ContainsSubstring(error["code"].get<std::string>()));
  }
  CHECK(reverse.run({"--format", "text", "--schedules", "0"}).out.empty());
  CHECK(reverse.run({"--format=sarif", "--schedules", "0"}).out.find("executionSuccessful") !=
        std::string::npos);
}

TEST_CASE("sanitize --format sarif names files by URIs") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "my kernel 100%#1.ptx").string();
  const std::string whole = read_file(source_folder() + "/samples/reverse.ptx");
  const auto run = [&](const std::string& text) {
    std::ofstream(file) << text;
    return nlohmann::json::parse(
        run_tool({"sanitize", file, "--grid", "1", "--block", "64", "--arg",
                  "out=u32[64]:" + (folder.path() / "out.npy").string(), "--format", "sarif"})
            .out)["runs"][0];
  };
  const auto uri_of = [](const nlohmann::json& location) {
    return location["physicalLocation"]["artifactLocation"]["uri"].get<std::string>();
  };
  const std::string expected = folder.path().string() + "/my%20kernel%20100%25%231.ptx";
  CHECK(uri_of(run(whole)["results"][0]["locations"][0]) == expected);
  const auto failed =
      run(whole.substr(0, whole.size() / 2))["invocations"][0]["toolExecutionNotifications"][0];
  CHECK(uri_of(failed["locations"][0]) == expected);
}

TEST_CASE("a trap is a finding with a rule, which may be allowed") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "trap.ptx").string();
  std::ofstream(file)
      << ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n  .reg .u32 %x;\n  "
         "mov.u32 %x, %envreg2;\n  trap;\n}\n";
  const auto run = [&](std::vector<std::string> options) {
    options.insert(options.begin(), {"sanitize", file, "--grid", "1", "--block", "1"});
    return run_tool(options);
  };
  CHECK_THAT(run({}).out, ContainsSubstring("trap: the kernel stops itself here") &&
                              ContainsSubstring("give --cooperative"));
  CHECK(run({"--allow", "trap"}).code == 0);
  CHECK(run({"--fail-on", "trap"}).code == 1);
  const auto sarif = nlohmann::json::parse(run({"--format", "sarif"}).out)["runs"][0];
  CHECK(sarif["tool"]["driver"]["rules"][0]["id"] == "trap");
}

TEST_CASE("sanitize --format sarif has the level of each code, and explains it") {
  const auto json = nlohmann::json::parse(
      Reverse().run({"--format", "sarif", "--docs-url", "https://example.org/findings.html"}).out);
  const auto& run = json["runs"][0];
  const auto& rule = run["tool"]["driver"]["rules"][0];
  CHECK(run["results"][0]["level"] == "error");
  CHECK(rule["defaultConfiguration"]["level"] == "error");
  CHECK(rule["helpUri"] == "https://example.org/findings.html#data-race");
  CHECK_THAT(rule["help"]["text"].get<std::string>(),
             ContainsSubstring("nothing orders the two") && ContainsSubstring("PTX ISA 8.7, 8.8, 8.9."));
  CHECK_THAT(rule["help"]["markdown"].get<std::string>(), ContainsSubstring("bar.sync 0;"));
}

TEST_CASE("what need not be a fault of the kernel is a warning in SARIF") {
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "divides.ptx").string();
  std::ofstream(file)
      << ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n  .reg .u32 %t, %q;\n  "
         "mov.u32 %t, %tid.x;\n  div.u32 %q, 7, %t;\n  ret;\n}\n";
  const ToolResult result = run_tool({"sanitize", file, "--grid", "1", "--block", "2", "--format", "sarif"});
  CHECK(result.code == 1);
  const auto run = nlohmann::json::parse(result.out)["runs"][0];
  REQUIRE(run["results"].size() == 1);
  CHECK(run["results"][0]["ruleId"] == "division-by-zero");
  CHECK(run["results"][0]["level"] == "warning");
  CHECK(!run["tool"]["driver"]["rules"][0].contains("helpUri"));
}

TEST_CASE("sanitize --format html shows the lines around both sides, and links the code to what it means") {
  const ToolResult result = Reverse().run({"--format", "html"});
  CHECK(result.code == 1);
  CHECK_THAT(result.out, ContainsSubstring("<!doctype html>") &&
                             ContainsSubstring("<a href=\"#data-race\">data-race</a>") &&
                             ContainsSubstring("<section id=\"data-race\">") &&
                             ContainsSubstring("<b><i>   14 </i>  st.shared.u32 [%place], %i;</b>") &&
                             ContainsSubstring("<b><i>   18 </i>  ld.shared.u32 %value, [%place];</b>") &&
                             ContainsSubstring("64 times") &&
                             ContainsSubstring("ld.shared.u32 %x, [%peer];"));
  CHECK(result.out.find("proxy-fence") == std::string::npos);  // codes that were not found
}

TEST_CASE("sanitize --format html has the lines of the source that .loc names, and no tags of theirs") {
  const TemporaryFolder folder;
  const std::string source = (folder.path() / "k.cu").string(), file = (folder.path() / "k.ptx").string();
  std::ofstream(source)
      << "template <class T>\n__global__ void k() {\n  q = 7 / threadIdx.x;  // <T> & more\n}\n";
  std::ofstream(file)
      << ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"" << source
      << "\"\n.visible .entry k() {\n  .reg .u32 %t, %q;\n  mov.u32 %t, %tid.x;\n  .loc 1 3 5\n  "
         "div.u32 %q, 7, %t;\n  ret;\n}\n";
  const ToolResult result = run_tool({"sanitize", file, "--grid", "1", "--block", "2", "--format", "html"});
  CHECK_THAT(result.out, ContainsSubstring("k.cu:3") && ContainsSubstring("&lt;T&gt; &amp; more</b>") &&
                             ContainsSubstring("<i>    1 </i>template &lt;class T&gt;") &&
                             ContainsSubstring("<article class=\"warning\">"));
}

TEST_CASE("each format of sanitize names the line that calls a function that was inlined") {
  const TemporaryFolder folder;
  const std::string source = (folder.path() / "k.cu").string(), header = (folder.path() / "k.h").string(),
                    file = (folder.path() / "k.ptx").string();
  std::ofstream(source) << "__global__ void k() {\n  int q;\n  q = seventh(threadIdx.x);\n}\n";
  std::ofstream(header) << "__device__ int seventh(int t) {\n  return 7 / t;\n}\n";
  std::ofstream(file) << ".version 9.0\n.target sm_90\n.address_size 64\n.file 1 \"" << source
                      << "\"\n.file 2 \"" << header
                      << "\"\n.section .debug_str {\nname: .b8 107\n.b8 0\n}\n"
                         ".visible .entry k() {\n  .reg .u32 %t, %q;\n  mov.u32 %t, %tid.x;\n"
                         "  .loc 1 3 7\n  .loc 2 2 3, function_name name, inlined_at 1 3 7\n  div.u32 %q, 7, "
                         "%t;\n  ret;\n}\n";
  const auto run = [&](const std::string& format) {
    return run_tool({"sanitize", file, "--grid", "1", "--block", "2", "--format", format}).out;
  };
  CHECK_THAT(run("text"), ContainsSubstring(header + ":2, called at " + source + ":3"));
  const auto json = nlohmann::json::parse(run("json"));
  CHECK(check_schema(json, read_schema("sanitize")) == "");
  const auto& site = json["findings"][0]["at"];
  CHECK(site["file"] == header);
  CHECK(site["file_line"] == 2);
  CHECK(site["call_file"] == source);
  CHECK(site["call_line"] == 3);
  const auto sarif = nlohmann::json::parse(run("sarif"));
  const auto& place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == source);
  CHECK(place["region"]["startLine"] == 3);
  CHECK_THAT(run("html"), ContainsSubstring("<p>" + header + ":2</p>") &&
                              ContainsSubstring("<p>called at " + source + ":3</p>") &&
                              ContainsSubstring("<b><i>    3 </i>  q = seventh(threadIdx.x);</b>"));
}

TEST_CASE("the help of sanitize names the values of an option once") {
  const ToolResult help = run_tool({"sanitize", "--help"});
  CHECK_THAT(help.out, ContainsSubstring("--format text|json|sarif|html") && !ContainsSubstring("{text"));
}

TEST_CASE("sanitize refuses what this machine cannot judge before anything runs") {
  const std::string reverse = source_folder() + "/samples/reverse.ptx";
  const TemporaryFolder folder;
  const std::string out = (folder.path() / "out.npy").string();
  check_refused(
      {"sanitize", reverse, "--grid", "2147483647", "--block", "1024", "--arg", "out=u32[64]:" + out}, 2,
      "launch-size", {"2199023254528 threads", "use a smaller grid"});
  check_refused({"sanitize", reverse, "--grid", "1", "--block", "64", "--arg", "out=u32[99999999999]:" + out},
                2, "too-large", {"this machine has", "use smaller sizes"});
  CHECK(!std::filesystem::exists(out));
}

TEST_CASE("sanitize says that a file is cut short") {
  const std::string whole = ptxloom::read_file(source_folder() + "/samples/reverse.ptx");
  const TemporaryFolder folder;
  const std::string file = (folder.path() / "cut.ptx").string();
  // Within the kernel's body, in an instruction and between two.
  for (const std::size_t length : {whole.find("st.shared") + 4, whole.find("ld.shared")}) {
    std::ofstream(file) << whole.substr(0, length);
    check_refused({"sanitize", file, "--grid", "1", "--block", "64", "--arg", "null"}, 1, "syntax",
                  {"expected '}' to close the function reverse", "is the file complete?"});
  }
}

namespace {

/// The entries of docs/findings.md by code: what is between their heading and the next.
std::map<std::string, std::string> entries_of_findings() {
  const std::string page = ptxloom::read_file(source_folder() + "/docs/findings.md");
  std::map<std::string, std::string> entries;
  std::istringstream lines(page);
  std::string* entry = nullptr;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) entry = nullptr;
    if (line.starts_with("### `"))
      entry = &entries[line.substr(5, line.size() - 6)];
    else if (entry != nullptr)
      *entry += line + "\n";
  }
  return entries;
}

/// The first paragraph on one line, without the level and the section.
std::string rule_of(const std::string& entry) {
  std::string rule = entry.substr(1, entry.find("\n\n", 1) - 1);
  std::ranges::replace(rule, '\n', ' ');
  if (rule.starts_with("A warning. ")) rule.erase(0, 11);
  const std::size_t section = rule.rfind(" PTX ISA ");
  return section == std::string::npos ? "" : rule.substr(0, section);
}

}  // namespace

TEST_CASE(
    "docs/findings.md explains every code of the executor by a rule, a section, a bad and a good example") {
  const auto entries = entries_of_findings();
  const std::string page = ptxloom::read_file(source_folder() + "/docs/diagnostics.md");
  const std::size_t begin = page.find("## Found by the executor"), end = page.find("\n## ", begin + 1);
  const std::string table = page.substr(begin, end - begin);
  std::size_t rows = 0;
  for (std::size_t at = table.find("\n| `"); at != std::string::npos; at = table.find("\n| `", at + 1))
    ++rows;
  CHECK(entries.size() == rows);
  CHECK(entries.size() >= 60);
  for (const auto& [code, entry] : entries) {
    CAPTURE(code, entry);
    CHECK(table.find("\n| `" + code + "` | " + rule_of(entry) + " |\n") != std::string::npos);
    int fences = 0;
    for (std::size_t at = entry.find("```"); at != std::string::npos; at = entry.find("```", at + 3))
      ++fences;
    CHECK(fences >= 4);
    CHECK(fences % 2 == 0);
  }
}

TEST_CASE("the option --allow takes every code of docs/findings.md") {
  std::vector<std::string> options;
  for (const auto& [code, entry] : entries_of_findings()) {
    options.emplace_back("--allow");
    options.push_back(code);
  }
  CHECK(Reverse().run(options).code == 0);
}

}  // namespace ptxloom::test::sanitize_test
