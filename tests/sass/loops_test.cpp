// SPDX-License-Identifier: Apache-2.0
// Which loops the issue model finds in a kernel.
#include <catch2/catch_test_macros.hpp>

#include "modelled.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;
using test::bound_of, test::model_of;

TEST_CASE("loops are found: inner and outer ones, ways through them, and none at the end of the code") {
  const std::string line = "[----:B------:R-:W-:-:S04] FADD R9, R1, R2\n";
  const std::string code =
      line + ".L_1:\n" + line + ".L_2:\n" + line + line + "[----:B------:R-:W-:-:S05] @P0 BRA `(.L_2)\n" +
      line + "[----:B------:R-:W-:-:S05] @P1 BRA `(.L_3)\n" + line + line + ".L_3:\n" + line +
      "[----:B------:R-:W-:-:S05] @P2 BRA `(.L_1)\n[----:B------:R-:W-:-:S05] EXIT\n.L_4:\n"
      "[----:B------:R-:W-:-:S05] BRA `(.L_4)\n";
  const FunctionModel model = model_of(code, {.warps = 4});
  REQUIRE(model.loops.size() == 2);
  const LoopModel& outer = model.loops[0];
  const LoopModel& inner = model.loops[1];
  CHECK((outer.first == 0x10 && outer.depth == 1 && !outer.inner));
  CHECK((inner.first == 0x20 && inner.depth == 2 && inner.inner && inner.instructions == 3));
  CHECK(outer.instructions == 10);
  CHECK(outer.other == 0);
  CHECK(model.hottest() == &inner);
  const FunctionModel straight = model_of(line + "[----:B------:R-:W-:-:S05] EXIT\n", {});
  CHECK(straight.loops.empty());
  CHECK(straight.hottest() == nullptr);
  CHECK(model_text(issue_model(test::code_listing(line), 90, {})).find("no loops") != std::string::npos);
}

TEST_CASE("loops that only wait are left out, and do not make the loop around them an outer one") {
  const std::string code =
      ".L_1:\n[----:B------:R-:W-:-:S04] FADD R9, R1, R2\n.L_2:\n"
      "[----:B------:R-:W0:-:S02] SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR4], R3\n"
      "[----:B0-----:R-:W-:-:S05] @!P1 BRA `(.L_2)\n"
      "[----:B------:R-:W-:-:S01] HGMMA.64x64x16.F32 R24, gdesc[UR8], R24, gsb0\n"
      "[----:B------:R-:W-:-:S01] WARPGROUP.DEPBAR.LE gsb0, 0x0\n"
      "[----:B------:R-:W-:-:S05] @P0 BRA `(.L_1)\n[----:B------:R-:W-:-:S05] EXIT\n";
  const FunctionModel model = model_of(code, {.warps = 9, .block_warps = 9});
  REQUIRE(model.loops.size() == 1);
  CHECK(model.waiting == 1);
  CHECK((model.loops[0].inner && model.loops[0].depth == 1 && model.loops[0].instructions == 6));
  // The ninth warp is in no warpgroup, so it does not execute wgmma.
  CHECK(model.loops[0].warps == 8);
  CHECK(bound_of(model.loops[0], "tensor") == 64);
}
