// SPDX-License-Identifier: Apache-2.0
#include "sass/listing/listing.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>
#include <regex>

#include "assembled.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;
using Catch::Matchers::ContainsSubstring;

TEST_CASE("the text of nvdisasm is read by section and offset") {
  const auto sections = parse_disassembly(
      "\t.target\tsm_90a\n\n\t.section\t.text.a,b,\"ax\",@progbits\n\t.align\t128\na,b:\n.text.a,b:\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;\n.L_x_1:\n.L_x_2:\n"
      "        /*0010*/               @P0 BRA `(.L_x_1);\n"
      "\t//## File \"k.ptx\", line 3\n        /*zz*/ no ;\n"
      "\t.section\t.text.c,\"ax\",@progbits\n        /*0000*/                   NOP;\n");
  REQUIRE(sections.size() == 2);
  const SectionText& first = sections.at("a,b");
  CHECK(first.instructions.size() == 2);
  CHECK(first.instructions.at(0) == "LDC R1, c[0x0][0x28]");
  CHECK(first.instructions.at(16) == "@P0 BRA `(.L_x_1)");
  CHECK(first.labels.at(16) == ".L_x_2");
  CHECK(sections.at("c").instructions.at(0) == "NOP");
  CHECK(parse_disassembly("nothing\n/*0000*/ of ; the kind").empty());
}

TEST_CASE("listings are the same instructions as text, JSON and HTML, and escape what HTML would read",
          "[oracle]") {
  test::targets_or_skip();
  const test::Assembled built = test::assemble(test::kKernels, "sm_80", "-lineinfo");
  const CubinView view(built.bytes(), "<k>.cubin");
  Disassembly disassembly{.version = "1.2", .sections = {}, .problem = {}};
  disassembly.sections["shares"].instructions[0] = "FIRST <R1> & \"R2\"";
  disassembly.sections["shares"].labels[0] = ".L_x_<9>";
  const Listing listing =
      list({.cubin = view, .name = "<k>.cubin", .ptx = built.ptx, .disassembly = &disassembly});
  CHECK(listing.nvdisasm == "1.2");
  const std::string text = listing_text(listing), html = listing_html(listing);
  CHECK_THAT(text, ContainsSubstring("] FIRST <R1> & \"R2\"\n") && ContainsSubstring(".L_x_<9>:\n"));
  CHECK_THAT(html, ContainsSubstring("FIRST &lt;R1&gt; &amp; &quot;R2&quot;") &&
                       ContainsSubstring(".L_x_&lt;9&gt;:") &&
                       ContainsSubstring("<title>&lt;k&gt;.cubin for"));
  const auto json = nlohmann::json::parse(listing_json(listing));
  std::size_t instructions = 0;
  for (const auto& function : json["functions"]) {
    instructions += function["instructions"].size();
    for (const auto& one : function["instructions"])
      CHECK_THAT(text,
                 ContainsSubstring(one["control"].get<std::string>() + " " + one["text"].get<std::string>()));
  }
  static const std::regex kInstruction(R"([0-9a-f]{4} \[.{4}:B.{6}:R.:W.:.:S\d\d\] )");
  const auto listed = std::distance(std::sregex_iterator(text.begin(), text.end(), kInstruction), {});
  CHECK(instructions == static_cast<std::size_t>(listed));
  // The instructions that pad a section are left out.
  CHECK_FALSE(json["functions"][0]["instructions"].back()["opcode"] == "NOP");
  for (const auto& function : json["functions"])
    CHECK(function["instructions"][0]["source"].is_null() == (function["name"] != "calls"));
}
