// SPDX-License-Identifier: Apache-2.0
// `sass --model` and `report` as people use them.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/bad_input.hpp"
#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "support/require.hpp"

namespace ptxloom::test::model_test {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

void skip_without_linker(const ToolResult& result) {
  if (result.code == 3) skip_without("nvjitlink", result.err);
}

/// A kernel with one loop: y += x * x, as often as n says.
constexpr const char* kLoopPtx = R"(.version 7.0
.target sm_75
.address_size 64
.visible .entry squares(.param .u32 n, .param .u64 .ptr .global x) .maxntid 128, 1, 1
{
    .reg .pred %p<1>;
    .reg .b32 %r<3>;
    .reg .f32 %f<3>;
    .reg .b64 %rd<3>;
    ld.param.u32 %r0, [n];
    ld.param.u64 %rd0, [x];
    mov.f32 %f0, 0f00000000;
loop:
    ld.global.f32 %f1, [%rd0];
    fma.rn.f32 %f0, %f1, %f1, %f0;
    add.u64 %rd0, %rd0, 512;
    sub.u32 %r0, %r0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra loop;
    st.global.f32 [%rd0], %f0;
    ret;
}
)";

std::string loop_cubin(const TemporaryFolder& folder, const std::string& target) {
  write_text(folder / "loop.ptx", kLoopPtx);
  const std::string cubin = folder / ("loop_" + target + ".cubin");
  const ToolResult compiled = run_tool({"compile", folder / "loop.ptx", "--target", target, "-o", cubin});
  skip_without_linker(compiled);
  REQUIRE(compiled.code == 0);
  return cubin;
}

}  // namespace

TEST_CASE("sass --model predicts the loops of a cubin, with nvdisasm and without") {
  const TemporaryFolder folder;
  for (const std::string target : {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"}) {
    const std::string cubin = loop_cubin(folder, target);
    std::map<bool, double> cycles;
    for (const bool own : {false, true}) {
      CAPTURE(target, own);
      std::vector<std::string> command = {"sass", cubin, "--model", "--warps", "4", "--format", "json"};
      if (own) command.push_back("--no-nvdisasm");
      const json model = run_json(command, "sass_model");
      CHECK(model["assumed"] == (target != "sm_90a"));
      const json& function = model["functions"][0];
      CHECK(function["occupancy"]["limit"] == "given");
      REQUIRE(function["loops"].size() >= 1);
      const json& loop = function["loops"][0];
      CHECK(loop["instructions"] > 4);
      CHECK(loop["unknown"] == 0);
      CHECK(loop["cycles"] > 100);
      CHECK(loop["bound"] == "latency");
      for (const json& bound : loop["bounds"])
        if (bound["name"] == "latency" || bound["name"] == "branch")
          CHECK(bound["assumed"] == (target != "sm_90a"));
        else if (bound["name"] == "issue" || bound["name"] == "fma_heavy")
          CHECK(bound["assumed"] == false);
      cycles[own] = loop["cycles"];
    }
    CHECK(cycles[true] == cycles[false]);
  }
}

TEST_CASE("without nvdisasm the model knows how wide copies are, on every target") {
  const TemporaryFolder folder;
  for (const std::string target : {"sm_80", "sm_89", "sm_90a", "sm_100a", "sm_103a", "sm_120a"}) {
    std::map<int, double> cycles;
    for (const int bytes : {4, 8, 16}) {
      CAPTURE(target, bytes);
      std::string ptx = kLoopPtx;
      ptx.replace(ptx.find("sm_75"), 5, "sm_80");
      ptx.insert(ptx.find("    .reg .pred"), "    .shared .align 16 .b8 buffer[16];\n");
      ptx.replace(ptx.find("ld.global.f32 %f1, [%rd0];"), 26,
                  "cp.async.ca.shared.global [buffer], [%rd0], " + std::to_string(bytes) + ";\n");
      write_text(folder / "copy.ptx", ptx);
      const ToolResult result = run_tool({"sass", folder / "copy.ptx", "--target", target, "--model",
                                          "--warps", "4", "--no-nvdisasm", "--format", "json"});
      skip_without_linker(result);
      REQUIRE(result.code == 0);
      const json loop = json::parse(result.out)["functions"][0]["loops"][0];
      for (const json& one : loop["bounds"])
        if (one["name"] == "l2") cycles[bytes] = one["cycles"];
    }
    CAPTURE(target, cycles);
    CHECK(cycles[4] > 0);
    CHECK((cycles[8] == 2 * cycles[4] && cycles[16] == 4 * cycles[4]));
  }
}

TEST_CASE("where loads find their data changes the prediction, and so do warps and conflicts") {
  const TemporaryFolder folder;
  const std::string cubin = loop_cubin(folder, "sm_90a");
  const auto cycles = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"sass", cubin, "--model", "--format", "json"});
    return run_json(more, "sass_model")["functions"][0]["loops"][0]["cycles"].get<double>();
  };
  CHECK(cycles({"--warps", "1", "--loads", "l1"}) < cycles({"--warps", "1", "--loads", "l2"}));
  CHECK(cycles({"--warps", "1", "--loads", "l2"}) < cycles({"--warps", "1", "--loads", "memory"}));
  CHECK(cycles({"--warps", "1"}) <= cycles({"--warps", "64"}));
  const ToolResult text = run_tool({"sass", cubin, "--model"});
  CHECK(text.code == 0);
  CHECK_THAT(text.out, ContainsSubstring("limit: ") &&
                           ContainsSubstring("(limit: threads: 16 thread blocks of 4 warps)"));
}

