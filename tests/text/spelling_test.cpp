// SPDX-License-Identifier: Apache-2.0
// Rare ways to write PTX. What ptxas takes is read, and what is printed of it is the same machine code.
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <iterator>
#include <map>

#include "reading.hpp"
#include "support/cubin.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::testing;
using Found = std::vector<std::string>;

std::string kernel_of(const std::string& body) {
  return module_of(
      ".global .align 16 .b32 gv[64];\n.const .align 16 .b32 cv[64];\n.global .v4 .f32 vectors[2];\n"
      ".extern .shared .b32 dynamic[];\n.visible .entry k(.param .b64 p, .param .b32 a[4]) {\n"
      ".reg .b32 r<9>; .reg .b64 d; .reg .f32 f; .reg .v4 .b32 v; .shared .b32 sv[64];\n"
      "ld.param.b64 d, [p];\n" +
      body + "\nst.global.b32 [d], r0;\nret;\n}\n");
}

std::string first_printed(const std::string& line) {
  const ParseResult result = parse(kernel_of(line), compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  const ir::Function& k = result.module.functions[0];
  return print(k, k.instructions[1]);
}

std::map<std::string, std::string> machine_code(const Ptxas& ptxas, const std::string& ptx) {
  const TemporaryFolder folder;
  const CommandResult result = ptxas.assemble(ptx, "sm_90a", folder.path() / "cubin");
  INFO(ptx << result.output);
  REQUIRE(result.status == 0);
  std::ifstream in(folder.path() / "cubin", std::ios::binary);
  return sections_of({std::istreambuf_iterator<char>(in), {}});
}

}  // namespace

TEST_CASE("a number behind a register, and a second result that is none, are named") {
  const auto code = [](const std::string& line) { return places(kernel_of(line)); };
  CHECK(code("add.s32 r0, r1+1, r2;") == Found{"11:15 register-offset"});
  CHECK(code("mov.b32 r0, r1+4;") == Found{"11:15 register-offset"});
  CHECK(code("st.global.v2.b32 [d], {r1+1, r2};") == Found{"11:26 register-offset"});
  CHECK(code("add.s32 r0|_, r1, r2;") == Found{"11:11 no-second-result"});
  CHECK(code("ld.global.b32 r0|r1, [d];") == Found{"11:17 no-second-result"});
  CHECK(code("mov.b64 d, {%tid.x, r1};") == Found{"11:13 undefined-name"});
  CHECK(code("ld.global.b32 r0, [d+4];").empty());
  CHECK(code("shfl.sync.idx.b32 r0|_, r1, 1, 31, -1;").empty());
}

TEST_CASE("an address may be an element of an array, without brackets") {
  CHECK(first_printed("ld.shared.b32 r0, sv[2];") == "ld.shared.b32 r0, sv[2];");
  CHECK(first_printed("st.global.v2.b32 gv[ 1+1 ], {r0, r1};") == "st.global.v2.b32 gv[2], {r0, r1};");
  CHECK(first_printed("mov.b32 r0, sv[3];") == "mov.b32 r0, sv[3];");
  const ParseResult result = parse(kernel_of("ld.global.f32 f, vectors[1];"), compiled_specs());
  REQUIRE(result.ok());
  CHECK(result.module.functions[0].operands_of(result.module.functions[0].instructions[1])[1].value == 4);

  CHECK(places(kernel_of("ld.shared.b32 r0, [sv[2]];")) == Found{"11:22 syntax"});
  CHECK(places(kernel_of("ld.shared.b32 r0, sv;")) == Found{"11:19 syntax"});
  CHECK(places(kernel_of("ld.param.b64 d, p[0];")) == Found{"11:18 operand-kind"});
  CHECK(places(kernel_of("ld.shared.b32 r0, sv[r1];")) == Found{"11:22 unsupported"});
  CHECK(places(kernel_of("atom.global.add.u32 r0, gv[3], r1;")) == Found{"11:25 syntax"});
  CHECK(places(kernel_of("mov.b32 r0, sv[2]+4;")) == Found{"11:18 syntax"});
}

