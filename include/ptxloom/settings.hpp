// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace [[gnu::visibility("default")]] ptxloom {

/// A problem or a configuration: values of parameters by name, as the command line and the tuning records
/// have them.
using Settings = std::map<std::string, std::string, std::less<>>;

/// The value of a parameter that is a number. It must be there, and be one, as ParameterSpace::complete makes
/// sure. size_of throws std::out_of_range for values above 2^32 - 1, which parameters of kind size and stride
/// never have.
///@{
std::uint64_t number_of(const Settings& settings, std::string_view name);
std::uint32_t size_of(const Settings& settings, std::string_view name);
double real_of(const Settings& settings, std::string_view name);
///@}

}  // namespace ptxloom
