// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "cli/scale_ptx.hpp"
#include "cli/tool.hpp"
#include "support/require.hpp"

namespace ptxloom::test::sass_lint_test {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

namespace {

void skip_if_missing(const ToolResult& result) {
  if (result.code == 3 && result.err.find("nvdisasm") != std::string::npos)
    skip_without("nvdisasm", result.err);
  if (result.code == 3) skip_without("nvjitlink", result.err);
}

/// PTX of a template, in a file; empty if the template does not have it on the target.
std::string emitted(const TemporaryFolder& folder, const std::string& name, const std::string& target,
                    std::vector<std::string> settings) {
  const std::string file = folder / (name + "_" + target + ".ptx");
  settings.insert(settings.begin(), {"emit", name, "--target", target, "-o", file, "--set"});
  const ToolResult result = run_tool(settings);
  return result.code == 0 ? file : "";
}

/// The bytes of a cubin in which no instruction waits for a scoreboard.
std::string without_waits(std::string cubin, const json& listing) {
  for (const json& function : listing["functions"]) {
    for (const json& one : function["instructions"]) {
      const std::string digits = one["encoding"];
      std::string bytes;
      for (std::size_t i = digits.size(); i >= 2; i -= 2)
        bytes += static_cast<char>(std::stoi(digits.substr(i - 2, 2), nullptr, 16));
      const std::size_t at = cubin.find(bytes);
      REQUIRE(at != cubin.npos);
      // Bits 116 to 121 of the instruction.
      cubin[at + 14] = static_cast<char>(cubin[at + 14] & 0x0F);
      cubin[at + 15] = static_cast<char>(cubin[at + 15] & ~0x03);
    }
  }
  return cubin;
}

}  // namespace

TEST_CASE("sass --lint accepts what ptxas made, and finds what was changed in it") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult compiled = run_tool({"compile", folder / "scale.ptx", "--target", "sm_90a"});
  skip_if_missing(compiled);
  const std::string cubin = folder / "scale.cubin";
  const ToolResult good = run_tool({"sass", cubin, "--lint"});
  skip_if_missing(good);
  CHECK(good.code == 0);
  CHECK_THAT(good.out, ContainsSubstring(" for sm_90a: 0 errors, "));
  CHECK(run_json({"sass", cubin, "--lint", "--format", "json"}, "sass_lint")["errors"] == 0);
  const json listing = run_json({"sass", cubin, "--format", "json"}, "sass");
  write_text(cubin, without_waits(read_text(cubin), listing));
  const ToolResult bad = run_tool({"sass", cubin, "--lint", "--format", "json"});
  CHECK(bad.code == 1);
  const json found = json::parse(bad.out);
  CHECK(check_schema(found, read_schema("sass_lint")) == "");
  CHECK(found["errors"] > 0);
  CHECK(found["functions"][0]["findings"][0]["code"] == "missing-wait");
  CHECK_THAT(run_tool({"sass", cubin, "--lint"}).out, ContainsSubstring("[missing-wait]"));
}

TEST_CASE("sass --lint links PTX first") {
  const TemporaryFolder folder;
  const std::string gemm = emitted(folder, "gemm", "sm_80", {"m=256", "n=256", "k=256", "a=f16"});
  REQUIRE_FALSE(gemm.empty());
  const ToolResult result = run_tool({"sass", gemm, "--lint"});
  skip_if_missing(result);
  CHECK(result.code == 0);
  CHECK_THAT(result.out, ContainsSubstring(": 0 errors, "));
}

TEST_CASE("sass --lint needs nvdisasm, and has no HTML") {
  const TemporaryFolder folder;
  write_text(folder / "scale.ptx", kScalePtx);
  const ToolResult compiled = run_tool({"compile", folder / "scale.ptx", "--target", "sm_90a"});
  skip_if_missing(compiled);
  const std::string cubin = folder / "scale.cubin";
  const ToolResult none = run_tool({"sass", cubin, "--lint"}, {{"PTXLOOM_NVDISASM", "/nowhere/nvdisasm"}});
  CHECK(none.code == 3);
  CHECK_THAT(none.err, ContainsSubstring("[no-nvdisasm]") && ContainsSubstring("pip install"));
  const ToolResult html = run_tool({"sass", cubin, "--lint", "--format", "html"});
  CHECK(html.code == 2);
  CHECK_THAT(html.err, ContainsSubstring("use text or json"));
  CHECK(run_tool({"sass", cubin, "--lint", "--no-nvdisasm"}).code == 2);
}

TEST_CASE("sass --lint accepts the kernels of all templates, for each generation of chips", "[.]") {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, std::vector<std::string>>> problems = {
      {"gemm", {"m=1000", "n=777", "k=333", "a=f16"}},
      {"gemm", {"m=512", "n=512", "k=512", "a=bf16"}},
      {"gemm", {"m=4", "n=1024", "k=4096", "a=s8"}},
      {"gemm", {"m=256", "n=256", "k=256", "a=f64"}},
      {"gemm", {"m=256", "n=512", "k=512", "a=e4m3"}},
      {"gemm", {"m=256", "n=512", "k=512", "a=tf32"}},
      {"rowwise", {"op=layer_norm", "rows=64", "n=8192"}},
      {"rowwise", {"op=softmax", "rows=64", "n=1000"}},
      {"quantize", {"rows=256", "n=1024", "format=mxfp8_e4m3"}},
      {"quantize", {"rows=256", "n=1024", "format=nvfp4"}},
      {"dequantize", {"rows=256", "n=1024", "format=mxfp4"}},
      {"scaled_gemm", {"m=256", "n=256", "k=512"}},
      {"scaled_gemm", {"m=16", "n=256", "k=8192", "format_a=bf16", "format_b=s8", "scale_b=f32"}},
      {"sparse_gemm", {"m=256", "n=256", "k=512"}},
      {"shuffle_weights", {"n=256", "k=512", "format=u4"}}};
  int accepted = 0;
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    for (const auto& [name, settings] : problems) {
      const std::string file = emitted(folder, name, target, settings);
      if (file.empty()) continue;
      const ToolResult result = run_tool({"sass", file, "--lint"});
      skip_if_missing(result);
      CAPTURE(target, name, settings, result.out);
      CHECK(result.code == 0);
      ++accepted;
    }
  }
  CHECK(accepted > 60);
}

}  // namespace ptxloom::test::sass_lint_test
