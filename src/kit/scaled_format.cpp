// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/scaled_format.hpp"

#include <algorithm>
#include <array>

namespace ptxloom::kit {
namespace {

constexpr std::array<ScaledFormat, 10> kFormats = {{{"s8", s8, 127, 6, 0, 0, 0, f32, false},
                                                    {"s4", s4, 7, 2, 0, 0, 0, f32, false},
                                                    {"e4m3", e4m3, 448, 8, -6, 3, 0, f32, false},
                                                    {"e5m2", e5m2, 57344, 15, -14, 2, 0, f32, false},
                                                    {"mxfp8_e4m3", e4m3, 448, 8, -6, 3, 32, ue8m0, false},
                                                    {"mxfp8_e5m2", e5m2, 57344, 15, -14, 2, 32, ue8m0, false},
                                                    {"mxfp6_e2m3", e2m3, 7.5, 2, 0, 3, 32, ue8m0, false},
                                                    {"mxfp6_e3m2", e3m2, 28, 4, -2, 2, 32, ue8m0, false},
                                                    {"mxfp4", e2m1, 6, 2, 0, 1, 32, ue8m0, false},
                                                    {"nvfp4", e2m1, 6, 2, 0, 1, 16, ue4m3, true}}};

}  // namespace

std::span<const ScaledFormat> scaled_formats() { return kFormats; }

const ScaledFormat* find_scaled_format(std::string_view name) {
  const auto found = std::ranges::find(kFormats, name, &ScaledFormat::name);
  return found == kFormats.end() ? nullptr : &*found;
}

}  // namespace ptxloom::kit
