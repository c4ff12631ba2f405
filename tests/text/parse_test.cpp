// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "ptxloom/ptx.hpp"

namespace {

using namespace ptxloom;

const std::shared_ptr<const Specs>& specs() {
  static const auto shared = std::make_shared<const Specs>();
  return shared;
}

// A kernel of these statements; its first line is line 5.
std::string kernel(const std::string& body) {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 p, .param .u32 n) "
         "{\n" +
         body + "\n}\n";
}

ParseResult read(const std::string& ptx) { return parse(ptx, specs()); }

// "line:column code" of everything that is wrong.
std::vector<std::string> complaints(const std::string& ptx) {
  std::vector<std::string> found;
  for (const Diagnostic& d : read(ptx).diagnostics)
    found.push_back(std::to_string(d.line) + ":" + std::to_string(d.column) + " " + d.code);
  return found;
}

using Found = std::vector<std::string>;

}  // namespace

TEST_CASE("a module is read into what it says") {
  const ParseResult result = read(R"(// first
// second
.version 8.3
.target sm_90a, debug
.address_size 64
.global .align 16 .b32 table[2][3] = {{1, -1}, {2}};
.const .f32 one = 1.0;
.extern .shared .align 128 .b8 dynamic[];
.file 1 "somewhere.cu"
.weak .entry first(.param .u32 n, .param .align 8 .b8 s[24], .param .u64 .ptr .global .align 16 x)
.maxntid 256
.reqnctapercluster 2, 1, 1
.minnctapersm 2 .maxnreg 64 .explicitcluster .maxclusterrank 8
{ .reg .b32 %r<3>; .reg .pred p, %q<2>; .shared .b64 tile[8]; /* block
  comment */ .loc 1 2 3
  .pragma "nounroll";
  ld.param.u32 %r1, [n];
again:
  @!p add.s32 %r2, %r1, (1+2)*4;
  bra again; }
.entry second() { ret; }
)");
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  const ir::Module& m = result.module;
  CHECK(m.header == std::vector<std::string>{"first", "second"});
  CHECK(m.version == Version{8, 3});
  CHECK(m.target == "sm_90a");
  REQUIRE(m.variables.size() == 3);
  CHECK(m.variables[0].count == 6);
  CHECK(m.variables[0].alignment == 16);
  CHECK(m.variables[0].initial == std::vector<std::uint8_t>{1, 0, 0, 0, 255, 255, 255, 255, 2, 0, 0, 0});
  CHECK(m.variables[1].initial == std::vector<std::uint8_t>{0, 0, 0x80, 0x3F});
  CHECK(m.variables[2].linkage == ir::Linkage::external);
  CHECK(m.variables[2].count == 0);
  REQUIRE(m.functions.size() == 2);
  const ir::Kernel& k = m.functions[0];
  CHECK(k.parameters[1].count == 24);
  CHECK(k.parameters[2].pointer == ir::Space::global);
  CHECK(k.maxntid == std::array<std::uint32_t, 3>{256, 1, 1});
  CHECK(k.reqnctapercluster == std::array<std::uint32_t, 3>{2, 1, 1});
  CHECK(k.minnctapersm == 2U);
  CHECK(k.maxnreg == 64U);
  CHECK(k.explicitcluster);
  CHECK(k.maxclusterrank == 8U);
  REQUIRE(k.instructions.size() == 3);
  const ir::Instruction& add = k.instructions[1];
  REQUIRE(add.guard);
  CHECK(add.guard->negated);
  CHECK(k.registers[add.guard->reg.id].name == "p");
  CHECK(add.variant.opcode() == "add.s32");
  CHECK(add.line == 19);
  CHECK(add.column == 3);
  CHECK(k.operands_of(add)[2].kind == ir::Operand::Kind::integer);
  CHECK(k.operands_of(add)[2].value == 12);
  CHECK(k.labels[k.operands_of(k.instructions[2])[0].index] == "again");
}

