// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>

#include "reading.hpp"
#include "support/ptxas.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::testing;
using Found = std::vector<std::string>;

// As it is printed: every way to declare and to call a function.
constexpr std::string_view kCalls = R"(.version 9.0
.target sm_90a
.address_size 64
.pragma "nounroll";

.extern .func (.param .b32 result) vprintf(
    .param .b64 format,
    .param .b64 arguments
);
.weak .func callee();
.global .u64 table[2] = {callee, callee};

.visible .func (.param .align 8 .b8 result[16]) aggregate(
    .param .align 8 .b8 x[16],
    .param .b32 more[]
)
{
    .reg .b64 %rd<2>;

    ld.param.b64 %rd0, [x+8];
    ld.param.b64 %rd0, [x+0];
    ret;
}

.func (.reg .b32 r) in_registers(
    .reg .b32 a,
    .reg .pred p
)
{
    .reg .b32 %r<1>;

    @p add.u32 r, a, 1;
    ret;
}

.weak .func callee()
{
    trap;
}

.visible .entry kernel(
    .param .u64 .ptr .align 4 pointer,
    .param .u32 n
)
.maxntid 256, 1, 1
.minnctapersm 2
.pragma "nounroll";
{
    .reg .b32 %r<4>;
    .reg .b64 %rd<2>;
    .reg .pred %p<1>;
    .param .align 8 .b8 given[16];
    .param .align 8 .b8 got[1];
    .param .b32 scalar;

    ld.param.u32 %r0, [n];
prototype: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]);
functions: .calltargets callee;
places: .branchtargets here, there;
    .pragma "nounroll", "novector";
    call callee;
    call.uni (%r1), in_registers, (3, %p0);
    @!%p0 call (_), in_registers, (%r0, %p0);
    mov.u64 %rd0, callee;
    call %rd0, functions;
    call (scalar), %rd0, (scalar, given), prototype;
here:
    brx.idx %r0, places;
there:
    ret;
}

.alias also, callee;
)";

}  // namespace

