// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/grid_rendezvous.hpp"

#include <string>

namespace ptxloom::kit {

void GridRendezvous::await() {
  const Reg there = k_.reg(u32);
  k_.do_while([&] {
    k_.emit("ld.acquire.gpu.global.u32", there, k_.at(counter_));
    return k_.lt(there, blocks_);
  });
  count("relaxed");
}

// Wraps to zero after 2 * blocks - 1.
void GridRendezvous::count(const char* order) {
  const Reg last = k_.sub(k_.shl(blocks_, 1), 1);
  k_.emit("red." + std::string(order) + ".gpu.global.inc.u32", k_.at(counter_), last);
}

}  // namespace ptxloom::kit
