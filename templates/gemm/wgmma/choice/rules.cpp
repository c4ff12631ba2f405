// SPDX-License-Identifier: Apache-2.0
#include "gemm/wgmma/choice/rules.hpp"

namespace ptxloom::gemm_kernel::wgmma {

Config as_cooperative(Config c) {
  c.wgmma.schedule = Schedule::cooperative;
  return c;
}

std::vector<Rule> rules() {
  return join_rules(
      {operand_rules(), scheduling_rules(), shape_rules(), register_rules(), shared_memory_rules()});
}

}  // namespace ptxloom::gemm_kernel::wgmma