TEST_CASE("functions and calls are read, and print as they were") {
  std::string text(kCalls);
  for (const std::string_view label : {"prototype:", "functions:", "places:"})
    text.insert(text.find(label), "    ");
  text.insert(text.find(".weak .func callee();"), ".func also();\n");
  if (compiled_specs()->match("brx.idx").empty()) text.erase(text.find("    brx.idx"), 29);
  const ParseResult result = parse(text, compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  CHECK(print(result.module) == text);
  const ir::Module& m = result.module;
  CHECK(m.find("callee")->defined);
  CHECK_FALSE(m.find("vprintf")->defined);
  CHECK_FALSE(m.find("aggregate")->entry);
  const ir::Function& k = *m.find("kernel");
  REQUIRE(k.calls.size() == 5);
  const ir::Call& guarded = k.calls[2];
  CHECK((guarded.guard && guarded.guard->negated));
  const std::size_t at = text.find("@!%p0 call");
  CHECK(guarded.line == 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
  CHECK(guarded.column == 5);
  CHECK(k.results_of(guarded)[0].kind == ir::Operand::Kind::sink);
  CHECK(k.arguments_of(guarded).size() == 2);
  CHECK(k.labels[*k.calls[3].targets] == "functions");
  CHECK(print(k, k.calls[1]) == "call.uni (%r1), in_registers, (3, %p0);");
}

TEST_CASE("each call may have a scope of its own") {
  const ParseResult result = parse(module_of(R"(.func (.param .b32 r) f(.param .b32 x) { ret; }
.entry k() { .reg .b32 %r<3>;
{ .param .b32 param0; .param .b32 retval0; call (retval0), f, (param0); }
{ .param .b32 param0; .param .b32 retval0; { .reg .b32 t<2>; } call (retval0), f, (param0);
  ld.param.b32 %r1, [retval0]; { .reg .b32 t<2>; mov.b32 t1, 3; } }
})"),
                                   compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  const std::string text = print(result.module);
  INFO(text);
  CHECK(text.find("call (retval0), f, (param0);") != text.npos);
  CHECK(text.find("call (retval0_2), f, (param0_2);") != text.npos);
  CHECK(text.find("ld.param.b32 %r1, [retval0_2];") != text.npos);
  CHECK(text.find(".reg .b32 t<2>;\n    .reg .b32 t_2_<2>;") != text.npos);
  CHECK(text.find("mov.b32 t_2_1, 3;") != text.npos);
}

TEST_CASE("a function whose address a variable holds is declared before it") {
  const ParseResult result = parse(
      module_of(".func f(.param .b32 x) .noreturn { trap; }\n.global .u64 a[1] = {f};\n"), compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  const std::string text = print(result.module);
  CHECK(text.find(".func f(\n    .param .b32 x\n) .noreturn;\n.global .u64 a[1] = {f};") != text.npos);
  CHECK(print(parse(text, compiled_specs()).module) == text);
}

TEST_CASE("vector registers are read as their elements") {
  const ParseResult result = parse(module_of(R"(.entry k() { .reg .v4 .f32 v; .reg .v2 .b32 w<2>; .reg .b64 p;
ld.global.v4.f32 v, [p];
mov.b32 w1.x, w0.y;
st.global.v2.b32 [p], w1;
mov.b32 v.r, v.w; })"),
                                   compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  const ir::Function& k = result.module.functions[0];
  CHECK(print(k, k.instructions[0]) == "ld.global.v4.f32 {v_x, v_y, v_z, v_w}, [p];");
  CHECK(print(k, k.instructions[1]) == "mov.b32 w1_x, w0_y;");
  CHECK(print(k, k.instructions[2]) == "st.global.v2.b32 [p], {w1_x, w1_y};");
  CHECK(print(k, k.instructions[3]) == "mov.b32 v_x, v_w;");
  CHECK(std::ranges::count(k.registers, true, &ir::RegisterDecl::element) == 8);
}

TEST_CASE("a function's body has the parameters' scope, and scopes in it have their own") {
  CHECK(places(module_of(".func f(.reg .u32 a) { .reg .u32 a; }")) == Found{"4:34 duplicate-name"});
  CHECK(places(module_of(".func (.reg .u32 r) f() { .reg .u32 r; }")) == Found{"4:37 duplicate-name"});
  CHECK(places(module_of(".func f(.param .u32 a) { .param .u32 a; }")) == Found{"4:38 duplicate-name"});
  CHECK(places(module_of(".func f(.reg .u32 a2) { .reg .u32 a<5>; }")) == Found{"4:35 duplicate-name"});
  CHECK(places(module_of(".entry k(.param .u32 n) { .reg .u32 n; }")) == Found{"4:37 duplicate-name"});
  CHECK(places(module_of(".entry k(.param .u32 n) { n: ret; }")) == Found{"4:27 duplicate-name"});
  CHECK(places(module_of(".entry k(.param .u32 n) { { .reg .u32 n; } { n: ret; } }")).empty());
  CHECK(places(module_of(".entry k() { .reg .u32 k; }")).empty());
}

TEST_CASE("what is wrong with a function is reported where it stands") {
  CHECK(places(module_of(".entry k() { call f, (); }")) == Found{"4:19 undefined-name"});
  CHECK(places(module_of(".entry k() { .reg .b64 p; call p, (); }")) == Found{"4:32 operand-count"});
  CHECK(places(module_of(".func f() { ret; }\n.entry k() { L: call f, L; }")) == Found{"5:22 operand-count"});
  CHECK(places(module_of(".entry k() { .reg .b32 r; L: .branchtargets r; }")) == Found{"4:45 operand-kind"});
  CHECK(places(module_of(".entry k() { L: call L; }")) == Found{"4:22 operand-kind"});
  CHECK(places(module_of(".entry k() .noreturn { ret; }")) == Found{"4:12 syntax"});
  CHECK(places(module_of(".func f() .maxntid 3 { ret; }")) == Found{"4:11 syntax"});
  CHECK(places(module_of(".entry k(.reg .b32 x) { ret; }")) == Found{"4:20 syntax"});
  CHECK(places(module_of(".entry k(.param .pred x) { ret; }")) == Found{"4:17 syntax"});
  CHECK(places(module_of(".func f() { ret; }\n.func f() { ret; }")) == Found{"5:7 duplicate-name"});
  CHECK(places(module_of(".func f();\n.func f();\n.func f() { ret; }")) == Found{});
  CHECK(places(module_of(".alias a, b;")) == Found{"4:8 undefined-name"});
  CHECK(places(module_of(".visible .visible .entry k() { ret; }")) == Found{"4:1 syntax"});
}
