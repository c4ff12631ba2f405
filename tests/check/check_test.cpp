// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/check.hpp"

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <memory>
#include <string>
#include <vector>

#include "check/body.hpp"
#include "ptxloom/ptx.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::test;
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;

}  // namespace

TEST_CASE("a legal module has nothing wrong") {
  CHECK(check_body("add.s32 r1, r2, 3;\nL: @!p1 bra L;\nld.shared.v2.b32 {r1, _}, [sv+8];\nret;").empty());
}

TEST_CASE("an operand that does not fit is named, with what fits and which opcode would take it") {
  const Diagnostic d = only("add.s32 r1, d2, r3;");
  CHECK(d.code == "operand-type");
  CHECK_THAT(d.message, ContainsSubstring("add.s32: operand A is d2, a .b64 register"));
  const Diagnostic all = only("add.s32 d1, d2, d3;");
  CHECK_THAT(all.hint, ContainsSubstring("add.s64"));
  CHECK_THAT(all.hint, ContainsSubstring("add.u64"));
  CHECK_THAT(only("add.s32 f1, f2, f3;").hint, ContainsSubstring("add.f32"));
  CHECK_THAT(only("setp.lt.s32 p1, f1, f2;").hint, ContainsSubstring("setp.lt.f32"));
}

TEST_CASE("a parameter is loaded by its name, and a variable of another space is not") {
  CHECK(check_body("ld.param.u64 d1, [p];\nret;").empty());
  CHECK(only("ld.param.u64 d1, [sv];\nret;").code == "address-space");
  CHECK(only("ld.shared.u64 d1, [p];\nret;").code == "address-space");
}

TEST_CASE("each way not to fit has its code") {
  const auto code = [](const std::string& body) { return only(body).code; };
  CHECK(code("mov.f32 f1, 1;") == "operand-literal");
  CHECK(code("add.f32 f1, f2, p1;") == "operand-type");
  CHECK(code("add.s32 7, r1, r2;") == "operand-kind");
  CHECK(code("add.s32 _, r1, r2;") == "operand-sink");
  CHECK(code("add.s32 r1, !r2, r3;") == "operand-negation");
  CHECK(code("ld.shared.v4.b32 {r1, r2}, [sv];") == "operand-length");
  CHECK(code("ld.shared.v2.b32 {_, _}, [sv];") == "operand-untyped");
  CHECK(code("ld.shared.v2.b32 {r1, d1}, [sv];") == "operand-mixed");
  CHECK(code("ld.shared.b32 r1, [gv];") == "address-space");
  CHECK(code("ld.global.b32 r1, [sv];") == "address-space");
  CHECK(code("ld.global.b32 r1, [p];") == "address-space");
  CHECK(code("ld.global.b32 r1, [cv];") == "address-space");
  CHECK(code("ld.global.b32 r1, [r2];") == "address-type");
  CHECK(code("ld.shared.b32 r1, [f2];") == "address-type");
  CHECK(code("ld.shared.b32 r1, [16];") == "address-offset");
  CHECK(code("barrier.sync 16;") == "operand-range");
  CHECK(code("@r1 ret;") == "operand-type");
}

