// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/config/config.hpp"

// The table of the parameters of a configuration. Reading, printing and completing a configuration and the
// axes of the search come from it. A new parameter is a field and a row (parameter_rows.hpp), and a row of
// space.json, which has its values and what it means. Field and row are common ones, of Config and in
// parameters.cpp, or those of a strategy, in its Options and its Strategy::parameters.
namespace ptxloom::gemm_kernel {

struct Parameter {
  std::string_view name;
  void (*read)(Config&, std::string_view value);  ///< nullptr: base_config reads it
  std::string (*print)(const Config&);
  bool (*has_default)(const Config&) = nullptr;  ///< nullptr: it has none
  int Config::* number = nullptr;  ///< its field, if its values are integers: it can be an axis of a search
  /// Its value in a partial configuration that does not give it: of tiles the largest, of counts the least.
  std::optional<int> partial = {};
  bool of_base = false;  ///< a search decides it before the tiles
  /// Whether the tuner searches more than the first of its values; nullptr: always.
  bool (*searched)(const Problem&, std::span<const Strategy* const> available) = nullptr;
  /// The only strategy that has it; nullptr: it is common. With every other it keeps its default.
  const Strategy* strategy = nullptr;
};

/// The common ones and those of all strategies, in the order of Settings.
std::span<const Parameter> parameters();
const Parameter& parameter_named(std::string_view name);

/// Reads the parameters that are given.
void read_parameters(Config& config, const Settings& given);
Settings print_parameters(const Config& config);
/// `base` with the given parameters, and values for the tiles and counts that are not given.
Config partial_config(const Config& base, const Settings& given);
/// The integers that a parameter may take: all listed ones, or the given one.
std::vector<int> integers(const ParameterSpace& space, const Settings& given, std::string_view name);

}  // namespace ptxloom::gemm_kernel
