// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"
#include "ptxloom/tensor_map.hpp"

namespace ptxloom::exec::test::cluster_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::uint32_t>;

const std::string kHead =
    ".shared .align 8 .b64 bar; .shared .align 128 .b8 s[256]; .reg .u64 %out, %in, %g; .reg .u32 %t, %x, "
    "%y, "
    "%n, %r, %i, %peer, %rbar; .reg .b16 %h; .reg .pred %p, %q; ld.param.u64 %out, [out]; ld.param.u64 %in, "
    "[in]; mov.u32 %t, %tid.x; mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; mov.u32 %i, "
    "%ctaid.x;\n";
const std::string kMeet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;\n";
// The thread's number in the grid picks its word of out.
const std::string kStore =
    "mov.u32 %y, %ntid.x; mad.lo.u32 %y, %i, %y, %t; mad.wide.u32 %out, %y, 4, %out; st.global.u32 [%out], "
    "%x;\n";

Words run_grid(const std::string& body, std::uint32_t blocks, std::uint32_t cluster,
               std::uint32_t threads = 1, const std::string& outside = {}) {
  const Program program = program_of(kOutIn, kHead + body, outside, "sm_100a");
  Memory memory;
  Words out(std::size_t{blocks} * threads, 0xa5a5'a5a5), in(64);
  for (std::uint32_t i = 0; i < 64; ++i) in[i] = 100 + i;
  const auto parameters =
      pack({memory.map(out.data(), out.size() * 4, "out"), memory.map(in.data(), 256, "in")});
  program.run(memory, {.grid = {blocks, 1, 1},
                       .block = {threads, 1, 1},
                       .cluster = {cluster, 1, 1},
                       .parameters = parameters});
  return out;
}
Diagnostic fault_in(const std::string& body, std::uint32_t cluster = 2, std::uint32_t threads = 1) {
  return fault_of([&] { run_grid(body, cluster, cluster, threads); });
}

}  // namespace

TEST_CASE("blocks of a cluster read each other's shared memory") {
  // Each writes its number; each reads that of the next, by three kinds of address.
  const std::string write =
      "st.shared.u32 [s+4], %i; " + kMeet + "add.u32 %peer, %r, 1; rem.u32 %peer, %peer, %n;\n";
  const Words expected{1, 2, 0, 4, 5, 3};
  CHECK(run_grid(write + "mapa.shared::cluster.u32 %x, s, %peer; ld.shared::cluster.u32 %x, [%x+4];" + kMeet +
                     kStore,
                 6, 3) == expected);
  CHECK(run_grid(write + "mov.u64 %g, s; cvta.shared.u64 %g, %g; mapa.u64 %g, %g, %peer; ld.u32 %x, [%g+4];" +
                     kMeet + kStore,
                 6, 3) == expected);
  CHECK(
      run_grid(write +
                   "mov.u32 %y, s; mapa.shared::cluster.u32 %y, %y, %peer; atom.shared::cluster.add.u32 %x, "
                   "[%y+4], 10;" +
                   kMeet + kStore,
               6, 3) == expected);
}

TEST_CASE("a thread block's own shared addresses are those of its rank") {
  CHECK(run_grid("mov.u32 %x, s; getctarank.shared::cluster.u32 %x, %x;" + kStore, 4, 4) ==
        Words{0, 1, 2, 3});
  CHECK(run_grid("mov.u64 %g, s; cvta.shared.u64 %g, %g; getctarank.u64 %x, %g;" + kStore, 4, 4) ==
        Words{0, 1, 2, 3});
  CHECK(run_grid(
            "xor.b32 %y, %r, 1; mapa.shared::cluster.u32 %x, s, %y; getctarank.shared::cluster.u32 %x, %x;" +
                kStore,
            4, 4) == Words{1, 0, 3, 2});
  // The lower block of each pair, by clearing a bit.
  CHECK(run_grid("st.shared.u32 [s], %i;" + kMeet +
                     "mov.u32 %y, s; and.b32 %y, %y, 0xFEFFFFFF; ld.shared::cluster."
                     "u32 %x, [%y];" +
                     kMeet + kStore,
                 4, 4) == Words{0, 0, 2, 2});
}

