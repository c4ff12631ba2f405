// SPDX-License-Identifier: Apache-2.0
// One thread of the producer warp works, and all threads of the other warps.
#include "ptxloom/kit/warp_roles.hpp"

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

TEST_CASE("one thread produces, and all threads of the other warps consume") {
  for (const auto& [warps, producer] : {std::pair{3, 2}, {5, 0}, {7, 3}, {2, 1}}) {
    CAPTURE(warps, producer);
    kit::Params params;
    params.pointer("out", u32);
    KernelBuilder k = kit_test::builder();
    k.require_block(static_cast<std::uint32_t>(32 * warps));
    const kit::ParamRegs in = params.declare(k);
    const Reg thread = k.special("tid.x"), warp = kit::uniform_warp(k, thread);
    const auto store = [&](int role) { k.store(in.pointer("out")[thread], k.fma(warp, 16, role)); };
    kit::divide_roles(k, warp, producer, [&] { store(1); }, [&] { store(2); });
    k.ret();
    std::vector<std::uint32_t> out(static_cast<std::size_t>(32 * warps), 0xdeadbeef);
    kit_test::run(k.finish(), {.block = {static_cast<std::uint32_t>(32 * warps), 1, 1}}, params.arguments(),
                  {kit_test::tensor("out", out)});
    int produced = 0, idle = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto of_warp = static_cast<std::uint32_t>(i / 32);
      if (of_warp != static_cast<std::uint32_t>(producer)) {
        CHECK(out[i] == 16 * of_warp + 2);
        continue;
      }
      produced += out[i] == 16 * of_warp + 1 ? 1 : 0;
      idle += out[i] == 0xdeadbeef ? 1 : 0;
    }
    CHECK(produced == 1);
    CHECK(idle == 31);
  }
}
