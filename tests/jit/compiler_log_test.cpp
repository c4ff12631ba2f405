// SPDX-License-Identifier: Apache-2.0
// What is read from the logs of nvJitLink, ptxas and NVRTC: lines as they write them.
#include "jit/compiler_log.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

namespace ptxloom::test::compiler_log_test {
namespace {

/// A diagnostic in one line.
std::string text_of(const Diagnostic& d) {
  return std::to_string(d.line) + " " + (d.severity == Severity::error ? "error" : "warning") + " " + d.code +
         ": " + d.message;
}
using Texts = std::vector<std::string>;
Texts link(const std::string& log) {
  Texts texts;
  for (const Diagnostic& d : jit::parse_link_log(log)) texts.push_back(text_of(d));
  return texts;
}
Texts nvrtc(const std::string& log) {
  Texts texts;
  for (const Diagnostic& d : jit::parse_nvrtc_log(log, "k.cu")) texts.push_back(text_of(d));
  return texts;
}

}  // namespace

TEST_CASE("log: lines of ptxas and nvJitLink are errors and warnings with their line, number and message") {
  struct Case {
    const char *line, *expected;
  };
  for (const auto& [line, expected] :
       {Case{"ptxas a.ptx, line 12; error   : Unknown modifier '.foo'",
             "12 error ptxas: Unknown modifier '.foo'"},
        {"ptxas fatal   : Unresolved extern function 'f'", "0 error ptxas: Unresolved extern function 'f'"},
        {"ptxas a.ptx, line 3; warning : unreachable", "3 warning ptxas: unreachable"},
        {"ptxas info    : (C7510) Potential Performance Loss around line 44 in k",
         "44 warning ptxas-C7510: Potential Performance Loss around line 44 in k"},
        {"ptxas a.ptx, line 9; warning : (C7508) lost around line 44",
         "9 warning ptxas-C7508: lost around line 44"},
        {"error   : elfLink linker error", "0 error nvjitlink: elfLink linker error"},
        {"warning : (W1) odd", "0 warning nvjitlink-W1: odd"},
        {"ERROR 4: bad input: no data", "0 error nvjitlink: 4: bad input: no data"},
        {"ptxas error   : (8) not a number", "0 error ptxas: (8) not a number"},
        {"ptxas error   : (Cx1) not a number", "0 error ptxas: (Cx1) not a number"},
        {"ptxas error   : (C12 is open", "0 error ptxas: (C12 is open"}})
    CHECK(link(line) == Texts{expected});
  for (const char* silent :
       {"ptxas info    : Compiling entry function 'k' for 'sm_90a'", "info    : 0 bytes gmem",
        "    0 bytes stack frame", "", "nothing : of the kind"})
    CHECK(link(silent).empty());
}

TEST_CASE("log: a summary is left out where another error says more, and kept where it is all") {
  const std::string summary = "ptxas fatal   : Ptx assembly aborted due to errors\n";
  const std::string code = "ERROR NVJITLINK_ERROR_PTX_COMPILE 4\n";
  CHECK(link("ptxas a, line 1; error : one\n" + summary + "ptxas a, line 2; error : two\n" + code) ==
        Texts{"1 error ptxas: one", "2 error ptxas: two"});
  CHECK(link(summary) == Texts{"0 error ptxas: Ptx assembly aborted due to errors"});
  CHECK(link("ptxas a, line 1; warning : odd\n" + summary).size() == 2);
  CHECK(link(code).size() == 1);
}

TEST_CASE("log: the resources of each kernel, its own and not those of the functions it calls") {
  const auto all = jit::parse_resources(
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'one' for 'sm_90a'\n"
      "ptxas info    : Function properties for helper\n"
      "    64 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Function properties for one\n"
      "    48 bytes stack frame, 20 bytes spill stores, 24 bytes spill loads\n"
      "ptxas info    : Used 33 registers, used 2 barriers, 48 bytes cumulative stack size, 1024 bytes smem, "
      "372 "
      "bytes cmem[0]\n"
      "ptxas info    : Compiling entry function 'two' for 'sm_90a'\n"
      "ptxas info    : Used 8 registers\n"
      "info    : Function properties for 'two':\n"
      "info    : used 10 registers, 16 stack, 1040 bytes smem, 376 bytes cmem[0], 0 bytes lmem\n");
  REQUIRE(all.size() == 2);
  CHECK(all[0].kernel == "one");
  CHECK(all[0].registers == 33);
  CHECK(all[0].barriers == 2);
  CHECK(all[0].shared == 1024);
  CHECK(all[0].constant == 372);
  CHECK(all[0].stack == 48);
  CHECK(all[0].spill_stores == 20);
  CHECK(all[0].spill_loads == 24);
  CHECK(all[1].kernel == "two");
  CHECK(all[1].registers == 10);
  CHECK(all[1].barriers == 0);
  CHECK(all[1].shared == 0);
  CHECK(all[1].stack == 16);
  CHECK(all[1].constant == 376);
  CHECK(all[1].spill_stores == 0);
}

TEST_CASE("log: lines of NVRTC, with the place in the program or in an include, and inline assembly") {
  CHECK(nvrtc("k.cu(3): error: expected a \";\"\n\n  int x\n      ^\n"
              "k.cu(7): warning #177-D: variable \"y\" was declared but never referenced\n"
              "k.cu(8): remark #1: so\nk.cu(9): catastrophic error: cannot open source file\n"
              "k.cu(10): fatal error: no\nk.cu(11): note: as here\n"
              "other.h(5): error: there\nnvrtc: error: invalid value for --gpu-architecture (-arch)\n"
              "ptxas a.ptx, line 12; error : Unknown modifier\n1 error detected in the compilation of "
              "\"k.cu\".\n") == Texts{"3 error nvrtc: expected a \";\"",
                                      "7 warning nvrtc-177: variable \"y\" was declared but never referenced",
                                      "8 warning nvrtc-1: so", "9 error nvrtc: cannot open source file",
                                      "10 error nvrtc: no", "0 error nvrtc: other.h(5): there",
                                      "0 error nvrtc: nvrtc: invalid value for --gpu-architecture (-arch)",
                                      "12 error ptxas: Unknown modifier"});
}

}  // namespace ptxloom::test::compiler_log_test
