// SPDX-License-Identifier: Apache-2.0
// The lint on code written by hand, whose faults are known.
#include "sass/lint/lint.hpp"

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <nlohmann/json.hpp>

#include "lint_code.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;
using Catch::Matchers::ContainsSubstring;
using Found = std::vector<std::string>;

TEST_CASE("a result behind a scoreboard must be waited for before it is read") {
  const std::string load = "[----:B------:R-:W2:-:S02] LDG.E R4, desc[UR4][R2.64]\n";
  CHECK(test::lint_code(load + "[----:B--2---:R-:W-:-:S04] IADD3 R5, R4, R6, RZ\n", 90) == Found{});
  CHECK(test::lint_code(load + "[----:B01-345:R-:W-:-:S04] IADD3 R5, R4, R6, RZ\n", 90) ==
        Found{"10 missing-wait R4"});
  // What is between does not matter, and one wait is enough.
  const std::string other = "[----:B------:R-:W-:-:S15] FADD R9, R9, R8\n";
  CHECK(test::lint_code(load + other + "[----:B------:R-:W-:-:S04] IADD3 R5, R4, R6, RZ\n", 90) ==
        Found{"20 missing-wait R4"});
  CHECK(test::lint_code(
            load + "[----:B--2---:R-:W-:-:S04] MOV R7, R8\n[----:B------:R-:W-:-:S04] MOV R5, R4\n", 90) ==
        Found{});
  // The second register of a pair, a predicate, a uniform register.
  CHECK(test::lint_code("[----:B------:R-:W0:-:S02] LDG.E.64 R4, desc[UR4][R2.64]\n"
                        "[----:B------:R-:W-:-:S04] MOV R8, R5\n",
                        90) == Found{"10 missing-wait R5"});
  CHECK(test::lint_code("[----:B------:R-:W0:-:S02] FCHK P1, R2, R3\n[----:B------:R-:W-:-:S05] @P1 EXIT\n",
                        80) == Found{"10 missing-wait P1"});
  CHECK(test::lint_code(
            "[----:B------:R-:W0:-:S02] S2UR UR6, SR_CTAID.X\n[----:B------:R-:W-:-:S04] MOV R1, UR6\n",
            90) == Found{"10 missing-wait UR6"});
}

TEST_CASE("registers that an instruction still writes or reads must not be overwritten") {
  const std::string load = "[----:B------:R1:W2:-:S02] LDG.E R4, desc[UR4][R2.64]\n";
  CHECK(test::lint_code(load + "[----:B------:R-:W-:-:S04] MOV R4, R9\n", 90) == Found{"10 missing-wait R4"});
  CHECK(test::lint_code(load + "[----:B------:R-:W-:-:S04] MOV R3, R9\n", 90) == Found{"10 missing-wait R3"});
  // The read scoreboard and the write scoreboard both tell that the address was read.
  CHECK(test::lint_code(load + "[----:B-1----:R-:W-:-:S04] MOV R3, R9\n", 90) == Found{});
  CHECK(test::lint_code(load + "[----:B--2---:R-:W-:-:S04] MOV R3, R9\n", 90) == Found{});
  CHECK(test::lint_code(load + "[----:B------:R-:W-:-:S04] MOV R5, R9\n", 90) == Found{});
  // A store that sets none: nothing tells when its data may be overwritten.
  const std::string store = "[----:B------:R-:W-:-:S02] STG.E desc[UR4][R2.64], R4\n";
  CHECK(test::lint_code(store + "[----:B------:R-:W-:-:S04] MOV R4, R9\n", 90) ==
        Found{"10 no-scoreboard R4"});
  CHECK(test::lint_code(store + "[----:B------:R-:W-:-:S04] MOV R5, R9\n", 90) == Found{});
}

