// SPDX-License-Identifier: Apache-2.0
// What `tune` does besides measuring, which takes a GPU.
#include <sys/wait.h>

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <set>

#include "cli/tool.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/record.hpp"
#include "support/folders.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

using namespace ptxloom::test;

namespace {

ptxloom::Record record_of(const std::string& sm, const std::string& m, const std::string& a = "bf16") {
  return {.device = {.name = "GPU", .sm = sm, .sms = 100, .memory_mhz = 1000},
          .kernel_template = "gemm",
          .problem = ptxloom::gemm_template().problem({{"m", m}, {"n", "64"}, {"k", "32"}, {"a", a}}),
          .time_us = 5};
}

}  // namespace

TEST_CASE("tune --prebuild links the kernels of the records of a target, without a GPU") {
  if (!find_cuda_tool("ptxas")) ptxloom::test::skip_without("ptxas", "there is no toolkit to link with");
  const TemporaryFolder folder;
  const auto lines = to_json(record_of("sm_80", "64")) + "\n" + to_json(record_of("sm_80", "65", "f16")) +
                     "\n" + to_json(record_of("sm_90a", "66")) + "\n";
  write_text(folder / "brought.jsonl", lines);
  const std::map<std::string, std::string> environment{{"PTXLOOM_RECORDS", folder / "records"},
                                                       {"PTXLOOM_CACHE_DIR", folder / "cache"}};
  const auto prebuild = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"tune", "gemm", "--prebuild", "--target"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments, environment);
  };
  const ToolResult first = prebuild({"sm_80", "--merge", folder / "brought.jsonl"});
  if (first.code == 3) ptxloom::test::skip_without("nvjitlink", "there is no nvJitLink: " + first.err);
  CAPTURE(first.out, first.err);
  CHECK(first.code == 0);
  CHECK(first.out.find("m=64 n=64 sums=plain: linked") != std::string::npos);
  CHECK(first.out.find("m=65 n=64 sums=plain: linked") != std::string::npos);
  CHECK(first.out.find("m=66") == std::string::npos);

  const ToolResult second = prebuild({"sm_80", "--set", "m=65"});
  CAPTURE(second.out);
  CHECK(second.out.find("m=65 n=64 sums=plain: was there") != std::string::npos);
  CHECK(second.out.find("m=64") == std::string::npos);

  const ToolResult none = prebuild({"sm_100a"});
  CHECK(none.code == 1);
  CHECK(none.err.find("no-record") != std::string::npos);
}

TEST_CASE("tune --prebuild and --target belong together") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"tune", "gemm", "--prebuild"}, {"tune", "gemm", "--target", "sm_80"}}) {
    const ToolResult result = run_tool(arguments);
    CHECK(result.code == 2);
    CHECK(result.err.find("--prebuild needs --target") != std::string::npos);
  }
}

