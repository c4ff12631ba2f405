// SPDX-License-Identifier: Apache-2.0
#include "kit/convert.hpp"

#include <fmt/format.h>

#include "ptxloom/lower.hpp"

namespace ptxloom::kit {

Reg convert(KernelBuilder& k, Type to, Reg value) {
  for (const char* rounding : {"", "rn."}) {
    const std::string opcode = fmt::format("cvt.{}{}.{}", rounding, to.name, value.type.name);
    if (lower::support(k.specs(), opcode, k.target()) == lower::Support::emulated)
      return lower::op(k, opcode, value);
  }
  return k.convert(to, value);
}

}  // namespace ptxloom::kit
