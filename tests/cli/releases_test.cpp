// SPDX-License-Identifier: Apache-2.0
// What list, show, check, compile and doctor say of releases of CUDA: what a form needs, what a library
// serves.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/tool.hpp"
#include "ptxloom/target.hpp"
#include "support/require.hpp"

namespace ptxloom::test::releases_test {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

const std::map<std::string, std::string> kNewerLinker{
    {"PTXLOOM_CUDA_PATH", build_folder() + "/fake_newer_linker"}};

std::string kernel(const std::string& version, const std::string& target) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n.visible .entry k() { ret; }\n";
}

TEST_CASE("list and show name the CUDA release and the driver that a form needs on a target") {
  const json listed = run_json({"list", "mma.sync", "--target", "sm_80", "--json"}, "list");
  const json& mma = listed["forms"][0];
  CHECK(mma["since"] == "7.0");
  CHECK(mma["cuda"] == "11.0");
  CHECK(mma["driver"] == 450);
  const ToolResult text = run_tool({"list", "mma.sync", "--target", "sm_80"});
  CHECK_THAT(text.out, ContainsSubstring("PTX 7.0  CUDA 11.0, driver 450"));
  const ToolResult variants = run_tool({"list", "add.mixed", "--target", "sm_100a", "--variants"});
  CHECK_THAT(variants.out, ContainsSubstring("PTX 8.6  CUDA 12.7, driver 565"));
  const ToolResult none = run_tool({"list", "fabric", "--target", "sm_90a"});
  CHECK(none.code == 0);
  CHECK(none.out.empty());
  CHECK_THAT(none.err, ContainsSubstring("nothing of fabric is on sm_90a"));
  // Without a target nothing is said of one.
  CHECK_FALSE(run_json({"list", "mma.sync", "--json"}, "list")["forms"][0].contains("since"));

  const ToolResult shown = run_tool({"show", "wgmma.fence.sync.aligned"});
  CHECK_THAT(shown.out, ContainsSubstring("PTX 8.0  CUDA 12.0, driver 525  sm_90a"));
  const json show = run_json({"show", "wgmma.fence.sync.aligned", "--json"}, "show");
  CHECK(show["variants"][0]["targets"] ==
        json{{{"target", "sm_90a"}, {"since", "8.0"}, {"cuda", "12.0"}, {"driver", 525}}});
}

TEST_CASE("check says what a file takes, and what a newer .version would take") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "k.ptx";
  write_text(file, kernel("9.0", "sm_90a"));
  const json checked = run_json({"check", file, "--json"}, "check_file");
  CHECK(checked["needs"] == json{{"ptx", "8.0"}, {"cuda", "12.0"}, {"driver", 525}});
  CHECK_THAT(run_tool({"check", file, "-v"}).err,
             ContainsSubstring("needs PTX 8.0 on sm_90a: CUDA 12.0, driver 525"));
  write_text(file, kernel("7.8", "sm_90a"));
  const ToolResult low = run_tool({"check", file});
  CHECK(low.code == 1);
  CHECK_THAT(low.out, ContainsSubstring("write .version 8.0 (CUDA 12.0, driver 525)"));
}

TEST_CASE("a PTX version and a target that nobody knows are refused in clear words") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "k.ptx";
  const Version newest = ptx_versions().back();
  const std::string next = to_string(Version{newest.major, newest.minor + 1});
  write_text(file, kernel(next, "sm_80"));
  const ToolResult version = run_tool({"check", file});
  CHECK(version.code == 1);
  CHECK_THAT(version.out,
             ContainsSubstring("PTX " + next + " is not known; the newest is " + to_string(newest)));
  const ToolResult line = run_tool({"check", "--jsonl", "-"}, {},
                                   R"({"ptx": "ret;", "target": "sm_80", "version": ")" + next + "\"}\n");
  CHECK(line.code == 1);
  CHECK_THAT(line.out, ContainsSubstring("version-too-high"));
  write_text(file, kernel("9.0", "sm_142a"));
  for (const char* command : {"check", "compile"}) {
    const ToolResult target = run_tool({command, file});
    CAPTURE(command, target.out, target.err);
    CHECK(target.code == (std::string(command) == "check" ? 1 : 2));
    CHECK_THAT(target.out + target.err, ContainsSubstring("there is no target 'sm_142a'"));
  }
}

TEST_CASE(
    "a target that nobody knows is bad usage of every command that takes one, with those that are known") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "k.ptx";
  write_text(file, kernel("9.0", "sm_80"));
  const std::vector<std::vector<std::string>> commands{
      {"list", "--target", "sm_142"},
      {"show", "mma.sync", "--target", "sm_142"},
      {"check", file, "--target", "sm_142"},
      {"compile", file, "--target", "sm_142"},
      {"emit", "gemm", "--set", "m=8", "n=8", "k=8", "--target", "sm_142"}};
  for (const std::vector<std::string>& command : commands) {
    const ToolResult result = run_tool(command);
    CAPTURE(command, result.out, result.err);
    CHECK(result.code == 2);
    CHECK(result.out.empty());
    CHECK_THAT(result.err, ContainsSubstring("there is no target 'sm_142'") && ContainsSubstring("sm_75 ") &&
                               ContainsSubstring("sm_107a"));
  }
  const ToolResult line =
      run_tool({"check", "--jsonl", "-"}, {}, R"({"ptx": "ret;", "target": "sm_142"})" + std::string("\n"));
  CHECK(line.code == 1);
  CHECK_THAT(line.out, ContainsSubstring("unknown-target"));
}

