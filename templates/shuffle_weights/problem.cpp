// SPDX-License-Identifier: Apache-2.0
#include "shuffle_weights/problem.hpp"

#include <fmt/format.h>

#include <string>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/scaled_format.hpp"
#include "ptxloom/kit/scaled_matrix.hpp"
#include "ptxloom/kit/weight_layout.hpp"

namespace ptxloom::shuffle_weights {
namespace {

constexpr std::uint64_t kMostExtent = std::uint64_t{1} << 30;  // positions are 32-bit integers
constexpr const char* kDefaultGroup = "128";
constexpr const char* kWholeRow = "row";

/// An MX format or NVFP4; null: others, which have a choice of groups and scales.
const kit::ScaledFormat* fixed_format(const Settings& words) {
  const kit::ScaledFormat* const format = kit::find_scaled_format(words.at("format"));
  return format != nullptr && format->block != 0 ? format : nullptr;
}

Type element_of(const Settings& words) {
  const kit::ScaledFormat* const format = fixed_format(words);
  return format == nullptr ? *find_type(words.at("format")) : format->element;
}

void complete_scales(Settings& words) {
  if (const kit::ScaledFormat* const format = fixed_format(words)) {
    kit::complete_only_value(words, "shuffle_weights", "group", std::to_string(format->block));
    return kit::complete_only_value(words, "shuffle_weights", "scale", std::string(format->scale.name));
  }
  const Type activations = *find_type(words.at("activations")), own = activations == f16 ? f16 : bf16;
  words.try_emplace("group", kDefaultGroup);
  words.try_emplace("scale", own.name);
  const auto refuse = [&](const char* parameter, const std::string& hint) {
    throw Error(ErrorKind::usage, "bad-value",
                fmt::format("shuffle_weights: {}={} cannot be used with format={} and activations={}",
                            parameter, words.at(parameter), words.at("format"), activations.name),
                hint);
  };
  if (words.at("scale") != own.name && words.at("scale") != f32.name)
    refuse("scale", fmt::format("scaled_gemm reads scales in {} or f32", own.name));
  if (activations.bits == 8 && words.at("group") != kWholeRow &&
      size_of(words, "group") < kit::WeightLayout::kInstructionOfBytes)
    refuse("group", fmt::format("an instruction multiplies {} elements: give at least as many",
                                kit::WeightLayout::kInstructionOfBytes));
}

/// The fewest elements that are whole bytes.
ParameterSpace::RowUnit row_unit(Type element) {
  const kit::NarrowUnit unit = kit::narrow_unit(element);
  return {unit.elements, unit.bytes};
}

void check_formats(const Settings& words) {
  const Type element = element_of(words), activations = *find_type(words.at("activations"));
  if (kit::WeightLayout::has(element, activations)) return;
  throw Error(ErrorKind::usage, "bad-value",
              fmt::format("shuffle_weights: format={} cannot be used with activations={}", words.at("format"),
                          activations.name),
              element.bits == 8 ? "weights of 8 bits are multiplied by bf16 and f16"
                                : "s8 is multiplied by s4 and u4");
}

Error too_large(std::string message) {
  return Error(ErrorKind::usage, "shape-too-large", "shuffle_weights: " + std::move(message),
               "a size is at most 2^30, and so are the tiles of all matrices");
}

void check_sizes(const Settings& words) {
  for (const char* name : {"n", "k", "batch", "pitch"})
    if (number_of(words, name) > kMostExtent) throw too_large(fmt::format("{}={}", name, words.at(name)));
  const Problem p(words);
  const std::uint64_t row_tiles = p.layout().row_tiles() * p.batch;
  for (const std::uint64_t units : {p.layout().depth_tiles(), p.layout().groups(p.group)})
    if (row_tiles > kMostExtent / units)
      throw too_large(fmt::format("batch={} n={} k={}", p.batch, p.n, p.k));
}

}  // namespace

Settings complete_problem(const ParameterSpace& space, const Settings& given) {
  Settings words = space.complete(space.problem(), given);
  space.require(words, {"n", "k", "format"});
  check_formats(words);
  complete_scales(words);
  space.complete_pitch(words, "pitch", number_of(words, "k"), row_unit(element_of(words)));
  check_sizes(words);
  return words;
}

Problem::Problem(const Settings& words)
    : n(size_of(words, "n")),
      k(size_of(words, "k")),
      batch(size_of(words, "batch")),
      element(element_of(words)),
      activations(*find_type(words.at("activations"))),
      scale(*find_type(words.at("scale"))),
      pitch(size_of(words, "pitch")) {
  group = words.at("group") == kWholeRow ? static_cast<std::uint32_t>(layout().filled_depth())
                                         : size_of(words, "group");
}

std::vector<TensorPlan> tensors_of(const Problem& p) {
  const kit::WeightLayout layout = p.layout();
  const auto over = [&](std::vector<std::uint64_t> shape) {
    if (p.batch > 1) shape.insert(shape.begin(), p.batch);
    return shape;
  };
  const auto out = [&](const char* name, Type type, std::uint64_t units, std::uint64_t size) {
    return TensorPlan{.name = name,
                      .type = type,
                      .shape = over({layout.row_tiles(), units, size}),
                      .role = TensorPlan::Role::out};
  };
  const auto groups = layout.groups(p.group);
  std::vector<TensorPlan> all{{.name = "x", .type = p.element, .shape = over({p.n, p.pitch})},
                              {.name = "scale", .type = p.scale, .shape = over({p.n, p.scales()})}};
  if (p.zero_points()) all.push_back({.name = "zero", .type = u8, .shape = over({p.n, p.scales()})});
  all.push_back(out("b", u8, layout.depth_tiles(), layout.tile_bytes()));
  all.push_back(out("scale_b", p.scale, groups, kit::WeightLayout::kTileRows));
  if (p.zero_points()) all.push_back(out("zero_b", u8, groups, kit::WeightLayout::kTileRows));
  return all;
}

double input_bytes(const Problem& p) {
  const double scale = p.scale.bytes() + (p.zero_points() ? 1 : 0);
  return double(p.batch) * p.n * (double(p.k) * p.element.bits / 8 + p.scales() * scale);
}

double output_bytes(const Problem& p) {
  const double scale = p.scale.bytes() + (p.zero_points() ? 1 : 0);
  return double(p.tiles() * p.layout().tile_bytes()) +
         double(p.scale_groups()) * kit::WeightLayout::kTileRows * scale;
}

}  // namespace ptxloom::shuffle_weights