TEST_CASE("instructions of one order tell that earlier ones are done") {
  const std::string loads =
      "[----:B------:R-:W-:-:S02] LDS R4, [R2]\n[----:B------:R-:W3:-:S02] LDS R5, [R2+0x4]\n";
  CHECK(test::lint_code(loads + "[----:B---3--:R-:W-:-:S04] FADD R6, R4, R5\n", 80) == Found{});
  CHECK(test::lint_code(loads + "[----:B------:R-:W-:-:S04] MOV R6, R4\n", 80) ==
        Found{"20 missing-wait R4"});
  // Global loads have no order.
  CHECK(test::lint_code(
            "[----:B------:R-:W-:-:S02] LDG.E R4, [R2.64]\n[----:B------:R-:W3:-:S02] LDG.E R5, [R2.64]\n"
            "[----:B---3--:R-:W-:-:S04] FADD R6, R4, R5\n",
            80) == Found{"20 no-scoreboard R4"});
  // On sm_75, BAR.SYNC lets nothing pass before all memory instructions have read their operands.
  const std::string store = "[----:B------:R-:W-:-:S02] STS [R2], R4\n";
  CHECK(test::lint_code(
            store + "[----:B------:R-:W-:-:S05] BAR.SYNC 0x0\n[----:B------:R-:W-:-:S04] MOV R4, R9\n", 75) ==
        Found{});
  CHECK(test::lint_code(store + "[----:B------:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0\n"
                                "[----:B------:R-:W-:-:S04] MOV R4, R9\n",
                        80) == Found{"20 no-scoreboard R4"});
}

TEST_CASE("stall counts cover the latency of the instruction") {
  const auto pair = [](const std::string& first, int stall, const std::string& second) {
    return fmt::format("[----:B------:R-:W-:-:S{:02}] {}\n[----:B------:R-:W-:-:S04] {}\n", stall, first,
                       second);
  };
  struct Case {
    int chip;
    const char *first, *second, *reg;
    int cycles;
  };
  // Latencies from NAK's tables, and of sm_90 from docs/results/insn-h200.md.
  const Case cases[] = {
      {80, "FFMA R4, R1, R2, R3", "FFMA R5, R4, R2, R3", "R4", 4},
      {80, "IADD3 R4, R1, R2, R3", "IADD3 R5, R4, R2, R3", "R4", 4},
      {80, "IADD3 R4, R1, R2, R3", "FFMA R5, R4, R2, R3", "R4", 5},
      {80, "FFMA R4, R1, R2, R3", "LOP3.LUT R5, R4, R2, R3, 0x96, !PT", "R4", 5},
      {80, "ISETP.GE.AND P0, PT, R1, R2, PT", "@P0 EXIT", "P0", 13},
      {80, "ISETP.GE.AND P0, PT, R1, R2, PT", "SEL R3, R1, R2, P0", "P0", 4},
      {80, "HMMA.16816.F32 R4, R8, R12, R4", "FADD R1, R7, R2", "R7", 17},
      {80, "HMMA.1688.F32 R4, R8, R12, R4", "FADD R1, R7, R2", "R7", 13},
      {80, "IMAD.WIDE R4, R1, 0x4, R6", "LDG.E R9, [R4.64]", "R4", 5},
      {80, "UIADD3 UR4, UR4, 0x1, URZ", "IMAD R1, R2, UR4, R3", "UR4", 6},
      {80, "UISETP.GE.AND UP0, UPT, UR4, 0x1, UPT", "@UP0 UIADD3 UR5, UR5, 0x1, URZ", "UP0", 11},
      {75, "HFMA2 R4, R1, R2, R3", "HFMA2 R5, R4, R2, R3", "R4", 6},
      {75, "ISETP.GE.AND P0, PT, R1, R2, PT", "@P0 EXIT", "P0", 12},
      {75, "IADD3 R4, R1, R2, R3", "LDG.E.SYS R5, [R4]", "R4", 8},
      {75, "IMAD.WIDE.U32 R4, P0, R1, R2, R6", "IMAD.WIDE.U32.X R8, R1, R2, R10, P0", "P0", 2},
      {75, "ISETP.GE.AND P0, PT, R1, R2, PT", "IMAD.WIDE.U32.X R8, R1, R2, R10, P0", "P0", 5},
      {75, "HSETP2.GE.AND P0, PT, R1, R2, PT", "SEL R3, R1, R2, P0", "P0", 8},
      {75, "UIADD3 UR4, UR4, 0x1, URZ", "IMAD R1, R2, UR4, R3", "UR4", 6},
      {75, "UIADD3 UR4, UR4, 0x1, URZ", "UMOV UR5, UR4", "UR4", 7},
      {75, "UMOV UR4, 0x1", "ULDC UR5, c[0x0][UR4]", "UR4", 5},
      {75, "UISETP.GE.AND UP0, UPT, UR4, 0x1, UPT", "@UP0 UIADD3 UR5, UR5, 0x1, URZ", "UP0", 11},
      {90, "FFMA R4, R1, R2, R3", "FFMA R5, R4, R2, R3", "R4", 4},
      {90, "DFMA R4, R6, R8, R10", "DFMA R12, R4, R8, R10", "R4", 8},
      {90, "LOP3.LUT R4, R1, R2, R3, 0x96, !PT", "SHF.L.U32 R5, R4, 0x1, RZ", "R4", 4},
      {100, "HMMA.16816.F32 R4, R8, R12, R4", "FADD R1, R4, R2", "R4", 19},
      {100, "R2UR UR4, R2", "UIADD3 UR5, UR4, 0x1, URZ", "UR4", 13},
      {120, "FFMA R4, R1, R2, R3", "FADD R5, R4, R2", "R4", 4}};
  for (const Case& one : cases) {
    CAPTURE(one.chip, one.first, one.second);
    CHECK(test::lint_code(pair(one.first, one.cycles, one.second), one.chip) == Found{});
    CHECK(test::lint_code(pair(one.first, one.cycles - 1, one.second), one.chip) ==
          Found{fmt::format("10 short-stall {}", one.reg)});
  }
  // The sum of the stalls between counts.
  const std::string first =
      "[----:B------:R-:W-:-:S02] FFMA R4, R1, R2, R3\n[----:B------:R-:W-:-:S02] MOV R9, R8\n";
  CHECK(test::lint_code(first + "[----:B------:R-:W-:-:S04] FFMA R5, R4, R2, R3\n", 80) == Found{});
  // DFMA has a fixed latency on sm_90, and needs a scoreboard on sm_86.
  CHECK(test::lint_code(pair("DFMA R4, R6, R8, R10", 8, "MUFU.RCP64H R1, R5"), 90) == Found{});
  for (const int chip : {86, 103, 110, 120})
    CHECK(test::lint_code(pair("DFMA R4, R6, R8, R10", 15, "MUFU.RCP64H R1, R5"), chip) ==
          Found{"10 no-scoreboard R5"});
  CHECK(test::lint_code(pair("DFMA R4, R6, R8, R10", 8, "MUFU.RCP64H R1, R5"), 107) == Found{});
  // Instructions that tell it by a later one's scoreboard.
  CHECK(test::lint_code("[----:B------:R-:W-:-:S02] DFMA R4, R6, R8, R10\n"
                        "[----:B------:R-:W0:-:S02] DMUL R12, R8, R10\n"
                        "[----:B0-----:R-:W-:-:S04] DFMA R12, R4, R8, R10\n",
                        110) == Found{});
}

