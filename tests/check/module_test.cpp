// SPDX-License-Identifier: Apache-2.0
// Directives of a module and declarations, as people and compilers write them: ptxas is the judge of each.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <ctime>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::module_test {
namespace {

const std::string kStart = ".version 9.0\n.target sm_90a\n.address_size 64\n";

bool legal(const std::string& ptx, std::string& said) {
  static const auto specs = std::make_shared<const Specs>();
  ParseResult read = parse(ptx, specs);
  std::vector<Diagnostic> found = std::move(read.diagnostics);
  for (Diagnostic& d : check(read.module)) found.push_back(std::move(d));
  bool good = true;
  for (const Diagnostic& d : found) {
    good = good && d.severity != Severity::error;
    said += to_string(d) + "\n";
  }
  return good;
}

struct Case {
  std::string ptx;
  bool legal;
};

std::vector<Case> cases() {
  std::vector<Case> all{
      // how a module starts
      {".version 9.0\n.target sm_90a\n.entry k() { ret; }", true},
      {".version 8.0\n.target sm_90a\n.entry k(.param .b8 a[4352]) { ret; }", true},
      {".version 8.0\n.target sm_90a\n.entry k(.param .b8 a[4353]) { ret; }", false},
      {".version 9.0\n.address_size 64\n.entry k() { ret; }", false},
      {".version 9.0\n.version 9.0\n.target sm_90a\n", false},
      {".version 9.0\n.target sm_90a\n.entry k() { ret; }\n.address_size 64\n", false},
      {".version 9.0\n.target sm_90a, texmode_independent\n", true},
      {".version 9.0\n.target sm_90a, whatever\n", false},
      {kStart + kStart, false},
  };
  for (const auto& [ptx, good] : std::vector<std::pair<std::string, bool>>{
           // variables
           {".extern .shared .b8 x[]; .extern .shared .b8 x[];", true},
           {".extern .shared .b8 x[]; .extern .shared .b32 x[];", false},
           {".extern .global .b32 x; .visible .global .b32 x = 1;", true},
           {".global .b32 x; .extern .global .b32 x;", true},
           {".extern .global .b32 x; .global .b32 x;", false},
           {".global .b32 x; .global .b32 x;", false},
           {".func x; .extern .global .b32 x;", false},
           {".global .v4 .f64 x;", false},
           {".global .v2 .f64 x;", true},
           {".global .align 1024 .b8 x[16];", true},
           {".func f(.param .u32 WARP_SZ) { ret; }", false},
           {".shared .attribute(.managed) .b32 x;", false},
           {".entry k() { .visible .global .b32 x; ret; }", false},
           {".entry k() { .extern .shared .b8 x[]; ret; }", false},
           {".file 1 \"a.cu\" .file 1 \"b.cu\"", false},
           // initial values
           {".global .b32 x[2] = {};", true},
           {".global .b32 x; .global .u64 y = x;", true},
           {".global .b32 x; .global .u64 y = generic(x)+4;", true},
           {".global .b32 x; .global .b64 y = x;", false},
           {".global .b32 x; .global .s64 y = x;", false},
           {".global .b32 x; .global .u8 y = 0xFF00(x);", true},
           {".global .b32 x; .global .u8 y = x;", false},
           {".global .b32 x; .global .u8 y = 0xFE(x);", false},
           {".shared .b32 x; .global .u64 y = generic(x);", false},
           {".global .f32 x = -0f3F800000;", false},
           // how much there is
           {".const .b8 x[65536];", true},
           {".const .b8 x[65536]; .const .b8 y;", false},
           {".entry k(.param .b8 a[32764]) { ret; }", true},
           {".entry k(.param .b64 b, .param .b8 a[32760]) { ret; }", false},
           // registers
           {".entry k() { .reg .b32 r<3>; mov.b32 r01, 1; ret; }", true},
           {".entry k() { .reg .b32 r<3>; mov.b32 r03, 1; ret; }", false},
           {".entry k() { .reg .v4 .f64 v; ret; }", false},
           {".entry k() { .reg .align 8 .b32 r; ret; }", true},
           {".entry k() { .reg .b32 WARP_SZ; ret; }", false},
           // parameters and results
           {".entry k(.param .b8 a[]) { ret; }", false},
           {".func f(.param .b8 a[], .param .b32 b) { ret; }", false},
           {".func f(.param .b32 b, .param .b8 a[]) { ret; }", true},
           {".func f(.param .b8 a[70000]) { ret; }", true},
           {".func (.param .b32 a, .param .b32 b) f() { ret; }", false},
           {".func (.reg .b32 a, .reg .b32 b) f() { ret; }", true},
           {".func (.param .b8 a[]) f() { ret; }", false},
           {".func f(.param .f16x2 a) { ret; }", false},
           {".func f(.param .f16x2 a[2]) { ret; }", true},
           {".func f(.param .f16x2 a[]) { ret; }", true},
           {".func (.param .f16x2 a[1]) f() { ret; }", true},
           {".entry k(.param .f16x2 a[1]) { ret; }", true},
           {".entry k(.param .f16x2 a) { ret; }", false},
           {".entry k() { .param .f16x2 a[1]; ret; }", true},
           {".func f(.reg .f16x2 a) { ret; }", true},
           {".entry k() { .param .f16x2 a; ret; }", false},
           {".func _() { ret; }", false},
           {".entry k() { .param .v2 .b32 x; ret; }", false},
           {".func f(.param .texref t) { ret; }", false},
           {".entry k(.param .texref t) { ret; }", true},
           {".func f(.param .u64 .ptr .global a) { ret; }", false},
           {".func (.param .b32 r) f() .noreturn { exit; }", false},
           {".func f(.param .b32 a); .func f(.param .b32 a) .noreturn { exit; }", false},
           {".func f(.reg .b32 a); .func f(.param .b32 a) { ret; }", false},
           {".shared .b8 x[2*2];", false},
           {".shared .b8 x[WARP_SZ];", true},
           {".shared .align (4) .b8 x[4];", false},
           {".section .debug_x { .b8 -1 }", true},
           {".section .debug_x { .b8 1+1 }", false},
           {"// \xc3\xa9", false},
           {".func f() .pragma \"nounroll\"; { ret; }", false},
           {".entry k() .maxntid WARP_SZ .reqnctapercluster 0 { ret; }", true},
           // linkage
           {".extern .func f() { ret; }", false},
           {".func f() { ret; } .func f();", false},
           {".visible .func f(); .func f() { ret; }", true},
           {".func f(); .visible .func f() { ret; }", false},
           {".weak .func f(); .weak .func f() { ret; }", true},
           {".weak .func f(); .visible .func f() { ret; }", false},
           {".extern .func f(); .func f() { ret; }", false},
       })
    all.push_back({kStart + ptx + "\n", good});
  return all;
}

}  // namespace

