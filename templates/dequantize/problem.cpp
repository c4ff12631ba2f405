// SPDX-License-Identifier: Apache-2.0
#include "dequantize/problem.hpp"

#include <fmt/format.h>

namespace ptxloom::dequantize_kernel {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 30;  // of a row: positions are 32-bit integers
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr const char* kDefaultGroup = "128";

std::uint64_t number(const Settings& words, const std::string& name) { return std::stoull(words.at(name)); }

Error bad_value(std::string message, std::string hint) {
  return Error(ErrorKind::usage, "bad-value", "dequantize: " + std::move(message), std::move(hint));
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
}

void check_layout(const Settings& words, const kit::ScaledFormat& format) {
  if (words.at("packing") == "padded" && format.element.bits != 6)
    throw bad_value(fmt::format("packing=padded cannot be used with format={}", format.name),
                    "it is for elements of 6 bits: use packing=dense");
  if (words.at("scale_layout") == "tiles" && format.scale.bits != 8)
    throw bad_value(fmt::format("scale_layout=tiles cannot be used with format={}", format.name),
                    "its scales are f32: tiles are for scales of 8 bits, those of MX and NV formats");
}

kit::NarrowPacking packing_of(const Settings& words) {
  return words.at("packing") == "padded" ? kit::NarrowPacking::padded : kit::NarrowPacking::dense;
}

void check_size(const Settings& words) {
  if (number(words, "n") > kMostElements)
    throw Error(ErrorKind::usage, "shape-too-large", fmt::format("dequantize: n={}", words.at("n")),
                "a row can have at most 2^30 elements");
  for (const char* pitch : {"pitch_x", "pitch_y"})
    if (number(words, "rows") > kMostBytes / sizeof(float) / number(words, pitch))
      throw Error(ErrorKind::usage, "shape-too-large",
                  fmt::format("dequantize: {} rows with {}={}", words.at("rows"), pitch, words.at(pitch)),
                  "a matrix can have at most 2^44 elements, padding included");
}

Scales scales_named(const std::string& name) {
  if (name == "block") return Scales::block;
  return name == "tensor" ? Scales::tensor : name == "row" ? Scales::row : Scales::group;
}

}  // namespace

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"rows", "n", "format"});
  const kit::ScaledFormat& format = *kit::find_scaled_format(words.at("format"));
  complete_scales(words, format);
  check_layout(words, format);
  const kit::NarrowUnit unit = kit::narrow_unit(format.element, packing_of(words));
  space.complete_pitch(words, "pitch_x", number(words, "n"), {unit.elements, unit.bytes});
  space.complete_pitch(words, "pitch_y", number(words, "n"));
  check_size(words);
  return words;
}

Problem::Problem(const Settings& words)
    : rows(static_cast<std::uint32_t>(number(words, "rows"))),
      n(static_cast<std::uint32_t>(number(words, "n"))),
      format(kit::find_scaled_format(words.at("format"))),
      y(*find_type(words.at("y"))),
      scales(scales_named(words.at("scales"))),
      group(words.contains("group") ? static_cast<std::uint32_t>(number(words, "group")) : n),
      packing(packing_of(words)),
      tiled_scales(words.at("scale_layout") == "tiles"),
      pitch_x(number(words, "pitch_x")),
      pitch_y(number(words, "pitch_y")) {
  if (scales == Scales::block) group = kBlock;
}

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
