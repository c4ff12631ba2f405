// SPDX-License-Identifier: Apache-2.0
// `ptxloom list` and `ptxloom show`: opcodes once, undocumented ones marked; forms and types.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <set>
#include <sstream>

#include "cli/tool.hpp"
#include "ptxloom/specs.hpp"

namespace ptxloom::test::show_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using nlohmann::json;

std::vector<std::string> lines_of(const std::vector<std::string>& arguments) {
  const ToolResult result = run_tool(arguments);
  CAPTURE(result.err);
  REQUIRE(result.code == 0);
  std::vector<std::string> lines;
  std::istringstream in(result.out);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string first_word(const std::string& line) { return line.substr(0, line.find(' ')); }

}  // namespace

TEST_CASE("list --variants names each opcode once, and marks those that the manual does not promise") {
  const Specs specs;
  const Target target("sm_80");
  const std::vector<std::string> all = lines_of({"list", "--variants", "--target", "sm_80"});
  std::set<std::string> seen, marked;
  for (const std::string& line : all) {
    CHECK(seen.insert(first_word(line)).second);
    if (line.ends_with("  undocumented")) marked.insert(first_word(line));
  }
  std::set<std::string> opcodes, documented;
  for (const std::string_view form : specs.forms()) {
    for (const Variant& variant : specs.variants(form)) {
      if (!variant.since(target)) continue;
      opcodes.emplace(variant.opcode());
      if (!variant.undocumented()) documented.emplace(variant.opcode());
    }
  }
  CHECK(seen == opcodes);
  std::set<std::string> undocumented;
  std::ranges::set_difference(opcodes, documented, std::inserter(undocumented, undocumented.end()));
  CHECK(marked == undocumented);
  CHECK(!marked.empty());
}

TEST_CASE("show names the targets that get an instruction by a fallback") {
  const std::string opcode = "cvt.rn.satfinite.e4m3x2.f32";
  const ToolResult result = run_tool({"show", opcode});
  CHECK_THAT(result.out, ContainsSubstring(
                             "targets, emulated by ptxloom/lower.hpp\n    sm_75 sm_80 sm_86 sm_87 sm_88\n"));
  const json shown = json::parse(run_tool({"show", opcode, "--json"}).out).at("variants").at(0);
  CHECK(shown.at("emulated") == json({"sm_75", "sm_80", "sm_86", "sm_87", "sm_88"}));
  CHECK_THAT(run_tool({"show", "add.u32"}).out, !ContainsSubstring("emulated"));
  for (const char* const turing : {"mma.sync.aligned.m16n8k64.row.col.satfinite.s32.s4.u4.s32",
                                   "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.and.popc"})
    CHECK(json::parse(run_tool({"show", turing, "--json"}).out).at("variants").at(0).at("emulated") ==
          json({"sm_75"}));
  const std::string load = "ldmatrix.sync.aligned.m8n16.x1.shared.b8x16.b4x16_p64";
  CHECK(json::parse(run_tool({"show", load, "--json"}).out).at("variants").at(0).at("emulated").size() == 14);
  const json smallest = json::parse(run_tool({"show", "min.f32", "--json"}).out).at("variants");
  REQUIRE(smallest.size() == 2);  // with two operands, and with three
  CHECK(smallest[0].at("emulated").empty());
  CHECK(smallest[1].at("emulated").at(0) == "sm_75");
}

TEST_CASE("list: no line stands twice, of all targets too") {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"list", "--variants"}, {"list"}, {"list", "mov", "--variants"}}) {
    std::vector<std::string> lines = lines_of(arguments);
    std::ranges::sort(lines);
    CHECK(std::ranges::adjacent_find(lines) == lines.end());
    CHECK(lines.size() > 10);
  }
}

TEST_CASE("list marks forms that are undocumented, wholly or in part") {
  const auto line_of = [](const std::vector<std::string>& lines, const std::string& form) {
    const auto found = std::ranges::find_if(
        lines, [&](const std::string& line) { return line.find(" " + form + " ") != std::string::npos; });
    return found == lines.end() ? std::string() : *found;
  };
  const std::vector<std::string> old = lines_of({"list", "--target", "sm_90"});
  CHECK_THAT(line_of(old, "st.async.global"), ContainsSubstring("  undocumented: "));
  const std::vector<std::string> all = lines_of({"list"});
  CHECK_THAT(line_of(all, "st.async.global"), ContainsSubstring("  partly undocumented: "));
  CHECK(line_of(all, "bfe").find("undocumented") == std::string::npos);

  // The JSON, against the variants themselves.
  const Specs specs;
  const Target target("sm_90");
  const json listed = run_json({"list", "--target", "sm_90", "--variants", "--json"}, "list");
  for (const json& form : listed["forms"]) {
    CAPTURE(form["form"]);
    std::set<std::string> opcodes, documented;
    bool lax = false;
    for (const Variant& variant : specs.variants(form["form"].get<std::string>())) {
      if (!variant.since(target)) continue;
      opcodes.emplace(variant.opcode());
      variant.undocumented() ? void(lax = true) : void(documented.emplace(variant.opcode()));
    }
    CHECK(form["undocumented"] == documented.empty());
    CHECK(form["undocumented_in_part"] == (lax && !documented.empty()));
    CHECK(form["count"] == opcodes.size());
    CHECK(form["variants"].get<std::set<std::string>>() == opcodes);
    CHECK(form["variants"].size() == opcodes.size());
    CHECK(form["undocumented_variants"].size() == opcodes.size() - documented.size());
  }
}