// ptxas has no such limits: it truncates the sizes, or takes minutes and gigabytes.
TEST_CASE("declarations beyond what a launch or a linker can take are refused") {
  const auto codes = [](const std::string& declaration) {
    static const auto specs = std::make_shared<const Specs>();
    const ParseResult read = parse(kStart + declaration + "\n", specs);
    INFO(declaration);
    REQUIRE(read.ok());
    std::vector<std::string> found;
    for (const Diagnostic& d : check(read.module)) found.push_back(d.code);
    return found;
  };
  using Codes = std::vector<std::string>;
  const Codes none, data{"too-much-data"};
  for (const std::string space : {".global", ".const", ".shared"}) {
    CHECK(codes(space + " .align 1048576 .b8 x[4];") == none);
  }
  CHECK(codes(".entry k() { .local .b8 x[524288]; ret; }") == none);
  CHECK(codes(".entry k() { .local .b8 x[524288]; .local .b8 y; ret; }") == data);
  CHECK(codes(".func f() { .local .b64 x[65537]; ret; }") == data);
  CHECK(codes(".entry k() { .local .b32 x[0x40000001]; ret; }") == data);  // 4 modulo 2^32
}

TEST_CASE("an alignment that a linker pads for minutes is refused, read or made") {
  static const auto specs = std::make_shared<const Specs>();
  const ParseResult read = parse(kStart + ".global .align 2097152 .b8 x;\n", specs);
  REQUIRE(read.diagnostics.size() == 1);
  CHECK(read.diagnostics[0].code == "bad-alignment");
  CHECK(read.diagnostics[0].message.find("at most 1048576") != std::string::npos);
  ir::Module made =
      parse(kStart + ".entry k(.param .align 4 .b8 p[4]) { .local .align 4 .b8 x[4]; ret; }", specs).module;
  CHECK(check(made).empty());
  for (std::uint32_t* alignment :
       {&made.functions[0].parameters[0].alignment, &made.functions[0].variables[0].alignment}) {
    *alignment = 1 << 21;
    REQUIRE(check(made).size() == 1);
    CHECK(check(made)[0].code == "bad-alignment");
    *alignment = 1 << 20;
    CHECK(check(made).empty());
  }
  made.functions[0].parameters[0].type = b64;
  made.functions[0].parameters[0].count = 0x2000'0001;  // 8 bytes modulo 2^32
  REQUIRE(check(made).size() == 1);
  CHECK(check(made)[0].code == "too-much-data");
}

