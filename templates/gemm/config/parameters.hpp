// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/config/config.hpp"

// The table of the parameters of a configuration (parameter.hpp). Reading, printing and completing a
// configuration and the axes of the search come from it.
namespace ptxloom::gemm_kernel {

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