TEST_CASE("a variable with an offset is a number where ptxas takes it, and its name alone is not") {
  const Where where{.target = "sm_100a"};
  const auto taken = [&](const std::string& line) { return check_body(line + "\nret;", where).empty(); };
  const auto code = [&](const std::string& body) { return only(body, where).code; };
  for (const char* line :
       {"add.s64 d1, gv+4, d2;", "add.s64 d1, gv+0, d2;", "add.s16 h1, gv+4, h2;", "st.global.b8 [d1], sv+4;",
        "setp.eq.b16 p1, h1, gv+4;", "cp.async.ca.shared.global [sv], [d1], 4, gv+4;", "bar.sync gv+4;",
        "mov.u32 r1, gv+4;", "mov.u64 d1, gv;", "mov.u32 r1, sv;"}) {
    CAPTURE(line);
    CHECK(taken(line));
  }
  for (const char* line :
       {"add.s64 d1, gv, d2;", "add.f32 f1, gv+4, f2;", "shfl.sync.idx.b32 r1, gv, 1, 31, -1;",
        "ld.global.L2::cache_hint.b32 r1, [d1], gv+4;", "redux.sync.min.f32 f1, gv+4, -1;",
        "vadd.s32.s32.s32 r1, gv+4, r2;", "clmad.lo.u64 d1, gv+4, d2, d3;", "mov.b64 {r1, r2}, gv;"}) {
    CAPTURE(line);
    CHECK(code(line) == "operand-kind");
  }
  // Without an offset ptxas takes it for an address of a program of 32 bits, which it does not compile any
  // more.
  CHECK(code("mov.u32 r1, gv;") == "operand-kind");
}

TEST_CASE("the accumulators of a sparse product of floats are registers of .f16x2 as well") {
  const auto code = [](const std::string& product) {
    return only(".reg .f16x2 x<9>; " + product + ";").code;
  };
  CHECK(code("mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {x1, x2, x3, x4}, {r1, r2}, {r3, r4}, "
             "{f1, f2, f3, f4}, r5, 0") == "undocumented");
  CHECK(code("mma.sp.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {f1, f2, f3, f4}, {r1, r2}, {r3, r4}, "
             "{x1, x2, x3, x4}, r5, 0") == "undocumented");
  CHECK(code("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {x1, x2, x3, x4}, {r1, r2}, {r3}, "
             "{f1, f2, f3, f4}") == "operand-type");
  CHECK(code("mma.sp.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {r1, r2, r3, r4}, {r1, r2}, {r3, r4}, "
             "{x1, x2, x3, x4}, r5, 0") == "operand-type");
}

TEST_CASE("an address in 16 bits fits where ptxas takes it") {
  const Where where{.target = "sm_100a"};
  const auto code = [&](const std::string& body) { return only(body, where).code; };
  CHECK(code("stmatrix.sync.aligned.m8n8.x1.b16 [h1], {r1};") == "address-type");
  CHECK(code("ldmatrix.sync.aligned.m8n8.x1.b16 {r1}, [h1];") == "address-type");
  CHECK(code("tensormap.replace.tile.rank.shared::cta.b1024.b32 [h1], 2;") == "address-type");
  CHECK(code("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [h1], 32;") == "address-type");
  CHECK(code("st.bulk.weak.shared::cta [h1], d2, 0;") == "address-type");
  CHECK(check_body("stmatrix.sync.aligned.m8n8.x1.shared.b16 [h1], {r1};\nret;", where).empty());
  CHECK(check_body("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [r1], 32;\nret;", where).empty());
  CHECK(code("cp.async.mbarrier.arrive.b64 [h1];") == "address-type");
  CHECK(code("ld.global.b32 r1, [h1];") == "undocumented");
  CHECK(code("st.async.release.gpu.b32 [h1], r1;") == "address-type");
}

TEST_CASE("a global or generic address in 32 bits fits where ptxas takes it") {
  const Where where{.target = "sm_100a"};
  const auto code = [&](const std::string& body) { return only(body, where).code; };
  CHECK(code("st.global.b32 [r1], r2;") == "address-type");
  CHECK(code("cp.async.ca.shared.global [sv], [r1], 4;") == "undocumented");
  CHECK(code("st.async.release.gpu.b32 [r1], r2;") == "undocumented");
  CHECK(code("tcgen05.alloc.cta_group::1.sync.aligned.b32 [r1], 32;") == "undocumented");
  CHECK(code("prefetch.tensormap [r1];") == "undocumented");
  CHECK(code("cp.async.bulk.prefetch.tensor.1d.L2.global [r1, {r2}];") == "undocumented");
}

