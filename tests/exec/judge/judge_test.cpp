// SPDX-License-Identifier: Apache-2.0
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include <set>
#include <string>

#include "exec/harness.hpp"

// Kernels with one misuse each, beside the same kernels without it.
namespace ptxloom::exec::test::judge_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHead =
    ".shared .align 8 .b64 bar[2]; .shared .align 128 .b8 s[1024]; .reg .u64 %out, %in, %g; .reg .u32 %t, "
    "%x, %y, %a, %b, %n, %w, %r; .reg .b16 %h; .reg .pred %p, %q; ld.param.u64 %out, [out]; "
    "ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; mov.u32 %a, s; mad.lo.u32 %a, %t, 4, "
    "%a; xor.b32 %b, %t, 32; mov.u32 %x, s; mad.lo.u32 %b, %b, 4, %x; mov.u32 %r, %cluster_ctarank;\n";

void run_it(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  const Program program = program_of(kOutIn, kHead + body, {}, "sm_90a");
  Memory memory;
  std::vector<std::uint32_t> out(1024), in(1024);
  const auto parameters = pack({memory.map(out.data(), 4096, "out"), memory.map(in.data(), 4096, "in")});
  program.run(memory, {.grid = {blocks, 1, 1},
                       .block = {threads, 1, 1},
                       .cluster = {blocks, 1, 1},
                       .parameters = parameters});
}
Diagnostic fault_in(const std::string& body, std::uint32_t threads, std::uint32_t blocks = 1) {
  INFO(body);
  return fault_of([&] { run_it(body, threads, blocks); });
}

/// `before` and `after` with `between` or nothing between them: a fault only without it.
struct Pair {
  std::string before, between, after, code;
  std::uint32_t threads = 64, blocks = 1;
};
void check(const Pair& pair) {
  CAPTURE(pair.before, pair.between, pair.after);
  CHECK_NOTHROW(run_it(pair.before + pair.between + pair.after, pair.threads, pair.blocks));
  CHECK(fault_in(pair.before + pair.after, pair.threads, pair.blocks).code == pair.code);
}

const std::string kMine = "st.shared.u32 [%a], %t;", kOther = "ld.shared.u32 %x, [%b];";
const std::string kInit =
    "setp.eq.u32 %q, %t, 0; @%q mbarrier.init.shared.b64 [bar], 1; @%q mbarrier.init.shared.b64 [bar+8], 1; "
    "bar.sync 0;\n";
std::string wait(const std::string& label, int parity, int offset = 0) {
  return label + ": mbarrier.try_wait.parity.shared.b64 %p, [bar+" + std::to_string(offset) + "], " +
         std::to_string(parity) + "; @!%p bra " + label + ";\n";
}
const std::string kLoad =
    "@%q mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128; @%q "
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 128, [bar];\n";

}  // namespace

TEST_CASE("a race says who, where, and with whom") {
  const Diagnostic d = fault_in(kMine + kOther, 64);
  CHECK(d.code == "data-race");
  CHECK_THAT(d.message,
             ContainsSubstring("`st.shared.u32 [%a], %t;` in kernel k, block (0,0,0), thread (32,0,0)") &&
                 ContainsSubstring("it writes byte 0x100 of shared memory") &&
                 ContainsSubstring("which `ld.shared.u32 %x, [%b];` (line 8) of warp 0, lane 0 reads"));
}

TEST_CASE("barriers order what comes before and after them") {
  check({kMine, "bar.sync 0;", kOther, "data-race"});
  check({kOther, "bar.sync 0;", kMine, "data-race"});
  check({kMine, "barrier.sync 3, 64;", kOther, "data-race"});
  check({kMine, "setp.ne.u32 %p, %t, 0; bar.red.popc.u32 %n, 0, %p;", kOther, "data-race"});
  const std::string first = "setp.eq.u32 %q, %w, 0; @%q st.shared.u32 [%a], 1;\n";
  const std::string second = "setp.eq.u32 %q, %w, 1; @%q ld.shared.u32 %x, [%b];\n";
  check({first, "@%q bar.arrive 1, 64; @!%q bar.sync 1, 64;", second, "data-race"});
  // The one that only arrives has seen nothing of the other.
  CHECK(fault_in(second + "@%q bar.arrive 1, 64; @!%q bar.sync 1, 64;" + second + kMine, 64).code ==
        "data-race");
}

