// SPDX-License-Identifier: Apache-2.0
// What the subcommands do when used as documented; `run`, `check` and `tune` have files of their own.
#include <catch2/catch_test_macros.hpp>

#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "support/folders.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

using namespace ptxloom::test;

TEST_CASE("emit writes a launch line, the problem, the configuration, the target and the versions") {
  const ToolResult result = run_tool({"emit", "gemm", "--set", "m=65", "--set", "n=33", "--set", "k=20",
                                      "--set", "stages=3", "--target", "sm_86"});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const std::string& ptx = result.out;
  const std::string first = ptx.substr(0, ptx.find('\n'));
  REQUIRE(first.starts_with("// ptxloom.launch {"));
  const auto launch = nlohmann::json::parse(first.substr(first.find('{')));
  for (const char* key : {"entry", "grid", "block", "smem", "cluster", "params"}) CHECK(launch.contains(key));
  const std::string head = ptx.substr(0, ptx.find(".version"));
  for (const char* word : {"m=65", "k=20", "stages=3", "target sm_86", "ptxloom 0."})
    CHECK(head.find(word) != std::string::npos);
  CHECK(ptx.find("// ---- ") != std::string::npos);
}

TEST_CASE("one --set takes several words, and leaves the template alone") {
  const ToolResult apart = run_tool({"emit", "gemm", "--set", "m=65", "--set", "n=33", "--set", "k=20"});
  const ToolResult together = run_tool({"emit", "--set", "m=65", "n=33", "k=20", "gemm"});
  CAPTURE(together.err);
  CHECK(together.code == 0);
  CHECK(together.out == apart.out);
}

TEST_CASE("what emit writes assembles as it stands") {
  const auto ptxas = find_cuda_tool("ptxas");
  if (!ptxas) ptxloom::test::skip_without("ptxas", "there is no ptxas");
  for (const std::string target : {"sm_80", "sm_90a", "sm_120a"}) {
    const ToolResult result = run_tool({"emit", "gemm", "--set", "m=65", "--set", "n=33", "--set", "k=20",
                                        "--set", "a=s8", "--target", target});
    REQUIRE(result.code == 0);
    const CommandResult assembled = Ptxas(*ptxas).assemble(result.out, target);
    CAPTURE(target, assembled.output);
    CHECK(assembled.status == 0);
  }
}

TEST_CASE("compile makes a cubin without a GPU") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult result = run_tool({"compile", (folder / "scale.ptx").string(), "--target", "sm_90a"});
  if (result.code == 3) ptxloom::test::skip_without("nvjitlink", "there is no nvJitLink: " + result.err);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  CHECK(read_text(folder / "scale.cubin")
            .starts_with("\x7f"
                         "ELF"));
  write_text(folder / "bad.ptx", std::string(kScalePtx) + "nonsense");
  const ToolResult bad = run_tool({"compile", (folder / "bad.ptx").string()});
  CHECK(bad.code == 1);
  CHECK(bad.err.find("link-failed") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "bad.cubin"));
}

TEST_CASE("the cache can be looked at, verified and cleared") {
  const TemporaryFolder folder;
  const std::map<std::string, std::string> here = {{"PTXLOOM_CACHE_DIR", (folder / "cache").string()}};
  write_text(folder / "scale.ptx", kScalePtx);
  if (run_tool({"compile", (folder / "scale.ptx").string()}, here).code == 3)
    ptxloom::test::skip_without("nvjitlink", "there is no nvJitLink");
  // The kernel, and the list of linkers.
  CHECK(run_tool({"cache", "stat"}, here).out.find("entries  2\n") != std::string::npos);
  CHECK(run_tool({"cache", "verify"}, here).code == 0);
  CHECK(run_tool({"cache", "clear"}, here).code == 0);
  CHECK(run_tool({"cache", "stat"}, here).out.find("entries  0\n") != std::string::npos);
  const ToolResult off = run_tool({"cache", "stat"}, {{"PTXLOOM_CACHE_DIR", "off"}});
  CHECK(off.code == 2);
}