TEST_CASE("a stall count of 0 waits for all results, those behind scoreboards too") {
  const auto code = [](const std::string& control) {
    return "[----:B------:R-:W-:-:S02] STG.E desc[UR4][R2.64], R6\n[----:B------:R-:W-:" + control +
           "] LDG.E R4, desc[UR4][R2.64]\n[----:B------:R-:W-:-:S04] FADD R6, R4, R5\n";
  };
  CHECK(test::lint_code(code("Y:S00"), 90) == Found{});
  CHECK(test::lint_code(code("Y:S15"), 90) == Found{"20 no-scoreboard R4", "20 no-scoreboard R6"});
  // Without the yield bit it is one cycle.
  const std::string reader = " FFMA R4, R5, R6, R7\n[----:B------:R-:W-:-:S04] FADD R8, R4, R5\n";
  CHECK(test::lint_code("[----:B------:R-:W-:Y:S00]" + reader, 90) == Found{});
  CHECK(test::lint_code("[----:B------:R-:W-:-:S00]" + reader, 90) == Found{"10 short-stall R4"});
  // It covers nothing that comes after it.
  CHECK(test::lint_code("[----:B------:R-:W-:Y:S00] MOV R1, R2\n" + code("-:S15"), 90) ==
        Found{"30 no-scoreboard R4", "30 no-scoreboard R6"});
}

