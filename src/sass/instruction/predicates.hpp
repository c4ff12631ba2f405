// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sass/instruction/operands.hpp"

// What is known of the predicates of a thread at a place in the code: which are true, and which are false.
namespace ptxloom::sass {

/// Some predicates, a bit each: P0 to P6, then UP0 to UP6.
using PredicateSet = std::uint16_t;
inline constexpr PredicateSet kUniformPredicates = 0x7f00;

/// All of this holds. Nothing is known of a predicate that neither set has.
struct PredicateFacts {
  PredicateSet is_true = 0, is_false = 0;

  auto operator<=>(const PredicateFacts&) const = default;
  /// Whether both cannot hold.
  bool contradicts(const PredicateFacts& other) const {
    return ((is_true & other.is_false) | (is_false & other.is_true)) != 0;
  }
  /// Whether `other` holds where this does.
  bool implies(const PredicateFacts& other) const {
    return (other.is_true & ~is_true) == 0 && (other.is_false & ~is_false) == 0;
  }
  /// Both hold.
  PredicateFacts with(const PredicateFacts& other) const;
  /// What both say.
  PredicateFacts common(const PredicateFacts& other) const;
  /// Without what it says of these.
  PredicateFacts without(PredicateSet predicates) const;
  /// The opposite of a single fact, such as a guard.
  PredicateFacts opposite() const { return {is_false, is_true}; }
};

/// What holds where an instruction with this guard ("P0", "!UP1", "") is executed.
PredicateFacts facts_of_guard(std::string_view guard);
/// "!PT": the instruction is never executed.
bool is_never(std::string_view guard);

PredicateSet written_predicates(const std::vector<RegisterUse>& writes);
/// Those that its text names, of which an unknown instruction may write any.
PredicateSet named_predicates(const InstructionText& text);

}  // namespace ptxloom::sass
