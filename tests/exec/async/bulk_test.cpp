// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::bulk_test {
namespace {

using Words = std::vector<std::uint32_t>;
constexpr std::uint32_t kPoisoned = 0xa5a5'a5a5;

const std::string kHead =
    ".shared .align 8 .b64 bar; .shared .align 128 .b8 s[64]; .reg .u64 %out, %in; .reg .u32 %t, %x, %n, %i; "
    ".reg .b16 %h; .reg .pred %p; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x;\n";
const std::string kInit =
    "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;\n";
const std::string kLoad =
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], 32, [bar];\n";
const std::string kWait = "w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w;\n";
// Shared memory as 1, 2, 3 ...
const std::string kFill =
    "mov.u32 %i, 0; fill: mov.u32 %x, s; mad.lo.u32 %x, %i, 4, %x; add.u32 %i, %i, 1; st.shared.u32 [%x], "
    "%i; "
    "setp.lt.u32 %p, %i, 16; @%p bra fill; fence.proxy.async;\n";
std::string store(int byte) {
  return "ld.shared.u32 %x, [s+" + std::to_string(byte) + "]; st.global.u32 [%out+" + std::to_string(byte) +
         "], %x;\n";
}

Program program(const std::string& body) { return program_of(kOutIn, kHead + body, {}, "sm_100a"); }

Words run_body(const std::string& body, std::size_t size, const Launch& launch = {}) {
  Words in(16);
  for (std::uint32_t i = 0; i < 16; ++i) in[i] = 101 + i;
  return run<std::uint32_t>(program(body), 1, size, in, launch);
}
std::string code(const std::string& body) {
  return fault_of([&] { run_body(body, 16); }).code;
}

}  // namespace

TEST_CASE("a bulk copy to shared memory arrives when its mbarrier has been waited for") {
  CHECK(run_body(kInit + kLoad + kWait + store(0) + store(28), 8) ==
        Words{101, kPoisoned, kPoisoned, kPoisoned, kPoisoned, kPoisoned, kPoisoned, 108});
}

TEST_CASE("before the wait the bytes are poison, and one look at the barrier is no wait") {
  const std::string zero = "st.shared.u32 [s], 0;\n";
  const std::string late = store(0) + kWait;
  CHECK(run_body(kInit + zero + kLoad + late, 1, kUnjudged) == Words{kPoisoned});
  CHECK(run_body(kInit + zero + kLoad + "mbarrier.try_wait.parity.shared.b64 %p, [bar], 0;" +
                     "ld.shared.u32 %x, "
                     "[s]; selp.u32 %x, %x, 7, %p; st.global.u32 [%out], %x;" +
                     kWait,
                 1, kUnjudged) == Words{7});
  // A source that is changed too early shows.
  CHECK(run_body(kInit + kLoad + "st.global.u32 [%in], 55;" + kWait + store(0), 1) == Words{55});
}

TEST_CASE("a phase that does not expect the bytes completes too early") {
  CHECK(run_body("mbarrier.init.shared.b64 [bar], 1;" + kLoad + "mbarrier.arrive.shared.b64 _, [bar];" +
                     kWait + store(0) + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32;" +
                     "v: mbarrier.try_wait.parity.shared.b64 %p, [bar], 1; @!%p bra v;",
                 1, kUnjudged) == Words{kPoisoned});
}

