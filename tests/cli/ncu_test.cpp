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

constexpr const char* kFirst =
    R"("ID","Process ID","Process Name","Host Name","Kernel Name","Context","Stream","Block Size",)"
    R"("Grid Size","Device","CC")";
constexpr const char* kLaunch =
    R"csv("{}","7","ptxloom","127.0.0.1","{}","1","7","(128, 1, 1)","(132, 1, 1)","0","9.0")csv";

std::string stall(const std::string& reason) {
  return "smsp__average_warps_issue_stalled_" + reason + "_per_issue_active.ratio";
}

/// `ncu --csv --page raw`: a row for each launch, with a column for each metric.
std::string raw_page() {
  return "==PROF== Connected to process 7\n==PROF== Profiling \"scale\": 0%....100% - 8 passes\n" +
         fmt::format("{},\"{}\",\"{}\",\"{}\",\"{}\",\"{}\",\"smsp__inst_executed.sum\"\r\n", kFirst,
                     stall("long_scoreboard"), stall("short_scoreboard"), stall("selected"), stall("wait"),
                     stall("no_instruction")) +
         "\"\",\"\",\"\",\"\",\"\",\"\",\"\",\"block\",\"grid\",\"\",\"\",\"inst\",\"inst\",\"inst\","
         "\"inst\","
         "\"inst\",\"inst\"\r\n" +
         fmt::format(fmt::runtime(kLaunch), 0, "scale(float *, unsigned int)") +
         ",\"6.5\",\"0.5\",\"1\",\"2.25\",\"0.75\",\"1,056\"\r\n" +
         fmt::format(fmt::runtime(kLaunch), 1, "scale(float *, unsigned int)") +
         ",\"1,000.5\",\"1.5\",\"1\",\"2.75\",\"0.25\",\"1,056\"\r\n" +
         fmt::format(fmt::runtime(kLaunch), 2, "other") + ",\"9\",\"9\",\"1\",\"9\",\"9\",\"9\"\r\n";
}

/// `ncu --csv --page details`: a row for each metric.
std::string details_page() {
  std::string text = std::string(kFirst) +
                     ",\"Section Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\",\"Rule Name\"\n";
  for (const auto& [reason, value] :
       {std::pair("barrier", "4.5"), std::pair("selected", "1.00"), std::pair("math_pipe_throttle", "0.25"),
        std::pair("mio_throttle", "0.5"), std::pair("sleeping", "0")})
    text += fmt::format(fmt::runtime(kLaunch), 0, "scale") +
            fmt::format(",\"Warp \"\"State\"\"\",\"{}\",\"inst\",\"{}\",\"\"\n", stall(reason), value);
  return text;
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

TEST_CASE("report shows the stall reasons of a file of ncu, by page raw or details") {
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
  CHECK(json::parse(gemm.out)["unmeasured"] == "ncu is not on PATH");
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