TEST_CASE("show takes the name of a form") {
  const ToolResult mma = run_tool({"show", "mma.sp"});
  CAPTURE(mma.err);
  REQUIRE(mma.code == 0);
  CHECK_THAT(mma.out, ContainsSubstring("form mma.sp of mma.sp"));
  CHECK_THAT(mma.out, ContainsSubstring("undocumented: ptxas accepts them"));
  const json shown = run_json({"show", "ldmatrix", "--json"}, "show");
  CHECK(shown["variants"].empty());
  const json& form = shown["form"];
  CHECK(form["form"] == "ldmatrix");
  CHECK(form["operands"][0]["name"] == "D");
  CHECK(form["operands"][0]["direction"] == "out");
  CHECK(form["operands"][0]["choices"].size() >= 3);
  CHECK(form["modifiers"]["shape"] == json{"m8n8", "m8n16", "m16n16"});
  CHECK(form["targets"][0] == json{{"target", "sm_75"}, {"since", "6.5"}, {"cuda", "10.2"}, {"driver", 440}});
  // What ptxloom list calls a form, show takes, all of them.
  const json conversions = run_json({"list", "cvt", "--json"}, "list");
  for (const json& one : conversions["forms"])
    CHECK(run_tool({"show", one["form"].get<std::string>()}).code == 0);
  const ToolResult elsewhere = run_tool({"show", "wgmma.mma_async", "--target", "sm_80"});
  CHECK(elsewhere.code == 1);
  CHECK_THAT(elsewhere.err, ContainsSubstring("[not-on-target]"));
}

TEST_CASE("an opcode that the target lacks but the library emulates is refused with both") {
  const char* const opcode = "cvt.rn.satfinite.e4m3x2.f32";
  const ToolResult emulated = run_tool({"show", opcode, "--target", "sm_80"});
  CHECK(emulated.code == 1);
  CHECK_THAT(emulated.err,
             ContainsSubstring("needs sm_89") && ContainsSubstring("on sm_80 ptxloom/lower.hpp emulates it"));
  const ToolResult absent = run_tool({"show", "tcgen05.alloc", "--target", "sm_80"});
  CHECK_THAT(absent.err, !ContainsSubstring("emulates"));
}

TEST_CASE("an opcode with ... that the target lacks is refused with what has it") {
  const std::string wanted = "mma...e4m3.e4m3.f32";
  CHECK(run_tool({"show", wanted, "--target", "sm_89"}).err.find("[not-on-target]") == std::string::npos);
  const ToolResult shown = run_tool({"show", wanted, "--target", "sm_80"});
  CHECK(shown.code == 1);
  CHECK(shown.out.empty());
  CHECK_THAT(shown.err, ContainsSubstring("mma...e4m3.e4m3.f32 is not on sm_80 [not-on-target]"));
  CHECK_THAT(shown.err,
             ContainsSubstring("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 needs sm_89 (PTX 8.4)"));
  CHECK_THAT(shown.err, !ContainsSubstring("modifier"));
  const ToolResult layout =
      run_tool({"layout", "wgmma...m64n8k16.f32.bf16.bf16", "--operand", "D", "--target", "sm_80"});
  CHECK(layout.code == 1);
  CHECK_THAT(layout.err, ContainsSubstring("needs sm_90a (PTX 8.0)"));
  // In full, the answer is the same.
  const ToolResult full =
      run_tool({"show", "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16", "--target", "sm_80"});
  CHECK(full.code == 1);
  CHECK_THAT(full.err, ContainsSubstring("is not on sm_80 [not-on-target]"));
}

TEST_CASE("show still takes opcodes, in full and by a part that only one begins with") {
  CHECK_THAT(run_tool({"show", "bfe.u32"}).out, ContainsSubstring("bfe.u32 D, A, B, C"));
  CHECK(run_json({"show", "bfind.shiftamt.u32", "--json"}, "show")["variants"].size() == 1);
  CHECK(run_tool({"show", "mma.sync"}).code == 2);
  CHECK(run_tool({"show", "bf17"}).code == 2);
}