TEST_CASE("operands are told apart by what their names are") {
  const ParseResult result =
      read(kernel(R"(.reg .b32 %r<8>; .reg .b64 a; .reg .b16 h<2>; .reg .f32 f; .reg .pred q;
.shared .align 16 .b8 tile[64];
mov.b32 %r1, %r2;
mov.b32 %r1, {h0, h1};
mov.b32 {h0, _}, %r1;
mov.u32 %r1, tile+8;
mov.u32 %r1, %tid.y;
ld.shared.v4.f32 {f, _, f, _}, [tile+16];
ld.global.u32 %r3, [a+-4];
setp.lt.and.f32 q|_, f, 1.5, !q;
mov.f32 f, 0d3FF8000000000000;
mov.f64 a, 0f3FC00000;
bra end;
end: ret;)"));
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  const ir::Kernel& k = result.module.functions[0];
  using Kind = ir::Operand::Kind;
  const auto operand = [&](std::size_t instruction, std::size_t i) {
    return k.operands_of(k.instructions[instruction])[i];
  };
  CHECK(operand(0, 1).kind == Kind::reg);
  CHECK(operand(1, 1).kind == Kind::vector);
  CHECK(k.elements_of(operand(2, 0))[1].kind == Kind::sink);
  CHECK(operand(3, 1).kind == Kind::symbol);
  CHECK(operand(3, 1).value == 8);
  CHECK(operand(4, 1).kind == Kind::literal);
  CHECK(print(k, k.instructions[4]) == "mov.u32 %r1, %tid.y;");
  CHECK(operand(5, 1).kind == Kind::address_symbol);
  CHECK(operand(6, 1).kind == Kind::address);
  CHECK(operand(6, 1).value == -4);
  CHECK(operand(7, 1).kind == Kind::sink);
  CHECK(operand(7, 4).negated);
  // Decimals and bits become what the type of the instruction makes of them.
  CHECK(operand(7, 3).kind == Kind::f32);
  CHECK(operand(7, 3).value == 0x3FC00000);
  CHECK(operand(8, 1).value == 0x3FC00000);
  CHECK(operand(9, 1).kind == Kind::f64);
  CHECK(operand(9, 1).value == 0x3FF8000000000000);
  CHECK(operand(10, 0).kind == Kind::label);
}

TEST_CASE("words that stand between and behind operands are read as the instruction has them") {
  const std::string unified = "ld.global.u32 %r0, [at].unified;";
  const ParseResult result = read(kernel(".reg .b32 %r<2>;\n.reg .b64 at;\n" + unified));
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  const ir::Function& k = result.module.functions[0];
  CHECK(print(k, k.instructions[0]) == unified);
  CHECK_FALSE(complaints(kernel(".reg .b32 %r<2>;\n.reg .b64 at;\nld.global.u32 %r0, [at].unify;")).empty());
}

TEST_CASE("a million registers of a name stay one declaration") {
  const ParseResult result = read(kernel(".reg .b32 many<1000001>;\nret;"));
  REQUIRE(result.ok());
  CHECK(print(result.module).find("many<1000001>;") != std::string::npos);
}

TEST_CASE("reading stops after many errors, and says so") {
  const auto wrong = [](int lines) {
    std::string body;
    for (int i = 0; i < lines; ++i) body += "add.foo %r1, %r1, 1;\n";
    return read(kernel(".reg .b32 %r<3>;\n" + body + "ret;")).diagnostics;
  };
  CHECK(wrong(150).size() == 150);
  const auto many = wrong(300);
  CHECK(many.size() == 201);
  CHECK(many.back().code == "too-many-errors");
}

TEST_CASE("ranges of registers whose names coincide are kept apart") {
  for (const char* declared : {".reg .b32 %r<20>; .reg .b64 %r1<5>;", ".reg .b64 %r1<5>; .reg .b32 %r<20>;",
                               ".reg .b32 %r<20>; .reg .b64 %r1<5>, %r10_1;"}) {
    const ParseResult result = read(kernel(std::string(declared) + "\nmov.b32 %r13, 1;\nret;"));
    REQUIRE(result.ok());
    const std::string text = print(result.module);
    INFO(text);
    const ParseResult again = read(text);
    REQUIRE(again.ok());
    CHECK(print(again.module) == text);
    CHECK(again.module.functions[0].registers.size() == result.module.functions[0].registers.size());
  }
}

TEST_CASE("inner scopes shadow names, and the kernel keeps them apart") {
  const ParseResult result = read(kernel(R"(.reg .b32 x, %r<4>;
mov.b32 x, 1;
{ .reg .b32 x, %r<2>; mov.b32 x, 2; mov.b32 %r1, 3; L: bra L; }
{ .reg .pred x; L: @x bra L; }
mov.b32 x, 4;
mov.b32 %r1, 5;
L: bra L;)"));
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  const std::string text = print(result.module);
  INFO(text);
  CHECK(text.find("mov.b32 x, 1;") != text.npos);
  CHECK(text.find("mov.b32 x_2, 2;") != text.npos);
  CHECK(text.find("mov.b32 %r_2_1, 3;") != text.npos);
  CHECK(text.find("@x_3 bra L_3;") != text.npos);
  CHECK(text.find("mov.b32 x, 4;") != text.npos);
  CHECK(text.find("mov.b32 %r1, 5;") != text.npos);
  CHECK(text.find("L_2:\n    bra L_2;") != text.npos);
  CHECK(text.find("L:\n    bra L;") != text.npos);
  CHECK(print(read(text).module) == text);
}

TEST_CASE("each error is reported where it stands, and reading goes on") {
  CHECK(complaints(kernel(".reg .b32 r;\nmov.b32 r, s;\nadd.s32 r, r;\nmov.b32 r, 1;\nmov.b32 r 1;")) ==
        Found{"6:12 undefined-name", "7:13 syntax", "9:11 syntax"});
  CHECK(complaints(kernel(".reg .b32 r, r;")) == Found{"5:14 duplicate-name"});
  CHECK(complaints(kernel(".reg .e4m3 r;")) == Found{"5:6 syntax"});
  CHECK(complaints(kernel("L:\nL: ret;")) == Found{"6:1 duplicate-name"});
  CHECK(complaints(kernel("bra nowhere;")) == Found{"5:5 undefined-name"});
  CHECK(complaints(kernel("@p9 ret;")) == Found{"5:2 undefined-name"});
  CHECK(complaints(kernel(".reg .b32 r;\nmov.b32 r, 0b12;")) == Found{"6:12 bad-number"});
  CHECK(complaints(kernel(".reg .b32 r<99999999>;")) == Found{"5:11 too-many-registers"});
  CHECK(complaints(kernel(".shared .b32 x[0];")) == Found{"5:14 bad-size"});
  CHECK(complaints(kernel(".global .b32 x[2] = {1,2,3};")) == Found{"5:21 bad-size"});
  CHECK(complaints(kernel(".shared .b32 x = 1;")) == Found{"5:14 syntax"});
  CHECK(complaints(kernel("ret;; ret;")) == Found{"5:5 syntax"});
  CHECK(complaints(kernel(".reg .b32 a.b;")) == Found{"5:11 syntax"});
  CHECK(complaints(kernel(".reg .b32 r<3>, r2;")) == Found{"5:17 duplicate-name"});
  CHECK(complaints(kernel(".shared .align 3 .b32 x;")) == Found{"5:16 bad-alignment"});
  CHECK(complaints(kernel("{ ret;")) == Found{"7:1 syntax"});
}

TEST_CASE("what no ptxas of today takes says so") {
  const std::string start = ".version 8.0\n.target sm_90\n";
  CHECK(complaints(start + ".address_size 32\n") == Found{"3:15 unsupported"});
  CHECK(complaints(start + ".tex .u32 t;\n") == Found{"3:1 unsupported"});
  CHECK(complaints(start + ".const[2] .u32 t;\n") == Found{"3:7 unsupported"});
  CHECK(complaints(start + ".local .u32 t;\n") == Found{"3:1 syntax"});
  CHECK(complaints(start + ".global .pred t;\n") == Found{"3:9 syntax"});
  CHECK(complaints(start + ".global .f16 t = 1.0;\n") == Found{"3:18 syntax"});
}

TEST_CASE("tokens may stand apart or together") {
  const ParseResult result = read(kernel(R"(.reg.b32 r<2>;.reg.pred q;.shared.align 16 .b32 x[4];
@ ! q
  add /* here */ .u32
  r0 , r1,
  // and here
  (.s64)3+0x1U ; mov.u32 r0, x[2]; mov.u32 r0,x+4;)"));
  for (const Diagnostic& d : result.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(result.ok());
  const ir::Function& k = result.module.functions[0];
  CHECK(print(k, k.instructions[0]) == "@!q add.u32 r0, r1, 4;");
  CHECK(k.instructions[0].line == 6);
  CHECK(print(k, k.instructions[1]) == "mov.u32 r0, x[2];");
  CHECK(print(k, k.instructions[2]) == "mov.u32 r0, x+4;");
  CHECK(complaints(kernel(".shared.align 16.b32 x[4];")) == Found{"5:15 bad-number"});
}

TEST_CASE("a module starts with its version") {
  CHECK(complaints("") == Found{"1:1 syntax"});
  CHECK(complaints("hello, world;") == Found{"1:1 syntax", "1:1 syntax"});
  CHECK(complaints(".version nine\n.target sm_90\n") == Found{"1:10 syntax"});
}

TEST_CASE("the target may be given from outside") {
  const ParseResult result = parse(".version 8.0\n.target sm_80\n", specs(), "sm_90a");
  CHECK(result.module.target == "sm_90a");
  CHECK(read(".version 8.0\n.target sm_80\n").module.target == "sm_80");
}

TEST_CASE("parsing without specs is an error of use") { CHECK_THROWS_AS(parse("", nullptr), Error); }