TEST_CASE("an address in tensor memory is a .b register where ptxas wants one") {
  const Where where{.target = "sm_100a"};
  const std::string typed = ".reg .u32 u1;\n";
  const auto of_u32 = [&](const std::string& line) { return check_body(typed + line + "\nret;", where); };
  CHECK(of_u32("tcgen05.mma.cta_group::1.kind::f16 [u1], d1, d2, r1, p1;").front().code == "address-type");
  CHECK(of_u32("tcgen05.mma.cta_group::1.kind::f16 [r1], d1, d2, r1, p1;").empty());
  CHECK(of_u32("tcgen05.shift.cta_group::1.down [u1];").empty());
}

TEST_CASE("a directed rounding that flushes goes to a register of its own width") {
  CHECK(only("cvt.rp.ftz.f32.f64 d1, d2;").code == "operand-type");
  CHECK(only("cvt.rz.ftz.sat.f32.f64 d1, d2;").code == "operand-type");
  const auto code = [](const std::string& line) { return only(".reg .b128 q; " + line).code; };
  CHECK(code("cvt.rn.ftz.f32.f64 q, d1;") == "operand-type");
  CHECK(code("cvt.rn.ftz.f32.f64 f1, q;") == "operand-type");
  CHECK(code("cvt.ftz.f64.f32 d1, q;") == "operand-type");
  CHECK(code("cvt.rni.ftz.s64.f32 d1, q;") == "operand-type");
  CHECK(check_body(".reg .b128 q; cvt.rn.f32.f64 f1, q;\ncvt.f64.f32 d1, q;\ncvt.ftz.f64.f32 d1, d2;\n"
                   "cvt.rni.ftz.s32.f32 r1, q;\ncvt.rn.ftz.f16.f32 h1, q;\nret;")
            .empty());
  CHECK(check_body("cvt.rp.ftz.f32.f64 f1, d2;\ncvt.rn.ftz.f32.f64 d1, d2;\ncvt.rp.f32.f64 d1, d2;\nret;")
            .empty());
}

TEST_CASE("an element of a vector is named by its place") {
  CHECK_THAT(only("st.shared.v4.b32 [sv], {r1, r2, h1, r3};").message,
             ContainsSubstring("operand B[2] is h1, a .b16"));
}

TEST_CASE("what a literal must be goes by the operand's type") {
  const auto message = [](const std::string& body) { return only(body).message; };
  CHECK_THAT(message("and.b16 h1, h1, 1.5;"), ContainsSubstring("takes an integer literal"));
  CHECK_THAT(message("and.b32 r1, r1, 1.5;"), ContainsSubstring("takes an integer or 0f literal"));
  CHECK_THAT(message("add.u64 d1, d1, 1.5;"), ContainsSubstring("takes an integer literal"));
  CHECK_THAT(message("add.f32 f1, f1, 1;"), ContainsSubstring("takes a literal with a decimal point"));
}

TEST_CASE("a missing instruction is reported with the targets that have it") {
  const Diagnostic d = only("cp.async.wait_all;", {.target = "sm_75", .version = "9.0"});
  CHECK(d.code == "not-on-target");
  CHECK_THAT(d.message, EndsWith("not on sm_75"));
  CHECK(d.hint == "it needs sm_80 (PTX 7.0)");
  const Diagnostic newer =
      only("cvt.rn.satfinite.ue5m3x2.f32 h1, f1, f2;", {.target = "sm_90a", .version = "9.4"});
  CHECK(newer.hint == "it needs sm_107f (PTX 9.4: CUDA 13.4, driver 615)");
}