TEST_CASE("show takes element types") {
  struct Fact {
    const char* type;
    int exponent, mantissa, bias;
    bool infinity, nan, zero;
    double largest, smallest_normal, smallest;
    const char* storage;
  };
  // IEEE 754; the OCP's Microscaling Formats 1.0 and 8-bit Floating Point 1.0.
  const std::vector<Fact> facts = {
      {"f16", 5, 10, 15, true, true, true, 65504, std::ldexp(1, -14), std::ldexp(1, -24), ".b16"},
      {"bf16", 8, 7, 127, true, true, true, 0x1.fep127, std::ldexp(1, -126), std::ldexp(1, -133), ".b16"},
      {"tf32", 8, 10, 127, true, true, true, 0x1.ffcp127, std::ldexp(1, -126), std::ldexp(1, -136), ".b32"},
      {"f32", 8, 23, 127, true, true, true, 0x1.fffffep127, std::ldexp(1, -126), std::ldexp(1, -149), ".f32"},
      {"e4m3", 4, 3, 7, false, true, true, 448, std::ldexp(1, -6), std::ldexp(1, -9), ".b8"},
      {"e5m2", 5, 2, 15, true, true, true, 57344, std::ldexp(1, -14), std::ldexp(1, -16), ".b8"},
      {"e3m2", 3, 2, 3, false, false, true, 28, 0.25, 0.0625, ".b8"},
      {"e2m3", 2, 3, 1, false, false, true, 7.5, 1, 0.125, ".b8"},
      {"e2m1", 2, 1, 1, false, false, true, 6, 1, 0.5, ".b8"},
      {"ue8m0", 8, 0, 127, false, true, false, 0x1p127, std::ldexp(1, -127), std::ldexp(1, -127), ".b8"},
      {"e5m2x2", 5, 2, 15, true, true, true, 57344, std::ldexp(1, -14), std::ldexp(1, -16), ".b16"},
  };
  for (const Fact& fact : facts) {
    CAPTURE(fact.type);
    const json type = run_json({"show", fact.type, "--json"}, "show")["type"];
    const json& format = type["float"];
    CHECK(format["exponent_bits"] == fact.exponent);
    CHECK(format["mantissa_bits"] == fact.mantissa);
    CHECK(format["bias"] == fact.bias);
    CHECK(format["infinity"] == fact.infinity);
    CHECK(format["nan"] == fact.nan);
    CHECK(format["zero"] == fact.zero);
    CHECK(format["largest"] == fact.largest);
    CHECK(format["smallest_normal"] == fact.smallest_normal);
    CHECK(format["smallest"] == fact.smallest);
    CHECK(type["storage"] == fact.storage);
    CHECK(!type["forms"].empty());
  }
  const json s8 = run_json({"show", "s8", "--json"}, "show")["type"];
  CHECK(s8["integer"] == json{{"least", "-128"}, {"most", "127"}});
  CHECK(run_json({"show", "u64", "--json"}, "show")["type"]["integer"]["most"] == "18446744073709551615");
  const ToolResult text = run_tool({"show", "bf16"});
  CHECK_THAT(text.out, ContainsSubstring("bf16: 16 bits, floating point"));
  CHECK_THAT(text.out, ContainsSubstring("1 sign bit, 8 exponent bits (bias 127), 7 mantissa bits"));
  CHECK_THAT(text.out, ContainsSubstring("infinity and NaN"));
  CHECK_THAT(text.out, ContainsSubstring("bf16x2"));
}

TEST_CASE("show TYPE names the forms that take it, on a target those that are there") {
  const auto forms = [](const std::vector<std::string>& more) {
    std::vector<std::string> words = {"show", "e4m3", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    return run_json(words, "show")["type"]["forms"].get<std::set<std::string>>();
  };
  CHECK(forms({}).contains("mma"));
  CHECK(forms({}).contains("wgmma.mma_async"));
  CHECK(forms({"--target", "sm_89"}).contains("mma"));
  CHECK(!forms({"--target", "sm_89"}).contains("wgmma.mma_async"));
  CHECK(!forms({"--target", "sm_80"}).contains("mma"));
  CHECK(!forms({}).contains("bfe"));
}

TEST_CASE("show takes every type of the specs") {
  for (const std::string type : {"pred", "b1", "b4", "b6", "b128", "s2", "s4", "u2", "u4", "f64", "s16x2",
                                 "f16x2", "f32x2", "ue4m3", "e4m3x2", "e2m1x2", "e2m1x4", "ue8m0x2"}) {
    CAPTURE(type);
    CHECK(run_json({"show", type, "--json"}, "show")["type"]["type"] == type);
    CHECK(run_tool({"show", type}).code == 0);
  }
}

}  // namespace ptxloom::test::show_test
