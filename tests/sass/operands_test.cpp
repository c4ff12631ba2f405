// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/operands.hpp"

#include <catch2/catch_test_macros.hpp>
#include <set>

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

/// "R2 R3 P0", in ascending order of the numbers within R, UR, P, UP.
std::string names_of(const std::vector<RegisterUse>& uses) {
  std::set<RegisterId> ids;
  for (const RegisterUse& use : uses) ids.insert(use.id);
  std::string names;
  for (const RegisterId id : ids) names += (names.empty() ? "" : " ") + register_name(id);
  return names;
}

}  // namespace

TEST_CASE("the text of an instruction is split at its commas, outside of brackets") {
  const InstructionText text = split_text("@!UP0 LDG.E.128.CONSTANT R4, desc[UR4][R2.64+0x10], !P1 ");
  CHECK(text.guard == "!UP0");
  CHECK(text.opcode == "LDG");
  REQUIRE(text.operands.size() == 3);
  CHECK(text.operands[1] == "desc[UR4][R2.64+0x10]");
  CHECK(text.has("128"));
  CHECK(text.has("E.128"));
  CHECK_FALSE(text.has("12"));
  CHECK_FALSE(text.has("128.E"));
  CHECK(label_in(split_text("BRA.DIV UR4, `(.L_x_7)")) == ".L_x_7");
  CHECK(label_in(split_text("EXIT")).empty());
  CHECK(split_text("BRX R6 -0x200   (*\"BRANCH_TARGETS .L_x_1,.L_x_2\"*)").operands.size() == 1);
}

