// SPDX-License-Identifier: Apache-2.0
#include <signal.h>

#include <catch2/catch_test_macros.hpp>
#include <chrono>
#include <thread>

#include "cli/tool.hpp"
#include "ptxloom/record.hpp"
#include "support/folders.hpp"
#include "support/require.hpp"

namespace ptxloom::test::json_test {

using nlohmann::json;

TEST_CASE("the schema checker refuses what a schema does not allow") {
  const json schema = read_schema("bench");
  const json good = {
      {"schema", 1}, {"name", "link"}, {"steps", {{{"step", "s"}, {"median_ms", 1.5}, {"least_ms", 1}}}}};
  CHECK(check_schema(good, schema) == "");
  json bad = good;
  bad["schema"] = 2;
  CHECK(check_schema(bad, schema) == "$.schema: is not 1");
  bad = good;
  bad.erase("name");
  CHECK(check_schema(bad, schema) == "$: lacks name");
  bad = good;
  bad["more"] = 1;
  CHECK(check_schema(bad, schema) == "$: has an unknown more");
  bad = good;
  bad["steps"][0]["median_ms"] = "1.5";
  CHECK(check_schema(bad, schema) == "$.steps[0].median_ms: is no number");
}

TEST_CASE("doctor --json follows its schema") {
  const json doctor = run_json({"doctor", "--json"}, "doctor");
  CHECK(doctor["forms"] > 50);
  CHECK(doctor["libraries"].size() >= 3);
}

TEST_CASE("peak --json follows its schema, and names what it does not know") {
  const json all = run_json({"peak", "--json"}, "peak");
  CHECK(all["products"].size() > 20);
  const json one = run_json({"peak", "h200", "--json"}, "peak")["products"];
  REQUIRE(one.size() == 1);
  CHECK(one[0]["sms"] == 132);
  CHECK(one[0]["mma_clock_mhz"] == 1830);
  const ToolResult text = run_tool({"peak", "RTX 5090"});
  CHECK(text.code == 0);
  CHECK(text.out.find("GeForce_RTX_5090: sm_120, 170 SMs, 2407 MHz, 1792 GB/s\n") == 0);
  CHECK(text.out.find("1676.0") != std::string::npos);  // fp4
  const ToolResult none = run_tool({"peak", "RTX 4099"});
  CHECK(none.code == 2);
  CHECK(none.err.find("did you mean ") != std::string::npos);
}

TEST_CASE("list --json follows its schema") {
  CHECK(run_json({"list", "--json"}, "list")["forms"].size() > 50);
  const json mma = run_json({"list", "mma.sync", "--variants", "--target", "sm_80", "--json"}, "list");
  const auto& variants = mma["forms"][0]["variants"];
  CHECK(std::find(variants.begin(), variants.end(), "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32") !=
        variants.end());
  CHECK(std::find(variants.begin(), variants.end(), "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32") ==
        variants.end());
}

TEST_CASE("list --target names the forms that have a variant there") {
  const json counted = run_json({"list", "--target", "sm_80", "--json"}, "list");
  const ToolResult listed = run_tool({"list", "--target", "sm_80"});
  REQUIRE(listed.code == 0);
  CHECK(counted["forms"].size() == static_cast<std::size_t>(std::ranges::count(listed.out, '\n')));
  for (const json& form : counted["forms"]) {
    CAPTURE(form["form"]);
    CHECK(form["count"] > 0);
    CHECK(listed.out.find(form["family"].get<std::string>()) != std::string::npos);
    CHECK(listed.out.find(" " + form["form"].get<std::string>() + " ") != std::string::npos);
  }
  CHECK(listed.out.find("wgmma") == std::string::npos);
}

TEST_CASE("show --json follows its schema") {
  const json shown =
      run_json({"show", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "--json"}, "show");
  REQUIRE(shown["variants"].size() == 1);
  const json& operands = shown["variants"][0]["operands"];
  REQUIRE(operands.size() == 4);
  CHECK(operands[1]["name"] == "A");
  CHECK(operands[1]["registers"] == 4);
  CHECK(operands[1]["fragment"]["lane"] == "4*k2 8*m1");
  CHECK(shown["variants"][0]["targets"][0] ==
        json{{"target", "sm_80"}, {"since", "7.0"}, {"cuda", "11.0"}, {"driver", 450}});
}

TEST_CASE("layout --format json follows its schema and is the manual's map") {
  const json map = run_json(
      {"layout", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "--operand", "A", "--format", "json"},
      "layout");
  CHECK(map["rows"] == 16);
  CHECK(map["cols"] == 16);
  REQUIRE(map["elements"].size() == 256);
  for (const json& e : map["elements"]) {
    // PTX ISA 9.7.14.5.8: a0 a1 | a2 a3 | a4 a5 | a6 a7 of the lane's group and place in it.
    const int lane = e["lane"], index = e["reg"].get<int>() * 2 + e["bit"].get<int>() / 16;
    const int row = lane / 4 + (index == 0 || index == 1 || index == 4 || index == 5 ? 0 : 8);
    const int col = lane % 4 * 2 + (index & 1) + (index < 4 ? 0 : 8);
    CHECK(e["row"] == row);
    CHECK(e["col"] == col);
  }
  const json loads = run_json(
      {"layout", "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "--operand", "r", "--format", "json"}, "layout");
  CHECK(loads["operand"] == "r");
  CHECK(loads["type"] == "b16");
  CHECK(loads["addresses"].size() == 32);
  CHECK(loads["elements"][2]["matrix"] == 1);
  const json one = run_json({"layout", "stmatrix.sync.aligned.m8n8.x1.shared.b16", "--operand", "r",
                             "--format", "json", "--at", "3,4"},
                            "layout");
  REQUIRE(one["elements"].size() == 1);
  CHECK(one["elements"][0] == json::parse(R"({"lane":14,"reg":0,"bit":0,"row":3,"col":4,"matrix":0})"));
  const json scales = run_json(
      {"layout", "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X...ue4m3",
       "--operand", "SB", "--select", "TB=1", "--format", "json"},
      "layout");
  CHECK(scales["block"] == 16);
  CHECK(scales["rows"] == 8);
  CHECK(scales["cols"] == 4);
  CHECK(scales["elements"][5] == json::parse(R"({"lane":5,"reg":0,"bit":8,"row":1,"col":1})"));
}

TEST_CASE("bench --json follows its schema") {
  const json bench = run_json({"bench", "spec_to_ptx", "--count", "3", "--json"}, "bench");
  CHECK(bench["name"] == "spec_to_ptx");
  CHECK(bench["steps"].size() == 4);
}

TEST_CASE("bench repeats its steps as often as it is told") {
  const auto steps = [](const char* count) {
    const ToolResult result = run_tool({"bench", "cache", "--count", count, "--json"});
    if (result.code == 3) ptxloom::test::skip_without("nvjitlink", "nvJitLink is missing: " + result.err);
    CAPTURE(result.err);
    REQUIRE(result.code == 0);
    std::vector<std::string> names;
    const json bench = json::parse(result.out);
    for (const json& step : bench["steps"]) names.push_back(step["step"]);
    return names;
  };
  CHECK(steps("1") == std::vector<std::string>{"first"});
  CHECK(steps("2") == std::vector<std::string>{"first", "hit"});
}

TEST_CASE("check --json is laid out for people, too") {
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "empty.ptx";
  write_text(file, ".version 9.0\n.target sm_80\n.address_size 64\n");
  const ToolResult result = run_tool({"check", file, "--json"});
  CHECK(result.code == 0);
  CHECK(result.out ==
        "{\n \"schema\": 1,\n \"ok\": true,\n \"needs\": {\n  \"ptx\": \"7.0\",\n  \"cuda\": \"11.0\",\n  "
        "\"driver\": 450\n },\n \"errors\": [],\n \"warnings\": []\n}\n");
}

TEST_CASE("conform that is interrupted prints what it has, and says so by its exit code") {
  RunningTool tool({"conform", "--device", "cpu", "--json"});
  // Not before it handles the signal, or that would end it.
  const auto handles = [&] {
    const std::string process = "/proc/" + std::to_string(tool.pid());
    if (!std::filesystem::equivalent(process + "/exe", tool_path()))
      return false;  // still a fork of this test
    const std::string status = read_text(process + "/status");
    const std::size_t at = status.find("SigCgt:");
    return at != std::string::npos &&
           (std::stoull(status.substr(at + 7), nullptr, 16) >> (SIGINT - 1) & 1) != 0;
  };
  const auto begin = std::chrono::steady_clock::now();
  while (!handles() && std::chrono::steady_clock::now() - begin < std::chrono::seconds(60))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  REQUIRE(handles());
  ::kill(tool.pid(), SIGINT);
  const ToolResult result = tool.finish();
  CHECK(result.code == 130);
  const json conform = json::parse(result.out);
  CHECK(check_schema(conform, read_schema("conform")) == "");
  for (const json& variant : conform["variants"]) CHECK(variant["state"] != "differs");
}

TEST_CASE("conform --json follows its schema") {
  const json conform =
      run_json({"conform", "prmt", "--device", "cpu", "--count", "100", "--json"}, "conform");
  CHECK(conform["variants"].size() >= 7);
  for (const json& variant : conform["variants"]) CHECK(variant["state"] == "agrees");
}

TEST_CASE("tune --json follows its schema, whatever became of the candidates") {
  // The stand-in driver knows no kernel, so that every candidate fails.
  const ToolResult result = run_tool({"tune", "gemm", "--set", "m=8", "--set", "n=8", "--set", "k=8",
                                      "--budget", "2evals", "--json", "--seed", "7"},
                                     {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (result.code == 3)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing: " + result.err);
  CAPTURE(result.err);
  CHECK(result.code == 1);
  const json value = json::parse(result.out);
  CHECK(check_schema(value, read_schema("tune")) == "");
  CHECK(value["record"].is_null());
  CHECK(value["evaluations"] == 2);
  CHECK(value["seed"] == 7);
  REQUIRE(value["candidates"].size() == 2);
  CHECK(value["candidates"][0]["state"] == "failed");
  CHECK(value["candidates"][0].contains("problem"));
  CHECK(value["winner"].is_null());
  CHECK(value["source"] == "none");
  CHECK(value["error"]["code"] == "no-correct-candidate");
  std::uint64_t sum = value["space"]["admissible"];
  for (const json& one : value["space"]["inadmissible"]) sum += one["count"].get<std::uint64_t>();
  CHECK(sum == value["space"]["configurations"]);
}

TEST_CASE("a tuning record follows its schema") {
  ptxloom::Record record{.device = {.name = "GPU", .sm = "sm_90a", .sms = 132, .memory_mhz = 3201},
                         .kernel_template = "gemm",
                         .problem = {{"m", "8"}},
                         .config = {{"tile_m", "64"}}};
  const json without = json::parse(ptxloom::to_json(record));
  CHECK(check_schema(without, read_schema("record")) == "");
  record.resources = ptxloom::Resources{.registers = 40};
  const json with = json::parse(ptxloom::to_json(record));
  CHECK(check_schema(with, read_schema("record")) == "");
}

}  // namespace ptxloom::test::json_test
