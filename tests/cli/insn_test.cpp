// SPDX-License-Identifier: Apache-2.0
// `ptxloom bench insn` without a GPU, and with a driver that has kernels of no module.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/tool.hpp"
#include "support/replaced.hpp"
#include "support/require.hpp"

using namespace ptxloom::test;
using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

constexpr const char* kRecord =
    R"({"schema":1,"device":"NVIDIA H200","target":"sm_90a","driver":13000,"linker":"13.0","revision":"r",)"
    R"("form":"fma","opcode":"fma.rn.f32","data":"plain","latency":[{"from":"A","state":"one","sass":"FFMA","cycles":4.0}],)"
    R"("throughput":[{"warps":32,"per_cycle":3.9},{"warps":1,"per_cycle":0.9}],)"
    R"("stream":{"from":"A","state":"one","sass":"FFMA"},"length":1.0,"registers":24})"
    "\n";

}  // namespace

TEST_CASE("bench insn says what it needs") {
  CHECK(run_tool({"bench", "insn"}).code == 2);
  CHECK_THAT(run_tool({"bench", "insn"}).err, ContainsSubstring("--all"));
  const ToolResult without = run_tool({"bench", "insn", "fma"}, {{"PTXLOOM_CUDA_PATH", "/nowhere"}});
  if (without.code == 0) SUCCEED("there is a GPU");
  if (without.code != 0) {
    CHECK(without.code == 3);
    CHECK_THAT(without.err, ContainsSubstring("bench insn measures a GPU") && ContainsSubstring("--dry-run"));
  }
}

TEST_CASE("bench insn --dry-run shows what the kernels became") {
  const ToolResult result = run_tool({"bench", "insn", "fma.rn.f32", "--dry-run"});
  if (result.code == 3) skip_without("nvjitlink", "nvJitLink is missing: " + result.err);
  CHECK(result.code == 0);
  CHECK_THAT(result.out,
             ContainsSubstring("fma.rn.f32") && ContainsSubstring("FFMA") && ContainsSubstring("one"));
  CHECK(run_tool({"bench", "insn", "fma.rn.f32", "--dry-run", "--json"}).code == 2);
  const ToolResult unknown = run_tool({"bench", "insn", "fmaa", "--dry-run"});
  CHECK(unknown.code == 2);
  CHECK_THAT(unknown.err, ContainsSubstring("[unknown-form]"));
  const ToolResult elsewhere = run_tool({"bench", "insn", "tcgen05.mma", "--dry-run"});
  CHECK(elsewhere.code == 1);
  CHECK_THAT(elsewhere.err, ContainsSubstring("[not-on-target]"));
}

TEST_CASE("bench insn --from shows records as a table, JSON and a page") {
  const TemporaryFolder folder;
  write_text(folder / "a.jsonl", kRecord);
  const std::string file = folder / "a.jsonl";
  const ToolResult table = run_tool({"bench", "insn", "--from", file});
  CHECK(table.code == 0);
  CHECK_THAT(table.out,
             ContainsSubstring("fma.rn.f32") && ContainsSubstring("A 4") && ContainsSubstring("3.9"));
  const ToolResult data = run_tool({"bench", "insn", "--from", file, "--from", file, "--format", "json"});
  const json parsed = json::parse(data.out);
  CHECK(check_schema(parsed, read_schema("insn")) == "");
  CHECK(parsed["records"].size() == 1);  // of the same row the last one
  CHECK(check_schema(parsed["records"][0], read_schema("insn_record")) == "");
  const ToolResult page = run_tool({"bench", "insn", "--from", file, "--format", "html"});
  CHECK_THAT(page.out, ContainsSubstring("class=\"record\"") && ContainsSubstring("fma.rn.f32"));
  CHECK(run_tool({"bench", "insn", "fma", "--from", file}).out == table.out);
  CHECK_THAT(run_tool({"bench", "insn", "add", "--from", file}).err, ContainsSubstring("no record of 'add'"));
  CHECK(run_tool({"bench", "insn", "--from", folder / "none"}).code == 2);
  write_text(folder / "b.jsonl", "no record\n");
  CHECK_THAT(run_tool({"bench", "insn", "--from", folder / "b.jsonl"}).err,
             ContainsSubstring("[bad-records]"));
}