TEST_CASE("a barrier of all threads follows exited ones, a barrier with a count does not") {
  const std::string leave = "setp.eq.u32 %q, %w, 2; @%q st.shared.u32 [s], 1; @%q ret;\n";
  const std::string read = " ld.shared.u32 %x, [s];";
  CHECK_NOTHROW(run_it(leave + "bar.sync 0;" + read, 96));
  CHECK(fault_in(leave + "bar.sync 1, 64;" + read, 96).code == "data-race");
}

TEST_CASE("threads of a warp are ordered by barriers, not by other instructions they meet at") {
  const std::string neighbour = "xor.b32 %b, %t, 1; mov.u32 %x, s; mad.lo.u32 %b, %b, 4, %x;";
  for (const char* meet : {"bar.warp.sync -1;", "bar.sync 0;"})
    check({neighbour + kMine, meet, kOther, "data-race", 32});
  for (const char* meet :
       {"shfl.sync.bfly.b32 %n, %t, 1, 31, -1;", "vote.sync.any.pred %p, %q, -1;", "elect.sync _|%p, -1;"})
    CHECK(fault_in(neighbour + kMine + meet + kOther, 32).code == "data-race");
  check({neighbour + kOther, "bar.warp.sync -1;", kMine, "data-race", 32});
}

TEST_CASE("an mbarrier orders who arrives before who waits") {
  const std::string send = kInit + "setp.eq.u32 %q, %t, 0; @%q st.shared.u32 [s], 5;";
  check({send, "@%q mbarrier.arrive.shared.b64 _, [bar];" + wait("w", 0), "ld.shared.u32 %x, [s];",
         "data-race"});
  // A barrier that another phase has completed says nothing.
  CHECK(fault_in(
            kInit +
                "setp.eq.u32 %q, %t, 0; @%q mbarrier.arrive.shared.b64 _, [bar]; @%q st.shared.u32 [s], 5;" +
                wait("w", 0) + "ld.shared.u32 %x, [s];",
            64)
            .code == "data-race");
  // Nor does one that was initialised and not yet shown.
  CHECK(fault_in("setp.eq.u32 %q, %t, 0; @%q mbarrier.init.shared.b64 [bar], 64; mbarrier.arrive.shared.b64 "
                 "_, [bar];",
                 64)
            .code == "data-race");
}

TEST_CASE("barrier.cluster orders the blocks of a cluster") {
  const std::string peer = "xor.b32 %r, %r, 1; mov.u32 %b, s; mapa.shared::cluster.u32 %b, %b, %r;\n";
  const std::string read = "ld.shared::cluster.u32 %x, [%b];";
  const std::string meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
  check({peer + "st.shared.u32 [s], %r;", meet, read + meet, "data-race", 1, 2});
}

TEST_CASE("atomic accesses do not race with each other, and order others where they say so") {
  CHECK_NOTHROW(run_it("atom.shared.add.u32 %x, [s], 1; red.shared.max.u32 [s], %t;", 64));
  CHECK(fault_in("atom.shared.add.u32 %x, [s], 1; ld.shared.u32 %x, [s];", 64).code == "data-race");
  CHECK(fault_in("st.shared.u32 [s], 0; atom.shared.add.u32 %x, [s], 1;", 64).code == "data-race");
  const std::string write = "setp.eq.u32 %q, %w, 0; @!%q bra see; st.shared.u32 [s+4], 7;";
  const std::string flag = "st.shared.u32 [s], 0; bar.sync 0;";
  struct Way {
    const char *signal, *look;
    bool orders;
  };
  for (const Way& way :
       {Way{"st.release.cta.shared.u32 [s], 1;", "ld.acquire.cta.shared.u32 %x, [s];", true},
        Way{"st.volatile.shared.u32 [s], 1;", "ld.volatile.shared.u32 %x, [s];", false},
        Way{"membar.cta; st.volatile.shared.u32 [s], 1;", "ld.volatile.shared.u32 %x, [s]; membar.cta;",
            true},
        Way{"membar.cta; atom.shared.exch.b32 %x, [s], 1;", "atom.shared.or.b32 %x, [s], 0; membar.cta;",
            true},
        Way{"membar.cta; atom.shared.exch.b32 %x, [s], 1;", "atom.shared.or.b32 %x, [s], 0;", false},
        Way{"atom.shared.exch.b32 %x, [s], 1;", "atom.shared.or.b32 %x, [s], 0; membar.cta;", false},
        Way{"atom.release.cta.shared.exch.b32 %x, [s], 1;", "atom.acquire.cta.shared.or.b32 %x, [s], 0;",
            true},
        Way{"atom.shared.exch.b32 %x, [s], 1;", "atom.shared.or.b32 %x, [s], 0;", false},
        Way{"atom.relaxed.cta.shared.exch.b32 %x, [s], 1;", "atom.relaxed.cta.shared.or.b32 %x, [s], 0;",
            false},
        Way{"atom.shared.exch.b32 %x, [s], 1;", "ld.relaxed.cta.shared.u32 %x, [s];", false}}) {
    const std::string body = "setp.eq.u32 %q, %t, 0; @%q st.shared.u32 [s], 0; bar.sync 0;" + write +
                             way.signal + "bra end; see: " + way.look +
                             "setp.eq.u32 %p, %x, 0; @%p bra see; ld.shared.u32 %x, [s+4]; end:";
    CAPTURE(body);
    if (way.orders) {
      CHECK_NOTHROW(run_it(body, 64));
    } else {
      CHECK(fault_in(body, 64).code == "data-race");
    }
  }
}

