// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptxloom/type.hpp"

// What A and B may hold, and what becomes of one of them beside the other.
namespace ptxloom::scaled_gemm {

/// What a matrix holds: elements, and a scale for each `block` of them along k; 0: no scales.
struct Format {
  std::string_view name;
  Type element, scale;
  std::uint32_t block = 0;
  bool tensor_scale = false;  ///< all scales are multiplied by one more, an f32
};

/// The kit's formats with blocks of their own; else the type of this name. Of integers the parameter `group`
/// gives the block, and A the type of scales.
Format format_named(const std::string& name);

/// Whether there are kernels for these formats of A and B.
bool multiplies(const Format& a, const Format& b);
/// Floats of 8 bits and less without scales of blocks.
bool plain_floats(const Format& a, const Format& b);
/// Beside numbers without scales of blocks, B holds weights in the kit's layout.
bool shuffles(const Format& a, const Format& b);
/// Beside wider elements of B or A, and without scales of blocks, those of 6 and 4 bits become bytes.
bool widens(const Format& one, const Format& other);

}  // namespace ptxloom::scaled_gemm
