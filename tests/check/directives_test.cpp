// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <memory>
#include <string>
#include <vector>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

// Directives and pragmas: the targets and PTX versions that have them, and what they name.
namespace ptxloom::directives_test {
namespace {

struct Case {
  std::string version, target, text, code;  // code: of the first error; "" if it is legal
};

// A section with a label, which .loc names.
const std::string kLabelled = ".section .debug_str\n{\n$n:\n.b8 0\n}\n";
const std::string kInlined =
    ".file 1 \"a\"\n.entry k() { .loc 1 2 3\n.loc 1 2 3, function_name $n, inlined_at 1 2 3\nret; }\n";
const std::string kInlinedOnly =
    ".file 1 \"a\"\n.entry k() { .loc 1 5 3, function_name $n, inlined_at 1 2 3\nret; }\n" + kLabelled;
const std::string kMasks =
    ".global .b32 y; .global .u8 x[8] = {0xff(y), 0xff00(y), 0xff0000(y), 0xff000000(y), 0xff00000000(y), "
    "0xff0000000000(y), 0xff000000000000(y), 0xff00000000000000(y)};";

// Those of PTX 9.2 and later were tried with ptxas 13.5.
const std::vector<Case> kCases{
    {"6.3", "sm_75", ".func f() .noreturn { trap; }", "version-too-low"},
    {"6.4", "sm_75", ".func f() .noreturn { trap; }", ""},
    {"6.3", "sm_75", ".entry k() { p: .callprototype _ () .noreturn; ret; }", "version-too-low"},
    {"8.8", "sm_90", ".func f() .abi_preserve 3 { ret; }", "version-too-low"},
    {"9.0", "sm_90", ".func f() .abi_preserve 3 { ret; }", ""},
    {"9.0", "sm_75", ".func f() .abi_preserve_control 3 { ret; }", "not-on-target"},
    {"7.8", "sm_90", ".entry k() .explicitcluster { ret; }", ""},
    {"9.0", "sm_80", ".entry k() .explicitcluster { ret; }", "not-on-target"},
    {"9.0", "sm_89", ".entry k() .maxclusterrank 2 { ret; }", "not-on-target"},
    {"9.0", "sm_75", ".entry k() .reqnctapercluster 2 { ret; }", "not-on-target"},
    {"8.8", "sm_90", ".entry k() .reqntid 32 .reqnctapercluster 2 .blocksareclusters { ret; }",
     "version-too-low"},
    {"9.0", "sm_75", ".global .attribute(.unified(1, 2)) .b32 x;", "not-on-target"},
    {"8.2", "sm_75", ".entry k() { .pragma \"used_bytes_mask 0xf\"; ret; }", "version-too-low"},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask 0xf\"; ret; }", ""},
    {"9.0", "sm_75", ".entry k() .pragma \"frequency 4\"; { ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() .pragma \"nounroll\"; { .pragma \"nounroll\", \"frequency 4\"; ret; }", ""},
    {"9.0", "sm_75", ".pragma \"unheard_of\";", "bad-pragma"},
    {"9.0", "sm_75", ".pragma \"nounroll\";", ""},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask\"; ret; }", "bad-pragma"},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask 0\", \"used_bytes_mask  -017\"; ret; }", ""},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask 08\"; ret; }", "bad-pragma"},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask 0x\"; ret; }", "bad-pragma"},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask 1 2\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"frequency 0\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"frequency -1\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"frequency\t0\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"frequency\v0\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"frequency\t\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"frequency\t\f4\", \"used_bytes_mask \t8\"; ret; }", ""},
    {"8.2", "sm_75", ".entry k() { .pragma \"used_bytes_mask\t8\"; ret; }", "version-too-low"},
    {"8.3", "sm_75", ".entry k() { .pragma \"used_bytes_mask\t08\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"nounroll\", \"frequency 0x10\"; ret; }", ""},
    {"9.0", "sm_75", ".entry k() { .pragma \"nounroll\", \"frequency often\"; ret; }", "bad-pragma"},
    {"9.0", "sm_75", ".entry k() { .pragma \"mma_throughput\"; ret; }", ""},
    {"9.3", "sm_75", ".entry k() { .pragma \"mma_throughput\"; ret; }", ""},
    {"9.3", "sm_75", ".pragma \"mma_throughput\";", "bad-pragma"},
    {"9.1", "sm_75", ".entry k() .language 5 { ret; }", "version-too-low"},
    {"9.2", "sm_75", ".entry k() .language 5, \"Cuda C++ Tile\" { ret; }", ""},
    {"9.2", "sm_75", ".func f() .noreturn .language \"PTX\" { trap; }", ""},
    {"9.2", "sm_75", ".entry k() .language 11 { ret; }", "bad-language"},
    {"9.2", "sm_75", ".entry k() .language \"C\" { ret; }", "bad-language"},
    {"9.2", "sm_75", ".entry k() .language 1 .language 2 .maxntid 8 { ret; }", ""},
    {"9.2", "sm_75", ".func f() .language 1 .language 2 { ret; }", "syntax"},
    {"9.2", "sm_75", ".extern .func f() .language 1;", "syntax"},
    {"9.0", "sm_75", ".extern .entry k() .maxntid 8;", "syntax"},
    {"9.3", "sm_80", ".entry k() .minperctamemory 16 { ret; }", "version-too-low"},
    {"9.4", "sm_75", ".entry k() .minperctamemory 16 { ret; }", "not-on-target"},
    {"9.4", "sm_80", ".entry k() .minperctamemory 16 { .reg .b32 r; mov.b32 r, %perctamemorysize; ret; }",
     ""},
    {"9.4", "sm_80", ".entry k() .minperctamemory 0 { .reg .b32 r; mov.b32 r, %perctamemorysize; ret; }",
     "missing-directive"},
    {"9.4", "sm_80", ".entry k() { .reg .b64 r; cvt.u64.u64 r, %perctamemoryoffset; ret; }",
     "missing-directive"},
    {"9.4", "sm_80", ".func f() { .reg .b64 r; mov.b64 r, %perctamemoryoffset; ret; }", ""},
    {"9.3", "sm_75", ".entry k() { .loc_intermediate 1 2 3 ret; }", "version-too-low"},
    {"9.4", "sm_75", ".entry k() { .loc_intermediate 1 2 3 ret; }", ""},
    {"9.4", "sm_75", ".entry k() { .loc_intermediate 1 2 3, function_name f, inlined_at 1 2 3 ret; }",
     "syntax"},
    // features of declarations and of debug information
    {"8.2", "sm_75", ".global .b128 q;", "version-too-low"},
    {"8.3", "sm_75", ".global .b128 q;", ""},
    {"8.2", "sm_75", ".entry k() { .shared .b128 q; ret; }", "version-too-low"},
    {"8.2", "sm_75", ".entry k() { .reg .b128 q; ret; }", "version-too-low"},
    {"8.3", "sm_75", ".entry k() { .reg .b128 q; ret; }", ""},
    {"8.2", "sm_75", ".entry k(.param .b128 q) { ret; }", "version-too-low"},
    {"8.3", "sm_75", ".entry k(.param .b128 q) { ret; }", ""},
    {"8.2", "sm_75", ".entry k() { p: .callprototype _ (.param .b128 _); ret; }", ""},
    {"8.0", "sm_90", ".entry k(.param .b8 p[4353]) { ret; }", "version-too-low"},
    {"8.1", "sm_90", ".entry k(.param .b8 p[4353]) { ret; }", ""},
    {"8.1", "sm_90", ".entry k(.param .b8 p[32765]) { ret; }", "too-much-data"},
    {"8.0", "sm_90", ".func f(.param .b8 p[4353]) { ret; }", ""},
    {"7.0", "sm_75", kMasks, "version-too-low"},
    {"7.1", "sm_75", kMasks, ""},
    {"6.5", "sm_75", kInlined + kLabelled, "version-too-low"},
    {"7.0", "sm_75", kInlined + kLabelled, ""},
    {"6.5", "sm_75", kLabelled, "version-too-low"},
    {"7.0", "sm_75", kLabelled, ""},
    {"6.5", "sm_75", ".section .debug_x\n{\n.b8 1\n.b32 .debug_x+4\n}\n", ""},
    {"7.4", "sm_75", ".section .debug_x\n{\na:\n.b8 1\nb:\n.b32 b-a\n}\n", "version-too-low"},
    {"7.5", "sm_75", ".section .debug_x\n{\na:\n.b8 1\nb:\n.b32 b-a\n}\n", ""},
    {"9.0", "sm_75", ".section .debug_x\n{\na:\n.b32 a-4\n}\n", "syntax"},
    {"7.4", "sm_75", ".section .debug_x\n{\n.b32 -4\n}\n", "version-too-low"},
    {"7.5", "sm_75", ".section .debug_x\n{\n.b32 -4\n}\n", ""},
    {"9.0", "sm_75, debug", ".entry k() { ret; }", "debug-information"},
    {"9.0", "sm_75, debug", ".file 1 \"a\"\n.entry k() { .loc 1 2 3\nret; }", "debug-information"},
    {"9.0", "sm_75, debug", ".section .debug_x { }", ""},
    {"9.0", "sm_75",
     ".entry k() { .loc 1 2 3, function_name $n, inlined_at 1 2 3\n.loc 1 2 3\nret; }" + kLabelled,
     "debug-information"},
    {"9.0", "sm_75", ".func f() { .loc 1 2 3\nret; }" + kInlinedOnly, ""},
    // variables
    {"8.2", "sm_75", ".global .b128 q[2];", ""},
    {"8.2", "sm_75", ".entry k(.param .b128 q[2]) { ret; }", ""},
    {"9.0", "sm_75", ".func f(.param .b8 q[0]) { ret; }", ""},
    {"9.0", "sm_75", ".extern .shared .b32 x[0];", ""},
    {"9.0", "sm_75", ".global .b32 x[0] = {1, 2};", ""},
    {"9.0", "sm_75", ".global .b32 x[0];", "bad-size"},
    {"9.0", "sm_75", ".global .b32 x[2][0];", "bad-size"},
    {"9.0", "sm_75", ".global .v4 .b32 x = {1, 2, 3, 4};", ""},
    {"9.0", "sm_75", ".global .v4 .b32 x = {1, 2, 3};", "bad-size"},
    {"9.0", "sm_75", ".global .v2 .b32 x = {};", "syntax"},
    {"9.0", "sm_75", ".global .v2 .b32 x[3] = {{1, 2}};", ""},
    {"9.0", "sm_75", ".global .v2 .b32 x[3] = {{1}, {2, 3}};", "bad-size"},
    {"9.0", "sm_75", ".common .shared .b32 x;", "syntax"},
    {"9.0", "sm_75", ".common .const .b32 x;", "syntax"},
    {"9.0", "sm_75", ".common .global .b32 x;", ""},
    {"9.0", "sm_90", ".shared .attribute(.unified(1, 2)) .b32 x;", "syntax"},
    {"9.0", "sm_75", ".shared .texref x;", "syntax"},
    {"9.0", "sm_75", ".const .surfref x;", "syntax"},
    {"9.0", "sm_75", ".entry k() { .local .samplerref x; ret; }", "syntax"},
    {"9.0", "sm_75", ".entry k() { .global .texref x; ret; }", "type-without-storage"},
    {"9.0", "sm_75", ".global .samplerref x;", "target-option"},
    {"9.0", "sm_75, texmode_unified", ".entry k(.param .samplerref x) { ret; }", "target-option"},
    {"9.0", "sm_75, texmode_independent", ".global .samplerref x; .entry k(.param .samplerref y) { ret; }",
     ""},
    {"9.0", "sm_75",
     ".global .align 8 .v2 .b32 x<3>, y; .entry k() { .reg .b32 r; ld.global.b32 r, [x2+4]; ret; }", ""},
    {"9.0", "sm_75",
     ".entry k() { .local .f64 x<2>; .reg .f64 d; { .local .f64 x<1>; ld.local.f64 d, [x0]; } "
     "st.local.f64 [x1], d; ret; }",
     ""},
    {"9.0", "sm_75", ".entry k() { .shared .b32 x<2>; .reg .b32 r; ld.shared.b32 r, [x2]; ret; }",
     "undefined-name"},
    {"9.0", "sm_75", ".entry k() { .shared .b32 x<2>, x1; ret; }", "duplicate-name"},
    {"9.0", "sm_75", ".shared .b32 x<0>;", ""},
    {"9.0", "sm_75", ".global .b32 x<2> = 1;", "syntax"},
    {"9.0", "sm_75", ".shared .b32 x<2>[4];", "syntax"},
    // names
    {"9.0", "sm_75", ".entry k() { .reg .b32 _; ret; }", "syntax"},
    {"9.0", "sm_75", ".entry k() { .reg .b32 _<2>; ret; }", "syntax"},
    {"9.0", "sm_75", ".global .b32 _;", "syntax"},
    {"9.0", "sm_75", ".entry k() { _: ret; }", "syntax"},
    {"9.0", "sm_75", ".func f(.param .b32 _) { ret; }", "syntax"},
    {"9.0", "sm_75", ".func (.reg .b32 _) f() { ret; }", "syntax"},
    {"9.0", "sm_75", ".extern .func (.param .b32 _) f(.param .b32 a, .param .b32 b);", "syntax"},
    {"9.0", "sm_75", ".entry k(.param .b32 _) { ret; }", ""},
    // queries of samplers
    {"9.0", "sm_75", ".global .texref x; .entry k() { .reg .b32 r; txq.addr_mode_0.b32 r, [x]; ret; }", ""},
    {"9.0", "sm_75, texmode_independent",
     ".global .texref x; .entry k() { .reg .b32 r; txq.addr_mode_0.b32 r, [x]; ret; }", "operand-type"},
    {"9.0", "sm_75, texmode_independent",
     ".global .samplerref x; .entry k() { .reg .b32 r; txq.filter_mode.b32 r, [x]; ret; }", ""},
    {"9.0", "sm_75, texmode_independent",
     ".entry k() { .reg .b64 d; .reg .b32 r; txq.filter_mode.b32 r, [d]; txq.width.b32 r, [d]; ret; }", ""},
    {"9.0", "sm_75", ".entry k() { .reg .b64 d; .reg .b32 r; txq.filter_mode.b32 r, [d]; ret; }", ""},
    {"9.0", "sm_75",
     ".global .texref x; .entry k() { .reg .b32 r; txq.force_unnormalized_coords.b32 r, [x]; ret; }",
     "operand-type"},
    {"9.0", "sm_75", ".entry k() { .shared .b8 x[8]; .reg .b64 d; cvta.to.shared.u64 d, x+4; ret; }", ""},
    // functions as operands
    {"9.0", "sm_75", ".func f() { .reg .b64 d; mov.b64 d, f; ret; }", ""},
    {"9.0", "sm_75", ".func f() { .reg .b64 d; mov.b64 d, f+8; ret; }", "operand-kind"},
    {"9.0", "sm_75", ".func f() { .reg .b32 r; add.s32 r, r, f+0; ret; }", "operand-kind"},
    // functions as initial values
    {"9.0", "sm_75", ".func f() { ret; } .global .u64 t[2] = {f, f};", ""},
    {"9.0", "sm_75", ".func f() { ret; } .global .u8 t = 0xFF(f);", ""},
    {"9.0", "sm_75", ".func f() { ret; } .global .u64 t = f+8;", "operand-kind"},
    {"9.0", "sm_75", ".func f() { ret; } .const .u64 t[2] = {f, f+0};", "operand-kind"},
    {"9.0", "sm_75", ".func f() { ret; } .global .u8 t = 0xFF(f+8);", "operand-kind"},
    {"9.0", "sm_75", ".func f() { ret; } .global .u64 t = generic(f);", "operand-kind"},
    {"9.0", "sm_75", ".func f() { ret; } .global .u64 t = generic(f)+8;", "operand-kind"},
    {"9.0", "sm_75", ".entry k() { ret; } .global .u64 t = k+8;", "operand-kind"},
    // functions without a body
    {"9.0", "sm_75", ".func f();", "undefined-function"},
    {"9.0", "sm_75", ".visible .entry k();", "undefined-function"},
    {"9.0", "sm_75", ".weak .func f(); .entry k() { call f; ret; }", "undefined-function"},
    {"9.0", "sm_75", ".extern .func f();", ""},
    {"9.0", "sm_75", ".func f(); .func f() { ret; }", ""},
    {"9.0", "sm_75", ".func f(); .func g() { ret; } .alias f, g;", ""},
    {"9.0", "sm_75", ".common .func f() { ret; }", "syntax"},
    {"9.0", "sm_75", ".common .entry k() { ret; }", "syntax"},
};

