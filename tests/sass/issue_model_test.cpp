// SPDX-License-Identifier: Apache-2.0
// The issue model on code written by hand, whose time can be counted, and its tables against published peaks.
#include "sass/issue/issue_model.hpp"

#include <fmt/format.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <random>

#include "modelled.hpp"
#include "target/rates.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;
using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using test::bound_of, test::loop_of, test::model_of;

namespace {

std::string repeated(int count, const std::string& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line;
  return text;
}

/// Cycles of a taken branch at the end of the loop, by the model of a loop that has nothing else.
double branch_cycles(int chip = 90) {
  return loop_of("[----:B------:R-:W-:-:S03] FADD R0, R1, R2\n", {.warps = 1}, chip).cycles - 3;
}

}  // namespace

TEST_CASE("units and operations of specs/sass/issue.json give the peaks of specs/targets.json") {
  struct Peak {
    const char* text;
    int target::ChipRates::* rate;
    int first, last;  // chips
  };
  constexpr Peak kPeaks[] = {
      {"FFMA R0, R1, R2, R0", &target::ChipRates::f32, 75, 121},
      {"DFMA R0, R2, R4, R0", &target::ChipRates::f64, 75, 121},
      {"HFMA2 R0, R1, R2, R0", &target::ChipRates::f16, 75, 121},
      {"HMMA.1688.F32 R0, R4, R6, R0", &target::ChipRates::mma_f16, 75, 75},
      {"IMMA.8816.S8.S8 R0, R4.ROW, R6.COL, R0", &target::ChipRates::mma_s8, 75, 75},
      {"HMMA.16816.F32 R0, R4, R8, R0", &target::ChipRates::mma_f16, 80, 89},
      {"HMMA.1688.F32.TF32 R0, R4, R8, R0", &target::ChipRates::mma_tf32, 80, 89},
      {"IMMA.16832.S8.S8 R0, R4.ROW, R8.COL, R0", &target::ChipRates::mma_s8, 80, 89},
      {"HMMA.16816.F32 R0, R4, R8, R0", &target::ChipRates::mma_f16, 120, 121},
      {"QMMA.16832.F32.E4M3.E4M3 R0, R4, R8, R0", &target::ChipRates::mma_fp8, 120, 121},
      {"OMMA.SF.16864.F32.E2M1.E2M1.E8 R4, R4, R8, R12, R0, R11, URZ", &target::ChipRates::mma_fp4, 120, 121},
      {"HGMMA.64x256x16.F32 R24, gdesc[UR8], R24, gsb0", &target::ChipRates::mma_f16, 90, 90},
      {"HGMMA.64x64x8.F32.TF32 R24, gdesc[UR8], R24", &target::ChipRates::mma_tf32, 90, 90},
      {"QGMMA.64x128x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24", &target::ChipRates::mma_fp8, 90, 90},
      {"IGMMA.64x192x32.S8.S8 R24, gdesc[UR8], R24", &target::ChipRates::mma_s8, 90, 90}};
  int compared = 0;
  for (const int chip : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    for (const Peak& peak : kPeaks) {
      if (chip < peak.first || chip > peak.last) continue;
      CAPTURE(chip, peak.text);
      const LoopModel loop =
          loop_of(fmt::format("[----:B------:R-:W-:-:S01] {}\n", peak.text), {.warps = 4}, chip);
      double busiest = 0;
      for (const Bound& one : loop.bounds)
        if (one.name != "issue" && one.name != "latency" && one.name != "branch")
          busiest = std::max(busiest, one.cycles);
      CHECK_THAT(4 * loop.operations / busiest, WithinAbs(target::rates_of(chip)->*peak.rate, 1e-9));
      ++compared;
    }
  }
  CHECK(compared > 50);
}

