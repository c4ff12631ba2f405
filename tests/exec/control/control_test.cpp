// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::control_test {
namespace {

using Catch::Matchers::ContainsSubstring;

/// What `statements` leave in %x of each thread.
std::vector<std::uint32_t> result_of(std::uint32_t threads, const std::string& statements,
                                     const Launch& launch = {}) {
  const Program program =
      program_of(kOutIn,
                 ".shared .align 4 .b32 s[1024]; .reg .u64 %out; .reg .u32 %t, %x, %y, %w, %l, %a; .reg "
                 ".pred %p, %q; ld.param.u64 %out, [out];\n"
                 "mov.u32 %t, %tid.x; mov.u32 %w, %warpid; mov.u32 %l, %laneid; mov.u32 %a, s; mad.lo.u32 "
                 "%a, %t, 4, %a; mad.wide.u32 %out, %t, 4, %out; mov.u32 %x, 0;\n" +
                     statements + "\nst.global.u32 [%out], %x;\n");
  return run<std::uint32_t>(program, threads, threads, std::vector<std::uint32_t>{}, launch);
}

Diagnostic fault_in(std::uint32_t threads, const std::string& statements, const Launch& launch = {}) {
  return fault_of([&] { result_of(threads, statements, launch); });
}

}  // namespace

TEST_CASE("diverged threads do their own work and meet again") {
  // Collatz steps of each thread's number; the threads leave the loop one by one, then shuffle together.
  const auto out = result_of(
      32,
      "add.u32 %y, %t, 1;\n"
      "LOOP: setp.eq.u32 %p, %y, 1; @%p bra DONE; and.b32 %l, %y, 1; setp.eq.u32 %q, %l, 0; @%q bra EVEN;\n"
      "mad.lo.u32 %y, %y, 3, 1; bra NEXT;\n"
      "EVEN: shr.u32 %y, %y, 1;\n"
      "NEXT: add.u32 %x, %x, 1; bra LOOP;\n"
      "DONE: shfl.sync.bfly.b32 %y, %x, 1, 31, 0xffffffff; mad.lo.u32 %x, %y, 1000, %x;");
  const auto steps = [](std::uint32_t n) {
    std::uint32_t count = 0;
    for (; n != 1; ++count) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return count;
  };
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(out[i] == steps((i ^ 1) + 1) * 1000 + steps(i + 1));
}

TEST_CASE("a guard keeps single threads from an instruction") {
  const auto out = result_of(40, "setp.gt.u32 %p, %t, 35; @%p mov.u32 %x, 1; @!%p add.u32 %x, %x, 2;");
  for (std::uint32_t i = 0; i < 40; ++i) CHECK(out[i] == (i > 35 ? 1 : 2));
}

