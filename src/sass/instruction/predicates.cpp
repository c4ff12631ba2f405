// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/predicates.hpp"

#include <optional>

namespace ptxloom::sass {
namespace {

PredicateSet bit_of(RegisterId id) { return static_cast<PredicateSet>(1U << (id - kFirstPredicate)); }

PredicateSet united(PredicateSet a, PredicateSet b) { return static_cast<PredicateSet>(a | b); }
PredicateSet shared(PredicateSet a, PredicateSet b) { return static_cast<PredicateSet>(a & b); }

}  // namespace

PredicateFacts PredicateFacts::with(const PredicateFacts& other) const {
  return {united(is_true, other.is_true), united(is_false, other.is_false)};
}

PredicateFacts PredicateFacts::common(const PredicateFacts& other) const {
  return {shared(is_true, other.is_true), shared(is_false, other.is_false)};
}

PredicateFacts PredicateFacts::without(PredicateSet predicates) const {
  const auto others = static_cast<PredicateSet>(~predicates);
  return {shared(is_true, others), shared(is_false, others)};
}

PredicateFacts facts_of_guard(std::string_view guard) {
  const bool negated = guard.starts_with('!');
  if (negated) guard.remove_prefix(1);
  const std::optional<RegisterId> id = register_of(guard);
  if (!id || *id < kFirstPredicate) return {};
  const PredicateFacts fact{bit_of(*id), 0};
  return negated ? fact.opposite() : fact;
}

bool is_never(std::string_view guard) { return guard == "!PT" || guard == "!UPT"; }

PredicateSet written_predicates(const std::vector<RegisterUse>& writes) {
  PredicateSet written = 0;
  for (const RegisterUse& use : writes)
    if (use.id >= kFirstPredicate) written = united(written, bit_of(use.id));
  return written;
}

PredicateSet named_predicates(const InstructionText& text) {
  PredicateSet named = 0;
  for (std::string_view operand : text.operands) {
    if (operand == "PR" || operand == "UPR") return static_cast<PredicateSet>(~0U);
    if (operand.starts_with('!')) operand.remove_prefix(1);
    if (const auto id = register_of(operand); id && *id >= kFirstPredicate)
      named = united(named, bit_of(*id));
  }
  return named;
}

}  // namespace ptxloom::sass