TEST_CASE("a function that disables the ABI is warned of") {
  static const auto specs = std::make_shared<const Specs>();
  const auto found = [&](const std::string& ptx) { return check(parse(kStart + ptx, specs).module); };
  const auto two = found(".func (.reg .b32 a, .reg .b32 b) f() { ret; }");
  REQUIRE(two.size() == 1);
  CHECK(two[0].severity == Severity::warning);
  CHECK(two[0].code == "no-abi");
  CHECK(two[0].message.find("function f returns 2 values") == 0);
  CHECK(found(".func (.reg .b32 a) f() { ret; }").empty());
}

// A time that grows with the square of the functions is 25 times as long.
TEST_CASE("check takes time in proportion to the functions of a module") {
  static const auto specs = std::make_shared<const Specs>();
  const auto milliseconds = [&](int functions) {
    std::string ptx = kStart + ".shared .align 4 .b8 common[64];\n";
    for (int i = 0; i < functions; ++i) {
      const std::string n = std::to_string(i);
      const std::string call = i % 8 == 0 ? "" : "call.uni f" + std::to_string(i - 1) + ", (%r0);";
      ptx += ".func f" + n + "(.reg .b32 %p) { .shared .b8 s" + n + "[16]; .reg .b32 %r<2>; mov.u32 %r0, s" +
             n + "; mov.u32 %r1, common; " + call + " ret; }\n.entry k" + n +
             "() { .reg .b32 %r<2>; mov.u32 %r0, common; call.uni f" + n + ", (%r0); ret; }\n";
    }
    const ParseResult read = parse(ptx, specs);
    REQUIRE(read.ok());
    double best = 1e9;
    for (int i = 0; i < 3; ++i) {
      const std::clock_t start = std::clock();  // of this process: others may keep the cores busy
      CHECK(check(read.module).empty());
      best = std::min(best, 1e3 * static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
    }
    return best;
  };
  const double few = milliseconds(1000), many = milliseconds(5000);
  CAPTURE(few, many);
  CHECK(many < 15 * few);
}

TEST_CASE("directives and declarations are judged") {
  for (const Case& one : cases()) {
    std::string said;
    const bool good = legal(one.ptx, said);
    CAPTURE(one.ptx, said);
    CHECK(good == one.legal);
  }
}

TEST_CASE("directives and declarations are judged as ptxas does", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const Case& one : cases()) {
    const CommandResult result = ptxas.assemble(one.ptx, "sm_90a");
    CAPTURE(one.ptx, result.output);
    CHECK((result.status == 0) == one.legal);
  }
}

}  // namespace ptxloom::module_test