TEST_CASE("the element of a vector may follow a blank, and be called by its colour") {
  CHECK(first_printed("mov.u32 r0, %tid .x;") == "mov.u32 r0, %tid.x;");
  CHECK(first_printed("mov.u32 r0, %ctaid.g;") == "mov.u32 r0, %ctaid.y;");
  CHECK(first_printed("mov.b32 r0, v .a;") == "mov.b32 r0, v_w;");
  CHECK(first_printed("vadd.u32.u32.u32 r0, r1 .b0, r2.h1, r3;") == "vadd.u32.u32.u32 r0, r1.b0, r2.h1, r3;");
  CHECK(places(kernel_of("mov.u32 r0, %tid. x;")) == Found{"11:13 undefined-name"});
  CHECK(places(kernel_of("mov.u32 r0, %laneid .x;")) == Found{"11:13 undefined-name"});
  CHECK(places(kernel_of("ld.shared.b32 r0, [v.x];")) == Found{"11:20 syntax"});
  CHECK(places(kernel_of("tex.1d.v4.u32.s32 {r0, r1, r2, r3}, [d, v.x];")) == Found{"11:41 syntax"});
  CHECK(places(kernel_of("tex.1d.v4.u32.s32 {r0, r1, r2, r3}, [d, {v.x}];")).empty());
  CHECK(places(kernel_of(".reg .pred q; match.all.sync.b32 v.x|q, r1, -1;")) == Found{"11:34 syntax"});
  CHECK(places(module_of(".entry k() { .reg .v2 .pred p; }")) == Found{"4:29 syntax"});
}

TEST_CASE("what rare spellings print as assembles to the same machine code", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const std::string line :
       {"ld.shared.b32 r0, sv[2];", "st.shared.b32 sv[2], r0;", "ld.shared.b32 r0, sv[-2];",
        "ld.shared.v2.b32 {r0, r1}, sv[0x10];", "ld.const.b32 r0, cv[WARP_SZ];", "ld.b32 r0, gv[3];",
        "ld.global.f32 f, vectors[1]; mov.b32 r0, f;", "ld.shared.b32 r0, dynamic[5];",
        "ld.param.b32 r0, a[2];", "ldu.global.b32 r0, gv[7];", "mov.b32 r0, sv[3];", "mov.u32 r0, %tid .x;",
        "mov.u32 r0, %ctaid.g;", "ld.shared.v4.b32 v, [sv]; mov.b32 r0, v .a;",
        "mov.b64 d, 18446744073709551617;", "mov.f32 f, (0f3F800000); mov.b32 r0, f;"}) {
    const std::string theirs = kernel_of(line);
    const ParseResult result = parse(theirs, compiled_specs());
    INFO(line << "\n" << words(result));
    REQUIRE(result.ok());
    const std::string ours = print(result.module);
    INFO(ours);
    CHECK(machine_code(ptxas, theirs) == machine_code(ptxas, ours));
    CHECK(print(parse(ours, compiled_specs()).module) == ours);
  }
}

TEST_CASE("a sign that does not fit is printed as it was read, for the check to refuse") {
  CHECK(first_printed("shl.b64 d, d, !r1;") == "shl.b64 d, d, !r1;");
}

TEST_CASE("DWARF as PTX 1 wrote it is refused by its name") {
  for (const std::string& ptx : {module_of("@@DWARF .section .debug_info\n"),
                                 module_of(".entry k() { @@DWARF .byte 0x2b, 0x00\nret; }\n")}) {
    const ParseResult result = parse(ptx, compiled_specs());
    INFO(words(result));
    REQUIRE_FALSE(result.diagnostics.empty());
    CHECK(result.diagnostics[0].code == "unsupported");
    CHECK(result.diagnostics[0].message.find("@@DWARF") != std::string::npos);
    CHECK(result.diagnostics[0].line == 4);
  }
}

TEST_CASE("comments stay before the functions and variables that they stand before") {
  const std::string text = R"(// of the module

.version 9.0
.target sm_90a
.address_size 64

// declared
.func callee();
// of a variable
//
.global .b32 x;

// of a function
.func callee()
{
    // inside
    ret;
}

// of an entry
.visible .entry k()
{
    ret;
    // at its end
}

.section .debug_str
{
// of data
.b8 0
}

// the end
)";
  const ParseResult result = parse(text, compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  CHECK(print(result.module) == text);
  CHECK(result.module.footer == std::vector<std::string>{"the end"});
}

TEST_CASE("comments of several lines, and those in a function's head, are kept as lines") {
  const ParseResult result = parse("/* Copyright\n * of nobody\n */\n" + module_of(R"(
/* one */
.func f(
  // of a parameter
  .param .b32 a /* not kept */
) { ret; }
/* unclosed
)"),
                                   compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  CHECK(result.module.header == std::vector<std::string>{"Copyright", "of nobody"});
  CHECK(result.module.functions[0].header == std::vector<std::string>{"one", "of a parameter"});
  CHECK(result.module.footer == std::vector<std::string>{"unclosed"});
}