TEST_CASE("loads take longer from farther away, on every target") {
  for (const int chip : {75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    const auto latency = [&](LoadFrom from) {
      const IssueTable table(chip, from);
      const InstructionText text = split_text("LDG.E R0, desc[UR4][R2.64]");
      const IssueRow* const row = table.row_of(text, OperandTable::compiled().uses_of(text, chip).type);
      REQUIRE(row != nullptr);
      return table.latency_of(*row, {});
    };
    CAPTURE(chip);
    CHECK(latency(LoadFrom::l1) > 0);
    CHECK(latency(LoadFrom::l2) > latency(LoadFrom::l1));
    CHECK(latency(LoadFrom::memory) > latency(LoadFrom::l2));
  }
}

TEST_CASE("a warp alone takes its stall counts and what it waits for") {
  const double branch = branch_cycles();
  CHECK_THAT(loop_of(repeated(7, "[----:B------:R-:W-:-:S04] FFMA R0, R0, R1, R2\n"), {.warps = 1}).cycles,
             WithinAbs(28 + branch, 1e-9));
  const LoopModel loads =
      loop_of("[----:B------:R-:W0:-:S01] LDS R4, [R4]\n[----:B0-----:R-:W-:-:S03] IADD3 R4, R4, 0x1, RZ\n",
              {.warps = 1});
  CHECK_THAT(loads.cycles, WithinAbs(23 + 3 + branch, 1e-9));
  CHECK(loads.sim.waits.at(0) > 20);
  CHECK(loads.sim.waits.at(1) == 0);
  CHECK_THAT(loads.sim.stalls[static_cast<std::size_t>(StallReason::scoreboard)], WithinAbs(22, 1e-9));
  // A wait that is over costs nothing.
  CHECK_THAT(loop_of("[----:B------:R-:W0:-:S01] LDS R4, [R4]\n" +
                         repeated(6, "[----:B------:R-:W-:-:S05] FADD R1, R1, R2\n") +
                         "[----:B0-----:R-:W-:-:S03] IADD3 R4, R4, 0x1, RZ\n",
                     {.warps = 1})
                 .cycles,
             WithinAbs(1 + 30 + 3 + branch, 1e-9));
}

TEST_CASE("a stall count of 0 takes as long as all results before it") {
  const double branch = branch_cycles();
  const auto time_of = [](const std::string& body) { return loop_of(body, {.warps = 1}).cycles; };
  // FFMA's result takes 4 cycles to the next FFMA, and 7 to an IMMA.
  CHECK_THAT(time_of("[----:B------:R-:W-:Y:S00] FFMA R0, R0, R1, R2\n"), WithinAbs(7 + branch, 1e-9));
  CHECK_THAT(time_of("[----:B------:R-:W-:Y:S00] LDS R4, [R4]\n"), WithinAbs(23 + branch, 1e-9));
  CHECK_THAT(time_of("[----:B------:R-:W-:-:S01] LDS R4, [R4]\n[----:B------:R-:W-:Y:S00] FADD R0, R1, R2\n"),
             WithinAbs(23 + branch, 1e-9));
  // Without the yield bit it is a stall of a cycle at least, as ever.
  CHECK_THAT(time_of("[----:B------:R-:W-:-:S00] FFMA R0, R0, R1, R2\n"), WithinAbs(1 + branch, 1e-9));
}

TEST_CASE("with enough warps the busiest unit, or the issue of instructions, sets the time") {
  std::mt19937_64 draw(std::random_device{}());
  const int count = 5 + static_cast<int>(draw() % 20), warps = 32;
  CAPTURE(count);
  const auto time_of = [&](const std::string& line) {
    return loop_of(repeated(count, line), {.warps = warps}).cycles;
  };
  const double each = warps / 4.0;
  // One scheduler has an eighth of its warps' instructions each cycle; the branch is one more.
  const LoopModel f32 =
      loop_of(repeated(count, "[----:B------:R-:W-:-:S01] FFMA R0, R1, R2, R3\n"), {.warps = warps});
  CHECK(f32.bound == "issue");
  CHECK_THAT(bound_of(f32, "issue"), WithinAbs((count + 1) * each, 1e-9));
  CHECK_THAT(time_of("[----:B------:R-:W-:-:S01] LOP3.LUT R0, R1, R2, R3, 0x6a, !PT\n"),
             WithinRel((2.0 * count + 1) * each, 0.1));
  CHECK_THAT(time_of("[----:B------:R-:W-:-:S01] DADD R0, R2, R4\n"),
             WithinRel((2.0 * count + 1) * each, 0.1));
  CHECK_THAT(time_of("[----:B------:R-:W-:-:S01] MUFU.EX2 R0, R1\n"), WithinRel(8.0 * count * each, 0.05));
  // The SM has one path to shared memory.
  CHECK_THAT(time_of("[----:B------:R-:W-:-:S01] LDS.128 R4, [R1]\n"), WithinRel(4.0 * count * warps, 0.05));
  CHECK_THAT(
      loop_of(repeated(count, "[----:B------:R-:W-:-:S01] LDS R4, [R1]\n"), {.warps = warps, .conflicts = 8})
          .cycles,
      WithinRel(8.0 * count * warps, 0.05));
  // A scheduler gets a word of a bank every two cycles, so one warp alone cannot use all of shared memory.
  CHECK_THAT(
      loop_of(repeated(count, "[----:B------:R-:W-:-:S01] LDS R4, [R1]\n"), {.warps = 1, .conflicts = 8})
          .cycles,
      WithinRel(2.0 * 8 * count, 0.05));
  CHECK_THAT(
      loop_of(repeated(count, "[----:B------:R-:W-:-:S01] STS [R1], R4\n"), {.warps = 1, .conflicts = 8})
          .cycles,
      WithinRel(8.0 * count, 0.05));
}

TEST_CASE("NOP takes an issue slot and its stall count, and no unit") {
  const std::string nops = repeated(9, "[----:B------:R-:W-:Y:S15] NOP\n");
  const LoopModel alone = loop_of(nops, {.warps = 1});
  CHECK_THAT(alone.cycles, WithinAbs(9 * 15 + branch_cycles(), 1e-9));
  const LoopModel many = loop_of(nops, {.warps = 48});
  CHECK(many.unknown == 0);
  CHECK(bound_of(many, "branch") ==
        bound_of(loop_of("[----:B------:R-:W-:-:S03] FADD R0, R1, R2\n", {.warps = 48}), "branch"));
  CHECK(bound_of(many, "issue") == 10 * 48 / 4);
  const auto issued = std::ranges::find(many.mix, "issue", &MixEntry::name);
  REQUIRE(issued != many.mix.end());
  CHECK(issued->count == 9);
}

TEST_CASE("the limit is not known if a loop waits for what the tables do not have") {
  const auto limit = [](const std::string& body) { return loop_of(body, {.warps = 1}).bound; };
  const std::string fetch = "[----:B------:R-:W3:-:S01] TEX.LL RZ, R4, R4, R9, UR4, 0x0, 2D, 0x1\n";
  CHECK(limit(fetch + "[----:B---3--:R-:W-:-:S05] FADD R4, R4, R9\n") == "not known");
  CHECK(limit(fetch + "[----:B------:R-:W-:-:S05] DEPBAR.LE SB3, 0x0\n") == "not known");
  CHECK(limit("[----:B------:R-:W-:Y:S00] TEX.LL RZ, R4, R4, R9, UR4, 0x0, 2D, 0x1\n") == "not known");
  CHECK(limit(fetch + "[----:B------:R-:W-:Y:S00] FADD R4, R5, R9\n") == "not known");
  // Nothing waits for its result.
  CHECK(limit(fetch + "[----:B--2---:R-:W-:-:S05] FADD R1, R2, R9\n") == "latency");
}

TEST_CASE("loads from L2 take its bandwidth, loads from L1 do not, and stores always do") {
  const std::string loads = repeated(8, "[----:B------:R-:W-:-:S01] LDG.E.128 R4, desc[UR4][R2.64]\n");
  const std::string stores = repeated(8, "[----:B------:R-:W-:-:S01] STG.E.128 desc[UR4][R2.64], R4\n");
  // 32 lanes of 16 bytes, 64 bytes a cycle.
  CHECK(bound_of(loop_of(loads, {.warps = 16, .loads = LoadFrom::l2}), "l2") == 8 * 16 * 8);
  CHECK(bound_of(loop_of(loads, {.warps = 16, .loads = LoadFrom::l1}), "l2") == 0);
  CHECK(bound_of(loop_of(loads, {.warps = 16, .loads = LoadFrom::l1}), "l1") == 8 * 16 * 4);
  CHECK(bound_of(loop_of(stores, {.warps = 16, .loads = LoadFrom::l1}), "l2") == 8 * 16 * 8);
  for (const int chip : {75, 80, 90, 100, 120}) CHECK(target::rates_of(chip)->l2 == 64);
}

TEST_CASE("warps wait for each other at a barrier") {
  const std::string body = "[----:B------:R-:W-:-:S05] BAR.SYNC.DEFER_BLOCKING 0x0\n";
  const double branch = branch_cycles();
  CHECK_THAT(loop_of(body, {.warps = 1}).cycles, WithinAbs(9 + branch, 1.0));
  const double all = loop_of(body, {.warps = 32, .block_warps = 32}).cycles;
  CHECK_THAT(all, WithinAbs(2 * 31 + 9 + branch, 8.0));
  const LoopModel loop = loop_of(body, {.warps = 32, .block_warps = 32});
  CHECK(loop.sim.stalls[static_cast<std::size_t>(StallReason::barrier)] > 14);
}

TEST_CASE("DEPBAR waits until few enough are in flight, and wgmma's wait until groups are done") {
  const double branch = branch_cycles();
  const std::string copies =
      "[----:B------:R-:W-:-:S01] LDGSTS.E.BYPASS.128 [R4], desc[UR4][R2.64]\n"
      "[----:B------:R-:W0:-:S01] LDGDEPBAR\n";
  const double none =
      loop_of(copies + "[----:B------:R-:W-:-:S01] DEPBAR.LE SB0, 0x0\n", {.warps = 1}).cycles;
  const double one = loop_of(copies + "[----:B------:R-:W-:-:S01] DEPBAR.LE SB0, 0x1\n", {.warps = 1}).cycles;
  CHECK(none > 250);
  CHECK_THAT(2 * one, WithinRel(none, 0.1));
  const std::string product = "[----:B------:R-:W-:-:S01] HGMMA.64x128x16.F32 R24, gdesc[UR8], R24, gsb0\n";
  const auto with_rest = [&](int rest) {
    return loop_of(product + fmt::format("[----:B------:R-:W-:-:S01] WARPGROUP.DEPBAR.LE gsb0, 0x{}\n", rest),
                   {.warps = 4});
  };
  CHECK_THAT(with_rest(1).cycles, WithinAbs(64, 2.0));
  CHECK(with_rest(1).bound == "tensor");
  CHECK_THAT(with_rest(0).cycles, WithinAbs(64 + 1 + branch, 4.0));
  CHECK(with_rest(1).tensor_busy > 0.95);
}

TEST_CASE("the events that are shown fill one iteration of the first warp, however long it is") {
  for (const int count : {1, 20, 600}) {
    const LoopModel loop =
        loop_of(repeated(count, "[----:B------:R-:W-:-:S02] LDS R4, [R1]\n"), {.warps = 64});
    CAPTURE(count);
    CHECK(loop.sim.event_cycles > 0);
    double first = loop.sim.event_cycles, last = 0;
    std::size_t of_first_warp = 0;
    for (const IssueEvent& one : loop.sim.events) {
      CHECK((one.end > 0 && one.begin < loop.sim.event_cycles && one.end >= one.begin));
      CHECK(one.warp % 4 == 0);
      first = std::min(first, one.begin);
      last = std::max(last, one.end);
      of_first_warp += one.warp == 0 ? 1 : 0;
    }
    CHECK(of_first_warp >= static_cast<std::size_t>(count));
    CHECK(first < loop.sim.event_cycles / 4);
    CHECK(last > loop.sim.event_cycles * 3 / 4);
  }
}

TEST_CASE("registers of one bank delay instructions, unless they are kept") {
  const std::string conflict = "[----:B------:R-:W-:-:S01] FFMA R0, R2, R4, R6\n";
  const std::string spread = "[----:B------:R-:W-:-:S01] FFMA R0, R2, R5, 1\n";
  const std::string kept = "[RRR-:B------:R-:W-:-:S01] FFMA R0, R2, R4, R6\n";
  const double slow = loop_of(repeated(32, conflict), {.warps = 1}).cycles;
  const double fast = loop_of(repeated(32, spread), {.warps = 1}).cycles;
  CHECK_THAT(slow - fast, WithinAbs(64, 4.0));
  CHECK_THAT(loop_of(repeated(32, kept), {.warps = 1}).cycles, WithinAbs(fast, 4.0));
}

TEST_CASE("the longest chain from one iteration to the next is found") {
  // R0 needs itself through three instructions; R9 only what this iteration computes.
  const LoopModel loop = loop_of(
      "[----:B------:R-:W-:-:S04] FFMA R0, R0, R1, R2\n"
      "[----:B------:R-:W-:-:S04] LOP3.LUT R0, R0, R1, R2, 0x6a, !PT\n"
      "[----:B------:R-:W0:-:S01] MUFU.EX2 R0, R0\n"
      "[----:B0-----:R-:W-:-:S04] FADD R9, R1, R0\n"
      "[----:B------:R-:W-:-:S04] FMUL R9, R9, R9\n",
      {.warps = 1});
  // FFMA to LOP3 5, LOP3 to MUFU 4, MUFU 17.
  CHECK_THAT(loop.path, WithinAbs(5 + 4 + 17, 1e-9));
  REQUIRE(loop.chain.size() == 3);
  double sum = 0;
  for (const PathStep& step : loop.chain) sum += step.cycles;
  CHECK_THAT(sum, WithinAbs(loop.path, 1e-9));
  CHECK(loop.path <= loop.alone);
  CHECK(loop_of("[----:B------:R-:W-:-:S04] FADD R9, R1, R2\n", {.warps = 1}).path == 0);
}

TEST_CASE("nothing is predicted of a thread block that does not fit") {
  const std::string code =
      ".L_1:\n[----:B------:R-:W-:-:S04] FADD R9, R1, R2\n"
      "[----:B------:R-:W-:-:S05] @P0 BRA `(.L_1)\n[----:B------:R-:W-:-:S05] EXIT\n";
  const IssueModel model = issue_model(test::code_listing(code), 90, {.shared = 228 * 1024});
  const FunctionModel& function = model.functions.front();
  CHECK(function.occupancy.blocks == 0);
  REQUIRE(function.loops.size() == 1);
  CHECK((function.loops[0].cycles == 0 && function.loops[0].bounds.empty()));
  CHECK(function.loops[0].instructions == 2);
  CHECK(function.hottest() == &function.loops[0]);
  const std::string text = model_text(model);
  CHECK(text.find("does not fit on an SM: shared memory") != std::string::npos);
  CHECK(text.find("predicted") == std::string::npos);
}

TEST_CASE("what the data does not have is counted, and does not stop the model") {
  const LoopModel loop = loop_of("[----:B------:R-:W-:-:S04] NONSENSE R0, R1\n", {.warps = 1});
  CHECK(loop.unknown == 1);
  CHECK(loop.cycles > 4);
  const auto unknown = [](const char* text, int chip) {
    return loop_of(fmt::format("[----:B------:R-:W-:-:S04] {}\n", text), {.warps = 1}, chip).unknown;
  };
  CHECK(unknown("OMMA.SF.SP.168128.F32.E2M1.E2M1.E8 R12, R4, R8, R12, R16, R0, URZ, 0x0", 120) == 1);
  CHECK(unknown("OMMA.SF.16864.F32.E2M1.E2M1.E8 R4, R4, R8, R12, R0, R11, URZ", 120) == 0);
  CHECK(unknown("QMMA.SP.16864.F32.E4M3.E4M3 R12, R4, R8, R12, R0, 0x0", 120) == 1);
  CHECK(unknown("HMMA.16816.F32 R0, R4, R8, R0", 90) == 0);
}

TEST_CASE("no simulated run is below a bound, and more warps never take much less time") {
  const std::uint64_t seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937_64 draw(seed);
  const std::vector<std::string> lines = {
      "FFMA R{0}, R{1}, R{2}, R{0}", "IMAD R{0}, R{1}, R{2}, R{0}",
      "IADD3 R{0}, R{1}, R{2}, RZ",  "HFMA2 R{0}, R{1}, R{2}, R{0}",
      "DADD R{0}, R{1}, R{2}",       "LOP3.LUT R{0}, R{1}, R{2}, RZ, 0x3c, !PT"};
  const std::vector<std::string> loads = {"LDS.64 R{0}, [R{1}]", "MUFU.RSQ R{0}, R{1}",
                                          "LDG.E R{0}, desc[UR4][R{1}.64]",
                                          "SHFL.BFLY PT, R{0}, R{1}, 0x1, 0x1f"};
  // A scheduler is greedy, so that more warps may get out of each other's way by luck: 6.2 % at most with
  // 150 seeds. Three times as much is a fault.
  constexpr double kLuck = 0.2;
  // The cycles of an iteration are the difference of two runs, and may be below a bound where the shorter one
  // wastes more: by 1.8 % at most with 150 seeds.
  constexpr double kWaste = 0.1;
  // So runs are compared with the bounds of so many iterations, too, and with each other.
  const int iterations = SimOptions().more;
  for (int round = 0; round < 40; ++round) {
    std::string body;
    const int count = 3 + static_cast<int>(draw() % 30);
    for (int i = 0; i < count; ++i) {
      const bool load = draw() % 4 == 0;
      const std::string& line = load ? loads[draw() % loads.size()] : lines[draw() % lines.size()];
      const int a = static_cast<int>(draw() % 20), b = static_cast<int>(draw() % 20),
                c = static_cast<int>(draw() % 20);
      const std::string wait = draw() % 5 == 0 ? "B012345" : "B------";
      body += fmt::format("[----:{}:R-:W{}:-:S{:02}] ", wait, load ? std::to_string(draw() % 6) : "-",
                          1 + draw() % 6) +
              fmt::format(fmt::runtime(line), a, b, c) + "\n";
    }
    CAPTURE(body);
    double before = 0;
    for (const int warps : {1, 3, 4, 8, 16, 32, 64}) {
      const LoopModel loop = loop_of(body, {.warps = warps});
      CAPTURE(warps, loop.sim.run_cycles);
      for (const Bound& one : loop.bounds) {
        CAPTURE(one.name, one.cycles);
        // Nothing waits for the results of the last iteration.
        const int bounded = one.name == "latency" ? iterations - 1 : iterations;
        CHECK(loop.sim.run_cycles >= one.cycles * bounded * (1 - 1e-9));
        CHECK(loop.sim.cycles >= one.cycles * (1 - kWaste));
      }
      CHECK(loop.sim.run_cycles >= before * (1 - kLuck));
      before = loop.sim.run_cycles;
    }
  }
}

TEST_CASE("occupancy is that of registers, shared memory, threads or thread blocks") {
  CubinFunction function;
  function.registers = 32;
  const auto of = [&](const ModelOptions& options) { return occupancy_of(function, 90, options); };
  CHECK((of({}).warps == 64 && of({}).limit == "threads" && of({}).block_warps == kDefaultBlockWarps));
  function.registers = 128;
  CHECK((of({}).warps == 16 && of({}).limit == "registers"));
  function.max_block = {128, 2, 1};
  CHECK(of({}).block_warps == 8);
  function.shared = 1024;
  CHECK((of({.shared = 100000}).blocks == 2 && of({.shared = 100000}).limit == "shared memory"));
  // 227 KiB are the most that a thread block can have on sm_90, though the SM has 228.
  CHECK((of({.shared = 226 * 1024}).blocks == 1));
  CHECK((of({.shared = 227 * 1024}).blocks == 0 && of({.shared = 227 * 1024}).limit == "shared memory"));
  function = {};
  function.registers = 255;
  CHECK((of({.block_warps = 32}).blocks == 0 && of({.block_warps = 32}).limit == "registers"));
  function.registers = 16;
  CHECK((of({.block_warps = 1}).blocks == 32 && of({.block_warps = 1}).limit == "thread blocks"));
  CHECK((of({.warps = 6, .block_warps = 2}).blocks == 3 && of({.warps = 6}).limit == "given"));
}
