// SPDX-License-Identifier: Apache-2.0
#include "gemm/config/parameters.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>

#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel {
namespace {

// Values in the order of the field's type, false before true.
constexpr std::string_view kNoYes[] = {"no", "yes"}, kEpilogues[] = {"direct", "staged"},
                           kLoads[] = {"warp", "thread"}, kMulticasts[] = {"none", "a", "b"},
                           kPrefetches[] = {"step", "tile"}, kSchedules[] = {"cooperative", "pingpong"},
                           kBakes[] = {"none", "nk", "mnk"};

template <auto kField, const auto& kValues>
void read_value(Config& c, std::string_view value) {
  auto& field = c.*kField;
  field = static_cast<std::remove_reference_t<decltype(field)>>(std::ranges::find(kValues, value) -
                                                                std::begin(kValues));
}

template <auto kField, const auto& kValues>
std::string print_value(const Config& c) {
  return std::string(kValues[static_cast<std::size_t>(c.*kField)]);
}

template <int Config::* kField>
void read_number(Config& c, std::string_view value) {
  std::from_chars(value.data(), value.data() + value.size(), c.*kField);
}

template <int Config::* kField>
std::string print_number(const Config& c) {
  return std::to_string(c.*kField);
}

template <auto kField, const auto& kValues>
constexpr Parameter choice(std::string_view name) {
  return {.name = name, .read = read_value<kField, kValues>, .print = print_value<kField, kValues>};
}

template <int Config::* kField>
constexpr Parameter number(std::string_view name, std::optional<int> partial = {}) {
  return {.name = name,
          .read = read_number<kField>,
          .print = print_number<kField>,
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

using Available = std::span<const Strategy* const>;

bool never(const Problem&, Available) { return false; }
bool stream_k_may_pay(const Problem& p, Available) { return may_stream_k(p); }
bool swap_may_pay(const Problem& p, Available available) {
  return p.m <= kSmallM && std::ranges::any_of(available, &Strategy::can_swap);
}

void read_strategy(Config& c, std::string_view value) { c.strategy = &strategy_named(value); }
std::string print_strategy(const Config& c) { return std::string(c.strategy->name()); }
std::string print_shape(const Config& c) { return c.shape; }

constexpr Parameter kParameters[] = {
    choice<&Config::staged, kEpilogues>("epilogue"),
    searched_if(choice<&Config::loads, kLoads>("loads"), never),  // loads=thread has never won
    {.name = "mma", .read = nullptr, .print = print_shape, .of_base = true},
    choice<&Config::multicast, kMulticasts>("multicast"),
    choice<&Config::across_tiles, kPrefetches>("prefetch"),
    number<&Config::raster>("raster"),
    choice<&Config::schedule, kSchedules>("schedule"),
    number<&Config::split>("split", 1),
    number<&Config::stages>("stages", 2),
    choice<&Config::bake, kBakes>("static"),
    {.name = "strategy", .read = read_strategy, .print = print_strategy, .of_base = true},
    of_base(searched_if(choice<&Config::stream_k, kNoYes>("stream_k"), stream_k_may_pay)),
    of_base(searched_if(choice<&Config::swap, kNoYes>("swap"), swap_may_pay)),
    number<&Config::tile_k>("tile_k", 256),
    number<&Config::tile_m>("tile_m", 256),
    number<&Config::tile_n>("tile_n", 256),
    number<&Config::warps_m>("warps_m", 1),
    number<&Config::warps_n>("warps_n", 1),
};
static_assert(std::ranges::is_sorted(kParameters, {}, &Parameter::name));

}  // namespace

std::span<const Parameter> parameters() { return kParameters; }

const Parameter& parameter_named(std::string_view name) {
  const auto found = std::ranges::lower_bound(kParameters, name, {}, &Parameter::name);
  if (found == std::end(kParameters) || found->name != name)
    throw Error(ErrorKind::usage, "unknown-parameter",
                "gemm: no configuration has a parameter " + std::string(name),
                "space.json and templates/gemm/config/parameters.cpp list the same parameters");
  return *found;
}

// In one pass over both lists, because a search reads millions.
void read_parameters(Config& config, const Settings& given) {
  auto next = given.begin();
  for (const Parameter& parameter : kParameters) {
    if (parameter.read == nullptr) continue;
    int order = -1;
    while (next != given.end() && (order = next->first.compare(parameter.name)) < 0) ++next;
    if (next == given.end()) return;
    if (order == 0) parameter.read(config, (next++)->second);
  }
}

Settings print_parameters(const Config& config) {
  Settings settings;
  for (const Parameter& parameter : kParameters)
    settings.emplace_hint(settings.end(), parameter.name, parameter.print(config));
  return settings;
}

Config partial_config(const Config& base, const Settings& given) {
  Config c = base;
  for (const Parameter& parameter : kParameters)
    if (parameter.partial) c.*parameter.number = *parameter.partial;
  read_parameters(c, given);
  return c;
}

std::vector<int> integers(const ParameterSpace& space, const Settings& given, std::string_view name) {
  if (const auto found = given.find(name); found != given.end()) return {std::stoi(found->second)};
  std::vector<int> values;
  for (const TemplateParameter& parameter : space.config())
    if (parameter.name == name)
      for (const std::string& value : parameter.values) values.push_back(std::stoi(value));
  return values;
}

}  // namespace ptxloom::gemm_kernel