TEST_CASE("a spec overlay adds an instruction to the tool") {
  const TemporaryFolder folder;
  write_text(
      folder / "mine.json",
      R"({"need": "sm_80:7.0", "forms": [{"form": "mine", "family": "mine", "doc": "Of mine.", "text": "mine.<t> D, A;", "ops": {"D": "out <t>", "A": "in <t>"}, "tables": [["t", "s32", "f32"]]}]})");
  const ToolResult result = run_tool({"list", "mine", "--variants", "--specs", folder.path().string()});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK(result.out == "mine.s32\nmine.f32\n");
}

TEST_CASE("layout answers for one element and for one lane") {
  const std::vector<std::string> b = {"layout", "mma.sync.aligned.m16n8k16...bf16.bf16.f32", "--operand",
                                      "B"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = b;
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  CHECK(with({"--at", "9,3"}).out ==
        "lane 12 register 1 bit 16\n");  // row k = 9: the second register, upper half
  CHECK(with({"--at", "16,0"}).code == 2);
  const ToolResult lane = with({"--lane", "5"});
  CHECK(lane.out.find("5     0    0    2    1") != std::string::npos);
  CHECK(with({"--lane", "32"}).code == 2);
  CHECK(with({"--format", "svg"}).out.starts_with("<svg"));
  CHECK(with({"--format", "html"}).code == 2);
}

TEST_CASE("layout draws the matrix: a cell for each register, and whose addresses are whose") {
  const ToolResult b = run_tool({"layout", "mma.sync.aligned.m16n8k16...bf16.bf16.f32", "--operand", "B"});
  CHECK(b.out.find("16 x 8 (k x n) of bf16, in 2 registers of 32 lanes\n") != std::string::npos);
  CHECK(b.out.find("\n8-9    T0.r1  T4.r1 ") != std::string::npos);
  const ToolResult r = run_tool({"layout", "ldmatrix...m8n8.x2.shared.b16", "--operand", "r"});
  CHECK(r.out.find("\nmatrix 1  0-1 ") != std::string::npos);
  CHECK(r.out.ends_with("lanes 8-15 give the addresses of rows 0-7 of matrix 1\n"));
}

TEST_CASE("layout takes selectors") {
  const auto scales = [](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "layout", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X...ue8m0",
        "--operand", "SA"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  CHECK(scales({"--at", "9,1"}).out == "lane 5 register 0 bit 8\n");
  CHECK(scales({"--at", "9,1", "--select", "TA=1", "--select", "BA=2"}).out == "lane 7 register 0 bit 24\n");
  CHECK(scales({}).out.find("\n8   T1.r0:0\n") != std::string::npos);
  for (const std::string wrong : {"TA=2", "BA=1", "TB=0", "XX=0", "TA", "TA=-1"}) {
    INFO(wrong);
    const ToolResult refused = scales({"--select", wrong});
    CHECK(refused.code == 2);
    CHECK(refused.out.empty());
  }
}

TEST_CASE("standard output that cannot be written is an error") {
  if (!std::filesystem::exists("/dev/full")) SKIP("there is no /dev/full");
  const CommandResult result = run_command(tool_path() + " list > /dev/full");
  CHECK(result.status == 2);
  CHECK(result.output.find("unwritable-file") != std::string::npos);
}

TEST_CASE("tune --must-hit only looks the record up") {
  const ToolResult result =
      run_tool({"tune", "gemm", "--set", "m=8", "--set", "n=8", "--set", "k=8", "--must-hit"},
               {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (result.code == 3)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing: " + result.err);
  CHECK(result.code == 1);
  CHECK(result.err.find("no-record") != std::string::npos);
  CHECK(result.out.empty());
}

TEST_CASE("Ctrl-C ends tune with what it has, and exit code 130") {
  if (!find_cuda_tool("ptxas")) ptxloom::test::skip_without("ptxas", "there is no toolkit to link with");
  const CommandResult result =
      run_command("PTXLOOM_CUDA_PATH=" + build_folder() +
                  "/fake_cuda PTXLOOM_CACHE_DIR=off timeout --foreground --preserve-status -s INT 2 " +
                  tool_path() + " tune gemm --set m=4096 --set n=4096 --set k=4096 --budget 600 --json");
  CAPTURE(result.output);
  if (result.status == 3)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing");
  CHECK(result.status == 130);
  CHECK(result.output.find("\"interrupted\": true") != std::string::npos);
}
