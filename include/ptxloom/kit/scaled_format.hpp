// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "ptxloom/type.hpp"

/// \file
/// Formats of narrow numbers that share scales. A number is its element times the scale of its block, in
/// NVFP4 also times a scale of the whole tensor:
///
///     MXFP8, MXFP6, MXFP4    OCP Microscaling Formats (MX) 1.0: 32 elements, a power of two as scale (ue8m0)
///     NVFP4                  16 elements of e2m1, a scale in ue4m3, and one f32 for the tensor
///     s8, s4, e4m3, e5m2     scales in f32, of as many elements as the user wants
///
/// Errors: none. A format that does not exist is a null pointer.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A format, as a row of the table.
struct ScaledFormat {
  std::string_view name;  ///< "mxfp8_e4m3"
  Type element;           ///< type of an element
  double largest;         ///< the magnitude that the largest value of a block is scaled to, at most
  int largest_exponent;   ///< the exponent of `largest`: the spec's emax
  int least_exponent;     ///< the exponent of the least normal element; of integers it has no meaning
  int mantissa_bits;      ///< of an element, behind the point; of integers it has no meaning
  int block;              ///< elements that share a scale; 0: any number
  Type scale;             ///< type of a scale
  bool tensor_scale;      ///< whether all scales are multiplied by one more, an f32

  /// Whether scales are powers of two.
  bool power_of_two_scales() const { return scale == ue8m0; }
};

/// All formats.
std::span<const ScaledFormat> scaled_formats();
/// The format of this name; null if there is none.
const ScaledFormat* find_scaled_format(std::string_view name);

}  // namespace kit
}  // namespace ptxloom