TEST_CASE("a bulk copy to global memory reads its source late and arrives at the wait of its group") {
  const std::string copy =
      "cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 16; "
      "cp.async.bulk.commit_group;\n";
  const auto seen = [](std::size_t word) {
    return "ld.global.u32 %x, [%out]; st.global.u32 [%out+" + std::to_string(4 * word) + "], %x;\n";
  };
  CHECK(run_body(kFill + copy + seen(4) + "cp.async.bulk.wait_group.read 0;" + seen(5) +
                     "st.shared.u32 [s], 9;" + "cp.async.bulk.wait_group 0;" + seen(6),
                 7) == Words{1, 2, 3, 4, kPoisoned, kPoisoned, 1});
  // Written again before it was read.
  CHECK(run_body(kFill + copy + "st.shared.u32 [s], 9; cp.async.bulk.wait_group 0;", 4, kUnjudged) ==
        Words{9, 2, 3, 4});
  // A group that the wait leaves pending.
  CHECK(run_body(kFill + copy + "cp.async.bulk.commit_group; cp.async.bulk.wait_group 1;" + seen(4), 5) ==
        Words{1, 2, 3, 4, 1});
  CHECK(run_body(kFill + copy + "cp.async.bulk.wait_group 1;" + seen(4) + "cp.async.bulk.wait_group.read 0;",
                 5) == Words{1, 2, 3, 4, kPoisoned});
}

