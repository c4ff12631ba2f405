// SPDX-License-Identifier: Apache-2.0
// Stall reasons that Nsight Compute measured, in `report`: files in the format of `ncu --csv`.
#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/bad_input.hpp"
#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "support/require.hpp"

namespace ptxloom::test::ncu_test {

using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;
using nlohmann::json;

namespace {

// The format of Nsight Compute 2025.3: eleven columns of the launch, then, by page, all metrics, or one and
// what rules say of it.
constexpr const char* kFirst =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",)"
    R"("Grid Size","Device","CC")";
constexpr const char* kLaunch =
    R"csv("{}","7","ptxloom","127.0.0.1","{}","1","7","(128, 1, 1)","(132, 1, 1)","0","9.0")csv";
constexpr const char* kConnected =
    "==PROF== Connected to process 7 (/usr/bin/ptxloom)\n"
    "==PROF== Profiling \"scale\" - 0: 0%....50%....100% - 1 pass\n"
    "correct: 4096 of 4096 values\n"
    "==PROF== Disconnected from process 7\n";

std::string stall(const std::string& reason) {
  return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio";
}

/// Columns of the section WarpStateStats, between others, with the unit of each.
const std::vector<std::pair<std::string, std::string>> kColumns = {
    {"smsp__average_warp_latency_per_inst_issued.ratio", "cycle"},
    {stall("long_scoreboard"), "inst"},
    {stall("short_scoreboard"), "inst"},
    {stall("selected"), "inst"},
    {stall("wait"), "inst"},
    {stall("no_instruction"), "inst"},
    {stall("wait_not_issued"), "inst"},
    {"smsp__inst_executed.sum", "inst"}};

/// `ncu --csv --page raw`: names of metrics, their units, then a row for each launch.
std::string raw_page(const std::string& kernel = "scale") {
  std::string names = kFirst, units = R"("","","","","","","","","","","")";
  for (const auto& [name, unit] : kColumns) {
    names += ",\"" + name + "\"";
    units += ",\"" + unit + "\"";
  }
  return kConnected + names + "\r\n" + units + "\r\n" + fmt::format(fmt::runtime(kLaunch), 0, kernel) +
         ",\"11\",\"6.5\",\"0.5\",\"1\",\"2.25\",\"0.75\",\"70\",\"1,056\"\r\n" +
         fmt::format(fmt::runtime(kLaunch), 1, kernel) +
         ",\"1,006\",\"1,000.5\",\"1.5\",\"1\",\"2.75\",\"0.25\",\"80\",\"1,056\"\r\n" +
         fmt::format(fmt::runtime(kLaunch), 2, "other") +
         ",\"9\",\"9\",\"9\",\"1\",\"9\",\"9\",\"9\",\"9\"\r\n";
}

/// `ncu --csv --metrics ...`: a row for each metric.
std::string details_page() {
  std::string text = kConnected + std::string(kFirst) +
                     ",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\","
                     "\"Rule Type\",\"Rule Description\",\"Estimated Speedup Type\",\"Estimated Speedup\"\n";
  for (const auto& [reason, value] :
       {std::pair("barrier", "4.5"), std::pair("selected", "1.00"), std::pair("math_pipe_throttle", "0.25"),
        std::pair("mio_throttle", "0.5"), std::pair("sleeping", "0"), std::pair("membar", "n/a")})
    text += fmt::format(fmt::runtime(kLaunch), 0, "scale") +
            fmt::format(",\"Command line profiler \"\"metrics\"\"\",\"{}\",\"inst\",\"{}\",\n", stall(reason),
                        value);
  return text;
}

/// A program named ncu that writes its arguments to a file, and prints a text.
void write_ncu(const TemporaryFolder& folder, const std::string& output, int code) {
  write_text(folder / "printed", output);
  write_text(folder / "ncu",
             fmt::format("#!/bin/sh\necho \"$@\" > {0}/arguments\ncat {0}/printed\nexit {1}\n",
                         folder.path().string(), code));
  std::filesystem::permissions(folder / "ncu", std::filesystem::perms::owner_all);
}

json report_with(const TemporaryFolder& folder, const std::string& csv) {
  write_text(folder / "scale.ptx", kScalePtx);
  write_text(folder / "stalls.csv", csv);
  const ToolResult made = run_tool({"report", folder / "scale.ptx", "--target", "sm_90a", "--stalls",
                                    folder / "stalls.csv", "--format", "json"});
  if (made.code == 3) skip_without("nvjitlink", made.err);
  INFO(made.err);
  REQUIRE(made.code == 0);
  return json::parse(made.out);
}

}  // namespace

TEST_CASE("report shows the stall reasons of a file of ncu, by page raw, or by metrics") {
  const TemporaryFolder folder;
  const json raw = report_with(folder, raw_page());
  CHECK(raw["unmeasured"] == "");
  const json& measured = raw["functions"][0]["measured"];
  CHECK(measured["launches"] == 2);
  const json& stalls = measured["stalls"];
  CHECK(stalls.size() == 4);
  CHECK_THAT(stalls["scoreboard"].get<double>(), WithinRel((6.5 + 0.5 + 1000.5 + 1.5) / 2, 1e-12));
  CHECK_THAT(stalls["stall_count"].get<double>(), WithinRel(2.5, 1e-12));
  CHECK_THAT(stalls["issued"].get<double>(), WithinRel(1.0, 1e-12));
  CHECK_THAT(stalls["other"].get<double>(), WithinRel(0.5, 1e-12));

  const json details = report_with(folder, details_page())["functions"][0]["measured"];
  CHECK(details["launches"] == 1);
  CHECK_THAT(details["stalls"]["unit_busy"].get<double>(), WithinRel(0.75, 1e-12));
  CHECK_THAT(details["stalls"]["barrier"].get<double>(), WithinRel(4.5, 1e-12));
  const ToolResult text = run_tool({"report", folder / "scale.ptx", "--target", "sm_90a", "--stalls",
                                    folder / "stalls.csv", "--format", "text"});
  CHECK_THAT(text.out, ContainsSubstring("measured by ncu: barrier 72 %, issued 16 %, unit busy 12 %"));
}

TEST_CASE("report says why stall reasons are not measured") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult made =
      run_tool({"report", folder / "scale.ptx", "--target", "sm_90a", "--format", "json"});
  if (made.code == 3) skip_without("nvjitlink", made.err);
  CHECK(json::parse(made.out)["unmeasured"] == "how to launch the kernel is not known");
  CHECK(json::parse(made.out)["functions"][0]["measured"].is_null());
  CHECK_THAT(made.err, ContainsSubstring("stall reasons are predicted, not measured: how to launch"));
  const ToolResult gemm = run_tool({"report", "gemm", "--set", "m=512", "n=512", "k=512", "--format", "json"},
                                   {{"PATH", folder.path().string()}});
  CHECK(json::parse(gemm.out)["unmeasured"] ==
        "ncu was not found on PATH, in $CUDA_HOME/bin or in /usr/local/cuda/bin");
}