TEST_CASE("a pragma and an attribute count among what a file takes") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "k.ptx";
  const auto needs = [&](const std::string& version, const std::string& text) {
    write_text(file, ".version " + version + "\n.target sm_90a\n.address_size 64\n" + text + "\n");
    return run_json({"check", file, "--json"}, "check_file")["needs"];
  };
  const std::string pragma = ".visible .entry k() { .pragma \"frequency 4\"; ret; }";
  CHECK(needs("9.5", pragma) == json{{"ptx", "9.0"}, {"cuda", "13.0"}, {"driver", 580}});
  CHECK(needs("9.5", ".global .b128 q;")["ptx"] == "8.3");
  write_text(file, ".version 8.8\n.target sm_90a\n.address_size 64\n" + pragma + "\n");
  const ToolResult low = run_tool({"check", file});
  CHECK(low.code == 1);
  CHECK_THAT(low.out, ContainsSubstring("kernel k: the pragma frequency needs PTX 9.0") &&
                          ContainsSubstring("write .version 9.0 (CUDA 13.0, driver 580)"));
}

TEST_CASE("compile for a target of a later release links with its nvJitLink, and names it to an older one") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "k.ptx", cubin = folder / "k.cubin";
  write_text(file, kernel("9.0", "sm_75"));
  std::size_t tried = 0;
  for (const ToolkitInfo& toolkit : toolkits()) {
    const std::filesystem::path lib =
        build_folder() + "/toolkits/" + to_string(toolkit.cuda) + "/nvidia/cu13/lib";
    if (!std::filesystem::exists(lib)) continue;  // ./dev oracle --toolkit fetches it, ./dev test the newest
    const ToolResult made =
        run_tool({"compile", file, "--target", "sm_107a", "-o", cubin}, {{"PTXLOOM_CUDA_PATH", lib}});
    CAPTURE(lib, made.out, made.err);
    if (made.err.find("no-cuda-support") != std::string::npos) SKIP("this build is without CUDA");
    ++tried;
    const bool knows = toolkit.cuda >= Version{13, 4};
    CHECK(made.code == (knows ? 0 : 3));
    CHECK(std::filesystem::exists(cubin) == knows);
    std::filesystem::remove(cubin);
    if (!knows)
      CHECK_THAT(made.err, ContainsSubstring("sm_107a needs PTX 9.4, which is of CUDA 13.4") &&
                               ContainsSubstring("nvidia-nvjitlink>=13.4"));
  }
  if (tried == 0) SKIP("./dev test fetches the newest nvJitLink");
}

TEST_CASE("the default version of check --jsonl is the one that its schema names") {
  const std::string title = read_schema("check_in")["title"];
  CHECK_THAT(title, ContainsSubstring("default version: " + to_string(default_ptx_version()) + ";"));
  const std::string of_default = R"({"ptx": "ret;", "target": "sm_110"})";  // since PTX 9.0
  CHECK(run_tool({"check", "--jsonl", "-"}, {}, of_default + "\n").code == 0);
}

TEST_CASE("compile names the release that reads a .version which the linker does not") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "k.ptx";
  write_text(file, kernel("98.0", "sm_80"));
  const ToolResult result = run_tool({"compile", file});
  if (result.err.find("no-nvjitlink") != std::string::npos)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink is missing");
  if (result.err.find("no-cuda-support") != std::string::npos) SKIP("this build is without CUDA");
  CHECK(result.code == 3);
  CHECK_THAT(result.err,
             ContainsSubstring("linker-too-old") && ContainsSubstring("this text has .version 98.0"));
}

TEST_CASE("doctor says what each library serves, and which is newer than what is known") {
  const json doctor = run_json({"doctor", "--json"}, "doctor");
  for (const json& library : doctor["libraries"]) {
    CAPTURE(library["name"]);
    if (library["name"] != "nvJitLink" || library["path"] == "") continue;
    const ToolkitInfo* const toolkit = find_toolkit(parse_version(library["version"].get<std::string>()));
    REQUIRE(toolkit != nullptr);
    // Tested by linking, and what the table says.
    CHECK(library["ptx"] == to_string(std::min(toolkit->ptx, ptx_versions().back())));
  }
}

TEST_CASE("a linker newer than what is known works for what is known, and doctor says so") {
  if (!std::filesystem::exists(build_folder() + "/fake_newer_linker")) SKIP("this build is without CUDA");
  const ToolResult doctor = run_tool({"doctor"}, kNewerLinker);
  CHECK(doctor.code == 0);
  CHECK_THAT(doctor.out, ContainsSubstring("99.0") &&
                             ContainsSubstring("newer than CUDA " + to_string(toolkits().back().cuda)));
  const json report = json::parse(run_tool({"doctor", "--json"}, kNewerLinker).out);
  CHECK(check_schema(report, read_schema("doctor")) == "");
  CHECK(report["libraries"][1]["newer_than_known"] == true);
  CHECK(report["libraries"][1]["ptx"] == to_string(ptx_versions().back()));
  const TemporaryFolder folder;
  write_text(folder / "k.ptx", kernel("98.0", "sm_80"));
  CHECK(run_tool({"compile", folder / "k.ptx", "-o", folder / "k.cubin"}, kNewerLinker).code == 0);
}

}  // namespace ptxloom::test::releases_test
