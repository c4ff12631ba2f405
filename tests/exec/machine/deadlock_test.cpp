// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

// What is said where all wait: who, for whom, and where those are.
namespace ptxloom::exec::test::deadlock_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHead =
    ".shared .align 8 .b64 bar[2]; .reg .u64 %out, %in; .reg .u32 %t, %w, %x, %r; .reg .pred %p, %q; "
    "ld.param.u64 %out, [out]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %r, %cluster_ctarank;\n";

Diagnostic deadlock_of(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  INFO(body);
  const Program program = program_of(kOutIn, kHead + body);
  return fault_of([&] {
    Memory memory;
    const auto parameters = pack({memory.allocate(256), memory.allocate(256)});
    program.run(memory, {.grid = {blocks, 1, 1},
                         .block = {threads, 1, 1},
                         .cluster = {blocks, 1, 1},
                         .parameters = parameters});
  });
}
std::string wait(const std::string& label, int parity) {
  return label + ": mbarrier.try_wait.parity.shared.b64 %p, [bar], " + std::to_string(parity) +
         "; @!%p bra " + label + ";\n";
}
const std::string kInit = "setp.eq.u32 %q, %t, 0; @%q mbarrier.init.shared.b64 [bar], 2; bar.sync 0;\n";

}  // namespace

TEST_CASE("the absent lanes of a member mask are named, and where they are") {
  for (const char* meet : {"bar.warp.sync -1;", "shfl.sync.idx.b32 %x, %t, 0, 31, -1;",
                           "vote.sync.ballot.b32 %x, %q, -1;", "redux.sync.add.u32 %x, %t, -1;"}) {
    const Diagnostic d = deadlock_of(
        "setp.lt.u32 %p, %t, 20; setp.eq.u32 %q, %t, 25; @%p bra here; barrier.sync 3, 32; here: " +
            std::string(meet),
        32);
    CHECK(d.code == "barrier-deadlock");
    CHECK_THAT(d.message, ContainsSubstring("12 of 32 threads wait here at barrier 3, in warp 0") &&
                              ContainsSubstring(std::string("warp 0 waits at `") + meet) &&
                              ContainsSubstring("lanes 0-19 wait here for lanes 20-31 of their member mask; "
                                                "lanes 20-31 are at `barrier.sync 3, 32;`"));
  }
  // Two groups that wait for each other at two places.
  const Diagnostic both = deadlock_of(
      "setp.lt.u32 %p, %t, 7; @%p bra low; bar.warp.sync -1; bra end; low: shfl.sync.idx.b32 %x, %t, 0, 31, "
      "-1; end:",
      32);
  CHECK_THAT(
      both.message,
      ContainsSubstring("lanes 7-31 wait here for lanes 0-6 of their member mask; lanes 0-6 are at "
                        "`shfl.sync.idx.b32 %x, %t, 0, 31, -1;`") &&
          ContainsSubstring("lanes 0-6 wait here for lanes 7-31 of their member mask; lanes 7-31 are at "
                            "`bar.warp.sync -1;`"));
}

TEST_CASE("a barrier whose count is wrong says how many came, and how many never can") {
  const Diagnostic many = deadlock_of("setp.lt.u32 %p, %t, 32; @%p bra end; bar.sync 2, 96; end:", 96);
  CHECK(many.code == "barrier-deadlock");
  CHECK_THAT(many.message, ContainsSubstring("64 of 96 threads wait here at barrier 2, in warps 1, 2; 32 "
                                             "threads of the thread block have exited"));
  const Diagnostic crossed =
      deadlock_of("setp.eq.u32 %p, %w, 0; @%p bar.sync 1, 64; @!%p bar.sync 2, 64;", 64);
  CHECK_THAT(crossed.message,
             ContainsSubstring("at barrier 1, in warp 0") && ContainsSubstring("at barrier 2, in warp 1"));
}

TEST_CASE("a wait for the wrong parity says which phase is complete") {
  const std::string arrive = "mbarrier.arrive.shared.b64 _, [bar];\n";
  // The first phase is complete and the wait is for the second, of parity 1.
  const Diagnostic d = deadlock_of(kInit + arrive + arrive + wait("a", 0) + wait("b", 1), 1);
  CHECK(d.code == "mbarrier-deadlock");
  CHECK_THAT(d.message, ContainsSubstring(
                            "phase 1 (parity 1) of the mbarrier at 0x0 lacks 2 of 2 arrivals and 0 bytes; no "
                            "thread has arrived in this phase, and phase 0 (parity 0) is complete; the last "
                            "to arrive was lane 0 of warp 0 by `mbarrier.arrive.shared.b64 _, [bar];`"));
  CHECK_THAT(d.hint, ContainsSubstring("parity"));
  // More bytes come than are expected.
  const Diagnostic bytes = deadlock_of(
      kInit + "mbarrier.complete_tx.relaxed.cta.shared.b64 [bar], 48;" + arrive + arrive + wait("a", 0), 1);
  CHECK_THAT(bytes.message, ContainsSubstring("48 bytes have arrived that were not expected"));
}

TEST_CASE("who tests a barrier in memory comes first, and others that wait after it") {
  // Warp 0 waits for an mbarrier at which nobody arrives, warp 1 for warp 0.
  const Diagnostic d = deadlock_of(
      kInit + "setp.eq.u32 %q, %w, 1; @%q bra last;\n" + wait("a", 0) + "last: bar.sync 3, 64;", 64);
  CHECK(d.code == "mbarrier-deadlock");
  CHECK_THAT(d.message, ContainsSubstring("lacks 2 of 2 arrivals") &&
                            ContainsSubstring("; warp 1 waits at `") &&
                            ContainsSubstring("32 of 64 threads wait here at barrier 3, in warp 1"));
  CHECK_THAT(d.hint, ContainsSubstring("parity"));
}

TEST_CASE("threads missing at the cluster's barrier and in a warpgroup are named") {
  const std::string meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  const Diagnostic cluster = deadlock_of(
      "setp.eq.u32 %p, %r, 1; @!%p bra meet; setp.eq.u32 %q, %w, 1; @%q bar.sync 4, 64; meet: " + meet, 64,
      2);
  CHECK_THAT(cluster.message,
             ContainsSubstring("32 threads that have not arrived at the barrier of the cluster, the first of "
                               "them in warp 1 of block 1: lanes 0-31 are at `@%q bar.sync 4, 64;`"));
  CHECK(cluster.code == "barrier-deadlock");
  const auto group = [](const std::string& first, const std::string& absent, std::uint32_t threads) {
    return deadlock_of(
               ".reg .f32 %d<4>; .reg .b64 %g; mov.u64 %g, 0; " + first + "setp.eq.u32 %p, %w, " + absent +
                   "; @%p bar.sync 5, 64; wgmma.fence.sync.aligned; "
                   "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %g, %g, 0, "
                   "1, 1, 0, 0;",
               threads)
        .message;
  };
  CHECK_THAT(group("", "2", 128), ContainsSubstring("it waits here for warp 2 of its warpgroup"));
  CHECK_THAT(group("setp.lt.u32 %q, %w, 4; @%q exit; ", "6", 256),
             ContainsSubstring("it waits here for warp 6 of its warpgroup"));
}

}  // namespace ptxloom::exec::test::deadlock_test