std::shared_ptr<const Specs> shared_specs() {
  static const auto specs = std::make_shared<const Specs>();
  return specs;
}

std::string module_of(const Case& one) {
  return ".version " + one.version + "\n.target " + one.target + "\n.address_size 64\n" + one.text + "\n";
}

std::string first_code(const std::string& text) {
  ParseResult read = parse(text, shared_specs());
  std::vector<Diagnostic> found = read.diagnostics;
  if (read.ok()) found = check(read.module);
  for (const Diagnostic& each : found)
    if (each.severity == Severity::error) return each.code;
  return {};
}

}  // namespace

TEST_CASE("directives and pragmas are judged, each with its code") {
  for (const Case& one : kCases) {
    CAPTURE(one.version, one.target, one.text);
    CHECK(first_code(module_of(one)) == one.code);
  }
}

TEST_CASE("directives and pragmas are judged as ptxas does", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const Case& one : kCases) {
    if (parse_version(one.version) > Version{9, 0}) continue;  // the installed one reads no later version
    const CommandResult result = ptxas.assemble(module_of(one), one.target.substr(0, one.target.find(',')));
    CAPTURE(one.version, one.target, one.text, result.output);
    CHECK((result.status == 0) == one.code.empty());
  }
}

TEST_CASE("new directives are printed as they were read, and the module needs their version") {
  const std::string text =
      module_of({"9.4", "sm_90a",
                 ".visible .entry k()\n.minperctamemory 16\n.language 5, \"tile IR\"\n{\n"
                 "  .pragma \"mma_throughput 1\";\n  .loc_intermediate 1 2 3\n  ret;\n}",
                 ""});
  const ParseResult read = parse(text, shared_specs());
  REQUIRE(read.ok());
  const std::string printed = print(read.module);
  for (const char* line :
       {".minperctamemory 16\n", ".language 5, \"tile IR\"\n", ".loc_intermediate 1 2 3\n"})
    CHECK(printed.find(line) != std::string::npos);
  CHECK(print(parse(printed, shared_specs()).module) == printed);
  CHECK(requirement_of(read.module).ptx == Version{9, 4});
}