TEST_CASE("bytes are judged one by one") {
  const std::string bytes = "mov.u32 %a, s; add.u32 %a, %a, %t; st.shared.u8 [%a], %t;";
  CHECK_NOTHROW(run_it(bytes, 64));
  CHECK_NOTHROW(run_it(bytes + "bar.sync 0; ld.shared.v4.u32 {%x, %y, %a, %b}, [s];", 64));
  CHECK(fault_in("setp.lt.u32 %p, %t, 32; @%p st.shared.u32 [s], 1; @!%p st.shared.u8 [s+3], 1;", 64).code ==
        "data-race");
}

TEST_CASE("threads of one instruction may store the same value to one place, no other") {
  CHECK_NOTHROW(run_it("st.shared.u32 [s], 5; ld.shared.u32 %x, [s];", 32));
  CHECK(fault_in("st.shared.u32 [s], %t;", 32).code == "data-race");
  CHECK_NOTHROW(run_it("st.shared.u32 [s], %t;", 1));
}

TEST_CASE("asynchronous copies read what threads wrote behind a proxy fence only") {
  const std::string store =
      "cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 128; cp.async.bulk.commit_group; "
      "cp.async.bulk.wait_group 0;";
  const std::string by_first = "setp.eq.u32 %q, %t, 0; @!%q bra end;" + store + "end:";
  const std::string fence = "fence.proxy.async;";
  check({kMine, fence, "bar.sync 0;" + by_first, "proxy-fence", 32});
  check({kMine + "bar.sync 0;", fence, by_first, "proxy-fence", 32});
  // The fence must lie behind the write and before the copy, in the order that barriers make.
  CHECK(fault_in(fence + kMine + "bar.sync 0;" + by_first, 32).code == "proxy-fence");
  CHECK(fault_in(kMine + fence + by_first, 64).code == "data-race");
}

TEST_CASE("wgmma reads what threads wrote behind a proxy fence only") {
  const std::string multiply =
      ".reg .f32 %d<4>; mov.u64 %g, 0x800000008; wgmma.fence.sync.aligned; "
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, %g, %g, 0, 1, 1, 0, 0; "
      "wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;";
  check({kMine, "fence.proxy.async;", "bar.sync 0;" + multiply, "proxy-fence", 128});
  check({kMine + "fence.proxy.async;", "bar.sync 0;", multiply, "data-race", 128});
  check({"fence.proxy.async; bar.sync 0;" + multiply, "bar.sync 0;", kMine, "data-race", 256});
}

TEST_CASE("the bytes of a copy in flight must not be accessed") {
  const std::string copy = "cp.async.ca.shared.global [%a], [%in], 4; cp.async.commit_group;";
  check({copy, "cp.async.wait_group 0;", "ld.shared.u32 %x, [%a];", "copy-not-awaited", 32});
  check({copy, "cp.async.wait_all;", kMine, "copy-not-awaited", 32});
  check({copy + "cp.async.wait_group 0;", "bar.sync 0;", kOther, "data-race"});
  const std::string load = kInit + "setp.eq.u32 %q, %t, 0;" + kLoad;
  check({load, wait("w", 0), "ld.shared.u32 %x, [s];" + wait("v", 0), "copy-not-awaited", 32});
  const std::string store =
      "setp.eq.u32 %q, %t, 0; @!%q bra end; cp.async.bulk.global.shared::cta.bulk_group [%out], "
      "[s], 128; cp.async.bulk.commit_group;";
  const std::string fill = kMine + "fence.proxy.async; bar.sync 0;";
  check({fill + store, "cp.async.bulk.wait_group.read 0;",
         "st.shared.u32 [s], 1; cp.async.bulk.wait_group 0; end:", "copy-not-awaited", 32});
  // Of two threads one waits; the other reads what is there by then, but nothing told it so.
  CHECK(fault_in(load +
                     "@%q bra wait; setp.ne.u32 %p, %t, 32; @%p bra end; mov.u32 %n, 0; nap: nanosleep.u32 "
                     "1; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 99; "
                     "@%p bra nap; ld.shared.u32 %x, [s]; bra end; wait:" +
                     wait("w", 0) + "end:",
                 64)
            .code == "data-race");
}

