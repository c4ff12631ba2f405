// SPDX-License-Identifier: Apache-2.0
// What calls pass, how .param is used, and how functions are declared: ptxas is the judge of each.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::call_test {
namespace {

std::string module_of(const std::string& module, const std::string& body) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n" + module +
         "\n.visible .entry k(.param .b64 kp, .param .b32 ki)\n{\n.reg .pred p; .reg .b16 h; .reg .b32 r, "
         "r1; "
         ".reg .u32 u; .reg .b64 d; .reg .f32 fl; .reg .f64 db; .reg .v4 .b32 v;\n" +
         body + "\nret;\n}\n";
}

std::vector<std::string> codes_of(const std::string& ptx) {
  static const auto specs = std::make_shared<const Specs>();
  ParseResult read = parse(ptx, specs);
  std::vector<Diagnostic> found = std::move(read.diagnostics);
  for (Diagnostic& d : check(read.module)) found.push_back(std::move(d));
  std::vector<std::string> codes;
  for (const Diagnostic& d : found)
    if (d.severity == Severity::error) codes.push_back(d.code);
  return codes;
}

struct Case {
  std::string module, body;
  std::string code;  // "" = legal
};

const std::vector<Case> kCases{
    // as many as there are
    {".func (.reg .b32 o) f(.reg .b32 a) { mov.b32 o, a; ret; }", "call (r), f, (r1);", ""},
    {".func (.reg .b32 o) f(.reg .b32 a) { mov.b32 o, a; ret; }", "call (_), f, (r1);", ""},
    {".func (.reg .b32 o) f(.reg .b32 a) { mov.b32 o, a; ret; }", "call f, (r1);", "operand-count"},
    {".func f(.reg .b32 a) { ret; }", "call f, (r, r1);", "operand-count"},
    {".func f(.reg .b32 a) { ret; }", "call f;", "operand-count"},
    {".func f { ret; }", "call (r), f;", "operand-count"},
    {".func f(.param .b32 b, .param .b8 a[]) { ret; }", ".param .b32 x; call f, (x);", ""},
    // registers
    {".func f(.reg .b32 a) { ret; }", "call f, (fl);", ""},
    {".func f(.reg .u32 a) { ret; }", "call f, (fl);", "operand-type"},
    {".func f(.reg .f32 a) { ret; }", "call f, (u);", "operand-type"},
    {".func f(.reg .b32 a) { ret; }", "call f, (d);", "operand-type"},
    {".func f(.reg .pred a) { ret; }", "call f, (p);", "operand-type"},
    {".func f(.reg .b32 a) { ret; }", "call f, (_);", "operand-kind"},
    {".func f(.reg .b32 a) { ret; }", "call f, (v.x);", "syntax"},
    {".func f(.param .align 8 .b32 a) { ret; }", "call f, (r);", "operand-alignment"},
    {".func (.reg .u32 o) f { mov.u32 o, 1; ret; }", "call (fl), f;", "operand-type"},
    // literals
    {".func f(.reg .b32 a) { ret; }", "call f, (1.5);", ""},
    {".func f(.reg .u32 a) { ret; }", "call f, (1.5);", "operand-type"},
    {".func f(.param .f32 a) { ret; }", "call f, (1);", "operand-type"},
    {".func f(.reg .pred a) { ret; }", "call f, (1);", "operand-type"},
    {".func (.reg .pred a) f() { ret; }", "call (_), f;", "operand-type"},
    {".func f(.reg .u16 a) { ret; }", "call f, (h);", "operand-type"},
    {".func f(.reg .b16 a) { ret; }", "call f, (h);", ""},
    {".func f(.param .s8 a) { ret; }", "{ .param .s8 x; call f, (x); }", "operand-type"},
    {".func (.param .u8 a) f() { ret; }", "{ .param .u8 x; call (x), f; }", "operand-type"},
    {".func f(.param .u16 a[2]) { ret; }", "{ .param .u16 x[2]; call f, (x); }", ""},
    {".func f(.reg .f16 a) { ret; }", "{ .reg .f16 x; call f, (x); }", ""},
    {".func f(.reg .u16 a) { ret; } .func (.reg .b32 a, .reg .b32 b) g() { ret; }", "call f, (h);", ""},
    // functions called by their address
    {".func f(.param .u16 a) { ret; }", "mov.b64 d, f;", "operand-type"},
    {".func f(.reg .pred a) { ret; }", "mov.b64 d, f;", "operand-type"},
    {".func (.param .s8 a) f() { ret; }", "mov.u64 d, f;", "operand-type"},
    {".func f(.param .u16 a) { ret; }",
     "mov.b64 d, f; P: .callprototype _ (.param .b16 _); { .param .b16 x; call d, (x), P; }", "operand-type"},
    {".func f(.param .b16 a, .param .u8 b[3]) { ret; }", "mov.b64 d, f;", ""},
    {".func f(.param .u16 a) { ret; }", ".shared .b32 f; mov.b64 d, f;", ""},
    {".func f(.param .u16 a) { ret; } .global .u64 t = f;", "", ""},
    {".visible .entry e(.param .u8 a) { ret; }", "mov.b64 d, e;", ""},
    // .param variables
    {".func f(.param .b32 a) { ret; }", ".param .f32 x; call f, (x);", ""},
    {".func f(.param .u32 a) { ret; }", ".param .f32 x; call f, (x);", "operand-type"},
    {".func f(.param .align 8 .b8 a[16]) { ret; }", ".param .align 8 .b32 x[4]; call f, (x);", ""},
    {".func f(.param .align 8 .b8 a[16]) { ret; }", ".param .align 8 .b8 x[12]; call f, (x);",
     "operand-type"},
    {".func f(.param .align 8 .b8 a[16]) { ret; }", ".param .align 4 .b8 x[16]; call f, (x);",
     "operand-alignment"},
    {".func f(.param .u32 a[4]) { ret; }", ".param .s32 x[4]; call f, (x);", "operand-type"},
    {".func f(.param .b32 a) { ret; }", ".param .b32 x[1]; call f, (x);", "operand-type"},
    {".func f(.param .b32 a) { ret; }", "call f, (ki);", "operand-kind"},
    {".func f(.param .b64 a) { ret; }", ".shared .b64 x; call f, (x);", "operand-kind"},
    // what is called
    {".visible .entry e() { ret; }", "call e;", "operand-kind"},
    {".func f { ret; }", "@r call f;", "operand-type"},
    {"", "P: .callprototype _ (.param .b32 _); .param .b32 x; call d, (x), P;", ""},
    {"", "P: .callprototype _ (.param .b32 _); .param .b64 x; call d, (x), P;", "operand-type"},
    {"", "call d, P; P: .callprototype _;", "undefined-label"},
    {"", "P: .callprototype _; call db, P;", "operand-type"},
    {"", "P: .callprototype _; call h, P;", "operand-type"},
    {"", "L: P: .branchtargets L; call d, P;", "operand-kind"},
    {".func f(.param .b32 a) { ret; }", "P: .calltargets f; .param .b64 x; call d, (x), P;", "operand-type"},
    {".global .b32 x;", "P: .calltargets x; call d, P;", "undefined-name"},
    {"", "L: brx.idx r, T; T: .branchtargets L;", "undefined-label"},
    {"", "L: T: .branchtargets L, M; brx.idx r, T; M:", ""},
    {"", "L: T: .branchtargets L, M; brx.idx r, T;", "undefined-name"},
    // .param
    {"", "ld.param.b32 r, [ki];", ""},
    {"", "st.param.b32 [ki], r;", "parameter-direction"},
    {"", ".param .b32 x; st.param.b32 [x], r;", ""},
    {"", ".param .b32 x; mov.b64 d, x;", "parameter-direction"},
    {"", ".param .b32 x; st.param.b32 [x], r; ld.param.b32 r, [x];", "call-result"},
    {".func (.param .b32 o) f { .reg .b32 t; st.param.b32 [o], t; ret; }",
     ".param .b32 x; ld.param.b32 r, [x]; call (x), f;", "call-result"},
    {".func (.param .b32 o) f { .reg .b32 t; st.param.b32 [o], t; ret; }",
     ".param .b32 x; call (x), f; ld.param.b32 r, [x]; ld.param.b32 r, [x];", ""},
    {"", ".param .b32 x; @p st.param.b32 [x], r;", "guarded-argument"},
    {".func (.param .b32 o) f { .reg .b32 t; st.param.b32 [o], t; ret; }",
     ".param .b32 x; call (x), f; @!p ld.param.b32 r, [x];", "guarded-argument"},
    {".func (.param .b32 o) f { .reg .b32 t; st.param.b32 [o], t; ret; }",
     ".param .b32 x; @p call (x), f; ld.param.b32 r, [x];", ""},
    {"", "@p ld.param.b32 r, [ki];", ""},
    {".func (.param .b32 o) f(.param .b32 a) { .reg .b32 t; .reg .pred q; setp.ne.b32 q, t, 0; "
     "@q ld.param.b32 t, [a]; @q st.param.b32 [o], t; ret; }",
     "", ""},
    {".func f(.param .b32 a) { .reg .b32 t; st.param.b32 [a], t; ret; }", "", "parameter-direction"},
    {".func (.param .b32 o) f { .reg .b32 t; ld.param.b32 t, [o]; ret; }", "", "parameter-direction"},
    // addresses and numbers
    {"", "ld.global.b32 r, [p];", "address-type"},
    {"", "atom.global.add.u32 r, [p], r1;", "address-type"},
    {"", "mov.b16 h, 70000;", ""},
    {"", "mov.b64 d, 18446744073709551616;", ""},
    {"", "mov.b64 d, 100000000000000000000;", "bad-number"},
    {"", "mov.f32 fl, 1e39;", ""},
    {"", "mov.f64 db, 1e400;", "bad-number"},
    {"", "mov.f64 db, 1e-310;", "bad-number"},
    {"", "mov.f64 db, 2.2250738585072014e-308;", ""},
    {"", "mov.f32 fl, 1e-40;", ""},
    {"", "mov.f64 db, 0e-400;", ""},
    {"", "mov.b64 d, 0x1e-5;", ""},
    {"", "mov.f64 db, 1.0/0.0;", "bad-number"},
    {"", "mov.f64 db, 1.0/-0.0;", "bad-number"},
    {"", "mov.f64 db, 1.0/0d0000000000000000;", "bad-number"},
    {"", "mov.f64 db, 0.0/1.0;", ""},
    {"", "mov.f32 fl, -0f3F800000;", "syntax"},
    // functions
    {".func f(.param .b32 a); .func f(.param .b64 a) { ret; }", "", "mismatched-declaration"},
    {".func f { ret; } .func g; .alias g, f;", "call g;", ""},
    {".func f { ret; } .func g(.param .b32 a); .alias g, f;", "", "bad-alias"},
    {".weak .func f { ret; } .func g; .alias g, f;", "", "bad-alias"},
    {".extern .func f; .func g; .alias g, f;", "", "bad-alias"},
    {".func f { ret; } .func g { ret; } .alias g, f;", "", "bad-alias"},
    {".func f() .noreturn .noreturn { trap; }", "", "syntax"},
    {".visible .entry e() .maxntid 32 .reqntid 64 { ret; }", "", "directive-conflict"},
    {".visible .entry e() .reqnctapercluster 1 .maxclusterrank 1 { ret; }", "", "directive-conflict"},
    {".visible .entry e() .blocksareclusters { ret; }", "", "directive-conflict"},
    {".visible .entry e() .blocksareclusters .reqntid 32 .reqnctapercluster 2 { ret; }", "", ""},
    {".visible .entry e() .maxntid 32+1 { ret; }", "", "syntax"},
};

}  // namespace

TEST_CASE("calls, parameters and declarations are judged, each with its code") {
  for (const Case& one : kCases) {
    const std::vector<std::string> codes = codes_of(module_of(one.module, one.body));
    CAPTURE(one.module, one.body, codes);
    CHECK((codes.empty() ? "" : codes[0]) == one.code);
  }
}

TEST_CASE("calls, parameters and declarations are judged as ptxas does", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const Case& one : kCases) {
    const CommandResult result = ptxas.assemble(module_of(one.module, one.body), "sm_90a");
    CAPTURE(one.module, one.body, result.output);
    CHECK((result.status == 0) == one.code.empty());
  }
}

}  // namespace ptxloom::call_test
