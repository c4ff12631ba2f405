// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <charconv>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "ptxloom/plan.hpp"

/// \file
/// The parameters of a configuration as a table. A row names a parameter of space.json and the field of the
/// typed configuration that holds it; reading and printing come from the table:
///
///     enum class Order { rows, columns };
///     inline constexpr std::string_view kOrders[] = {"rows", "columns"};
///     struct Config {
///       int tile = 64;
///       Order order = Order::rows;
///     };
///     inline constexpr pl::ConfigParameter<Config> kParameters[] = {
///         pl::parameter::number<&Config::tile>("tile"),
///         pl::parameter::choice<kOrders, &Config::order>("order")};
namespace [[gnu::visibility("default")]] ptxloom {

/// A row of the table.
template <class Config>
struct ConfigParameter {
  std::string_view name;                                    ///< as space.json has it
  void (*read)(Config&, std::string_view value) = nullptr;  ///< sets the field; the value is a listed one
  std::string (*print)(const Config&) = nullptr;            ///< its value as settings have it
  bool (*has_default)(const Config&) = nullptr;             ///< whether it is as in Config{}
};

/// Rows of the table. `kPath` leads from a configuration to the field: `&Config::tile`, or
/// `&Config::copies, &Copies::bulk` for a field of a part.
namespace parameter {
namespace detail {

template <class Class, class Field>
Class class_of(Field Class::*);

template <auto... kPath>
decltype(auto) field(auto& config) {
  return (config.*....*kPath);
}

template <class Config, const auto& kValues, auto... kPath>
void read_choice(Config& config, std::string_view value) {
  auto& place = field<kPath...>(config);
  place = static_cast<std::remove_reference_t<decltype(place)>>(std::ranges::find(kValues, value) -
                                                                std::begin(kValues));
}

template <class Config, const auto& kValues, auto... kPath>
std::string print_choice(const Config& config) {
  return std::string(kValues[static_cast<std::size_t>(field<kPath...>(config))]);
}

template <class Config, auto... kPath>
void read_number(Config& config, std::string_view value) {
  std::from_chars(value.data(), value.data() + value.size(), field<kPath...>(config));
}

template <class Config, auto... kPath>
std::string print_number(const Config& config) {
  return std::to_string(field<kPath...>(config));
}

template <class Config, auto... kPath>
bool has_default(const Config& config) {
  static const Config kDefault{};
  return field<kPath...>(config) == field<kPath...>(kDefault);
}

}  // namespace detail

/// A parameter with the values `kValues`, in the order of the field's type: an enumeration, or false before
/// true.
template <const auto& kValues, auto kFirst, auto... kRest>
constexpr auto choice(std::string_view name) {
  using Config = decltype(detail::class_of(kFirst));
  return ConfigParameter<Config>{name, detail::read_choice<Config, kValues, kFirst, kRest...>,
                                 detail::print_choice<Config, kValues, kFirst, kRest...>,
                                 detail::has_default<Config, kFirst, kRest...>};
}

/// A parameter whose values are integers.
template <auto kFirst, auto... kRest>
constexpr auto number(std::string_view name) {
  using Config = decltype(detail::class_of(kFirst));
  return ConfigParameter<Config>{name, detail::read_number<Config, kFirst, kRest...>,
                                 detail::print_number<Config, kFirst, kRest...>,
                                 detail::has_default<Config, kFirst, kRest...>};
}

}  // namespace parameter

/// Sets the fields of the parameters that are given and that the table has.
template <class Config>
void read_parameters(std::span<const ConfigParameter<Config>> table, const Settings& given, Config& config) {
  for (const auto& [name, value] : given)
    if (const auto row = std::ranges::find(table, std::string_view(name), &ConfigParameter<Config>::name);
        row != table.end())
      row->read(config, value);
}

/// All parameters of the table with their values.
template <class Config>
Settings print_parameters(std::span<const ConfigParameter<Config>> table, const Config& config) {
  Settings settings;
  for (const ConfigParameter<Config>& row : table) settings[std::string(row.name)] = row.print(config);
  return settings;
}

}  // namespace ptxloom