TEST_CASE("dependences are followed over branches and loops") {
  const std::string loop =
      "[----:B------:R-:W-:-:S04] MOV R4, R9\n"
      "[----:B------:R-:W-:-:S04] MOV R2, R9\n"
      ".L_1:\n"
      "[----:B{}:R-:W-:-:S04] FADD R8, R8, R4\n"
      "[----:B------:R-:W0:-:S02] LDG.E R4, [R2.64]\n"
      "[----:B------:R-:W-:-:S15] ISETP.GE.AND P0, PT, R7, R6, PT\n"
      "[----:B------:R-:W-:-:S05] @P0 BRA `(.L_1)\n"
      "[----:B0-----:R-:W-:-:S05] EXIT\n";
  // The value of the last iteration.
  CHECK(test::lint_code(fmt::format(fmt::runtime(loop), "0-----"), 80) == Found{});
  CHECK(test::lint_code(fmt::format(fmt::runtime(loop), "------"), 80) ==
        Found{"20 missing-wait R4", "30 missing-wait R4"});
  // One of two paths waits.
  const std::string paths =
      "[----:B------:R-:W1:-:S02] LDG.E R4, [R2.64]\n"
      "[----:B------:R-:W-:-:S05] @P0 BRA `(.L_2)\n"
      "[----:B{}:R-:W-:-:S04] MOV R7, R8\n"
      ".L_2:\n"
      "[----:B------:R-:W-:-:S04] MOV R5, R4\n";
  CHECK(test::lint_code(fmt::format(fmt::runtime(paths), "-1----"), 80) == Found{"30 missing-wait R4"});
  // No path leads behind an unconditional branch or EXIT.
  CHECK(test::lint_code("[----:B------:R-:W1:-:S02] LDG.E R4, [R2.64]\n[----:B------:R-:W-:-:S05] EXIT\n"
                        "[----:B------:R-:W-:-:S04] MOV R5, R4\n",
                        80) == Found{});
  // A stall that is too short on the way back.
  CHECK(test::lint_code(
            ".L_1:\n[----:B------:R-:W-:-:S04] FADD R8, R8, R4\n[----:B------:R-:W-:-:S01] FMUL R4, R4, R4\n"
            "[----:B------:R-:W-:-:S02] BRA `(.L_1)\n",
            80) == Found{"00 short-stall R4"});
}

TEST_CASE("of two instructions with opposite guards only one is executed") {
  const std::string load = "[----:B------:R-:W1:-:S02] @P0 LDG.E R4, [R2.64]\n";
  CHECK(test::lint_code(load + "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n", 80) == Found{});
  CHECK(test::lint_code(load + "[----:B------:R-:W-:-:S04] @P0 MOV R4, R9\n", 80) ==
        Found{"10 missing-wait R4"});
  CHECK(test::lint_code(load + "[----:B------:R-:W-:-:S04] @!P1 MOV R4, R9\n", 80) ==
        Found{"10 missing-wait R4"});
  // A guarded write leaves the older value in place.
  CHECK(test::lint_code(
            "[----:B------:R-:W-:-:S01] FADD R4, R1, R2\n[----:B------:R-:W-:-:S04] @P0 MOV R5, R9\n", 80) ==
        Found{});
}

TEST_CASE("DEPBAR waits until few enough are left, and for the scoreboards of its list") {
  const std::string loads =
      "[----:B------:R-:W0:-:S02] LDG.E R4, [R2.64]\n"
      "[----:B------:R-:W0:-:S02] LDG.E R5, [R2.64+0x4]\n"
      "[----:B------:R-:W3:-:S02] LDG.E R6, [R2.64+0x8]\n";
  const std::string use = "[----:B------:R-:W-:-:S04] MOV R7, {}\n";
  const auto after = [&](const std::string& depbar, const std::string& reg) {
    return test::lint_code(
        loads + "[----:B------:R-:W-:-:S04] " + depbar + "\n" + fmt::format(fmt::runtime(use), reg), 80);
  };
  CHECK(after("DEPBAR.LE SB0, 0x0", "R5") == Found{});
  CHECK(after("DEPBAR.LE SB0, 0x1", "R4") == Found{});
  CHECK(after("DEPBAR.LE SB0, 0x1", "R5") == Found{"40 missing-wait R5"});
  CHECK(after("DEPBAR.LE SB0, 0x0", "R6") == Found{"40 missing-wait R6"});
  CHECK(after("DEPBAR.LE SB0, 0x0, {3}", "R6") == Found{});
}