TEST_CASE("an instruction newer than the version is reported with the version that has it") {
  const Diagnostic d = only(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {f1,f2,f3,f4}, {r1,r2,r3,r4}, {r5,r6}, "
      "{f1,f2,f3,f4};",
      {.target = "sm_90a", .version = "8.0"});
  CHECK(d.code == "version-too-low");
  CHECK_THAT(d.message, ContainsSubstring("needs PTX 8.4 on sm_90a, but the module has .version 8.0"));
  CHECK(d.hint == "write .version 8.4 (CUDA 12.4, driver 525)");
  const std::vector<Diagnostic> old = check_body("ret;", {.target = "sm_90a", .version = "7.0"});
  REQUIRE(old.size() == 1);
  CHECK(old[0].code == "version-too-low");
}

TEST_CASE("what ptxas accepts but the manual does not document is a warning") {
  const Diagnostic d = only("setp.lt.f16x2 p1, r1, r2;");
  CHECK(d.code == "undocumented");
  CHECK(d.severity == Severity::warning);
  const ir::Module module = read("setp.lt.f16x2 p1, r1, r2;");
  const ir::Kernel& k = module.functions[0];
  const Resolution resolution =
      resolve(k, specs()->match("setp.lt.f16x2"), k.operands_of(k.instructions[0]), Target("sm_90a"));
  CHECK(resolution.variant.undocumented());
  REQUIRE(resolution.diagnostic);
  CHECK(resolution.diagnostic->code == "undocumented");
}

TEST_CASE("an unknown target is an error") {
  const std::vector<Diagnostic> found = check_body("ret;", {.target = "sm_42"});
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "unknown-target");
}

TEST_CASE("a name that is declared twice is reported") {
  ir::Module module = read("ret;");
  module.variables.push_back(module.variables[0]);
  module.functions[0].registers.push_back({.type = f32, .name = "r1"});
  module.functions[0].registers.push_back({.type = b32, .number = 5});
  module.functions[0].registers.push_back({.type = u32, .number = 5});
  module.functions[0].labels = {"L"};
  module.functions[0].body.push_back({ir::Statement::Kind::label, 0});
  module.functions[0].body.push_back({ir::Statement::Kind::label, 0});
  std::vector<std::string> messages;
  for (const Diagnostic& d : check(module)) {
    CHECK(d.code == "duplicate-name");
    messages.push_back(d.message);
  }
  CHECK(messages == std::vector<std::string>{"gv is declared twice", "kernel k: r1 is declared twice",
                                             "kernel k: %r5 is declared twice",
                                             "kernel k: the label L is placed twice"});
}

TEST_CASE("a label that is never placed is reported") {
  ir::Module module = read("L: bra L;");
  std::erase_if(module.functions[0].body, [](const auto& s) { return s.kind == ir::Statement::Kind::label; });
  const std::vector<Diagnostic> found = check(module);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "undefined-label");
}

TEST_CASE("a branch goes to a place in the code, an indexed one to a list of places") {
  const std::string list = "places: .branchtargets L, M; ", labels = "\nL: bra.uni M;\nM: ret;";
  CHECK(check_body(list + "brx.idx r1, places;" + labels).empty());
  CHECK(only(list + "brx.idx r1, M;" + labels).code == "operand-kind");
  CHECK(only(list + "bra.uni places;" + labels).code == "operand-kind");
  CHECK(only("brx.idx r1, places;\n" + list + labels).code == "undefined-label");
}

TEST_CASE("a symbol that nothing declares is reported") {
  ir::Module module = read("ld.global.b32 r1, [gv];");
  module.variables.clear();
  const std::vector<Diagnostic> found = check(module);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "undefined-name");
}

TEST_CASE("dangling indices are reported, not followed") {
  ir::Module module = read("add.s32 r1, r2, r3;");
  ir::Kernel& kernel = module.functions[0];
  SECTION("operands of an instruction") { kernel.instructions[0].operand_count = 1000; }
  SECTION("a statement") { kernel.body.push_back({ir::Statement::Kind::comment, 7}); }
  SECTION("a guard") { kernel.instructions[0].guard = ir::Guard{.reg = {9999}}; }
  SECTION("an instruction without a variant") { kernel.instructions[0].variant = {}; }
  const std::vector<Diagnostic> found = check(module);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "broken-ir");
}

