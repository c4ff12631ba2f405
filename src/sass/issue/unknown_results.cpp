// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/unknown_results.hpp"

namespace ptxloom::sass {

bool waits_for_unknown(const std::vector<IssueOp>& ops) {
  constexpr unsigned kAll = ~0U;
  unsigned unknown = 0, waited = 0;
  for (const IssueOp& op : ops) {
    waited |= op.control.waits_for_all() ? kAll : op.control.wait;
    if (op.row != nullptr && op.row->effect == IssueEffect::drain) waited |= 1U << op.board;
    if (op.row != nullptr) continue;
    if (op.control.waits_for_all()) return true;
    if (op.control.write) unknown |= 1U << *op.control.write;
  }
  return (unknown & waited) != 0;
}

}  // namespace ptxloom::sass