TEST_CASE("tune --report holds what tune --json says, also where every candidate failed") {
  // The stand-in driver knows no kernel.
  const TemporaryFolder folder;
  const ToolResult result = run_tool({"tune", "gemm", "--set", "m=8", "n=8", "k=8", "--budget", "2evals",
                                      "--device", "all", "--json", "--report", folder / "report.html"},
                                     {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (result.code == 3)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing: " + result.err);
  CAPTURE(result.err);
  CHECK(result.code == 1);
  const std::string page = read_text(folder / "report.html");
  CHECK(page.starts_with("<!doctype html>"));
  CHECK(page.ends_with("</html>\n"));
  const std::string begin = "<script type=\"application/json\" class=\"result\">";
  const std::size_t at = page.find(begin);
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + begin.size();
  const auto held = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  CHECK(held == nlohmann::json::parse(result.out));
  REQUIRE(held["candidates"].size() == 2);
  for (const auto& one : held["candidates"]) {
    CHECK(one["block"]["threads"].get<int>() % 32 == 0);
    CHECK(one["block"]["per_sm"] >= 1);
  }
}

TEST_CASE("tune says which command searches the same again, and it does") {
  const auto tune = [](std::vector<std::string> words) {
    words.emplace_back("--json");
    return run_tool(words, {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  };
  const ToolResult first = tune({"tune", "gemm", "--set", "m=64", "--set", "n=64", "--set", "k=64", "--set",
                                 "tile_m=16|32", "--budget", "3evals", "--strategy", "random"});
  if (first.code == 3) ptxloom::test::skip_without("nvjitlink", "a component is missing: " + first.err);
  CAPTURE(first.err);
  const auto one = nlohmann::json::parse(first.out);
  std::vector<std::string> words = one["command"];
  REQUIRE(words.at(0) == "ptxloom");
  words.erase(words.begin());
  const auto other = nlohmann::json::parse(tune(words).out);
  CHECK(other["command"] == one["command"]);
  CHECK(other["seed"] == one["seed"]);
  REQUIRE(other["candidates"].size() == one["candidates"].size());
  // Host threads link as they come, so that the order may differ.
  const auto configs = [](const nlohmann::json& result) {
    std::multiset<std::string> all;
    for (const auto& candidate : result["candidates"]) all.insert(candidate["config"].dump());
    return all;
  };
  CHECK(configs(other) == configs(one));
}

TEST_CASE("tune compares the winner with cuBLASLt, or says why not", "[gpu]") {
  const auto tune = [](const char* type) {
    return run_tool({"tune", "gemm", "--set", "m=1024", "--set", "n=1024", "--set", "k=1024", "--set",
                     std::string("a=") + type, "--budget", "4evals", "--json"});
  };
  const ToolResult result = tune("bf16");
  if (result.code == 3) ptxloom::test::skip_without("gpu", "there is no GPU: " + result.err);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(check_schema(json, read_schema("tune")) == "");
  CHECK(json["rates"]["peak_operations"] > 1e13);
  CHECK(json["rates"]["peak_bytes"] > 1e11);
  const auto& vendor = json["baselines"].back();
  CHECK(vendor["name"].get<std::string>().starts_with("cuBLASLt"));
  CHECK((vendor.contains("ratio") || vendor["problem"]["code"] == "no-cublaslt"));
  const auto bytes = nlohmann::json::parse(tune("u8").out);
  CHECK(bytes["baselines"].back()["problem"]["code"].is_string());
}

TEST_CASE("tune notices before the search that a report cannot be written") {
  const TemporaryFolder folder;
  const ToolResult result =
      run_tool({"tune", "gemm", "--set", "m=8", "n=8", "k=8", "--report", folder / "none" / "report.html"},
               {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  CHECK(result.code == 2);
  CHECK(result.err.find("unwritable-file") != std::string::npos);
  CHECK(result.out.empty());
}

TEST_CASE("tune validates its arguments before it looks for a device") {
  const auto run = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{"tune", "gemm", "--set", "m=8", "n=8", "k=8"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments, {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  };
  const ToolResult strategy = run({"--strategy", "annealing"});
  CHECK(strategy.code == 2);
  CHECK(strategy.err.find("exhaustive, random, halving, guided") != std::string::npos);
  const ToolResult value = run({"--set", "tile_m=64|100"});
  if (value.code == 3)
    ptxloom::test::skip_without("nvjitlink", "nvJitLink or the stand-in driver is missing: " + value.err);
  CHECK(value.code == 2);
  CHECK(value.err.find("tile_m=100") != std::string::npos);
  const ToolResult empty = run({"--set", "tile_m=16", "--set", "warps_m=8"});
  CHECK(empty.code == 1);
  CHECK(empty.err.find("no-configuration") != std::string::npos);
  CHECK(empty.err.find("multiple of 16 rows and of 16 columns: ") != std::string::npos);
}

TEST_CASE("build parameters are accepted by every template") {
  const auto emit = [](std::vector<std::string> more) {
    std::vector<std::string> arguments{"emit", "gemm", "--set", "m=64", "n=64", "k=64"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_tool(arguments);
  };
  const ToolResult plain = emit({});
  CHECK(plain.out.find(".maxnreg") == std::string::npos);
  const ToolResult limited = emit({"--set", "maxnreg=128", "--set", "minnctapersm=2"});
  CAPTURE(limited.err);
  CHECK(limited.code == 0);
  CHECK(limited.out.find(".maxnreg 128") != std::string::npos);
  CHECK(limited.out.find(".minnctapersm 2") != std::string::npos);
  CHECK(limited.out.find("maxnreg=128") != std::string::npos);
  const ToolResult many = emit({"--set", "maxnreg=300"});
  CHECK(many.code == 2);
  CHECK(many.err.find("maxnreg=300") != std::string::npos);
}

TEST_CASE("tune searches several values of a parameter, including linker options") {
  const ToolResult result =
      run_tool({"tune", "gemm", "--set", "m=64", "n=64", "k=64", "tile_m=16|32", "maxnreg=0|128",
                "optimise=1|3", "--budget", "3evals", "--strategy", "random", "--json"},
               {{"PTXLOOM_CUDA_PATH", build_folder() + "/fake_cuda"}});
  if (result.code == 3) ptxloom::test::skip_without("nvjitlink", "a component is missing: " + result.err);
  CAPTURE(result.err);
  const auto json = nlohmann::json::parse(result.out);
  std::map<std::string, std::vector<std::string>> values;
  for (const auto& parameter : json["space"]["parameters"])
    values[parameter["name"]] = parameter["values"].get<std::vector<std::string>>();
  CHECK(values["tile_m"] == std::vector<std::string>{"16", "32"});
  CHECK(values["maxnreg"] == std::vector<std::string>{"0", "128"});
  CHECK(values["optimise"] == std::vector<std::string>{"1", "3"});
  for (const auto& one : json["candidates"]) CHECK(one["config"].contains("optimise"));
}

TEST_CASE("tune on the executor finds a correct configuration, without a GPU") {
  const ToolResult result = run_tool(
      {"tune", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu", "--budget", "6evals", "--json"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  const auto json = nlohmann::json::parse(result.out);
  CHECK(check_schema(json, read_schema("tune")) == "");
  REQUIRE(json["devices"].size() == 1);
  CHECK(json["devices"][0]["name"].get<std::string>().starts_with("cpu of "));
  CHECK(json["devices"][0]["evaluations"] == 6);
  CHECK(json["record"]["device"]["name"] == "CPU executor");
}

TEST_CASE("tune notices before the search that records cannot be kept") {
  const TemporaryFolder folder;
  write_text(folder / "file", "");
  const ToolResult result =
      run_tool({"tune", "gemm", "--set", "m=16", "n=8", "k=32", "--device", "cpu", "--budget", "2evals"},
               {{"PTXLOOM_RECORDS", folder / "file/records"}});
  CAPTURE(result.err);
  CHECK(result.code == 2);
  CHECK(result.err.find("unwritable-file") != std::string::npos);
  CHECK(result.err.find("PTXLOOM_RECORDS") != std::string::npos);
  CHECK(result.err.find(" us ") == std::string::npos);  // nothing was tried
  CHECK(result.out.empty());
}

TEST_CASE("under mpirun, a tool without MPI says what is missing") {
  // A copy by itself, which finds nothing beside it.
  const TemporaryFolder folder;
  std::filesystem::copy_file(tool_path(), folder / "ptxloom");
  const std::string command = "OMPI_COMM_WORLD_SIZE=2 PTXLOOM_RECORDS=" + (folder / "records").string() +
                              " " + (folder / "ptxloom").string() +
                              " tune gemm --set m=16 --set n=8 --set k=32 --device cpu 2> " +
                              (folder / "err").string();
  const int status = std::system(command.c_str());
  CHECK(WEXITSTATUS(status) == 3);
  const std::string said = read_text(folder / "err");
  CAPTURE(said);
  CHECK(said.find("no-mpi") != std::string::npos);
  CHECK(said.find("2 processes") != std::string::npos);
}