TEST_CASE("what does nothing is a note") {
  const auto notes = [](const std::string& code) { return test::lint_code(code, 80, LintSeverity::note); };
  CHECK(notes("[----:B-1----:R-:W-:-:S04] MOV R1, R2\n") == Found{"00 idle-wait "});
  const std::string load = "[----:B------:R-:W1:-:S02] LDG.E R4, [R2.64]\n";
  CHECK(notes(load + "[----:B-1----:R-:W-:-:S04] MOV R1, R4\n") == Found{});
  CHECK(notes(load + "[----:B-1----:R-:W-:-:S04] MOV R1, R4\n[----:B-1----:R-:W-:-:S04] MOV R6, R4\n") ==
        Found{"20 idle-wait "});
  CHECK(
      notes(
          load +
          "[----:B------:R-:W-:-:S04] DEPBAR.LE SB1, 0x0\n[----:B------:R-:W-:-:S04] DEPBAR.LE SB1, 0x0\n") ==
      Found{"20 idle-depbar "});
  // R2 is kept for slot a, and written before it is read there again.
  const std::string keeps = "[R---:B------:R-:W-:-:S04] FADD R1, R2.reuse, R3\n";
  CHECK(
      notes(keeps + "[----:B------:R-:W-:-:S04] FADD R5, R2, R3\n[----:B------:R-:W-:-:S04] MOV R2, R3\n") ==
      Found{});
  CHECK(
      notes(keeps + "[----:B------:R-:W-:-:S04] FADD R5, R3, R2\n[----:B------:R-:W-:-:S04] MOV R2, R3\n") ==
      Found{"00 idle-reuse R2"});
  CHECK(notes(keeps + "[----:B------:R-:W-:-:S04] FADD R5, R3, R2\n") == Found{});
  // A stall count that no reader needs. Others follow in the same line, so that all readers are seen.
  const std::string rest =
      "[----:B------:R-:W-:-:S15] MOV R9, R8\n[----:B------:R-:W-:-:S15] MOV R9, R8\n"
      "[----:B------:R-:W-:-:S15] MOV R9, R8\n";
  const auto stalled = [&](const std::string& reader) {
    std::vector<std::string> found = notes("[----:B------:R-:W-:-:S14] FADD R1, R2, R3\n" + reader + rest);
    std::erase_if(found, [](const std::string& one) { return !one.starts_with("00 "); });
    return found;
  };
  CHECK(stalled("[----:B------:R-:W-:-:S04] FADD R5, R2, R3\n") == Found{"00 long-stall "});
  CHECK(stalled("[----:B------:R-:W-:-:S04] FADD R5, R1, R3\n") == Found{"00 long-stall "});
  // The last two are longer than needed, too.
  const Found later = {"20 long-stall ", "30 long-stall "};
  CHECK(notes("[----:B------:R-:W-:-:S11] FADD R1, R2, R3\n[----:B------:R-:W-:-:S04] FADD R5, R1, R3\n" +
              rest) == later);
  // A predicate takes 13 cycles until a guard has it.
  CHECK(notes("[----:B------:R-:W-:-:S14] ISETP.GE.AND P0, PT, R1, R2, PT\n"
              "[----:B------:R-:W-:-:S04] @P0 FADD R5, R1, R3\n" +
              rest) == later);
  // What is never executed has no result, and NOP is there to wait.
  for (const char* idle : {"@!UPT FADD R1, R2, R3", "@!PT FADD R1, R2, R3", "NOP"})
    CHECK(notes(fmt::format("[----:B------:R-:W-:-:S15] {}\n", idle) + rest) ==
          Found{"10 long-stall ", "20 long-stall "});
  // Notes are no errors, and can be left out.
  const Listing listing = test::code_listing("[----:B-1----:R-:W-:-:S04] MOV R1, R2\n");
  CHECK(lint(listing, 80, true).count(LintSeverity::note) == 1);
  CHECK(lint(listing, 80, true).count(LintSeverity::error) == 0);
  CHECK(lint(listing, 80, false).count(LintSeverity::note) == 0);
}

TEST_CASE("the lint says what must wait for what, as text and as JSON") {
  const Lint found = lint(test::code_listing("[----:B------:R-:W-:-:S02] FFMA R4, R1, R2, R3\n"
                                             "[----:B------:R-:W-:-:S04] FFMA R5, R4, R2, R3\n"
                                             "[----:B------:R-:W-:-:S04] FUTURE R5, R4\n"),
                          80, true);
  CHECK(found.functions.front().unknown == 1);
  const std::string text = lint_text(found);
  CHECK_THAT(text, ContainsSubstring("code:0010: error: `FFMA R5, R4, R2, R3`: it reads R4 2 cycles after "
                                     "`FFMA R4, R1, R2, R3` at 0000, whose result takes 4 [short-stall]\n"));
  CHECK_THAT(
      text,
      ContainsSubstring(
          "1 error, 0 notes, in 3 instructions of 1 function; operands of 1 are not known: FUTURE 1\n"));
  const auto json = nlohmann::json::parse(lint_json(found));
  CHECK(json["errors"] == 1);
  CHECK(json["relocatable"] == false);
  CHECK(json["functions"][0]["unknown_opcodes"] == nlohmann::json({{"FUTURE", 1}}));
  const auto& one = json["functions"][0]["findings"][0];
  CHECK(one["producer"] == 0);
  CHECK(one["have"] == 2);
  CHECK(one["need"] == 4);
  CHECK(one["register"] == "R4");
}