TEST_CASE("bench insn --against compares two runs figure by figure") {
  const TemporaryFolder folder;
  const std::string first = folder / "a.jsonl", second = folder / "b.jsonl";
  write_text(first, kRecord);
  const std::string slower = replaced(kRecord, "\"cycles\":4.0", "\"cycles\":4.01");
  write_text(second, replaced(slower, "\"per_cycle\":0.9", "\"per_cycle\":1.8"));
  const ToolResult same = run_tool({"bench", "insn", "--from", first, "--against", first});
  CHECK(same.code == 0);
  CHECK_THAT(same.out, ContainsSubstring("100.0 %") && !ContainsSubstring("differ by more than"));
  const ToolResult differs = run_tool({"bench", "insn", "--from", first, "--against", second});
  CHECK(differs.code == 0);
  CHECK_THAT(differs.out, ContainsSubstring("latency             1      100.0 %") &&
                              ContainsSubstring("throughput          2       50.0 %") &&
                              ContainsSubstring("1 figure differs by more than 1 %") &&
                              ContainsSubstring(" 100.00 %  0.9 and 1.8: fma.rn.f32 of 1 warps (fma)"));
  write_text(second, replaced(kRecord, "fma.rn.f32", "fma.rz.f32"));
  const ToolResult none = run_tool({"bench", "insn", "--from", first, "--against", second});
  CHECK(none.code == 1);
  CHECK_THAT(none.err, ContainsSubstring("no figure is in the records of both"));
  CHECK(run_tool({"bench", "insn", "--from", first, "--against", second, "--json"}).code == 2);
  CHECK(run_tool({"bench", "insn", "--from", first, "--against", folder / "none"}).code == 2);
}

TEST_CASE("bench insn --against refuses before it measures") {
  const TemporaryFolder folder;
  const std::string first = folder / "a.jsonl", several = folder / "b.jsonl";
  write_text(first, kRecord);
  write_text(several, kRecord + replaced(kRecord, "NVIDIA H200", "NVIDIA A100"));
  const ToolResult mixed = run_tool({"bench", "insn", "--from", first, "--against", several});
  CHECK(mixed.code == 2);
  CHECK_THAT(mixed.err,
             ContainsSubstring("several devices or drivers: NVIDIA A100 (driver 13000), NVIDIA H200"));
  CHECK(run_tool({"bench", "insn", "--from", several, "--against", first}).code == 2);
  const ToolResult dry = run_tool({"bench", "insn", "fma.rn.f32", "--dry-run", "--against", first});
  CHECK(dry.code == 2);
  CHECK_THAT(dry.err, ContainsSubstring("no figures to compare"));
  const std::map<std::string, std::string> fake = {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}};
  const std::string records = folder / "records.jsonl";
  const ToolResult missing =
      run_tool({"bench", "insn", "fma", "--records", records, "--against", folder / "none"}, fake);
  CHECK(missing.code == 2);
  CHECK_FALSE(std::filesystem::exists(records));
}

TEST_CASE("bench insn goes on from its records") {
  const TemporaryFolder folder;
  const std::string file = folder / "records.jsonl";
  const std::map<std::string, std::string> fake = {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}};
  const ToolResult first = run_tool({"bench", "insn", "fma", "--records", file}, fake);
  if (first.code == 3) skip_without("nvjitlink", "nvJitLink is missing: " + first.err);
  CAPTURE(first.err);
  REQUIRE(first.code == 0);
  CHECK_THAT(first.err, ContainsSubstring("8 rows measured, 0 were recorded before"));
  const ToolResult second = run_tool({"bench", "insn", "fma", "--records", file, "--json"}, fake);
  CHECK_THAT(second.err, ContainsSubstring("0 rows measured, 8 were recorded before"));
  const json parsed = json::parse(second.out);
  CHECK(check_schema(parsed, read_schema("insn")) == "");
  CHECK(parsed["records"].size() == 8);
  const ToolResult again = run_tool({"bench", "insn", "fma", "--records", file, "--again"}, fake);
  CHECK_THAT(again.err, ContainsSubstring("8 rows measured"));
}
