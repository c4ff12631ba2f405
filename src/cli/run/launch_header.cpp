// SPDX-License-Identifier: Apache-2.0
#include "cli/run/launch_header.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/json_depth.hpp"
#include "base/tensor_map_text.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kMark = "ptxloom.launch ";
constexpr std::pair<TensorPlan::Role, std::string_view> kRoles[] = {
    {TensorPlan::Role::in, "in"}, {TensorPlan::Role::out, "out"}, {TensorPlan::Role::inout, "inout"}};

std::string_view role_name(TensorPlan::Role role) {
  return std::ranges::find(kRoles, role, [](const auto& r) { return r.first; })->second;
}

Type read_type(const std::string& name) {
  if (const auto type = find_type(name)) return *type;
  throw Error(ErrorKind::usage, "bad-launch-header",
              fmt::format("the ptxloom.launch line has an unknown type '{}'", name), "emit the file again");
}

TensorPlan tensor_of_json(const std::string& name, const Json& json) {
  const auto role =
      std::ranges::find(kRoles, json.at("role").get<std::string>(), [](const auto& r) { return r.second; });
  if (role == std::end(kRoles)) throw std::invalid_argument("role");
  return {.name = name,
          .type = read_type(json.at("type")),
          .shape = json.at("shape").get<std::vector<std::uint64_t>>(),
          .role = role->first};
}

std::array<std::uint32_t, 3> read_extent(const Json& json) {
  std::array<std::uint32_t, 3> extent{};
  const auto wide = json.get<std::array<std::uint64_t, 3>>();
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (!std::in_range<std::uint32_t>(wide[axis])) throw std::invalid_argument("extent");
    extent[axis] = static_cast<std::uint32_t>(wide[axis]);
  }
  return extent;
}

/// Numbers are non-negative and do not wrap around.
Json parse_plain(std::string_view line) {
  if (is_nested_too_deeply(line)) throw std::invalid_argument("depth");
  return Json::parse(line, [](int, Json::parse_event_t, const Json& value) {
    if (value.is_number() && !value.is_number_unsigned()) throw std::invalid_argument("value");
    return true;
  });
}

std::uint32_t read_u32(const Json& json) {
  const auto number = json.get<std::uint64_t>();
  if (!std::in_range<std::uint32_t>(number)) throw std::invalid_argument("range");
  return static_cast<std::uint32_t>(number);
}

void read_argument(const Json& param, LaunchPlan& launch, std::vector<TensorPlan>& tensors) {
  ArgumentPlan argument{.name = param.at("name"), .type = read_type(param.at("type"))};
  if (param.contains("bits")) argument.bits = param.at("bits");
  if (param.contains("map")) {
    argument.map = tensor_map_from_hex(param.at("map").get<std::string>());
    if (!argument.map) throw std::invalid_argument("map");
  }
  if (param.contains("workspace")) argument.tensor = kWorkspace;
  if (param.contains("tensor")) {
    argument.tensor = argument.name;
    if (std::ranges::find(tensors, argument.name, &TensorPlan::name) == tensors.end())
      tensors.push_back(tensor_of_json(argument.name, param.at("tensor")));
  }
  launch.arguments.push_back(std::move(argument));
}

void read_launch(const Json& json, LaunchHeader& header) {
  LaunchPlan& launch = header.launches.emplace_back(
      LaunchPlan{.entry = json.at("entry"),
                 .grid = read_extent(json.at("grid")),
                 .blocks_per_sm = json.contains("blocks_per_sm") ? read_u32(json.at("blocks_per_sm")) : 0,
                 .cooperative = json.value("cooperative", false),
                 .block = read_extent(json.at("block")),
                 .cluster = read_extent(json.at("cluster")),
                 .shared_bytes = read_u32(json.at("smem")),
                 .workspace_bytes = json.value("workspace", std::uint64_t{0})});
  for (const Json& param : json.at("params")) read_argument(param, launch, header.tensors);
  if (!json.contains("clear")) return;
  for (const Json& range : json.at("clear"))
    launch.clear.push_back(
        {.tensor = range.at("tensor"), .offset = range.at("offset"), .bytes = range.at("bytes")});
}

LaunchHeader read(const Json& json) {
  LaunchHeader header;
  read_launch(json, header);
  if (json.contains("then"))
    for (const Json& launch : json.at("then")) read_launch(launch, header);
  return header;
}

Json param_of(const ArgumentPlan& argument, const std::vector<TensorPlan>& tensors) {
  Json param = {{"name", argument.name}, {"type", argument.type.name}};
  const auto tensor = std::ranges::find(tensors, argument.tensor, &TensorPlan::name);
  if (argument.map) param["map"] = to_hex(*argument.map);
  if (tensor != tensors.end()) {
    param["tensor"] = {
        {"type", tensor->type.name}, {"shape", tensor->shape}, {"role", role_name(tensor->role)}};
  } else if (argument.tensor == kWorkspace) {
    param["workspace"] = true;
  } else {
    param["bits"] = argument.bits;
  }
  return param;
}

Json json_of(const LaunchPlan& launch, const std::vector<TensorPlan>& tensors) {
  auto params = Json::array();
  for (const ArgumentPlan& argument : launch.arguments) params.push_back(param_of(argument, tensors));
  Json json = {{"entry", launch.entry},       {"grid", launch.grid},       {"block", launch.block},
               {"smem", launch.shared_bytes}, {"cluster", launch.cluster}, {"params", std::move(params)}};
  if (launch.blocks_per_sm != 0) json["blocks_per_sm"] = launch.blocks_per_sm;
  if (launch.cooperative) json["cooperative"] = true;
  if (launch.workspace_bytes != 0) json["workspace"] = launch.workspace_bytes;
  for (const ClearPlan& range : launch.clear)
    json["clear"].push_back({{"tensor", range.tensor}, {"offset", range.offset}, {"bytes", range.bytes}});
  return json;
}

}  // namespace

std::string format_launch_header(const LaunchHeader& header) {
  Json json = json_of(header.launches.front(), header.tensors);
  for (std::size_t i = 1; i < header.launches.size(); ++i)
    json["then"].push_back(json_of(header.launches[i], header.tensors));
  return std::string(kMark) + json.dump();
}

std::optional<LaunchHeader> read_launch_header(std::string_view ptx) {
  std::string_view line = ptx.substr(0, ptx.find('\n'));
  if (!line.starts_with("// ")) return std::nullopt;
  line.remove_prefix(3);
  if (!line.starts_with(kMark)) return std::nullopt;
  line.remove_prefix(kMark.size());
  try {
    return read(parse_plain(line));
  } catch (const Error&) {
    throw;
  } catch (const std::exception&) {
    throw Error(ErrorKind::usage, "bad-launch-header",
                "the ptxloom.launch line at the top is damaged: ptxloom emit did not write it like this",
                "emit the file again, or delete the line and give --grid, --block and --arg");
  }
}

}  // namespace ptxloom::cli
