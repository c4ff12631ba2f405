// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/scaled_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 30;  // of a row: positions are 32-bit integers
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 46;
constexpr const char* kDefaultGroup = "128";

constexpr std::array<std::pair<std::string_view, Scales>, 4> kScales = {
    {{"tensor", Scales::tensor}, {"row", Scales::row}, {"group", Scales::group}, {"block", Scales::block}}};

Error bad_value(std::string_view template_name, const std::string& message, std::string hint) {
  return Error(ErrorKind::usage, "bad-value", fmt::format("{}: {}", template_name, message), std::move(hint));
}

void complete_scales(Settings& settings, std::string_view template_name, const ScaledFormat& format) {
  if (format.block != 0) {
    complete_only_value(settings, template_name, "scales", "group");
    complete_only_value(settings, template_name, "group", std::to_string(format.block));
  }
  settings.try_emplace("scales", "row");
  if (settings.at("scales") == "group") settings.try_emplace("group", kDefaultGroup);
  if (settings.at("scales") != "group" && settings.contains("group"))
    throw bad_value(
        template_name,
        fmt::format("group={} cannot be used with scales={}", settings.at("group"), settings.at("scales")),
        "leave it out, or use scales=group");
}

void check_layout(const Settings& settings, std::string_view template_name, const ScaledFormat& format) {
  if (settings.at("packing") == "padded" && format.element.bits != 6)
    throw bad_value(template_name, fmt::format("packing=padded cannot be used with format={}", format.name),
                    "it is for elements of 6 bits: use packing=dense");
  if (settings.at("scale_layout") == "tiles" && format.scale.bits != 8)
    throw bad_value(template_name,
                    fmt::format("scale_layout=tiles cannot be used with format={}", format.name),
                    "its scales are f32: tiles are for scales of 8 bits, those of MX and NV formats");
}

Scales scales_named(std::string_view name) {
  return std::ranges::find(kScales, name, &std::pair<std::string_view, Scales>::first)->second;
}

NarrowPacking packing_of(const Settings& settings) {
  return settings.at("packing") == "padded" ? NarrowPacking::padded : NarrowPacking::dense;
}

}  // namespace

std::string_view name(Scales scales) {
  return std::ranges::find(kScales, scales, &std::pair<std::string_view, Scales>::second)->first;
}

ScaledMatrix::ScaledMatrix(const Settings& settings)
    : rows(size_of(settings, "rows")),
      n(size_of(settings, "n")),
      format(find_scaled_format(settings.at("format"))),
      scales(scales_named(settings.at("scales"))),
      group(settings.contains("group") ? size_of(settings, "group") : n),
      packing(packing_of(settings)),
      tiled_scales(settings.at("scale_layout") == "tiles") {
  if (scales == Scales::block) group = kScaleBlock;
}

void complete_scaled_matrix(Settings& settings, std::string_view template_name) {
  const ScaledFormat& format = *find_scaled_format(settings.at("format"));
  complete_scales(settings, template_name, format);
  check_layout(settings, template_name, format);
}

void complete_only_value(Settings& settings, std::string_view template_name, const std::string& name,
                         const std::string& value) {
  const auto [setting, added] = settings.try_emplace(name, value);
  if (!added && setting->second != value)
    throw bad_value(
        template_name,
        fmt::format("{}={} cannot be used with format={}", name, setting->second, settings.at("format")),
        fmt::format("leave it out, or use {}={}", name, value));
}

NarrowUnit pitch_unit(const Settings& settings) {
  return narrow_unit(find_scaled_format(settings.at("format"))->element, packing_of(settings));
}

void check_scaled_size(const Settings& settings, std::string_view template_name, std::uint64_t rows,
                       const std::string& pitch) {
  if (number_of(settings, "n") > kMostElements)
    throw Error(ErrorKind::usage, "shape-too-large", fmt::format("{}: n={}", template_name, settings.at("n")),
                "a row can have at most 2^30 elements");
  if (rows > kMostBytes / sizeof(float) / number_of(settings, pitch))
    throw Error(ErrorKind::usage, "shape-too-large",
                fmt::format("{}: {} rows with {}={}", template_name, rows, pitch, settings.at(pitch)),
                "a matrix can have at most 2^44 elements, padding included");
}

}  // namespace ptxloom::kit