TEST_CASE("a buffer is refilled only after its readers have released it") {
  const std::string use =
      kInit + "setp.eq.u32 %q, %t, 32; @%q bra fill;" + wait("w", 0) + "ld.shared.u32 %x, [s];";
  const std::string load = kLoad + wait("v", 0);
  const std::string again =
      "@%q mbarrier.arrive.expect_tx.shared.b64 _, [bar], 128; @%q "
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 128, "
      "[bar];" +
      wait("z", 1) + "end:";
  const std::string told =
      "mbarrier.arrive.shared.b64 _, [bar+8]; bra end; fill:" + load + wait("u", 0, 8) + again;
  const std::string untold = "bra end; fill:" + load + again;
  const std::string single =
      "setp.eq.u32 %p, %t, 0; @!%p bra other; bra go; other: setp.eq.u32 %p, %t, 32; @!%p bra "
      "end; go:";
  CHECK_NOTHROW(run_it(kInit + single + use.substr(kInit.size()) + told, 64));
  CHECK(fault_in(kInit + single + use.substr(kInit.size()) + untold, 64).code == "data-race");
}

TEST_CASE("the memory of an mbarrier is used for nothing else") {
  CHECK(fault_in(kInit + "ld.shared.u32 %x, [bar+4];", 32).code == "mbarrier-as-data");
  CHECK(fault_in(kInit + "@%q st.shared.u64 [bar+8], %in;", 32).code == "mbarrier-as-data");
  CHECK_NOTHROW(
      run_it(kInit + "@%q mbarrier.inval.shared.b64 [bar]; bar.sync 0; ld.shared.u32 %x, [bar+4];", 32));
  // Ended while others may still look at it.
  const std::string use = kInit + "@%q mbarrier.arrive.shared.b64 _, [bar];" + wait("w", 0);
  check({use, "bar.sync 0;", "setp.eq.u32 %q, %t, 32; @%q mbarrier.inval.shared.b64 [bar];", "data-race"});
}

// A peer sends twice, and the receiver exits once one of the two has come. Of the orders in which the other
// one is still in flight then, that is the second in about half.
TEST_CASE("a copy that lands ends what its own issue did, and not that of another turn of the loop") {
  Random random;
  INFO("seed " << random.seed);
  const auto codes_of = [&](int expected, std::uint64_t seed) {
    const Program program = program_of(
        kOutIn, kHead + "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], " +
                    std::to_string(expected) +
                    "; st.shared.u32 [s], 0; barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned; "
                    "mapa.shared::cluster.u32 %x, s, 1; mapa.shared::cluster.u32 %y, bar, 1; mov.u32 %n, 0; "
                    "setp.eq.u32 %p, %r, 1; @%p bra delay;\n"
                    "send: red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 "
                    "[%x], 3, [%y]; add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 2; @%p bra send; bra done;\n"
                    "delay: add.u32 %n, %n, 1; setp.lt.u32 %p, %n, 60; @%p bra delay;\n" +
                    wait("w", 0) + "done:");
    Memory memory;
    std::vector<std::uint32_t> out(64);
    const std::uint64_t address = memory.map(out.data(), 256, "out");
    const auto parameters = pack({address, address});
    Findings findings;
    program.run(memory, {.grid = {2, 1, 1},
                         .block = {1, 1, 1},
                         .cluster = {2, 1, 1},
                         .parameters = parameters,
                         .findings = &findings,
                         .schedule = seed});
    std::set<std::string> codes;
    for (const Finding& finding : findings.all()) codes.insert(finding.code);
    return codes;
  };
  int in_flight = 0, exited = 0;
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t seed = random.bits();
    CHECK(codes_of(8, seed).empty());
    const std::set<std::string> codes = codes_of(4, seed);
    in_flight += codes.contains("copy-not-awaited") ? 1 : 0;
    exited += codes.contains("exited-block") ? 1 : 0;
  }
  CHECK(in_flight > 20);
  CHECK(exited > in_flight / 5);
}

}  // namespace ptxloom::exec::test::judge_test
