// SPDX-License-Identifier: Apache-2.0
#include "dequantize/problem.hpp"

#include <string_view>

namespace ptxloom::dequantize_kernel {
namespace {

constexpr std::string_view kName = "dequantize";

}  // namespace

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"rows", "n", "format"});
  kit::complete_scaled_matrix(words, kName);
  const kit::NarrowUnit unit = kit::pitch_unit(words);
  space.complete_pitch(words, "pitch_x", number_of(words, "n"), {unit.elements, unit.bytes});
  space.complete_pitch(words, "pitch_y", number_of(words, "n"));
  for (const char* pitch : {"pitch_x", "pitch_y"})
    kit::check_scaled_size(words, kName, number_of(words, "rows"), pitch);
  return words;
}

Problem::Problem(const Settings& words)
    : kit::ScaledMatrix(words),
      y(*find_type(words.at("y"))),
      pitch_x(number_of(words, "pitch_x")),
      pitch_y(number_of(words, "pitch_y")) {}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  std::vector<TensorPlan> plans = {
      {.name = "x", .type = p.stored_element(), .shape = {p.rows, p.pitch_x}},
      {.name = "scale", .type = p.format->scale, .shape = {p.scale_rows(), p.scales_per_row()}}};
  if (p.scales == Scales::tensor) plans.back().shape = {1};
  if (p.tiled_scales) plans.back().shape = p.tiles().shape();
  if (p.format->tensor_scale) plans.push_back({.name = "tensor_scale", .type = f32, .shape = {1}});
  plans.push_back({.name = "y", .type = p.y, .shape = {p.rows, p.pitch_y}, .role = TensorPlan::Role::out});
  return plans;
}

double input_bytes(const Problem& p) {
  const double scales = p.scales == Scales::tensor ? 1 : double(p.scale_rows()) * p.scales_per_row();
  return double(p.rows) * p.n * p.stored_element().bits / 8 + scales * p.format->scale.bytes();
}

double output_bytes(const Problem& p) { return double(p.rows) * p.n * p.y.bytes(); }

}  // namespace ptxloom::dequantize_kernel
