// SPDX-License-Identifier: Apache-2.0
// Statements on their own: what `check --jsonl` asks.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/check.hpp"

namespace {

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;

std::vector<Diagnostic> check_lines(std::string_view ptx, std::string_view declarations = "",
                                    std::string_view target = "sm_90a", Version version = {9, 0}) {
  static const auto specs = std::make_shared<const Specs>();
  return check({.ptx = ptx, .declarations = declarations, .target = target, .version = version}, specs);
}

Diagnostic only(const std::vector<Diagnostic>& found) {
  for (const Diagnostic& diagnostic : found) UNSCOPED_INFO(to_string(diagnostic));
  REQUIRE(found.size() == 1);
  return found[0];
}

}  // namespace

TEST_CASE("legal statements have nothing wrong, with declarations and labels of the body") {
  CHECK(check_lines("add.s32 %r1, %r2, 3;\n@p bra DONE;", ".reg .b32 %r<4>;\n.reg .pred p;\nDONE:").empty());
  CHECK(check_lines("").empty());
  CHECK(check_lines("{ .reg .b32 x; mov.b32 x, 1; }").empty());
  CHECK(check_lines("ret;", "", "sm_75", {6, 3}).empty());
}

TEST_CASE("lines and columns count within the statements") {
  const Diagnostic wrong = only(check_lines("add.s32 a, a, a;\n  add.s33 a, a, a;", ".reg .b32 a;\n\n"));
  CHECK(wrong.line == 2);
  CHECK(wrong.column == 6);  // of the word that is wrong
  CHECK(wrong.code == "unknown-modifier");
  const Diagnostic open = only(check_lines("add.s32 a, a, a", ".reg .b32 a;"));
  CHECK(open.code == "syntax");
  CHECK(open.line == 1);
  CHECK(open.column == 16);
}

TEST_CASE(
    "operands that only ptxas promises are a warning, and taken as the manual has them where both fit") {
  const char* const declarations =
      ".reg .pred p;\n.reg .b16 h<4>;\n.reg .b32 r<4>;\n.reg .s32 s<4>;\n.reg .b64 a;";
  const char* const odd[] = {
      "add.rn.bf16x2 {r0}, r1, r2;",                            // braces around a scalar
      "setp.lt.bf16x2 p, r1, p;",                               // a predicate for a pair
      "st.global.v2.f32 [a], {s0, s1};",                        // integers for floats
      "fence.proxy.tensormap::generic.acquire.gpu [h0], 128;",  // 16 bits for an address
  };
  for (const char* ptx : odd) {
    CAPTURE(ptx);
    const Diagnostic found = only(check_lines(ptx, declarations));
    CHECK(found.code == "undocumented");
    CHECK(found.severity == Severity::warning);
  }
  for (const char* ptx : {"add.rn.bf16x2 r0, r1, r2;", "st.global.v2.f32 [a], {r0, r1};"})
    CHECK(check_lines(ptx, declarations).empty());
}

