// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "ptxloom/config_parameter.hpp"
#include "ptxloom/target.hpp"

// A row of the table of parameters. The common ones stand beside Config, in config.hpp; those of a strategy
// beside its Options. A new parameter is a field and a row there, and a row of space.json, which has its
// values and what it means.
namespace ptxloom::gemm_kernel {

struct Config;
struct Problem;
class Strategy;

struct Parameter : ConfigParameter<Config> {
  using Searched = bool (*)(const Target&, const Problem&, std::span<const Strategy* const> available);

  constexpr Parameter(const ConfigParameter<Config>& row) : ConfigParameter<Config>(row) {}
  constexpr Parameter decided_first() const {
    Parameter copy = *this;
    copy.of_base = true;
    return copy;
  }
  constexpr Parameter searched_if(Searched pays) const {
    Parameter copy = *this;
    copy.searched = pays;
    return copy;
  }

  int Config::* number = nullptr;  ///< its field, if its values are integers: it can be an axis of a search
  /// Its value in a partial configuration that does not give it: of tiles the largest, of counts the least.
  std::optional<int> partial = {};
  bool of_base = false;  ///< a search decides it before the tiles
  /// Whether the tuner searches more than the first of its values; nullptr: always.
  Searched searched = nullptr;
  /// The only strategy that has it; nullptr: it is common. With every other it keeps its default.
  const Strategy* strategy = nullptr;
};

/// A common parameter whose values are integers.
template <int Config::* kField>
constexpr Parameter numeric(std::string_view name, std::optional<int> partial = {}) {
  Parameter row(parameter::number<kField>(name));
  row.number = kField;
  row.partial = partial;
  return row;
}

}  // namespace ptxloom::gemm_kernel
