// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "spec/form.hpp"

// The natural join of a form's tables: every way to fill its slots so that every table has a matching row.
// Part of the slots may be given: those that an opcode writes, those it leaves unwritten, those that `select`
// names.
namespace ptxloom::spec {

struct Joined {
  std::vector<std::string_view> values;  // by slot
  std::vector<Spelling> spellings;
  Needs needs;
  bool lax = false;
};

/// What is known beforehand of each slot.
struct Known {
  enum class State : std::uint8_t { nothing, value, written, unwritten };
  State state = State::nothing;
  std::string_view value;  // of value (however spelled) and written
};

inline constexpr std::size_t kAllRows = static_cast<std::size_t>(-1);

/// `known` is empty or has an entry for each slot; of more rows than `most` the first are given. Throws
/// "spec-unbound-slot" where a row leaves a slot open.
std::vector<Joined> join(const Form& form, const std::vector<Known>& known, std::size_t most = kAllRows);

/// Whether any row of the form is on the target, documented or not.
bool exists_on(const Form& form, const Target& target);

/// Whether what is known of the slot lets it have the value.
bool allows(const Form& form, const Known& known, int slot, std::string_view value);

bool contains(std::span<const Alternative> values, std::string_view value);

}  // namespace ptxloom::spec
