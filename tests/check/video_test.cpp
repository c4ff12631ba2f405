// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <vector>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

// Selectors of video instructions, and the operands of texture and surface instructions: the oracle writes
// none of them, so what ptxas 13.0 says of these lines stands here.
namespace {

using namespace ptxloom;

struct Line {
  bool legal;
  std::string text;
};

const std::vector<Line> kVideo{
    {true, "vadd.u32.u32.u32 r1, r2, r3;"},
    {true, "vadd.u32.u32.u32 r1, r2.b3, r3.h1;"},
    {true, "vadd.u32.u32.u32 r1.b0, r2.b1, r3.h0, r4;"},
    {true, "vadd.u32.u32.u32 r1.b0, 5, 3, 7;"},
    {true, "vadd.u32.u32.u32.sat.min r1, r2, r3, r4;"},
    {false, "vadd.u32.u32.u32.add r1.b0, r2, r3, r4;"},
    {false, "vadd.u32.u32.u32 r1.b0, r2, r3;"},
    {false, "vadd.u32.u32.u32 r1.h10, r2, r3, r4;"},
    {false, "vadd.u32.u32.u32 r1, r2.h10, r3;"},
    {false, "vadd.u32.u32.u32 r1, r2, r3, r4.b0;"},
    {true, "vmad.s32.s32.s32 r1, -r2.b0, -r3.h1, r4;"},
    {true, "vmad.s32.s32.s32 r1, r2, r3, -r4;"},
    {false, "vmad.s32.s32.s32 r1, -r2, r3, -r4;"},
    {false, "vmad.u32.u32.u32.po r1, -r2, r3, r4;"},
    {false, "vmad.u32.u32.u32 r1, !r2, r3, r4;"},
    {false, "vmad.u32.u32.u32 r1.b0, r2, r3, r4;"},
    {true, "vadd2.u32.u32.u32 r1.h0, r2.h01, r3.h33, r4;"},
    {false, "vadd2.u32.u32.u32 r1.h01, r2.h01, r3.h33, r4;"},
    {false, "vadd2.u32.u32.u32 r1.h1, r2.h0, r3.h33, r4;"},
    {false, "vadd2.u32.u32.u32 r1, r2, 5, r4;"},
    {true, "vset2.u32.u32.ge.add r1.h0, r2.h12, r3, r4;"},
    {true, "vadd4.u32.u32.u32 r1.b20, r2.b0123, r3.b7777, r4;"},
    {false, "vadd4.u32.u32.u32 r1.b01, r2, r3, r4;"},
    {false, "vadd4.u32.u32.u32 r1, r2.b012, r3, r4;"},
    {false, "vadd4.u32.u32.u32 r1, r2.b0128, r3, r4;"},
};

const std::vector<Line> kTexture{
    {true, "tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [tx, {r5}];"},
    {true, "tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [d1, r5];"},
    {true, "tex.2d.v4.s32.f32 {r1, r2, r3, r4} | p1, [tx, {f1, f2}], {r7, r8}, f3;"},
    {true, "tex.level.2d.v4.s32.f32 {r1, r2, r3, _}, [tx, {f1, f2}], 0f00000000;"},
    {true, "tex.grad.1d.v2.f16x2.f32 {hx1, hx2}, [tx, f1], {f2}, {f3};"},
    {false, "tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [tx, f5];"},
    {false, "tex.2d.v4.f32.s32 {f1, f2, f3, f4}, [tx, {f5, f6}];"},
    {false, "tex.2d.v4.s32.f32 {f1, f2, f3, f4}, [tx, {f5, f6}];"},
    {false, "tex.2d.v4.f32.f32 {f1, f2, f3, f4}, [tx, {f5, f6}], {f7, f8};"},
    {false, "tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [tx+8, {r5}];"},
    {false, "tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [r1, {r5}];"},
    {false, "tex.1d.v4.f32.s32 {f1, f2, f3, f4}, [gv, {r5}];"},
    {false, "tex.level.2d.v4.s32.f32 {r1, r2, r3, r4}, [tx, {f1, f2}], 1;"},
    {true, "suld.b.1d.b8.trap r1, [sf, {r2}];"},
    {true, "sust.b.2d.v2.b64.zero [d1, {r1, r2}], {d2, d3};"},
    {false, "sust.b.2d.v2.b64 [d1, {r1, r2}], {d2, d3};"},
    {false, "suld.b.1d.b32.trap r1, [tx, {r2}];"},
    {true, "txq.width.b32 r1, [tx];"},
    {false, "suq.width.b32 r1, [tx];"},
};

std::string module_of(const std::string& line) {
  return ".version 9.0\n.target sm_90a\n.address_size 64\n.global .texref tx;\n.global .surfref sf;\n"
         ".global .b32 gv;\n.visible .entry k() {\n.reg .b32 r<9>;\n.reg .f32 f<9>;\n.reg .b64 d<9>;\n"
         ".reg .f16x2 hx<9>;\n.reg .pred p<9>;\n" +
         line + "\nret;\n}\n";
}

void agree(const std::vector<Line>& lines) {
  for (const Line& line : lines) {
    INFO(line.text);
    const ParseResult read = parse(module_of(line.text), std::make_shared<const Specs>());
    CHECK((read.ok() && check(read.module).empty()) == line.legal);
    if (line.legal && read.ok()) CHECK(print(read.module).find(line.text) != std::string::npos);
  }
}

}  // namespace

TEST_CASE("selectors and signs of video instructions are those that ptxas takes, and are printed again") {
  agree(kVideo);
}

TEST_CASE("texture and surface instructions take opaque variables, and coordinates of their type") {
  agree(kTexture);
}
