// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "check/nearest.hpp"
#include "check/operands.hpp"
#include "ptxloom/check.hpp"
#include "spec/select.hpp"

namespace ptxloom {
namespace {

// How far a candidate matched before an operand did not fit.
struct Nearest {
  Variant variant;
  ir::Mismatch mismatch;
  bool right_count = false;

  bool further_than(const Nearest& other) const {
    if (!other.variant) return true;
    if (right_count != other.right_count) return right_count;
    return right_count && mismatch.operand > other.mismatch.operand;
  }
};

Nearest try_variant(const ir::Kernel& kernel, Variant variant, std::span<const ir::Operand> operands) {
  const bool right_count = variant.operands().size() == operands.size();
  return {variant, right_count ? ir::find_mismatch(kernel, variant.operands(), operands) : ir::Mismatch{},
          right_count};
}

Diagnostic misfit(const ir::Kernel& kernel, const Nearest& nearest, std::span<const ir::Operand> operands) {
  if (!nearest.right_count) return check_rules::wrong_count(nearest.variant, operands.size());
  const std::uint32_t i = nearest.mismatch.operand;
  return check_rules::describe(kernel, nearest.variant.operands()[i], operands[i], nearest.mismatch);
}

// Up to five shapes that the opcode has on the target.
std::string shapes_hint(std::span<const Variant> candidates, const Target& target) {
  std::string text;
  int listed = 0;
  for (const Variant& variant : candidates) {
    if (listed == 5 || !variant.since(target)) continue;
    text += (listed++ == 0 ? "takes: " : "; ") + check_rules::usage_of(variant);
  }
  return text;
}

Diagnostic unknown_opcode() {
  return {.code = "unknown-opcode",
          .message = "there is no such opcode",
          .hint = "`ptxloom list` shows the families"};
}

Diagnostic not_on_target(Variant variant, const Target& target) {
  return {.code = "not-on-target",
          .message = "not on " + std::string(target.name()),
          .hint = "it needs " + spec::where_legal(variant)};
}

}  // namespace

Resolution resolve(const ir::Kernel& kernel, std::span<const Variant> candidates,
                   std::span<const ir::Operand> operands, const Target& target, const Specs* specs) {
  Nearest nearest;
  Variant elsewhere, undocumented;
  for (const Variant& candidate : candidates) {
    const Nearest tried = try_variant(kernel, candidate, operands);
    if (!tried.right_count || tried.mismatch) {
      if (tried.further_than(nearest)) nearest = tried;
    } else if (!candidate.since(target)) {
      if (!elsewhere) elsewhere = candidate;
    } else if (!candidate.undocumented() && tried.mismatch.why != ir::Misfit::undocumented) {
      return {.variant = candidate, .diagnostic = std::nullopt};
    } else if (!undocumented) {
      undocumented = candidate;
    }
  }
  if (undocumented) return {.variant = undocumented, .diagnostic = check_rules::undocumented()};
  if (candidates.empty()) return {.variant = {}, .diagnostic = unknown_opcode()};
  if (elsewhere) return {.variant = {}, .diagnostic = not_on_target(elsewhere, target)};
  Diagnostic diagnostic = misfit(kernel, nearest, operands);
  if (specs != nullptr)
    diagnostic.hint = check_rules::nearest_hint(*specs, nearest.variant, kernel, operands, target);
  if (diagnostic.hint.empty()) diagnostic.hint = shapes_hint(candidates, target);
  return {.variant = {}, .diagnostic = std::move(diagnostic)};
}

}  // namespace ptxloom
