// SPDX-License-Identifier: Apache-2.0
#include "quantize/problem.hpp"

#include <fmt/format.h>

#include <string_view>

namespace ptxloom::quantize_kernel {
namespace {

constexpr std::string_view kName = "quantize";

Error bad_value(const std::string& message, std::string hint) {
  return Error(ErrorKind::usage, "bad-value", fmt::format("{}: {}", kName, message), std::move(hint));
}

void complete_scale_round(Settings& words) {
  const kit::ScaledFormat& format = *kit::find_scaled_format(words.at("format"));
  if (!format.power_of_two_scales()) return kit::complete_only_value(words, kName, "scale_round", "nearest");
  if (words.try_emplace("scale_round", "down").first->second == "nearest")
    throw bad_value(fmt::format("scale_round=nearest cannot be used with format={}", format.name),
                    "its scales are powers of two: use down or up");
}

void check_options(const Settings& words) {
  const kit::ScaledFormat& format = *kit::find_scaled_format(words.at("format"));
  if (words.at("scale_of_tensor") == "computed" && words.at("scales") != "tensor" && !format.tensor_scale)
    throw bad_value(fmt::format("scale_of_tensor=computed cannot be used with format={} scales={}",
                                format.name, words.at("scales")),
                    "it is for scales=tensor and format=nvfp4: leave it out");
  if (words.at("round") == "nearest" && words.at("seed") != "0")
    throw bad_value(fmt::format("seed={} cannot be used with round=nearest", words.at("seed")),
                    "leave it out, or use round=stochastic");
}

/// Rows in memory of the matrix with this pitch.
std::uint64_t rows_of(const Settings& words, std::string_view pitch) {
  return number_of(words, pitch == "pitch_x" && words.at("transpose") == "yes" ? "n" : "rows");
}

}  // namespace

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"rows", "n", "format"});
  kit::complete_scaled_matrix(words, kName);
  complete_scale_round(words);
  check_options(words);
  const kit::NarrowUnit unit = kit::pitch_unit(words);
  space.complete_pitch(words, "pitch_x", number_of(words, words.at("transpose") == "yes" ? "rows" : "n"));
  space.complete_pitch(words, "pitch_y", number_of(words, "n"), {unit.elements, unit.bytes});
  for (const char* pitch : {"pitch_x", "pitch_y"})
    kit::check_scaled_size(words, kName, rows_of(words, pitch), pitch);
  return words;
}

Problem::Problem(const Settings& words)
    : kit::ScaledMatrix(words),
      x(*find_type(words.at("x"))),
      scales_up(words.at("scale_round") == "up"),
      transposed(words.at("transpose") == "yes"),
      computed(words.at("scale_of_tensor") == "computed"),
      stochastic(words.at("round") == "stochastic"),
      seed(number_of(words, "seed")),
      pitch_x(number_of(words, "pitch_x")),
      pitch_y(number_of(words, "pitch_y")) {}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  using Role = TensorPlan::Role;
  std::vector<TensorPlan> plans = {
      {.name = "x", .type = p.x, .shape = {p.transposed ? p.n : p.rows, p.pitch_x}}};
  const bool scale_given = p.scales == Scales::tensor && !p.computed;
  TensorPlan tensor_scale{.name = "tensor_scale", .type = f32, .shape = {1}};
  if (p.computed) tensor_scale.role = Role::out;
  if (p.format->tensor_scale) plans.push_back(tensor_scale);
  if (scale_given) plans.push_back({.name = "scale", .type = f32, .shape = {1}});
  plans.push_back({.name = "y", .type = p.stored_element(), .shape = {p.rows, p.pitch_y}, .role = Role::out});
  if (!scale_given)
    plans.push_back({.name = "scale",
                     .type = p.format->scale,
                     .shape = {p.scale_rows(), p.scales_per_row()},
                     .role = Role::out});
  if (p.scales == Scales::tensor && p.computed) plans.back().shape = {1};
  if (p.tiled_scales) plans.back().shape = p.tiles().shape();
  return plans;
}

double input_bytes(const Problem& p) { return double(p.rows) * p.n * p.x.bytes(); }

double output_bytes(const Problem& p) {
  const double scales = p.scales == Scales::tensor ? 0 : double(p.scale_rows()) * p.scales_per_row();
  return double(p.rows) * p.n * p.stored_element().bits / 8 + scales * p.format->scale.bytes();
}

}  // namespace ptxloom::quantize_kernel
