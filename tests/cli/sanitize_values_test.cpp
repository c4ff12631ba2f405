// SPDX-License-Identifier: Apache-2.0
// What `sanitize` says of values, and where kernels print to.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/file.hpp"
#include "cli/tool.hpp"
#include "support/folders.hpp"
#include "support/temporary_folder.hpp"

namespace ptxloom::test::sanitize_values_test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// A kernel of one warp with the parameter `out`, of 32 words.
struct Kernel {
  TemporaryFolder folder;

  ToolResult run(const std::string& body, const std::vector<std::string>& options,
                 const std::string& command = "sanitize") const {
    const std::string file = (folder.path() / "k.ptx").string();
    std::ofstream(file) << ".version 8.0\n.target sm_80\n.address_size 64\n"
                           ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                           ".global .align 1 .b8 text[4] = {104, 105, 10, 0};\n"
                           ".visible .entry k(.param .u64 out) {\n.reg .u64 %o; .reg .u32 %t; .reg .f32 %x;\n"
                           "ld.param.u64 %o, [out]; mov.u32 %t, %tid.x; mad.wide.u32 %o, %t, 4, %o;\n" +
                               body + "\nret; }\n";
    std::vector<std::string> words{command,   file, "--grid", "1",
                                   "--block", "32", "--arg",  "out=f32[32]:" + out()};
    if (command == "run") words.insert(words.end(), {"--device", "cpu"});
    words.insert(words.end(), options.begin(), options.end());
    return run_tool(words);
  }
  std::string out() const { return (folder.path() / "out.npy").string(); }
};

const std::string kRoot = "mov.f32 %x, 0fBF800000; sqrt.rn.f32 %x, %x; st.global.f32 [%o], %x;";

}  // namespace

TEST_CASE("sanitize --arithmetic reports where NaN begins, on request only") {
  const Kernel kernel;
  CHECK(kernel.run(kRoot, {}).code == 0);
  const ToolResult asked = kernel.run(kRoot, {"--arithmetic"});
  CHECK(asked.code == 1);
  CHECK_THAT(asked.out, ContainsSubstring("arithmetic-nan: its result is NaN, computed from -1") &&
                            ContainsSubstring("`sqrt.rn.f32 %x, %x;`") && ContainsSubstring("32 times"));
  CHECK(kernel.run(kRoot, {"--arithmetic", "--allow", "arithmetic-nan"}).code == 0);
}

TEST_CASE("sanitize knows that nobody has written an output") {
  const Kernel kernel;
  const ToolResult result = kernel.run("ld.global.f32 %x, [%o]; st.global.f32 [%o], %x;", {});
  CHECK(result.code == 1);
  CHECK_THAT(result.out, ContainsSubstring("undefined-value: it stores %x") &&
                             ContainsSubstring("allocated as argument 1 (out), which nobody has written"));
  CHECK(kernel.run("st.global.f32 [%o], 0f00000000; ld.global.f32 %x, [%o]; st.global.f32 [%o], %x;", {})
            .code == 0);
}

TEST_CASE("kernels print to stdout, once for all schedules, and to stderr while stdout has data") {
  const std::string print =
      ".reg .u64 %f; .reg .pred %p; setp.ne.u32 %p, %t, 0; @%p bra END; mov.u64 %f, text; cvta.global.u64 "
      "%f, %f; {\n"
      ".param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], %f; st.param.b64 [b], 0; call (c), "
      "vprintf, (a, b); "
      "}\nEND: st.global.f32 [%o], 0f00000000;";
  const Kernel kernel;
  const ToolResult text = kernel.run(print, {"--schedules", "3"});
  CHECK(text.code == 0);
  CHECK(text.out.starts_with("hi\n"));
  CHECK(text.out.find("hi\n", 1) == std::string::npos);
  const ToolResult json = kernel.run(print, {"--format", "json"});
  CHECK(nlohmann::json::parse(json.out)["ok"] == true);
  CHECK_THAT(json.err, ContainsSubstring("hi\n"));
  const ToolResult run = kernel.run(print, {"--json"}, "run");
  CHECK(run.code == 0);
  CHECK(nlohmann::json::parse(run.out)["report"].contains("kernel"));
  CHECK_THAT(run.err, ContainsSubstring("hi\n"));
}

}  // namespace ptxloom::test::sanitize_values_test
