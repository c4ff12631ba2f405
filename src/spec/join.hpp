// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "spec/form.hpp"

// The natural join of a form's tables: every way to fill its slots so that every table has a matching row.
// Some slots may be given: those that an opcode writes, those it leaves unwritten, those that `select` names.
namespace ptxloom::spec {

struct Joined {
  std::vector<std::string_view> values;  // by slot
  std::vector<Spelling> spellings;
  Needs needs;
  bool lax = false;
};

/// What is known in advance about each slot.
struct Known {
  enum class State : std::uint8_t { nothing, value, written, unwritten };
  State state = State::nothing;
  std::string_view value;  // for `value` (however spelled) and `written`
};

inline constexpr std::size_t kAllRows = static_cast<std::size_t>(-1);

/// `known` is empty or has an entry per slot; at most the first `most` rows are returned. Throws
/// "spec-unbound-slot" if a row leaves a slot open.
std::vector<Joined> join(const Form& form, std::span<const Known> known, std::size_t most = kAllRows);

/// The same row by row, for callers that keep little of each: the row is valid during the call.
using JoinVisitor = std::function<void(const Joined&)>;
void join(const Form& form, std::span<const Known> known, std::size_t most, const JoinVisitor& visit);

/// The criteria for a row of a form.
struct Wanted {
  const Target* target = nullptr;       ///< must have the row
  std::optional<bool> documented = {};  ///< whether the manual documents the row
  std::vector<Known> known = {};        ///< as for `join`
  std::optional<Version> by = {};  ///< with a target: it must have the row in this PTX version or before it
};
bool exists(const Form& form, const Wanted& wanted);

/// The lowest PTX version in which the target has a row of the form; nullopt if it has none.
std::optional<Version> earliest(const Form& form, const Target& target);

/// Whether the known information allows the value for the slot.
bool allows(const Form& form, const Known& known, int slot, std::string_view value);

bool contains(std::span<const Alternative> values, std::string_view value);

}  // namespace ptxloom::spec
