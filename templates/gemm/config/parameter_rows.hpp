// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "gemm/config/parameters.hpp"

// Rows of the table of parameters (parameters.hpp). `kPath` leads from a configuration to the field:
// `&Config::raster`, or `&Config::wgmma, &wgmma::Options::loads` for a parameter of a strategy.
namespace ptxloom::gemm_kernel::rows {

template <auto... kPath>
decltype(auto) field(auto& config) {
  return (config.*....*kPath);
}

template <const auto& kValues, auto... kPath>
void read_value(Config& c, std::string_view value) {
  auto& place = field<kPath...>(c);
  place = static_cast<std::remove_reference_t<decltype(place)>>(std::ranges::find(kValues, value) -
                                                                std::begin(kValues));
}

template <const auto& kValues, auto... kPath>
std::string print_value(const Config& c) {
  return std::string(kValues[static_cast<std::size_t>(field<kPath...>(c))]);
}

template <auto... kPath>
bool has_default(const Config& c) {
  static const Config kDefault;
  return field<kPath...>(c) == field<kPath...>(kDefault);
}

template <int Config::* kField>
void read_number(Config& c, std::string_view value) {
  std::from_chars(value.data(), value.data() + value.size(), c.*kField);
}

template <int Config::* kField>
std::string print_number(const Config& c) {
  return std::to_string(c.*kField);
}

/// A parameter with the values `kValues`, in the order of the field's type: false before true.
template <const auto& kValues, auto... kPath>
constexpr Parameter choice(std::string_view name) {
  return {.name = name,
          .read = read_value<kValues, kPath...>,
          .print = print_value<kValues, kPath...>,
          .has_default = has_default<kPath...>};
}

/// A parameter whose values are integers.
template <int Config::* kField>
constexpr Parameter number(std::string_view name, std::optional<int> partial = {}) {
  return {.name = name,
          .read = read_number<kField>,
          .print = print_number<kField>,
          .has_default = has_default<kField>,
          .number = kField,
          .partial = partial};
}

constexpr Parameter of_base(Parameter parameter) {
  parameter.of_base = true;
  return parameter;
}

constexpr Parameter searched_if(Parameter parameter, decltype(Parameter::searched) searched) {
  parameter.searched = searched;
  return parameter;
}

}  // namespace ptxloom::gemm_kernel::rows
