// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/space.hpp"

// Command-line arguments that several subcommands share.
namespace ptxloom::cli {

/// A template with the `--set k=v ...` values for its problem and configuration.
struct Task {
  const Template* kernel_template = nullptr;
  ParameterSpace::Split settings;
};
/// Throws Error(usage) for an unknown template or parameter, and for one that is given twice.
Task parse_task(const std::string& kernel_template, const std::vector<std::string>& sets);
/// The same for a template that has been found.
Task parse_task(const Template& kernel_template, const std::vector<std::string>& sets);

/// "m=64 n=128"
std::string to_words(const Settings& settings);

/// "x", "x,y" or "x,y,z" from 1 up; `option` is named in the message.
std::array<std::uint32_t, 3> parse_extent(std::string_view option, std::string_view text);

/// Random unless given, so that no two runs see the same data by accident.
std::uint64_t fresh_seed();

}  // namespace ptxloom::cli
