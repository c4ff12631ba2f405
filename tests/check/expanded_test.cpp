// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "check/body.hpp"

// What ptxas expands into internal PTX takes fewer operands, on the targets where it does.
namespace {

using namespace ptxloom;
using namespace ptxloom::test;
using Catch::Matchers::ContainsSubstring;

}  // namespace

TEST_CASE("operands that ptxas cannot read where it expands the instruction are refused on those targets") {
  const std::string vectors = ".reg .v2 .b32 v; .reg .v2 .b64 w; .reg .v2 .f32 g;\n";
  const auto errors = [&](const std::string& line, const std::string& target) {
    std::string codes;
    for (const Diagnostic& d : check_body(vectors + line + "\nret;", {.target = target}))
      if (d.severity == Severity::error) codes += d.code + " ";
    return codes;
  };
  for (const char* line :
       {"shfl.sync.idx.b32 v.x, r1, 1, 31, -1;", "shfl.sync.up.b32 r1|p1, r2, v.y, 31, -1;",
        "shfl.sync.idx.b32 r1, gv+4, 1, 31, -1;", "vote.sync.any.pred p1, p2, v.x;",
        "vote.sync.ballot.b32 r1, p1, sv+0;", "match.any.sync.b64 r1, w.x, -1;",
        "match.all.sync.b32 r1|p1, r2, gv+4;", "redux.sync.add.u32 v.x, r1, -1;", "bar.warp.sync v.x;",
        "barrier.cta.sync gv+4;", "barrier.arrive 1, v.x;", "barrier.red.popc.u32 v.x, 0, p1;"}) {
    CAPTURE(line);
    for (const char* target : {"sm_80", "sm_89"}) CHECK(errors(line, target) == "operand-kind ");
    for (const char* target : {"sm_90", "sm_100a"}) CHECK(errors(line, target).empty());
  }
  CHECK(errors("vote.sync.ballot.b32 v.x, p1, -1;", "sm_75") == "operand-kind ");
  for (const char* line :
       {"vote.sync.ballot.b32 v.x, p1, -1;", "match.any.sync.b32 v.x, r1, -1;", "activemask.b32 v.x;",
        "bar.sync v.x, v.y;", "div.rn.f32 g.x, f1, f2;", "rem.u32 r1, v.x, r2;", "sqrt.rz.f32 g.x, g.y;",
        "barrier.sync.aligned gv+4, v.x;", "add.u32 v.x, v.y, gv+4;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.u8 {r1, r2}, [gv], v.x;"}) {
    CAPTURE(line);
    CHECK(errors(line, "sm_80").empty());
  }
  for (const char* line :
       {"div.rz.f32 g.x, f1, f2;", "rem.u64 d1, w.x, d2;", "div.s64 d1, d2, gv+4;", "rcp.rm.f64 w.x, d1;",
        "vadd.u32.u32.u32 v.x, r1, r2;", "vadd.u32.u32.u32 r1, r2, v.x;", "vmad.u32.u32.u32 r1, r2, r3, v.x;",
        "vset4.u32.u32.ge r1, r2, r3, v.x;",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.u8 {r1, v.x}, [gv];",
        "wmma.load.a.sync.aligned.row.m16n16k16.global.u8 v, [gv];"}) {
    CAPTURE(line);
    for (const char* target : {"sm_80", "sm_90a"}) CHECK(errors(line, target) == "operand-kind ");
  }
  const Diagnostic found = check_body(vectors + "bar.warp.sync v.x;\nret;", {.target = "sm_80"}).front();
  CHECK(found.line == 9);
  CHECK_THAT(found.message,
             ContainsSubstring(
                 "operand MASK is an element of a vector register, which ptxas cannot read here on sm_80"));
  CHECK_THAT(found.hint, ContainsSubstring("mov"));
}

TEST_CASE("fragments of wmma hold what ptxas can move to where it expands the instruction") {
  const std::string load = "wmma.load.a.sync.aligned.row.m16n16k16.global.u8 ",
                    store = "wmma.store.d.sync.aligned.row.m16n16k16.global.",
                    rest = "f2, f3, f4, f5, f6, f7, f8};";
  const auto code = [](const std::string& line, const std::string& target) {
    return only(line, {.target = target}).code;
  };
  CHECK(code(load + "{p1, r2}, [gv];", "sm_80") == "operand-type");
  CHECK(check_body(load + "{_, r2}, [gv];\nret;").empty());
  CHECK(code(store + "f32 [gv], {1.5, " + rest, "sm_80") == "operand-literal");
  CHECK(code(store + "f32 [gv], {1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5};", "sm_80") == "operand-literal");
  CHECK(check_body(store + "f32 [gv], {0f3F800000, " + rest + "\nret;").empty());
  const auto of_bytes = [](const std::string& a) {
    return "wmma.mma.sync.aligned.row.col.m16n16k16.s32.s8.s8.s32 {r1, r2, r3, r4, r5, r6, r7, r8}, " + a +
           ", {r1, r2}, {r1, r2, r3, r4, r5, r6, r7, r8};";
  };
  for (const char* a : {"{1.5, r2}", "{f1, r2}"}) {
    CAPTURE(a);
    CHECK(code(of_bytes(a), "sm_75") == "not-on-target");
    CHECK(code(of_bytes(a), "sm_80") == "undocumented");
  }
  CHECK(check_body(of_bytes("{1, r2}") + "\nret;", {.target = "sm_75"}).empty());
  const std::string of_nibbles =
      "wmma.mma.sync.aligned.row.col.m8n8k32.s32.s4.s4.s32 {r1, r2}, {1}, {r3}, {r1, r2};";
  CHECK(code(of_nibbles, "sm_80") == "not-on-target");
  CHECK(code(of_nibbles, "sm_90") == "undocumented");
  CHECK(code("wmma.mma.xor.popc.sync.aligned.row.col.m8n8k128.s32.b1.b1.s32 {r1, r2}, {1}, {r3}, {r1, r2};",
             "sm_90") == "operand-kind");
}

TEST_CASE("a scale that nothing reads is in braces as bits alone") {
  const auto code = [](const std::string& scale) {
    return only(".reg .u16 g1, g2; cvt.rn.satfinite.ue5m3x2.bf16x2 h1, r1, " + scale + ";",
                {.target = "sm_107a", .version = "9.5"})
        .code;
  };
  for (const char* scale : {"h2", "g1", "{h2}", "{h2, h3}"}) CHECK(code(scale) == "undocumented");
  for (const char* scale : {"{g1}", "{g1, g2}"}) CHECK(code(scale) == "operand-length");
}

TEST_CASE("the address of st.bulk in shared memory is in a register") {
  const Where where{.target = "sm_100a"};
  CHECK(only("st.bulk.weak.shared::cta [sv], d1, 0;", where).code == "address-space");
  CHECK_THAT(only("st.bulk.weak.shared::cta [sv+8], d1, 0;", where).message,
             EndsWith("but takes a register"));
  CHECK(check_body("st.bulk.weak [sv], d1, 0;\nst.bulk.weak.shared::cta [r1], d1, 0;\nret;", where).empty());
}