TEST_CASE("a module without specs is checked as far as that goes") {
  ir::Module module = read("@p1 wgmma.fence.sync.aligned;\nbar.sync 0;");
  module.specs.reset();
  CHECK_NOTHROW(check(module));
}

TEST_CASE("dangling indices of calls are reported, not followed") {
  const char* const text =
      ".version 9.0\n.target sm_90a\n.address_size 64\n.func f(.reg .b32 a) { ret; }\n"
      ".entry k() { .reg .b32 r<3>; .reg .b64 d<2>; .reg .pred p<2>; types: .callprototype _ (.reg .b32 x);\n"
      "names: .calltargets f;\n@p1 call d1, (r1), types;\ncall f, (r2);\ncall d1, (r1), names; ret; }\n";
  ir::Module module = parse(text, specs()).module;
  ir::Kernel& kernel = module.functions[1];
  REQUIRE(kernel.calls.size() == 3);
  CHECK(check(module).empty());
  ir::Call &by_register = kernel.calls[0], &by_name = kernel.calls[1];
  SECTION("a callee in a register") { by_register.callee.index = 9999; }
  SECTION("a callee by name") { by_name.callee.index = 9999; }
  SECTION("what is passed lies outside") { by_name.first_operand = 9999; }
  SECTION("too much is passed") { by_name.argument_count = 1000; }
  SECTION("an argument") { kernel.operands[by_name.first_operand].index = 9999; }
  SECTION("the argument of a guarded call") { kernel.operands[by_register.first_operand].index = 9999; }
  SECTION("a guard") { by_name.guard = ir::Guard{.reg = {9999}}; }
  SECTION("targets") { by_register.targets = 9999; }
  SECTION("a list of targets") { kernel.targets[0].label = 9999; }
  SECTION("a name in it") { kernel.targets[0].names[0] = 9999; }
  SECTION("a prototype") { kernel.prototypes[0].label = 9999; }
  const std::vector<Diagnostic> found = check(module);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "broken-ir");
}

TEST_CASE("a dangling operand is reported") {
  ir::Module module = read("add.s32 r1, r2, r3;");
  module.functions[0].operands[0].index = 1U << 30;
  const std::vector<Diagnostic> found = check(module);
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == "dangling-operand");
}

TEST_CASE("resolving chooses by operands, and explains what the nearest variant lacks") {
  const ir::Module module = read("mov.b64 d1, {r1, r2};\nmov.b64 d1, d2;");
  const ir::Kernel& k = module.functions[0];
  const Target target("sm_90a");
  const std::vector<Variant> candidates = specs()->match("mov.b64");
  REQUIRE(candidates.size() > 2);
  const Resolution pack = resolve(k, candidates, k.operands_of(k.instructions[0]), target);
  const Resolution move = resolve(k, candidates, k.operands_of(k.instructions[1]), target);
  REQUIRE_FALSE(pack.diagnostic);
  REQUIRE_FALSE(move.diagnostic);
  CHECK(pack.variant != move.variant);
  CHECK_FALSE(check_operands(k, pack.variant, k.operands_of(k.instructions[0])));
  CHECK(check_operands(k, move.variant, k.operands_of(k.instructions[0])));

  std::vector<ir::Operand> few(k.operands_of(k.instructions[1]).begin(),
                               k.operands_of(k.instructions[1]).end());
  few.pop_back();
  const Resolution short_one = resolve(k, candidates, few, target);
  REQUIRE(short_one.diagnostic);
  CHECK(short_one.diagnostic->code == "operand-count");
  const Resolution none = resolve(k, {}, few, target);
  REQUIRE(none.diagnostic);
  CHECK(none.diagnostic->code == "unknown-opcode");
}
