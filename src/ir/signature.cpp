// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/signature.hpp"

#include "ptxloom/ir.hpp"

namespace ptxloom::ir {

KernelSignature signature(const Kernel& kernel) {
  KernelSignature result{.name = kernel.name, .parameters = {}, .cluster = kernel.reqnctapercluster};
  result.parameters.reserve(kernel.parameters.size());
  for (const Parameter& parameter : kernel.parameters) {
    // The alignment of a pointer is that of what it points to.
    result.append({.name = parameter.name,
                   .type = parameter.type,
                   .count = parameter.count,
                   .alignment = parameter.pointer ? 0U : parameter.alignment,
                   .pointer = parameter.pointer.has_value()});
  }
  return result;
}

}  // namespace ptxloom::ir