TEST_CASE("a byte mask picks bytes of each sixteen") {
  const auto out =
      run_body(kFill +
                   "mov.b16 %h, 0x8011; cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out], "
                   "[s], 32, %h; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;",
               8);
  CHECK(out == Words{0xa5a5'a501, 0xa5a5'a502, kPoisoned, 0x00a5'a5a5, 0xa5a5'a505, 0xa5a5'a506, kPoisoned,
                     0x00a5'a5a5});
}

TEST_CASE("a bulk reduction adds to what is there") {
  const std::string set = "st.global.v4.u32 [%out], {10, 20, 30, 40};\n";
  const std::string end = " [%out], [s], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n";
  const std::string reduce = "cp.reduce.async.bulk.global.shared::cta.bulk_group";
  CHECK(run_body(kFill + set + reduce + ".add.u32" + end, 4) == Words{11, 22, 33, 44});
  CHECK(run_body(kFill + set + reduce + ".min.s32" + end, 4) == Words{1, 2, 3, 4});
  CHECK(run_body(kFill + set + reduce + ".xor.b32" + end, 4) == Words{11, 22, 29, 44});
  CHECK(run_body(kFill +
                     "st.global.v4.b32 [%out], {0x3c003c00, 0, 0, 0}; st.shared.v4.b32 [s], {0x40003c00, "
                     "0x4000, 0, 0x80000000}; fence.proxy.async;" +
                     reduce + ".add.noftz.f16" + end,
                 4) == Words{0x4200'4000, 0x4000, 0, 0});
}

TEST_CASE("st.bulk sets shared memory to zero") {
  CHECK(run_body(kFill + "mov.u32 %x, s; st.bulk.weak.shared::cta [%x+8], 16, 0;" + store(4) + store(8) +
                     store(20) + store(24),
                 7) == Words{kPoisoned, 2, 0, kPoisoned, kPoisoned, 0, 7});
}

TEST_CASE("st.async and red.async to global memory change it") {
  CHECK(
      run_body("st.async.release.gpu.global.b32 [%out], 40; red.async.release.gpu.global.add.u32 [%out], 2; "
               "st.async.release.sys.u16 [%out+6], 7;",
               2) == Words{42, 0x0007'a5a5});
}

TEST_CASE("a producer fills a ring of buffers that another warp empties") {
  const std::string ring = R"(
    .shared .align 128 .b8 buf[256]; .shared .align 8 .b64 full[2]; .shared .align 8 .b64 empty[2];
    .reg .u32 %stage, %par, %f, %e, %b, %sum, %lane; .reg .pred %q;
    setp.ne.u32 %q, %t, 0; @%q bra ready;
    mbarrier.init.shared.b64 [full], 1; mbarrier.init.shared.b64 [full+8], 1;
    mbarrier.init.shared.b64 [empty], 32; mbarrier.init.shared.b64 [empty+8], 32;
    ready: bar.sync 0; mov.u32 %i, 0; mov.u32 %sum, 0; mov.u32 %lane, %laneid;
    setp.ge.u32 %q, %t, 32; @%q bra consume; setp.ne.u32 %q, %t, 0; @%q bra end;
    produce: and.b32 %stage, %i, 1; shr.u32 %par, %i, 1; and.b32 %par, %par, 1; xor.b32 %par, %par, 1;
    mov.u32 %f, full; mad.lo.u32 %f, %stage, 8, %f; mov.u32 %e, empty; mad.lo.u32 %e, %stage, 8, %e;
    mov.u32 %b, buf; mad.lo.u32 %b, %stage, 128, %b;
    we: mbarrier.try_wait.parity.shared.b64 %p, [%e], %par; @!%p bra we;
    mbarrier.arrive.expect_tx.shared.b64 _, [%f], 128;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%b], [%in], 128, [%f];
    add.u64 %in, %in, 128; add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 8; @%q bra produce; bra end;
    consume: and.b32 %stage, %i, 1; shr.u32 %par, %i, 1; and.b32 %par, %par, 1;
    mov.u32 %f, full; mad.lo.u32 %f, %stage, 8, %f; mov.u32 %e, empty; mad.lo.u32 %e, %stage, 8, %e;
    mov.u32 %b, buf; mad.lo.u32 %b, %stage, 128, %b; mad.lo.u32 %b, %lane, 4, %b;
    wf: mbarrier.try_wait.parity.shared.b64 %p, [%f], %par; @!%p bra wf;
    ld.shared.u32 %x, [%b]; mad.lo.u32 %sum, %sum, 3, %x;
    mbarrier.arrive.shared.b64 _, [%e];
    add.u32 %i, %i, 1; setp.lt.u32 %q, %i, 8; @%q bra consume;
    mad.wide.u32 %out, %lane, 4, %out; st.global.u32 [%out], %sum; end:
  )";
  Random random;
  INFO("seed " << random.seed);
  Words in(256);
  for (auto& x : in) x = static_cast<std::uint32_t>(random.bits());
  const Words out = run<std::uint32_t>(program(ring), 64, 32, in);
  for (std::size_t lane = 0; lane < 32; ++lane) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < 8; ++i) sum = sum * 3 + in[i * 32 + lane];
    REQUIRE(out[lane] == sum);
  }
}

TEST_CASE("each misuse of a bulk copy is a fault") {
  CHECK(code(kInit +
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+8], [%in], 32, [bar];") ==
        "misaligned");
  CHECK(code(kInit +
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in+4], 32, [bar];") ==
        "misaligned");
  CHECK(code(kInit +
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in+48], 32, [bar];") ==
        "out-of-bounds");
  CHECK(code(kInit +
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+48], [%in], 32, [bar];") ==
        "out-of-bounds");
  CHECK(code(kInit +
             "mov.u32 %n, 24; cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s], [%in], "
             "%n, [bar];") == "copy-size");
  CHECK(code(kLoad) == "mbarrier-uninitialised");
  CHECK(code(kInit + kLoad) == "copy-not-awaited");
  CHECK(code(kInit + kLoad + "mbarrier.inval.shared.b64 [bar];") == "mbarrier-busy");
  CHECK(code(kFill + "cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 16;") == "copy-not-awaited");
  CHECK(code(kFill +
             "cp.async.bulk.global.shared::cta.bulk_group [%out], [s], 16; cp.async.bulk.wait_group 0;") ==
        "copy-not-awaited");  // not committed
  CHECK(code(kInit +
             "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [s], [s+32], 16, "
             "[bar];") == "same-block");
  CHECK(code("mov.u64 %in, 12; mov.u32 %x, s; st.bulk.shared::cta [%x], %in, 0;") == "copy-size");
  // Fewer bytes than the phase expects: it never completes.
  CHECK(code(kInit + "mbarrier.expect_tx.shared.b64 [bar], 16;" + kLoad + kWait) == "mbarrier-deadlock");
}

}  // namespace ptxloom::exec::test::bulk_test