TEST_CASE("special registers of clusters") {
  const Program program = program_of(
      ".param .u64 out",
      ".reg .u64 %out; .reg .u32 %i, %x, %y, %v<6>; ld.param.u64 %out, [out]; mov.u32 %x, %ctaid.x; mov.u32 "
      "%y, "
      "%ctaid.y; mad.lo.u32 %i, %y, 4, %x; mad.wide.u32 %out, %i, 24, %out;\n"
      "mov.u32 %v0, %clusterid.x; mov.u32 %v1, %clusterid.y; mov.u32 %v2, %cluster_ctaid.x; mov.u32 %v3, "
      "%cluster_ctaid.y; mov.u32 %v4, %cluster_ctarank; mov.u32 %v5, %nclusterid.x;\n"
      "st.global.u32 [%out], %v0; st.global.u32 [%out+4], %v1; st.global.u32 [%out+8], %v2; st.global.u32 "
      "[%out+12], %v3; st.global.u32 [%out+16], %v4; st.global.u32 [%out+20], %v5;\n");
  Memory memory;
  Words out(16 * 6);
  const auto parameters = pack({memory.map(out.data(), out.size() * 4)});
  program.run(memory, {.grid = {4, 4, 1}, .cluster = {2, 2, 1}, .parameters = parameters});
  for (std::uint32_t y = 0; y < 4; ++y) {
    for (std::uint32_t x = 0; x < 4; ++x) {
      const auto at = out.begin() + (y * 4 + x) * 6;
      CHECK(Words(at, at + 6) == Words{x / 2, y / 2, x % 2, y % 2, y % 2 * 2 + x % 2, 2});
    }
  }
}