TEST_CASE("a register of .f16x2 fits where the opcode gives the type, and not where the type is fixed") {
  const char* const declarations =
      ".reg .pred p; .reg .b16 h; .reg .f16x2 x<5>; .reg .b32 r<5>; .reg .b64 a;";
  for (const char* ptx : {"add.u32 x0, x1, x2;", "mul.wide.u16 x0, h, h;", "mad24.hi.sat.s32 x0, x1, x2, x3;",
                          "shl.b32 x0, x1, r1;", "cvt.u16.u32 h, x1;", "cvt.pack.sat.u16.s32 x0, x1, x2;",
                          "st.global.v2.u32 [a], {x0, x1};", "dp4a.u32.u32 r0, x1, x2, r3;",
                          "vadd.u32.u32.u32 x0, x1, x2;", "set.lt.u32.f32 x0, r1, r2;", "bfind.u32 r0, x1;",
                          "tex.2d.v4.u32.s32 {x0, x1, x2, x3}, [a, {x0, x1}];"}) {
    CAPTURE(ptx);
    CHECK(check_lines(ptx, declarations).empty());
  }
  for (const char* ptx :
       {"shl.b32 r0, r1, x2;", "bfe.u32 r0, r1, x2, r3;", "popc.b32 x0, r1;", "clz.b32 x0, r1;",
        "bfind.u32 x0, r1;", "dp4a.u32.u32 x0, r1, r2, r3;", "bar.sync x0;", "isspacep.global p, x0;",
        "nanosleep.u32 x0;", "redux.sync.add.u32 x0, r1, -1;", "redux.sync.add.u32 r0, r1, x2;",
        "shfl.sync.idx.b32 r0, r1, 0, 31, x2;", "vset.u32.u32.lt x0, r1, r2;", "set.lt.f32.f32 x0, r1, r2;",
        "add.f32 x0, r1, r2;", "tex.2d.v4.f32.f32 {x0, x1, x2, x3}, [a, {r0, r1}];",
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {x0, x1}, {r0}, {r1}, {r2, r3};"}) {
    CAPTURE(ptx);
    CHECK(only(check_lines(ptx, declarations)).code == "operand-type");
  }
  for (const char* ptx : {"and.pred x0, p, x1;", "mov.pred p, x0;"}) {
    CAPTURE(ptx);
    CHECK(only(check_lines(ptx, declarations)).code == "undocumented");
  }
  CHECK(only(check_lines("selp.b32 r0, r1, r2, x0;", declarations)).code == "operand-type");
  CHECK(only(check_lines("sub.s8x4 x0, x1, x2;", declarations, "sm_120a", {9, 2})).code == "undocumented");
}

TEST_CASE("one of two results may be _, not both") {
  const char* const declarations = ".reg .pred p<3>; .reg .b32 r<3>;";
  for (const char* ptx :
       {"setp.eq.s32 p0|_, r0, r1;", "setp.eq.s32 _|p0, r0, r1;", "match.all.sync.b32 _|p0, r0, -1;"}) {
    CAPTURE(ptx);
    CHECK(check_lines(ptx, declarations).empty());
  }
  for (const char* ptx :
       {"setp.eq.s32 _|_, r0, r1;", "setp.eq.and.s32 _|_, r0, r1, p2;", "match.all.sync.b32 _|_, r0, -1;"}) {
    CAPTURE(ptx);
    const Diagnostic found = only(check_lines(ptx, declarations));
    CHECK(found.code == "syntax");
    CHECK(found.message == "expected a register, found '_'");
  }
}

TEST_CASE("errors in declarations or the target have no line") {
  CHECK(only(check_lines("ret;", ".reg .b33 a;")).line == 0);
  CHECK(only(check_lines("ret;", "", "sm_42")).code == "unknown-target");
  CHECK(only(check_lines("ret;", "", "sm_90a", {7, 0})).code == "version-too-low");
  CHECK(only(check_lines("ret;", "", "sm_90a", {9, 7})).code == "version-too-high");
  CHECK(only(check_lines("ret;", "", "sm_90a\n.address_size 64")).code == "unknown-target");
}

TEST_CASE("parameters of the kernel come first among the declarations, in parentheses") {
  const char* const declarations =
      "(.param .b16 prm,\n .param .b64 .ptr .global .align 16 q)\n.reg .b16 h; .reg .b64 d;";
  CHECK(check_lines("ld.param.b16 h, [prm];\nld.param::entry.b64 d, [q];", declarations).empty());
  const Diagnostic wrong = only(check_lines("ld.param.b64 d, [q];\nst.param.b16 [prm], h;", declarations));
  CHECK(wrong.line == 2);
  CHECK(wrong.code == "parameter-direction");
  CHECK_FALSE(check_lines("ret;", "(.param .b16 prm").empty());
  CHECK(check_lines("ld.param.b16 h, [result];", ".param .b16 result; .reg .b16 h;").empty());
}

TEST_CASE("statements cannot leave the body they stand in") {
  for (const char* ptx :
       {"} .entry k2() {", "ret; }", "{ ret;", "} {", "/* ret;", "ret; \"", "}\n.entry x(){"}) {
    CAPTURE(ptx);
    CHECK_FALSE(check_lines(ptx).empty());
    CHECK_FALSE(check_lines("ret;", ptx).empty());
  }
  CHECK(check_lines("// }\nret;").empty());
}

TEST_CASE("arbitrary bytes give diagnostics") {
  std::string noise;
  for (int i = 0; i < 3000; ++i) noise += static_cast<char>(i * 7919 >> 3);
  CHECK_FALSE(check_lines(noise).empty());
  CHECK_FALSE(check_lines(std::string(1 << 20, '(')).empty());
  CHECK_FALSE(check_lines(std::string(1 << 20, '{')).empty());
  CHECK_FALSE(check_lines("add.s32 " + std::string(1 << 20, 'x') + ";").empty());
}