TEST_CASE("a thread block that does not fit is said to, and nothing is predicted of it") {
  const TemporaryFolder folder;
  const std::string cubin = loop_cubin(folder, "sm_90a");
  const std::vector<std::string> too_much = {"--smem", "232449"};  // a byte more than 227 KiB
  const auto with = [&](std::vector<std::string> command) {
    command.insert(command.end(), too_much.begin(), too_much.end());
    return command;
  };
  for (const json& model : {run_json(with({"sass", cubin, "--model", "--format", "json"}), "sass_model"),
                            run_json(with({"report", cubin, "--format", "json"}), "report")}) {
    const json& function = model["functions"][0];
    CHECK(function["occupancy"]["blocks"] == 0);
    CHECK(function["loops"][0]["cycles"].is_null());
  }
  for (const ToolResult& text :
       {run_tool(with({"sass", cubin, "--model"})), run_tool(with({"report", cubin, "--format", "text"}))}) {
    CHECK(text.code == 0);
    CHECK_THAT(text.out, ContainsSubstring("does not fit on an SM: shared memory") &&
                             ContainsSubstring("no prediction: a thread block does not fit"));
  }
  CHECK(run_json({"report", cubin, "--smem", "232448", "--format", "json"},
                 "report")["functions"][0]["occupancy"]["blocks"] == 1);
}

TEST_CASE("a kernel without loops has nothing to predict, and says so") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult model = run_tool({"sass", folder / "scale.ptx", "--target", "sm_90a", "--model"});
  skip_without_linker(model);
  CHECK(model.code == 0);
  CHECK_THAT(model.out, ContainsSubstring("no loops"));
  const ToolResult report =
      run_tool({"report", folder / "scale.ptx", "--target", "sm_90a", "--format", "text"});
  CHECK(report.code == 0);
  CHECK_THAT(report.out, ContainsSubstring("no loops"));
  CHECK(run_json({"report", folder / "scale.ptx", "--target", "sm_90a", "--format", "json"},
                 "report")["functions"][0]["hottest"]
            .is_null());
}

