// SPDX-License-Identifier: Apache-2.0
// All thread blocks of a grid meet, launch after launch: each then reads what all others have written.
#include "ptxloom/kit/grid_rendezvous.hpp"

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

TEST_CASE("thread blocks read what all others wrote before they met") {
  for (const std::uint32_t blocks : {1U, 2U, 7U, 33U}) {
    constexpr std::uint32_t kThreads = 64;
    kit::Params params;
    params.pointer("in", u32).pointer("written", u32).pointer("out", u32).workspace(u32);
    KernelBuilder k = kit_test::builder("sm_75");
    k.require_block(kThreads);
    const kit::ParamRegs in = params.declare(k);
    const Reg thread = k.special("tid.x"), block = k.special("ctaid.x"), all = k.special("nctaid.x");
    const Reg own = k.fma(block, kThreads, thread);
    // guide rendezvous {
    kit::GridRendezvous meet(k, in["workspace"], all);
    k.store(in.pointer("written")[own], k.load(in.pointer("in")[own]));
    k.barrier();
    k.if_(k.eq(thread, 0), [&] {
      meet.arrive();
      meet.await();
    });
    k.barrier();  // now all threads of the grid have written
    // }
    const Reg sum = k.mov(u32, 0);
    k.for_(k.mov(u32, 0), all, 1, [&](Reg other) {
      k.set(sum, k.add(sum, k.load(in.pointer("written")[k.fma(other, kThreads, thread)])));
    });
    k.store(in.pointer("out")[own], sum);
    const ir::Module module = k.finish();

    std::vector<std::uint32_t> workspace(1);
    for (int launch = 0; launch < 3; ++launch) {  // the counter is ready for the next one
      std::vector<std::uint32_t> given(blocks * kThreads), written(given.size()), out(given.size());
      for (auto& value : given) value = kit_test::random_word() >> 8;
      kit_test::run(module, {.grid = {blocks, 1, 1}, .block = {kThreads, 1, 1}, .cooperative = true},
                    params.arguments(),
                    {kit_test::tensor("in", given), kit_test::tensor("written", written),
                     kit_test::tensor("out", out), kit_test::tensor("workspace", workspace)});
      for (std::uint32_t i = 0; i < out.size(); ++i) {
        std::uint32_t expected = 0;
        for (std::uint32_t other = 0; other < blocks; ++other)
          expected += given[other * kThreads + i % kThreads];
        CAPTURE(blocks, launch, i, Catch::getSeed());
        REQUIRE(out[i] == expected);
      }
      CHECK(workspace[0] == 0);
    }
  }
}
