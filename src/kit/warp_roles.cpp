// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/warp_roles.hpp"

namespace ptxloom::kit {

Reg uniform_warp(KernelBuilder& k, Reg thread) {
  const Reg warp = k.reg(u32);
  k.emit("shfl.sync.idx.b32", warp, k.shr(thread, 5), 0, 31, -1);
  return warp;
}

void divide_roles(KernelBuilder& k, Reg warp, int producer, const KernelBuilder::Body& produce,
                  const KernelBuilder::Body& consume) {
  k.if_(
      k.eq(warp, producer),
      [&] {
        k.section("the producer warp: load");
        k.if_(k.elect(-1), produce);
      },
      consume);
}

}  // namespace ptxloom::kit
