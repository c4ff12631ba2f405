// SPDX-License-Identifier: Apache-2.0
#include "quantize/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace ptxloom::quantize_kernel {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 30;  // of a row: positions are 32-bit integers
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr const char* kDefaultGroup = "128";

constexpr std::array<std::pair<std::string_view, Scales>, 4> kScales = {
    {{"tensor", Scales::tensor}, {"row", Scales::row}, {"group", Scales::group}, {"block", Scales::block}}};

std::uint64_t number(const Settings& words, const std::string& name) { return std::stoull(words.at(name)); }

Error bad_value(std::string message, std::string hint) {
  return Error(ErrorKind::usage, "bad-value", "quantize: " + std::move(message), std::move(hint));
}

/// Sets a parameter that only one value is possible for.
void complete_fixed(Settings& words, const std::string& name, const std::string& value) {
  const auto [word, added] = words.try_emplace(name, value);
  if (!added && word->second != value)
    throw bad_value(
        fmt::format("{}={} cannot be used with format={}", name, word->second, words.at("format")),
        fmt::format("leave it out, or use {}={}", name, value));
}

void complete_scales(Settings& words, const kit::ScaledFormat& format) {
  if (format.block != 0) {
    complete_fixed(words, "scales", "group");
    complete_fixed(words, "group", std::to_string(format.block));
  }
  words.try_emplace("scales", "row");
  if (words.at("scales") == "group") words.try_emplace("group", kDefaultGroup);
  if (words.at("scales") != "group" && words.contains("group"))
    throw bad_value(
        fmt::format("group={} cannot be used with scales={}", words.at("group"), words.at("scales")),
        "leave it out, or use scales=group");
  if (!format.power_of_two_scales()) return complete_fixed(words, "scale_round", "nearest");
  if (words.try_emplace("scale_round", "down").first->second == "nearest")
    throw bad_value(fmt::format("scale_round=nearest cannot be used with format={}", format.name),
                    "its scales are powers of two: use down or up");
}

void check_layout(const Settings& words, const kit::ScaledFormat& format) {
  if (words.at("packing") == "padded" && format.element.bits != 6)
    throw bad_value(fmt::format("packing=padded cannot be used with format={}", format.name),
                    "it is for elements of 6 bits: use packing=dense");
  if (words.at("scale_layout") == "tiles" && format.scale.bits != 8)
    throw bad_value(fmt::format("scale_layout=tiles cannot be used with format={}", format.name),
                    "its scales are f32: tiles are for scales of 8 bits, those of MX and NV formats");
  if (words.at("scale_of_tensor") == "computed" && words.at("scales") != "tensor" && !format.tensor_scale)
    throw bad_value(fmt::format("scale_of_tensor=computed cannot be used with format={} scales={}",
                                format.name, words.at("scales")),
                    "it is for scales=tensor and format=nvfp4: leave it out");
  if (words.at("round") == "nearest" && words.at("seed") != "0")
    throw bad_value(fmt::format("seed={} cannot be used with round=nearest", words.at("seed")),
                    "leave it out, or use round=stochastic");
}

kit::NarrowPacking packing_of(const Settings& words) {
  return words.at("packing") == "padded" ? kit::NarrowPacking::padded : kit::NarrowPacking::dense;
}

/// Rows in memory of the matrix with this pitch.
std::uint64_t rows_of(const Settings& words, std::string_view pitch) {
  return number(words, pitch == "pitch_x" && words.at("transpose") == "yes" ? "n" : "rows");
}

void check_size(const Settings& words) {
  if (number(words, "n") > kMostElements)
    throw Error(ErrorKind::usage, "shape-too-large", fmt::format("quantize: n={}", words.at("n")),
                "a row can have at most 2^30 elements");
  for (const char* pitch : {"pitch_x", "pitch_y"})
    if (rows_of(words, pitch) > kMostBytes / sizeof(float) / number(words, pitch))
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("quantize: {} rows with {}={}", rows_of(words, pitch), pitch, words.at(pitch)),
                  "a matrix can have at most 2^44 elements, padding included");
}

}  // namespace

std::string_view name(Scales scales) {
  return std::ranges::find(kScales, scales, &std::pair<std::string_view, Scales>::second)->first;
}

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"rows", "n", "format"});
  const kit::ScaledFormat& format = *kit::find_scaled_format(words.at("format"));
  complete_scales(words, format);
  check_layout(words, format);
  const kit::NarrowUnit unit = kit::narrow_unit(format.element, packing_of(words));
  space.complete_pitch(words, "pitch_x", number(words, words.at("transpose") == "yes" ? "rows" : "n"));
  space.complete_pitch(words, "pitch_y", number(words, "n"), {unit.elements, unit.bytes});
  check_size(words);
  return words;
}

Problem::Problem(const Settings& words)
    : rows(static_cast<std::uint32_t>(number(words, "rows"))),
      n(static_cast<std::uint32_t>(number(words, "n"))),
      x(*find_type(words.at("x"))),
      format(kit::find_scaled_format(words.at("format"))),
      group(words.contains("group") ? static_cast<std::uint32_t>(number(words, "group")) : n),
      scales_up(words.at("scale_round") == "up"),
      packing(packing_of(words)),
      tiled_scales(words.at("scale_layout") == "tiles"),
      transposed(words.at("transpose") == "yes"),
      computed(words.at("scale_of_tensor") == "computed"),
      stochastic(words.at("round") == "stochastic"),
      seed(number(words, "seed")),
      pitch_x(number(words, "pitch_x")),
      pitch_y(number(words, "pitch_y")) {
  for (const auto& [name, value] : kScales)
    if (name == words.at("scales")) scales = value;
  if (scales == Scales::block) group = kBlock;
}

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