TEST_CASE("a barrier lets no warp through before the last has come") {
  // Each warp adds up what all threads wrote before the barrier, many times over.
  const auto out = result_of(256,
                             "mov.u32 %y, 0;\n"
                             "LOOP: mad.lo.u32 %l, %y, 1000, %t; st.shared.u32 [%a], %l; bar.sync 0;\n"
                             "xor.b32 %l, %t, 255; mov.u32 %w, s; mad.lo.u32 %w, %l, 4, %w; ld.shared.u32 "
                             "%l, [%w]; add.u32 %x, %x, %l; bar.sync 0;\n"
                             "add.u32 %y, %y, 1; setp.lt.u32 %p, %y, 5; @%p bra LOOP;");
  for (std::uint32_t i = 0; i < 256; ++i) CHECK(out[i] == 5 * (i ^ 255) + 10'000);
}

TEST_CASE("a barrier knows a warp that is not full") {
  const auto out =
      result_of(72, "setp.gt.u32 %p, %t, 63; @%p st.shared.u32 [s], 4; bar.sync 0; ld.shared.u32 %x, [s];");
  CHECK(out == std::vector<std::uint32_t>(72, 4));
}

TEST_CASE("producers arrive and consumers wait at a counted barrier") {
  const auto out = result_of(128,
                             "setp.lt.u32 %p, %w, 2; @%p bra PRODUCE;\n"
                             "bar.sync 3, 128; add.u32 %a, %a, -256; ld.shared.u32 %x, [%a]; bra DONE;\n"
                             "PRODUCE: add.u32 %y, %t, 7; st.shared.u32 [%a], %y; bar.arrive 3, 128;\n"
                             "DONE:");
  for (std::uint32_t i = 64; i < 128; ++i) CHECK(out[i] == i - 64 + 7);
}

TEST_CASE("threads that have exited are not waited for") {
  const auto out = result_of(96, "setp.ge.u32 %p, %t, 48; @%p exit; barrier.sync 0; mov.u32 %x, 5;");
  CHECK(out[47] == 5);
  CHECK(out[48] == 0xa5a5'a5a5);
  // The other order: those who wait are freed by the exit.
  CHECK(result_of(64, "setp.lt.u32 %p, %w, 1; @%p bra WAIT; exit; WAIT: bar.sync 0; mov.u32 %x, 6;")[0] == 6);
}

TEST_CASE("a barrier can count and combine predicates") {
  CHECK(result_of(64, "setp.lt.u32 %p, %t, 40; bar.red.popc.u32 %x, 0, %p;") ==
        std::vector<std::uint32_t>(64, 40));
  CHECK(result_of(64, "setp.lt.u32 %p, %t, 40; bar.red.and.pred %q, 0, %p; selp.u32 %x, 1, 2, %q;")[5] == 2);
  CHECK(result_of(64, "setp.lt.u32 %p, %t, 40; bar.red.or.pred %q, 0, %p; selp.u32 %x, 1, 2, %q;")[50] == 1);
}

TEST_CASE("threads of a warp wait for each other by member mask") {
  const auto out = result_of(
      32,
      "setp.lt.u32 %p, %t, 16; @%p bra LOW; bar.warp.sync 0xffffffff; ld.shared.u32 %x, [s]; bra DONE;\n"
      "LOW: add.u32 %y, %t, 9; st.shared.u32 [%a], %y; bar.warp.sync 0xffffffff; ld.shared.u32 %x, [s+4];\n"
      "DONE:");
  CHECK(out[0] == 10);
  CHECK(out[31] == 9);
}

TEST_CASE("a barrier within a divergent branch is a fault") {
  const Diagnostic d = fault_in(64, "setp.lt.u32 %p, %t, 40; @%p bar.sync 0;");
  CHECK(d.code == "barrier-divergence");
  CHECK_THAT(d.message, ContainsSubstring("bar.sync 0") && ContainsSubstring("lanes 8-31 do not"));
}

TEST_CASE("threads of a warp may come to the barrier at the head of a loop one after the other") {
  // Each lane stays longer in the inner loop than the one before, and jumps back to the barrier from there.
  const auto out = result_of(
      64,
      "mov.u32 %w, 0; bra HEAD;\n"
      "NEXT: add.u32 %w, %w, 1;\n"
      "HEAD: bar.sync 0; setp.ge.u32 %p, %w, 3; @%p bra DONE; mov.u32 %y, 0;\n"
      "INNER: add.u32 %y, %y, 1; add.u32 %x, %x, 1; setp.le.u32 %p, %y, %l; @!%p bra NEXT; bra INNER;\n"
      "DONE:");
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == 3 * (i % 32 + 1));
}

TEST_CASE("a barrier that part of a warp goes around is a fault, whatever comes then") {
  const std::string around = "setp.lt.u32 %p, %l, 9; @%p bra OTHER; bar.sync 0;";
  for (const std::string other : {"bra DONE; OTHER: bar.sync 1; DONE:", "bra DONE; OTHER: exit; DONE:"})
    CHECK(fault_in(64, around + other).code == "barrier-divergence");
}

TEST_CASE("threads that wait forever are reported with where they wait") {
  const Diagnostic counted = fault_in(64, "bar.sync 1, 96;");
  CHECK(counted.code == "barrier-deadlock");
  CHECK_THAT(counted.message, ContainsSubstring("64 of 96 threads wait here at barrier"));
  const Diagnostic crossed =
      fault_in(64, "setp.eq.u32 %p, %w, 0; @%p bra A; bar.sync 2; bra B; A: bar.sync 1; B:");
  CHECK(crossed.code == "barrier-deadlock");
  CHECK_THAT(crossed.message, ContainsSubstring("bar.sync 1") && ContainsSubstring("bar.sync 2"));
  const Diagnostic warp = fault_in(
      32, "setp.lt.u32 %p, %t, 16; @%p bra A; barrier.sync 1, 32; bra B; A: bar.warp.sync 0xffffffff; B:");
  CHECK(warp.code == "barrier-deadlock");
}

TEST_CASE("barriers are used with one count, and not beyond it") {
  CHECK(fault_in(96, "setp.eq.u32 %p, %w, 0; @%p bra A; bar.sync 1, 96; bra B; A: bar.sync 1, 64; B:").code ==
        "barrier-count");
  CHECK(fault_in(32, "bar.sync 1, 40;").code == "barrier-count");
  CHECK(fault_in(32, "bar.sync %t, 32;").code == "barrier-divergence");
  CHECK(fault_in(32, "mov.u32 %y, 16; bar.sync %y;").code == "barrier-number");
}

TEST_CASE("an endless loop ends at the limit, named") {
  const Diagnostic d = fault_in(32, "LOOP: add.u32 %x, %x, 1; bra LOOP;", {.step_limit = 50'000});
  CHECK(d.code == "step-limit");
  CHECK_THAT(d.message, ContainsSubstring("kernel k"));
}

TEST_CASE("a trap is a fault") {
  const Diagnostic d = fault_in(32, "setp.eq.u32 %p, %t, 9; @%p trap;");
  CHECK(d.code == "trap");
  CHECK(d.hint == "look for the check that branches here");
  // grid.sync() stops itself where the launch has no workspace for it.
  const std::string waits = "mov.u32 %x, %envreg1; setp.eq.u32 %p, %x, 0; @%p trap; trap;";
  CHECK_THAT(fault_in(32, waits).hint, ContainsSubstring("set Launch::cooperative"));
  CHECK(fault_in(32, waits, {.cooperative = true}).hint == d.hint);
}

TEST_CASE("among several faulty thread blocks the first is reported, for any number of host threads") {
  // Blocks from 37 on fail, one of the first two much later than the rest.
  for (const char* slow : {"37", "38"}) {
    const Program program = program_of(
        ".param .u64 p",
        std::string(".reg .u32 %c, %i, %n; .reg .pred %q, %good; mov.u32 %c, %ctaid.x; mov.u32 %i, 0;\n"
                    "setp.lt.u32 %good, %c, 37; setp.lt.u32 %q, %c, 38; selp.u32 %n, 3000, 0, %q; "
                    "setp.eq.u32 %q, %c, ") +
            slow +
            "; selp.u32 %n, 60000, %n, %q;\n"
            "LOOP: add.u32 %i, %i, 1; setp.lt.u32 %q, %i, %n; @%q bra LOOP; @!%good trap;\n");
    Memory memory;
    const auto parameters = pack({0});
    for (const unsigned jobs : {1u, 2u, 3u, 3u, 3u, 3u, 8u}) {
      const Diagnostic d = fault_of([&] {
        program.run(memory,
                    {.grid = {100, 1, 1}, .block = {64, 1, 1}, .parameters = parameters, .jobs = jobs});
      });
      CHECK_THAT(d.message, ContainsSubstring("block (37,0,0)"));
    }
  }
}

TEST_CASE("instructions are counted by opcode") {
  const Program program = program_of("",
                                     ".reg .u32 %x; mov.u32 %x, 0; LOOP: add.u32 %x, %x, 1; .reg .pred %p; "
                                     "setp.lt.u32 %p, %x, 10; @%p bra LOOP;\n");
  Memory memory;
  Stats stats;
  program.run(memory, {.grid = {3, 1, 1}, .block = {64, 1, 1}}, &stats);
  CHECK(stats.executed.at("add.u32") == 10 * 2 * 3);
  CHECK(stats.executed.at("mov.u32") == 2 * 3);
  CHECK(stats.executed.at("ret") == 2 * 3);
}

TEST_CASE("a trace names every step once, with the threads that take it") {
  const Program program = program_of("",
                                     ".reg .u32 %t; .reg .u64 %w; .reg .pred %p; mov.u32 %t, %tid.x; "
                                     "setp.lt.u32 %p, %t, 3; @%p cvt.u16.u32 %w, %t;\n");
  Memory memory;
  std::vector<std::string> steps;
  program.run(memory, {.grid = {2, 1, 1}, .block = {8, 1, 1}, .trace = [&](const Step& step) {
                         steps.push_back(std::to_string(step.block[0]) + " " + std::to_string(step.lanes) +
                                         " " + std::string(step.instruction.variant.opcode()));
                       }});
  REQUIRE(steps.size() == 8);
  CHECK(steps[0] == "0 255 mov.u32");
  CHECK(steps[6] == "1 7 cvt.u16.u32");
}

TEST_CASE("shuffles take values from where the mode says") {
  const auto shuffled = [](const std::string& words) {
    return result_of(32, "add.u32 %y, %t, 100; setp.eq.u32 %p, 1, 0; shfl.sync." + words +
                             ", 0xffffffff; selp.u32 %l, 1000, 0, %p; add.u32 %x, %x, %l;");
  };
  const auto up = shuffled("up.b32 %x|%p, %y, 3, 0"), down = shuffled("down.b32 %x|%p, %y, 5, 31"),
             bfly = shuffled("bfly.b32 %x|%p, %y, 17, 31"), idx = shuffled("idx.b32 %x|%p, %y, 2, 0x181f");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CAPTURE(i);
    CHECK(up[i] == (i >= 3 ? 1100 + i - 3 : 100 + i));
    CHECK(down[i] == (i + 5 < 32 ? 1100 + i + 5 : 100 + i));
    CHECK(bfly[i] == 1100 + (i ^ 17));
    CHECK(idx[i] == 1100 + (i / 8 * 8) + 2);  // segments of eight
  }
}

TEST_CASE("shuffles stay within their segment") {
  // Segments of eight lanes: mask 0x18 above the clamp.
  const auto shuffled = [](const std::string& words) {
    return result_of(32, "add.u32 %x, %t, 100; shfl.sync." + words + ", 0xffffffff;");
  };
  const auto up = shuffled("up.b32 %x, %x, 3, 0x1800"), down = shuffled("down.b32 %x, %x, 3, 0x181f"),
             bfly = shuffled("bfly.b32 %x, %x, 8, 0x181f");
  for (std::uint32_t i = 0; i < 32; ++i) {
    CAPTURE(i);
    CHECK(up[i] == 100 + (i % 8 >= 3 ? i - 3 : i));
    CHECK(down[i] == 100 + (i % 8 + 3 < 8 ? i + 3 : i));
    CHECK(bfly[i] == 100 + ((i ^ 8) <= (i | 7) ? i ^ 8 : i));
  }
}

TEST_CASE("a shuffle waits for all its members that live") {
  // Others never come: they wait elsewhere.
  CHECK(
      fault_in(32,
               "setp.lt.u32 %p, %t, 16; @%p shfl.sync.idx.b32 %x, %t, 0, 31, 0xffffffff; @!%p bar.warp.sync "
               "0xffffffff;")
          .code == "barrier-deadlock");
  // They come later, to the same instruction, from further down; or they end.
  const auto late = result_of(32,
                              "setp.lt.u32 %p, %t, 16; add.u32 %y, %t, 100; @!%p bra LATER;\n"
                              "MEET: shfl.sync.bfly.b32 %x, %y, 16, 31, 0xffffffff; bra DONE;\n"
                              "LATER: add.u32 %y, %y, 100; bra MEET; DONE:");
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(late[i] == (i < 16 ? 200 + (i ^ 16) : 100 + (i ^ 16)));
  const auto early = result_of(32,
                               "setp.lt.u32 %p, %t, 20; @!%p bra OUT; shfl.sync.down.b32 %x, %t, 1, 31, "
                               "0xffffffff; bra DONE; OUT: exit; "
                               "DONE: setp.eq.u32 %p, %t, 19; @%p mov.u32 %x, 0;");  // from an exited one
  for (std::uint32_t i = 0; i < 19; ++i) CHECK(early[i] == i + 1);
  CHECK(early[20] == 0xa5a5'a5a5);
  CHECK(fault_in(32, "shfl.sync.idx.b32 %x, %t, 0, 31, 0xffff;").code == "member-mask");
  // Two halves, each with its own mask.
  const auto out = result_of(
      32,
      "setp.lt.u32 %p, %t, 16; selp.u32 %y, 0xffff, 0xffff0000, %p; shfl.sync.bfly.b32 %x, %t, 1, 31, %y;");
  for (std::uint32_t i = 0; i < 32; ++i) CHECK(out[i] == (i ^ 1));
}

}  // namespace ptxloom::exec::test::control_test
