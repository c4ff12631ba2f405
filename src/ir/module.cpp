// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "ptxloom/ir.hpp"

namespace ptxloom::ir {

const Kernel* Module::find(std::string_view name) const {
  const auto found =
      std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

}  // namespace ptxloom::ir