TEST_CASE("a module needs the lowest version in which the check takes it") {
  std::size_t tried = 0;
  for (const Case& one : kCases) {
    // ptxas 13.0 to 13.2 did not read this pragma, so what they take says nothing about it.
    if (!one.code.empty() || one.text.find("mma_throughput") != std::string::npos) continue;
    CAPTURE(one.version, one.target, one.text);
    const Requirement needs = requirement_of(parse(module_of(one), shared_specs()).module);
    Case other = one;
    for (const Version version : ptx_versions()) {
      other.version = to_string(version);
      if (!first_code(module_of(other)).empty()) continue;
      CHECK(other.version == to_string(needs.ptx));
      ++tried;
      break;
    }
  }
  CHECK(tried > 20);
}

TEST_CASE("pragmas and attributes count among what a module needs") {
  const auto needs = [](const std::string& text) {
    return to_string(
        requirement_of(parse(module_of({"9.5", "sm_90a", text, ""}), shared_specs()).module).ptx);
  };
  CHECK(needs(".entry k() { ret; }") == "8.0");
  CHECK(needs(".entry k() { .pragma \"nounroll\"; ret; }") == "8.0");
  CHECK(needs(".entry k() { .pragma \"nounroll\", \"frequency 4\"; ret; }") == "9.0");
  CHECK(needs(".entry k() { .pragma \"used_bytes_mask 0xf\"; ret; }") == "8.3");
  CHECK(needs(".entry k() { .pragma \"mma_throughput 1\"; ret; }") == "9.3");
  CHECK(needs(".entry k() .language 5 { ret; }") == "9.2");
  CHECK(needs(".global .b128 q;") == "8.3");
  // 8.0 is the first version of sm_90a, so older ones do not show there.
  const auto old_needs = [](const std::string& text) {
    return requirement_of(parse(module_of({"9.5", "sm_75", text, ""}), shared_specs()).module).ptx;
  };
  CHECK(old_needs(kMasks) == Version{7, 1});
  CHECK(old_needs(".entry k(.param .b8 p[4353]) { ret; }") == Version{8, 1});
}

}  // namespace ptxloom::directives_test
