// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/scope.hpp"

namespace ptxloom::exec {

std::string_view why_not_strong(const AccessKind& one, const AccessKind& other) {
  if (!one.strong || !other.strong) return "";
  if (one.meets(other, Scope::gpu)) return "; both are volatile, which orders nothing";
  return one.size != other.size
             ? "; they are strong, but of different sizes"
             : "; they are strong, but the scope of one does not include the other's thread block";
}

}  // namespace ptxloom::exec
