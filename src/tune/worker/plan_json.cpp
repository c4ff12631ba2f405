// SPDX-License-Identifier: Apache-2.0
#include "tune/worker/plan_json.hpp"

#include <fmt/format.h>

#include "base/tensor_map_text.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::tune {
namespace {

using Json = nlohmann::json;

Type type_named(const std::string& name) {
  if (const auto type = find_type(name)) return *type;
  throw Error(ErrorKind::usage, "bad-task", fmt::format("there is no type '{}'", name));
}

}  // namespace

Json to_json(const TensorPlan& plan) {
  return {{"name", plan.name},
          {"type", plan.type.name},
          {"shape", plan.shape},
          {"role", static_cast<int>(plan.role)},
          {"below", plan.below}};
}

TensorPlan read_tensor(const Json& json) {
  return {.name = json.at("name"),
          .type = type_named(json.at("type")),
          .shape = json.at("shape"),
          .role = static_cast<TensorPlan::Role>(json.at("role").get<int>()),
          .below = json.at("below")};
}

Json to_json(const LaunchPlan& plan) {
  Json arguments = Json::array();
  for (const ArgumentPlan& argument : plan.arguments) {
    arguments.push_back({{"name", argument.name},
                         {"type", argument.type.name},
                         {"tensor", argument.tensor},
                         {"bits", argument.bits}});
    if (argument.alignment != 0) arguments.back()["alignment"] = argument.alignment;
    if (argument.map) arguments.back()["map"] = to_hex(*argument.map);
  }
  Json clear = Json::array();
  for (const ClearPlan& range : plan.clear) clear.push_back({range.tensor, range.offset, range.bytes});
  return {{"entry", plan.entry},
          {"grid", plan.grid},
          {"blocks_per_sm", plan.blocks_per_sm},
          {"cooperative", plan.cooperative},
          {"block", plan.block},
          {"cluster", plan.cluster},
          {"shared", plan.shared_bytes},
          {"workspace", plan.workspace_bytes},
          {"arguments", std::move(arguments)},
          {"clear", std::move(clear)}};
}

LaunchPlan read_launch(const Json& json) {
  LaunchPlan plan{.entry = json.at("entry"),
                  .grid = json.at("grid"),
                  .blocks_per_sm = json.at("blocks_per_sm"),
                  .cooperative = json.at("cooperative"),
                  .block = json.at("block"),
                  .cluster = json.at("cluster"),
                  .shared_bytes = json.at("shared"),
                  .workspace_bytes = json.at("workspace")};
  for (const Json& range : json.at("clear"))
    plan.clear.push_back({.tensor = range.at(0), .offset = range.at(1), .bytes = range.at(2)});
  for (const Json& argument : json.at("arguments")) {
    plan.arguments.push_back({.name = argument.at("name"),
                              .type = type_named(argument.at("type")),
                              .tensor = argument.at("tensor"),
                              .bits = argument.at("bits")});
    plan.arguments.back().alignment = argument.value("alignment", std::uint32_t{0});
    if (!argument.contains("map")) continue;
    plan.arguments.back().map = tensor_map_from_hex(argument["map"].get<std::string>());
    if (!plan.arguments.back().map)
      throw Error(ErrorKind::usage, "bad-task", "cannot read a tensor map of the task");
  }
  return plan;
}

Json to_json(const MatrixProduct& p) {
  return {{"sizes", {p.m, p.n, p.k}},
          {"types", {p.a.name, p.b.name, p.c.name, p.d.name}},
          {"rows", {p.a_rows, p.b_rows}},
          {"leading", {p.lda, p.ldb, p.ldc, p.ldd}},
          {"scales", {p.alpha, p.beta}},
          {"fast_sums", p.fast_sums},
          {"batch", p.batch},
          {"strides", {p.stride_a, p.stride_b, p.stride_c, p.stride_d}}};
}

MatrixProduct read_product(const Json& json) {
  const auto type = [&](std::size_t i) {
    const std::string name = json.at("types").at(i);
    return name.empty() ? Type() : type_named(name);  // there may be no c
  };
  const auto& sizes = json.at("sizes");
  const auto& leading = json.at("leading");
  const auto& strides = json.at("strides");
  return {.m = sizes.at(0),
          .n = sizes.at(1),
          .k = sizes.at(2),
          .a = type(0),
          .b = type(1),
          .c = type(2),
          .d = type(3),
          .a_rows = json.at("rows").at(0),
          .b_rows = json.at("rows").at(1),
          .lda = leading.at(0),
          .ldb = leading.at(1),
          .ldc = leading.at(2),
          .ldd = leading.at(3),
          .batch = json.at("batch"),
          .stride_a = strides.at(0),
          .stride_b = strides.at(1),
          .stride_c = strides.at(2),
          .stride_d = strides.at(3),
          .alpha = json.at("scales").at(0),
          .beta = json.at("scales").at(1),
          .fast_sums = json.at("fast_sums")};
}

}  // namespace ptxloom::tune
