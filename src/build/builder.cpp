// SPDX-License-Identifier: Apache-2.0
// The end of a kernel, and the module it belongs to.
#include "ptxloom/builder.hpp"

#include <algorithm>

#include "build/operation.hpp"
#include "check/needs.hpp"

namespace ptxloom {

// Completes a body: every branch has a target, and the last instruction returns.
void ControlBuilder::close_scope(std::string_view name, Caller at) {
  const ir::Kernel& k = kernel(at);
  if (scope_.guard)
    operation(name, at).refuse("nested-guard", "it is called inside guarded()",
                               "call it after guarded() returns");
  if (!scope_.loops.empty())
    operation(name, at).refuse("open-loop", "it is called in the body of a loop", "call it after the loop");
  check_labels(at);
  const bool returns = !k.body.empty() && k.body.back().kind == ir::Statement::Kind::instruction &&
                       !k.instructions.back().guard && k.instructions.back().variant.opcode() == "ret";
  if (!returns) emit({"ret", at}, {});
}

void KernelBuilder::next_kernel(std::string name, Caller at) {
  kernel(at);
  require_kernel("next_kernel", at);
  close_scope("next_kernel", at);
  scope_ = begin_scope("kernel", std::move(name), at);
}

// Callees must be defined before the kernel that calls them.
ir::Module KernelBuilder::finish(Caller at) {
  kernel(at);
  require_kernel("finish", at);
  close_scope("finish", at);
  finished_ = true;
  module_.version = std::max(version_, check_rules::lowest_beside_instructions(module_, target_));
  std::ranges::stable_partition(module_.functions, [](const ir::Function& f) { return !f.entry; });
  ir::Module made = std::move(module_);
  module_ = {};
  module_.specs = made.specs;  // the builder still needs them
  return made;
}

}  // namespace ptxloom