TEST_CASE("report shows a template's kernel as text, JSON and a page") {
  const TemporaryFolder folder;
  const std::vector<std::string> gemm = {"report", "gemm", "--set", "m=512", "n=768", "k=1024", "a=bf16"};
  const auto with = [&](std::vector<std::string> more) {
    std::vector<std::string> all = gemm;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const ToolResult text = run_tool(with({"--format", "text"}));
  skip_without_linker(text);
  CHECK(text.code == 0);
  CHECK_THAT(text.out, ContainsSubstring("gemm ") && ContainsSubstring("hottest loop"));
  const json report = run_json(with({"--format", "json"}), "report");
  CHECK(report["roofline"]["operations"] == 2.0 * 512 * 768 * 1024);
  CHECK(report["roofline"]["bytes"].get<double>() >= 2.0 * (512 * 1024 + 768 * 1024 + 512 * 768));
  CHECK(report["gpu"]["name"] == "H200_SXM");
  const json& hottest = report["functions"][0]["hottest"];
  const json& loop = report["functions"][0]["loops"][hottest["loop"].get<std::size_t>()];
  CHECK(hottest["code"].size() == loop["instructions"]);
  CHECK(hottest["events"].size() > 0);
  const ToolResult page = run_tool(with({"-o", folder / "report.html"}));
  CHECK(page.code == 0);
  CHECK(page.out.empty());
  const std::string html = read_text(folder / "report.html");
  CHECK_THAT(html, ContainsSubstring("<!doctype html>") && ContainsSubstring("</html>") &&
                       ContainsSubstring("H200_SXM"));
}

TEST_CASE("report shows what bench insn measured of matrix products as ceilings") {
  const TemporaryFolder folder;
  const std::string head =
      R"({"schema":1,"device":"NVIDIA H200","target":"sm_90a","driver":13000,"linker":"13.0","revision":"r",)";
  write_text(
      folder / "records.jsonl",
      head +
          R"("form":"fma","opcode":"fma.rn.f32","data":"plain","throughput":[{"warps":8,"per_cycle":4.0}]})" +
          "\n" + head +
          R"("form":"mma","opcode":"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32","data":"random",)" +
          R"("throughput":[{"warps":4,"per_cycle":0.5},{"warps":8,"per_cycle":0.625}],"clock_mhz":1980})" +
          "\n");
  const json report = run_json({"report", loop_cubin(folder, "sm_90a"), "--gpu", "h200", "--records",
                                folder / "records.jsonl", "--format", "json"},
                               "report");
  int measured = 0;
  for (const json& one : report["roofline"]["ceilings"]) {
    if (!one["measured"].get<bool>()) continue;
    ++measured;
    CHECK(one["name"] == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
    CHECK(one["per_second"] == 2.0 * 16 * 8 * 16 * 0.625 * 132 * 1980e6);
  }
  CHECK(measured == 1);
}

TEST_CASE("report knows which ceilings bound 8-bit operands") {
  const ToolResult result = run_tool(
      {"report", "gemm", "--set", "m=512", "n=512", "k=512", "a=e4m3", "b=e4m3", "--format", "json"});
  skip_without_linker(result);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const json roofline = json::parse(result.out)["roofline"];
  CHECK(roofline["unit"] == "b8");
  int own = 0;
  for (const json& one : roofline["ceilings"])
    if (one["unit"] == roofline["unit"]) ++own;
  CHECK(own == 3);  // s8, fp8 with f16 and with f32 accumulation
}

TEST_CASE("report lists kernels before the functions that they call") {
  const TemporaryFolder folder;
  std::string ptx = kLoopPtx;
  const std::string call = "call (%f0), a_helper, (%f0);\n    st.global";
  ptx.replace(ptx.find("st.global"), 9, call);
  ptx.insert(ptx.find(".visible"),
             ".visible .func (.reg .f32 %out) a_helper(.reg .f32 %in) {\n    mul.f32 %out, %in, %in;\n    "
             "ret;\n}\n");
  write_text(folder / "calls.ptx", ptx);
  const ToolResult result =
      run_tool({"report", folder / "calls.ptx", "--target", "sm_90a", "--format", "json"});
  skip_without_linker(result);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const json functions = json::parse(result.out)["functions"];
  REQUIRE(functions.size() == 2);
  CHECK((functions[0]["name"] == "squares" && functions[0]["occupancy"].is_object()));
  CHECK((functions[1]["name"] == "a_helper" && functions[1]["occupancy"].is_null()));
}

TEST_CASE("report takes launches from the header of emitted PTX") {
  const TemporaryFolder folder;
  const std::string ptx = folder / "soft.ptx";
  const ToolResult emitted = run_tool(
      {"emit", "rowwise", "--set", "op=softmax", "rows=512", "n=4096", "-o", ptx, "--target", "sm_90a"});
  REQUIRE(emitted.code == 0);
  const ToolResult linked = run_tool({"report", ptx, "--format", "json"});
  skip_without_linker(linked);
  const json of_file = json::parse(linked.out);
  const json of_template = run_json(
      {"report", "rowwise", "--set", "op=softmax", "rows=512", "n=4096", "--format", "json"}, "report");
  CHECK(of_file["functions"][0]["occupancy"] == of_template["functions"][0]["occupancy"]);
}

TEST_CASE("sass --model takes launches from the header of emitted PTX, as report does") {
  const TemporaryFolder folder;
  const std::string ptx = folder / "gemm.ptx", cubin = folder / "gemm.cubin";
  REQUIRE(run_tool({"emit", "gemm", "--set", "m=512", "n=768", "k=1024", "a=bf16", "--target", "sm_90a", "-o",
                    ptx})
              .code == 0);
  const ToolResult linked = run_tool({"report", ptx, "--format", "json"});
  skip_without_linker(linked);
  const json reported = json::parse(linked.out);
  CHECK(reported["functions"][0]["resources"]["dynamic_shared"] > 48 * 1024);
  const ToolResult model = run_tool({"sass", ptx, "--model", "--format", "json"});
  REQUIRE(model.code == 0);
  CHECK_THAT(model.err, !ContainsSubstring("--smem"));
  CHECK(json::parse(model.out)["functions"][0]["occupancy"] == reported["functions"][0]["occupancy"]);
  REQUIRE(run_tool({"compile", ptx, "-o", cubin}).code == 0);
  for (const std::string command : {"sass", "report"}) {
    std::vector<std::string> words = {command, cubin, "--format", "json"};
    if (command == "sass") words.push_back("--model");
    CHECK_THAT(run_tool(words).err, ContainsSubstring("dynamic shared memory is not known: give --smem"));
    words.insert(words.end(), {"--smem", "0"});
    CHECK_THAT(run_tool(words).err, !ContainsSubstring("--smem"));
  }
}

TEST_CASE("what --model and report cannot do is refused, each with its reason") {
  const TemporaryFolder folder;
  write_text(folder / "text.txt", "this is no PTX\n");
  write_text(folder / "bad.cubin", std::string("\x7f") + "ELF and no more");
  const std::string text = folder / "text.txt", bad = folder / "bad.cubin";
  check_refused({"report", text}, 2, "no-target", {"is no cubin"});
  check_refused({"report", bad}, 2, "bad-cubin", {"bad.cubin"});
  check_refused({"report", folder / "absent.cubin"}, 2, "unreadable-file", {"absent.cubin"});
  check_refused({"report", "no_such_template"}, 2, "unknown-template", {"no_such_template"});
  check_refused({"report", bad, "--set", "m=1"}, 2, "bad-usage", {"--set"});
  check_refused({"sass", bad, "--model", "--lint"}, 2, "bad-usage", {"one of them"});
  check_refused({"sass", bad, "--model", "--format", "html"}, 2, "bad-usage", {"ptxloom report"});
  check_refused({"sass", bad, "--warps", "4"}, 2, "bad-usage", {"--model"});
  check_refused({"sass", bad, "--model", "--warps", "65"}, 2, "bad-usage",
                {"--warps does not accept 65", "give 1 to 64"});
  check_refused({"sass", bad, "--model", "--warps", "4", "--block", "1024"}, 2, "bad-usage",
                {"--block 1024 is 32 warps", "--warps 4"});
  check_refused({"report", bad, "--warps", "1", "--block", "33"}, 2, "bad-usage", {"is 2 warps"});
  check_refused({"sass", bad, "--model"}, 2, "bad-cubin", {"bad.cubin"});
  const std::string cubin = loop_cubin(folder, "sm_90a");
  std::string other = read_text(cubin);
  check_refused({"report", cubin, "--gpu", "no such"}, 2, "unknown-product", {"no GPU 'no such'", "sm_90"});
  check_refused({"report", cubin, "--gpu", "RTX 4090"}, 2, "unknown-product",
                {"GeForce_RTX_4090 is sm_89; the kernel is for sm_90"});
  check_refused({"report", cubin, "--gpu", "h100"}, 2, "bad-usage", {"H100_PCIe", "H100_SXM"});
  check_refused({"report", "gemm", "--set", "m=64", "n=64", "k=64", "a=bf16", "--gpu", "L4"}, 2,
                "unknown-product", {"sm_89", "sm_90a"});
  check_refused({"report", "-"}, 2, "bad-usage", {"stdin"});
  check_refused({"sass", "-"}, 2, "bad-usage", {"stdin"});
  check_refused({"report", cubin, "--target", "sm_80"}, 2, "bad-usage", {"--target"});
  check_refused({"report", cubin, "--records", text}, 2, "bad-records", {"no record"});
  other.resize(other.size() / 2);
  write_text(folder / "half.cubin", other);
  check_refused({"report", folder / "half.cubin"}, 2, "bad-cubin", {"half.cubin"});
}

}  // namespace ptxloom::test::model_test