TEST_CASE("a cluster barrier waits for all threads that have not exited") {
  // The first warp of each block writes late; a thread that exits is not waited for.
  const auto out = run_grid(
      "setp.eq.u32 %p, %t, 63; @%p exit; setp.ge.u32 %p, %t, 32; @%p bra meet; mov.u32 %x, 0; l: add.u32 %x, "
      "%x, 1; "
      "setp.lt.u32 %q, %x, 1000; @%q bra l; setp.eq.u32 %q, %t, 0; add.u32 %x, %x, %i; @%q st.shared.u32 "
      "[s], %x; "
      "meet: barrier.cluster.arrive; barrier.cluster.wait; xor.b32 %peer, %r, 1; "
      "mapa.shared::cluster.u32 "
      "%x, s, %peer; ld.shared::cluster.u32 %x, [%x]; barrier.cluster.arrive; barrier.cluster.wait;" +
          kStore,
      4, 2, 64);
  for (std::uint32_t block = 0; block < 4; ++block) {
    for (std::uint32_t t = 0; t < 63; ++t) REQUIRE(out[block * 64 + t] == 1000 + (block ^ 1));
  }
  CHECK(out[63] == 0xa5a5'a5a5);
}

TEST_CASE("the barrier of a cluster waits for all threads of each warp") {
  const auto out = run_grid(
      "setp.ge.u32 %p, %t, 16; @%p bra late; barrier.cluster.arrive; barrier.cluster.wait; ld.shared.u32 %x, "
      "[s]; bra "
      "join; late: st.shared.u32 [s], %i; barrier.cluster.arrive; barrier.cluster.wait; mov.u32 %x, %i; "
      "join:" +
          kStore,
      2, 2, 32);
  for (std::uint32_t i = 0; i < 64; ++i) REQUIRE(out[i] == i / 32);
}

TEST_CASE("a multicast copy reaches the blocks of its mask and signals each") {
  const std::string init =
      "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; "
      "st.shared.u32 [s+20], 0;" +
      kMeet;
  const std::string copy =
      "setp.eq.u32 %q, %r, 2; mov.b16 %h, 5; @%q cp.async.bulk.shared::cluster.global.mbarrier::"
      "complete_tx::bytes.multicast::cluster [s+16], [%in], 16, [bar], %h;\n" +
      kMeet;
  const std::string wait =
      "setp.eq.u32 %q, %r, 1; @%q bra skip; w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; "
      "@!%p bra w; skip: ld.shared.u32 %x, [s+20];" +
      kStore;
  CHECK(run_grid(init + copy + wait + kMeet, 3, 3) == Words{101, 0, 101});
}

TEST_CASE("every bit of a multicast mask is a block, in the largest cluster") {
  Random random;
  INFO("seed " << random.seed);
  const std::uint32_t any = random.below(0x10000);
  for (const std::uint32_t mask : {0xffffu, 0x8001u, 0x7ffeu, any, ~any & 0xffff}) {
    CAPTURE(mask);
    const std::string number = std::to_string(mask);
    // A block that the mask leaves out waits for nobody, and finds what it has put there.
    const std::string body =
        "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 32; "
        "st.shared.u32 [s+20], 7; st.shared.u32 [s+40], 8;" +
        kMeet + "setp.eq.u32 %q, %r, 3; mov.b16 %h, " + number +
        "; @%q cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s+16], "
        "[%in+16], 32, [bar], %h;\n" +
        kMeet + "mov.u32 %x, " + number +
        "; shr.u32 %x, %x, %r; and.b32 %x, %x, 1; setp.eq.u32 %q, %x, 0; @%q bra skip; w: "
        "mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w; skip: ld.shared.u32 %x, [s+20]; "
        "ld.shared.u32 %y, [s+40]; mad.lo.u32 %x, %x, 1000, %y;" +
        kStore + kMeet;
    Words expected;
    for (std::uint32_t block = 0; block < 16; ++block)
      expected.push_back((mask >> block & 1) != 0 ? 105'110 : 7'008);
    CHECK(run_grid(body, 16, 16) == expected);
  }
}

TEST_CASE("every bit of the mask of a tensor copy is a block, in the largest cluster") {
  Random random;
  INFO("seed " << random.seed);
  const std::uint32_t any = random.below(0x10000);
  for (const std::uint32_t mask : {0xffffu, 0x8001u, 0x7ffeu, any, ~any & 0xffff}) {
    CAPTURE(mask);
    const std::string number = std::to_string(mask);
    const Program program = program_of(
        ".param .u64 out, .param .align 64 .b8 map[128]",
        ".shared .align 8 .b64 bar; .shared .align 128 .b8 s[64]; .reg .u64 %out, %map; .reg .u32 %r, %x; "
        ".reg .b16 %h; .reg .pred %p, %q; ld.param.u64 %out, [out]; mov.u64 %map, map; cvta.param.u64 %map, "
        "%map; mov.u32 %r, %cluster_ctarank; mbarrier.init.shared.b64 [bar], 1; "
        "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; st.shared.u32 [s+8], 7; fence.proxy.async;" +
            kMeet + "setp.eq.u32 %q, %r, 5; mov.b16 %h, " + number +
            "; @%q "
            "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::"
            "cluster [s], [%map, {8}], [bar], %h;\n" +
            kMeet + "mov.u32 %x, " + number +
            "; shr.u32 %x, %x, %r; and.b32 %x, %x, 1; setp.eq.u32 %q, %x, 0; @%q bra skip; w: "
            "mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w; skip: ld.shared.u32 %x, [s+8]; "
            "mad.wide.u32 %out, %r, 4, %out; st.global.u32 [%out], %x;" +
            kMeet,
        {}, "sm_100a");
    Memory memory;
    Words out(16, 0xa5a5'a5a5), in(64);
    for (std::uint32_t i = 0; i < 64; ++i) in[i] = 100 + i;
    const TensorMap map{.type = u32,
                        .rank = 1,
                        .address = memory.map(in.data(), 256, "in"),
                        .dims = {64},
                        .box = {4, 1, 1, 1, 1}};
    std::vector<std::byte> parameters(192);
    const std::uint64_t address = memory.map(out.data(), 64, "out");
    std::memcpy(parameters.data(), &address, sizeof address);
    std::memcpy(parameters.data() + 64, encode_for_executor(map).bytes.data(), 128);
    program.run(memory,
                {.grid = {16, 1, 1}, .block = {1, 1, 1}, .cluster = {16, 1, 1}, .parameters = parameters});
    Words expected;
    for (std::uint32_t block = 0; block < 16; ++block) expected.push_back((mask >> block & 1) != 0 ? 110 : 7);
    CHECK(out == expected);
  }
}

TEST_CASE("a multicast copy to a thread block outside the cluster is a fault") {
  const Diagnostic fault = fault_in(
      "mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;" + kMeet +
      "setp.eq.u32 %q, %r, 0; mov.b16 %h, 4; @%q cp.async.bulk.shared::cluster.global.mbarrier::"
      "complete_tx::bytes.multicast::cluster [s], [%in], 16, [bar], %h;" +
      kMeet);
  INFO(fault.message);
  CHECK(fault.code == "out-of-bounds");
}

TEST_CASE("a copy to another block's shared memory is counted there") {
  const std::string init =
      "st.shared.v4.u32 [s], {%i, %i, %i, %i}; mbarrier.init.shared.b64 [bar], 1; "
      "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16; fence.proxy.async;" +
      kMeet +
      "xor.b32 %peer, %r, 1; mapa.shared::cluster.u32 %x, s, %peer; mapa.shared::cluster.u32 "
      "%rbar, bar, %peer;\n";
  const std::string wait =
      "w: mbarrier.try_wait.parity.shared.b64 %p, [bar], 0; @!%p bra w; ld.shared.u32 %x, "
      "[s+64];" +
      kMeet + kStore;
  CHECK(
      run_grid(init +
                   "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%x+64], [s], 16, "
                   "[%rbar];" +
                   wait,
               4, 2) == Words{1, 0, 3, 2});
  CHECK(run_grid(init +
                     "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%x+64], {%i, 7, 8, 9}, "
                     "[%rbar];" +
                     wait,
                 4, 2) == Words{1, 0, 3, 2});
  const std::string zero = "st.shared.v4.u32 [s+64], {50, 0, 0, 0};";
  CHECK(run_grid(zero + init +
                     "cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 "
                     "[%x+64], [s], 16, [%rbar];" +
                     wait,
                 4, 2) == Words{51, 50, 53, 52});
  CHECK(run_grid(zero + init +
                     "add.u32 %i, %i, 100; red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::"
                     "bytes.max.u32 [%x+64], %i, [%rbar]; sub.u32 %i, %i, 100; red.async.relaxed.cluster."
                     "shared::cluster.mbarrier::complete_tx::bytes.add.u64 [%x+72], 1, [%rbar]; "
                     "mbarrier.complete_tx.shared.b64 [bar], 4;" +
                     wait,
                 4, 2) == Words{101, 100, 103, 102});
}

TEST_CASE("an arrival at another block's mbarrier") {
  CHECK(run_grid(
            "mbarrier.init.shared.b64 [bar], %n;" + kMeet +
                "mapa.shared::cluster.u32 %x, bar, 0; mbarrier.arrive.release.cluster.shared::cluster.b64 _, "
                "[%x]; setp.ne.u32 %q, %r, 0; @%q bra done; w: mbarrier.try_wait.parity.acquire.cluster."
                "shared::cta.b64 %p, [bar], 0; @!%p bra w; done: mov.u32 %x, 5;" +
                kMeet + kStore,
            4, 4) == Words{5, 5, 5, 5});
}

TEST_CASE("each misuse of a cluster is a fault") {
  const std::string remote = "xor.b32 %y, %r, 1; mapa.shared::cluster.u32 %x, s, %y;\n";
  CHECK(fault_in("mapa.shared::cluster.u32 %x, s, 2;").code == "cluster-rank");
  CHECK(fault_in(remote + "ld.shared.u32 %x, [%x];").code == "other-block");
  CHECK(fault_in(remote + "st.shared::cta.u32 [%x], 1;").code == "other-block");
  CHECK(fault_in(remote + "ld.shared::cluster.u32 %x, [%x+256];").code == "out-of-bounds");
  CHECK(fault_in(remote + "add.u32 %x, %x, 0x2000000; ld.shared::cluster.u32 %x, [%x];").code ==
        "out-of-bounds");
  CHECK(fault_in(remote +
                 "setp.eq.u32 %p, %r, 0; @%p bra l; exit; l: mov.u32 %n, 0; k: add.u32 %n, %n, 1; setp.lt."
                 "u32 %p, %n, 200000; @%p bra k; ld.shared::cluster.u32 %x, [%x];")
            .code == "exited-block");
  CHECK(
      fault_in(
          "barrier.cluster.arrive; setp.eq.u32 %p, %r, 0; @%p barrier.cluster.arrive; barrier.cluster.wait;")
          .code == "barrier-count");
  CHECK(fault_in("barrier.cluster.wait;").code == "barrier-count");
  CHECK(fault_in("setp.eq.u32 %p, %t, 0; @%p barrier.cluster.arrive.aligned;", 2, 32).code ==
        "barrier-divergence");
  const Diagnostic d = fault_in("setp.eq.u32 %p, %r, 0; @%p bra l; bar.sync 1, 64; l: " + kMeet, 2, 32);
  CHECK(d.code == "barrier-deadlock");
  CHECK_THAT(d.message, ContainsSubstring("32 of 64 threads"));
  CHECK(fault_in("mbarrier.init.shared.b64 [bar], 1;" + kMeet + remote +
                 "mapa.shared::cluster.u32 %y, bar, %r; "
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%x], 1, [%y];")
            .code == "mbarrier-elsewhere");
  CHECK(fault_in("mov.u64 %g, 5; mapa.u64 %g, %g, 0;").code == "not-shared");
  CHECK(fault_in("mbarrier.init.shared.b64 [bar], 1;" + kMeet +
                 "mov.u64 %g, bar; cvta.shared.u64 %g, %g; xor.b32 %y, "
                 "%r, 1; mapa.u64 %g, %g, %y; mbarrier.test_wait.parity.b64 %p, [%g], 0;")
            .code == "other-block");
}

TEST_CASE("a launch whose cluster does not fit is refused") {
  Memory memory;
  const auto code = [&](const std::string& directive, const Launch& launch) {
    std::string ptx = kernel_text("", "");
    ptx.insert(ptx.find("{"), directive);
    return fault_of([&] { Program(module_of(ptx), "k").run(memory, launch); }).code;
  };
  CHECK(code("", {.grid = {3, 1, 1}, .cluster = {2, 1, 1}}) == "launch-cluster");
  CHECK(code("", {.grid = {32, 1, 1}, .cluster = {32, 1, 1}}) == "launch-cluster");
  CHECK(code("", {.grid = {2, 1, 1}, .cluster = {2, 0, 1}}) == "launch-cluster");
  CHECK(code(".explicitcluster\n.reqnctapercluster 2, 1, 1\n", {.grid = {3, 1, 1}}) == "launch-cluster");
  CHECK(code(".explicitcluster\n.reqnctapercluster 2, 1, 1\n", {.grid = {4, 1, 1}, .cluster = {4, 1, 1}}) ==
        "launch-cluster");
  CHECK(code(".explicitcluster\n.maxclusterrank 4\n", {.grid = {8, 1, 1}, .cluster = {8, 1, 1}}) ==
        "launch-cluster");
  CHECK(code(".explicitcluster\n", {.grid = {8, 1, 1}}) == "launch-cluster");
  const std::string required = [] {
    std::string ptx = kernel_text(".param .u64 out",
                                  ".reg .u64 %o; .reg .u32 %n; ld.param.u64 %o, [out]; mov.u32 %n, "
                                  "%cluster_nctarank; st.global.u32 [%o], %n;");
    ptx.insert(ptx.find("{"), ".explicitcluster\n.reqnctapercluster 2, 1, 1\n");
    return ptx;
  }();
  std::uint32_t size = 0;
  const auto parameters = pack({memory.map(&size, 4)});
  Program(module_of(required), "k").run(memory, {.grid = {4, 1, 1}, .parameters = parameters});
  CHECK(size == 2);
}

}  // namespace ptxloom::exec::test::cluster_test
