// SPDX-License-Identifier: Apache-2.0
// A template of two launches, from a template library: what `emit` writes about them, and what `run` makes of
// that.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "cli/bad_input.hpp"
#include "cli/tool.hpp"
#include "ptxloom/npy.hpp"

namespace ptxloom::test::several_launches_test {
namespace {

using nlohmann::json;

const std::map<std::string, std::string> kLibrary{
    {"PTXLOOM_TEMPLATES", build_folder() + "/tests/cli/column_sums.so"}};

ToolResult on_sums(const std::string& command, std::vector<std::string> more = {}) {
  more.insert(more.begin(), {command, "column_sums", "--set", "rows=11", "n=45"});
  return run_tool(more, kLibrary);
}

}  // namespace

TEST_CASE("the launch line has all launches in order, and what each clears") {
  const ToolResult result = on_sums("emit");
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const json first =
      json::parse(result.out.substr(result.out.find('{'), result.out.find('\n') - result.out.find('{')));
  CHECK(first["entry"] == "partial_sums");
  CHECK(first["grid"] == json{2, 3, 1});
  CHECK(first["workspace"] == 180);
  CHECK(first["clear"] == json::array({{{"tensor", "workspace"}, {"offset", 0}, {"bytes", 180}}}));
  REQUIRE(first["then"].size() == 1);
  const json& second = first["then"][0];
  CHECK(second["entry"] == "total");
  CHECK(second["grid"] == json{2, 1, 1});
  CHECK(second["clear"] == json::array({{{"tensor", "y"}, {"offset", 0}, {"bytes", 180}}}));
  CHECK_FALSE(second.contains("then"));
}

TEST_CASE("run of a template runs all its launches") {
  const ToolResult result = on_sums("run", {"--device", "cpu"});
  CAPTURE(result.err);
  CHECK(result.code == 0);
  CHECK((result.out + result.err).find("correct: 45 elements compared") != std::string::npos);
  CHECK(on_sums("run", {"--device", "cpu", "fault=y_not_cleared"}).code != 0);
}

TEST_CASE("run of a file of several launches asks for one, and clears what that one clears") {
  const TemporaryFolder folder;
  const std::string file = folder / "sums.ptx", y = folder / "y.npy";
  write_text(file, on_sums("emit").out);
  check_refused({"run", file, "--device", "cpu"}, 2, "several-launches", {"2 launches", "--entry"});
  check_refused({"run", file, "--device", "cpu", "--entry", "no_such"}, 2, "unknown-kernel",
                {"no_such", "total"});

  const ToolResult result =
      run_tool({"run", file, "--device", "cpu", "--entry", "total", "--arg", "y=out=" + y});
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  const NpyArray array = read_npy(y);
  CHECK(array.bytes.size() == 180);
  CHECK(std::ranges::all_of(array.bytes, [](std::byte byte) { return byte == std::byte{0}; }));
}

}  // namespace ptxloom::test::several_launches_test