TEST_CASE("an instruction reads and writes the registers of its operands") {
  struct Case {
    const char *text, *writes, *reads;
    int chip = 90;
  };
  const Case cases[] = {
      {"IADD3 R2, P0, P1, R3, R4, RZ", "R2 P0 P1", "R3 R4"},
      {"IADD3.X R2, R3, R4, RZ, P0, !P1", "R2", "R3 R4 P0 P1"},
      {"@!P3 LOP3.LUT P0, R2, R3, 0xff, R5, 0x96, !PT", "R2 P0", "R3 R5 P3"},
      {"ISETP.GE.AND.EX P0, PT, R2, UR4, PT, P1", "P0", "R2 UR4 P1"},
      {"PLOP3.LUT P0, P2, P1, P3, PT, 0x80, 0x8", "P0 P2", "P1 P3"},
      {"SEL R1, R2, R3, !P4", "R1", "R2 R3 P4"},
      {"IMAD.WIDE.U32 R4, R2, 0x4, R6", "R4 R5", "R2 R6 R7"},
      {"IMAD.HI.U32 R5, R2, R3, R6", "R5", "R2 R3 R6 R7"},
      {"DFMA R2, R4, -R6, c[0x2][0x8]", "R2 R3", "R4 R5 R6 R7"},
      {"DSETP.GT.AND P0, PT, |R2|, R4, PT", "P0", "R2 R3 R4 R5"},
      {"MUFU.RCP64H R3, R5", "R3", "R5"},
      {"FFMA2 R98, -R50.reuse.F32x2.LO_HI.NP, -R75.reuse.F32, R52.F32x2.HI_LO", "R98 R99",
       "R50 R51 R52 R53 R75", 100},
      {"F2F.F64.F32 R2, R4", "R2 R3", "R4"},
      {"F2F.F32.F64 R2, R4", "R2", "R4 R5"},
      {"I2F.F64.S64 R2, R4", "R2 R3", "R4 R5"},
      {"F2I.S64.TRUNC R2, R4", "R2 R3", "R4"},
      {"CS2R R2, SR_CLOCKLO", "R2 R3", ""},
      {"CS2R.32 R2, SR_CLOCKLO", "R2", ""},
      {"LDG.E.128 R4, desc[UR4][R2.64+UR6]", "R4 R5 R6 R7", "R2 R3 UR4 UR5 UR6 UR7"},
      {"LDG.E R4, [R2.64]", "R4", "R2 R3", 80},
      {"LDG.E.64.SYS R4, [R2]", "R4 R5", "R2 R3", 75},
      {"LDG.E R4, [R2.U32+UR4]", "R4", "R2 UR4 UR5", 80},
      {"STG.E.64 desc[UR4][R2.64], R6", "", "R2 R3 R6 R7 UR4 UR5"},
      {"LDS.64 R4, [R2.X4+UR4+0x80]", "R4 R5", "R2 UR4"},
      {"STS.128 [UR4+0x10], R8", "", "R8 R9 R10 R11 UR4"},
      {"LDSM.16.M88.4 R12, [R2+UR4]", "R12 R13 R14 R15", "R2 UR4"},
      {"LDGSTS.E.BYPASS.128 [R2+0x100], desc[UR4][R6.64], P0", "", "R2 R6 R7 UR4 UR5 P0"},
      {"ATOMG.E.CAS.64.STRONG.GPU PT, R6, desc[UR4][R2.64], R8, R10", "R6 R7", "R2 R3 R8 R9 R10 R11 UR4 UR5"},
      {"SHFL.UP P1, R2, R3, R4, R5", "R2 P1", "R3 R4 R5"},
      {"VOTE.ANY R2, P0, P1", "R2 P0", "P1"},
      {"VOTE.ALL P0, P1", "P0", "P1"},
      {"VOTEU.ANY UR4, UPT, P0", "UR4", "P0"},
      {"P2R R2, PR, RZ, 0x5", "R2", "P0 P2"},
      {"R2P PR, R2, 0x6", "P1 P2", "R2"},
      {"HMMA.16816.F32.BF16 R4, R8.reuse, R12, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13"},
      {"HMMA.16816.F16 R4, R8, R12, R16", "R4 R5", "R8 R9 R10 R11 R12 R13 R16 R17"},
      {"HMMA.1688.F32.TF32 R4, R8, R12, RZ", "R4 R5 R6 R7", "R8 R9 R10 R11 R12 R13"},
      {"IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13"},
      {"IMMA.8816.S8.S8 R4, R8.ROW, R12.COL, R4", "R4 R5", "R4 R5 R8 R12", 75},
      // Sparse: A has half of the elements of its shape, B all; a register of each of 32 lanes has 4 bytes.
      {"HMMA.SP.16816.F32 R4, R8, R12, R4, R16, 0x0", "R4 R5 R6 R7", "R4 R5 R6 R7 R8 R9 R12 R13 R16"},
      {"HMMA.SP.16816.F16 R4, R8, R12, R20, R16, 0x0", "R4 R5", "R8 R9 R12 R13 R16 R20 R21"},
      {"HMMA.SP.16832.F32.BF16 R4, R8, R12, R4, R16, 0x0", "R4 R5 R6 R7",
       "R4 R5 R6 R7 R8 R9 R10 R11 R12 R13 R14 R15 R16"},
      {"HMMA.SP.1688.F32.TF32 R4, R8, R12, RZ, R16, 0x0", "R4 R5 R6 R7", "R8 R9 R12 R13 R16"},
      {"HMMA.SP.16816.F32.TF32 R4, R8, R12, RZ, R16, 0x0", "R4 R5 R6 R7",
       "R8 R9 R10 R11 R12 R13 R14 R15 R16"},
      {"IMMA.SP.16832.S8.S8 R4, R8.ROW, R12.COL, RZ, R16, 0x0", "R4 R5 R6 R7", "R8 R9 R12 R13 R16"},
      {"IMMA.SP.16864.U8.S8 R4, R8.ROW, R12.COL, RZ, R16, 0x0", "R4 R5 R6 R7",
       "R8 R9 R10 R11 R12 R13 R14 R15 R16"},
      {"IMMA.SP.16864.S4.U4 R4, R8.ROW, R12.COL, RZ, R16, 0x0", "R4 R5 R6 R7", "R8 R9 R12 R13 R16"},
      {"IMMA.SP.16864.U4.U4 R4, R8.ROW, R12.COL, RZ, R16, 0x0", "R4 R5 R6 R7", "R8 R9 R12 R13 R16"},
      {"IMMA.SP.168128.S4.S4 R4, R8.ROW, R12.COL, RZ, R16, 0x0", "R4 R5 R6 R7",
       "R8 R9 R10 R11 R12 R13 R14 R15 R16"},
      {"DMMA.8x8x4 R4, R8, R10, R12", "R4 R5 R6 R7", "R8 R9 R10 R11 R12 R13 R14 R15"},
      {"UIMAD.WIDE.U32 UR4, UR6, 0x2, URZ", "UR4 UR5", "UR6"},
      {"UISETP.NE.AND UP0, UPT, UR4, URZ, UP1", "UP0", "UR4 UP1"},
      {"R2UR UR4, R2", "UR4", "R2"},
      {"SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4+0x40], R2", "P0", "R2 UR4"},
      {"UTMALDG.3D [UR8], [UR4]", "", "UR4 UR5 UR8 UR9 UR10 UR11 UR12"},
      {"BRA P0, `(.L_x_1)", "", "P0"},
      {"RET.REL.NODEC R20 `(k)", "", "R20 R21"},
      {"BMOV.32.CLEAR R16, B6", "R16", ""},
      {"TEX.LL R10, R8, R12, R45, UR4, 0x0, 2D", "R8 R10", "R12 R45 UR4"},
      {"TEX.LL RZ, R20, R22, R45, UR4, 0x0, 2D, 0x3", "R20", "R22 R45 UR4"},
      {"TLD4.SCR.G P1, R30, R28, R29, R28, 0x0, 0x58, 2D", "R28 R30 P1", "R28 R29", 80},
      {"SULD.D.BA.2D.128.STRONG.SM.TRAP R4, [R2], UR8, 0x0", "R4 R5 R6 R7", "R2 UR8"},
      {"SUST.D.BA.2D.64.STRONG.SM.TRAP [R2], R32, UR8, 0x0", "", "R2 R32 R33 UR8"},
      {"QSPC.E.S P0, RZ, [R2]", "P0", "R2"},
      {"VABSDIFF4.U8.ACC R0, R4, R5, R6", "R0", "R4 R5 R6"},
      {"BMMA.168256.AND.POPC R20, R8.ROW, R2.COL, R20", "R20 R21 R22 R23",
       "R2 R3 R8 R9 R10 R11 R20 R21 R22 R23"},
      {"BMMA.88128.XOR.POPC R4, R8.ROW, R2.COL, R4", "R4 R5", "R2 R4 R5 R8", 75},
  };
  const OperandTable table;
  for (const Case& one : cases) {
    CAPTURE(one.text);
    const InstructionText text = split_text(one.text);
    const Uses uses = table.uses_of(text, one.chip);
    CHECK_FALSE(uses.type.empty());
    CHECK(names_of(uses.writes) == one.writes);
    CHECK(names_of(uses.reads) == one.reads);
  }
}

TEST_CASE("an opcode that the data does not have is said to be unknown, and its guard is read") {
  const OperandTable table;
  const InstructionText text = split_text("@P2 FUTURE R2, R3");
  const Uses uses = table.uses_of(text, 90);
  CHECK(uses.type.empty());
  CHECK(uses.writes.empty());
  CHECK(names_of(uses.reads) == "P2");
}