TEST_CASE("report runs a template's kernel under ncu, and takes what that prints") {
  const TemporaryFolder folder, driver;
  // The driver that runs nothing says that there is an H100; the linker is the real one.
  std::filesystem::create_symlink(build_folder() + "/fake_cuda/libcuda.so.1", driver / "libcuda.so.1");
  const std::vector<std::string> words = {"report", "gemm",  "--set",    "m=512",  "--set",    "n=512",
                                          "--set",  "k=512", "--target", "sm_90a", "--format", "json"};
  const auto report = [&](const std::string& output, int code) {
    write_ncu(folder, output, code);
    return run_tool(words, {{"PTXLOOM_CUDA_PATH", driver.path().string()},
                            {"PATH", folder.path().string() + ":/usr/bin:/bin"}});
  };
  const ToolResult bare = report(
      "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission\n"
      "==WARNING== No kernels were profiled.\n",
      1);
  if (bare.code == 3) skip_without("nvjitlink", bare.err);
  INFO(bare.err);
  REQUIRE(bare.code == 0);
  const json predicted = json::parse(bare.out);
  CHECK(predicted["unmeasured"] == "ncu failed: ERR_NVGPUCTRPERM - The user does not have permission");
  CHECK(json::parse(report("==WARNING== No kernels were profiled.\n", 0).out)["unmeasured"] ==
        "ncu failed: No kernels were profiled.");
  CHECK(json::parse(report("there is no GPU\n", 3).out)["unmeasured"] == "ncu failed: there is no GPU");

  const ToolResult made = report(raw_page(predicted["functions"][0]["name"]), 0);
  INFO(made.err);
  const json measured = json::parse(made.out);
  CHECK(measured["unmeasured"] == "");
  CHECK(measured["functions"][0]["measured"]["launches"] == 2);
  const std::string arguments = read_text(folder / "arguments");
  CHECK_THAT(arguments,
             ContainsSubstring("--csv --page raw --print-kernel-base mangled --print-units base") &&
                 ContainsSubstring("--section WarpStateStats " + tool_path() + " run gemm") &&
                 ContainsSubstring("--device gpu --set m=512 --set n=512 --set k=512"));
}

TEST_CASE("report warns of a file of ncu with other kernels") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  write_text(folder / "stalls.csv", raw_page("scale(float *, unsigned int)"));
  const ToolResult made = run_tool({"report", folder / "scale.ptx", "--target", "sm_90a", "--stalls",
                                    folder / "stalls.csv", "--format", "json"});
  if (made.code == 3) skip_without("nvjitlink", made.err);
  CHECK(made.code == 0);
  CHECK_THAT(made.err, ContainsSubstring("but other, scale(float *, unsigned int) [other-kernels]") &&
                           ContainsSubstring("--print-kernel-base mangled"));
  CHECK_THAT(json::parse(made.out)["unmeasured"].get<std::string>(),
             ContainsSubstring("stalls.csv has none of its kernels"));
}

TEST_CASE("a file that is no table of ncu is refused") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  for (const std::string& csv : {std::string(), std::string("nothing\n"), std::string(kFirst) + "\n",
                                 std::string("\"Kernel Name\"\n\"k\"\n"),
                                 std::string(kFirst) + ",\"" + stall("wait") + "\"\n" +
                                     fmt::format(fmt::runtime(kLaunch), 0, "k") + ",\"n/a\"\n",
                                 std::string(kFirst) + ",\"" + stall("wait") + "\"\n\"0\",\"7\""}) {
    write_text(folder / "stalls.csv", csv);
    CAPTURE(csv);
    const ToolResult made = run_tool({"report", folder / "scale.ptx", "--target", "sm_90a", "--stalls",
                                      folder / "stalls.csv", "--format", "text"});
    if (made.code == 3) skip_without("nvjitlink", made.err);
    CHECK(made.code == 2);
    CHECK_THAT(made.err, ContainsSubstring("bad-ncu-csv"));
    CHECK(made.out.empty());
  }
  CHECK(run_tool({"report", folder / "scale.ptx", "--stalls", folder / "none.csv"}).code == 2);
}

}  // namespace ptxloom::test::ncu_test
