// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
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
std::vector<Joined> join(const Form& form, std::span<const Known> known, std::size_t most = kAllRows);

/// The same row by row, for who keeps little of each: it is good during the call.
using JoinVisitor = std::function<void(const Joined&)>;
void join(const Form& form, std::span<const Known> known, std::size_t most, const JoinVisitor& visit);

/// What a row of a form is looked for by.
struct Wanted {
  const Target* target = nullptr;       ///< it has the row
  std::optional<bool> documented = {};  ///< the manual promises the row, or it does not
  std::vector<Known> known = {};        ///< as of `join`
};
bool exists(const Form& form, const Wanted& wanted);

/// Whether what is known of the slot lets it have the value.
bool allows(const Form& form, const Known& known, int slot, std::string_view value);

bool contains(std::span<const Alternative> values, std::string_view value);

}  // namespace ptxloom::spec
