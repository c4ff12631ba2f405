// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/scale_tiles.hpp"
#include "ptxloom/kit/scaled_format.hpp"
#include "ptxloom/settings.hpp"
#include "ptxloom/type.hpp"

/// \file
/// A matrix of narrow elements with scales, as a problem's settings describe it:
///
///     rows, n         its size
///     format          a name of scaled_formats()
///     scales          tensor, row, group or block: which elements share a scale
///     group           elements of a row that share a scale, with scales=group
///     packing         dense, or padded to 16 elements in 16 bytes (elements of 6 bits)
///     scale_layout    plain, or tiles of 128 rows and 4 scales (scales of 8 bits)
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Which elements share a scale. A block has kScaleBlock rows and as many elements of each.
enum class Scales { tensor, row, group, block };
inline constexpr std::uint32_t kScaleBlock = 128;  ///< rows of a block, and elements of each
std::string_view name(Scales scales);              ///< as the parameter `scales` spells it

/// What these settings say of a matrix.
struct ScaledMatrix {
  std::uint32_t rows = 0;                ///< number of rows
  std::uint32_t n = 0;                   ///< elements of a row
  const ScaledFormat* format = nullptr;  ///< of the elements and their scales
  Scales scales = Scales::row;           ///< which elements share a scale
  std::uint32_t group = 0;               ///< elements of a row that share a scale: n if all of them do
  NarrowPacking packing = NarrowPacking::dense;  ///< of the elements in memory
  bool tiled_scales = false;                     ///< in tiles of 128 rows and 4 scales

  /// From settings that complete_scaled_matrix() has completed.
  explicit ScaledMatrix(const Settings& settings);

  /// Scales of a row.
  std::uint32_t scales_per_row() const { return (n + group - 1) / group; }
  /// Rows of scales.
  std::uint32_t scale_rows() const {
    return scales == Scales::block ? (rows + kScaleBlock - 1) / kScaleBlock : rows;
  }
  /// What holds an element in memory: a byte, on average, if it is padded.
  Type stored_element() const { return packing == NarrowPacking::padded ? b8 : format->element; }
  /// The tiles that scales are in, with `tiled_scales`.
  ScaleTiles tiles() const { return {rows, scales_per_row()}; }
};

/// Completes `scales` and `group`, and checks them, `packing` and `scale_layout` against the format. Throws
/// Error(usage, "bad-value"), in the name of this template, for values that do not go together.
void complete_scaled_matrix(Settings& settings, std::string_view template_name);

/// Sets a parameter that has only one possible value with the problem's format. Throws like the function
/// above if another one was given.
void complete_only_value(Settings& settings, std::string_view template_name, const std::string& name,
                         const std::string& value);

/// The unit that the pitch of the matrix is a multiple of.
NarrowUnit pitch_unit(const Settings& settings);

/// Throws Error(usage, "shape-too-large") if a matrix has too many elements for the kernels that read or
/// write it: more than 2^30 in a row, or 2^44 in all, padding included.
void check_scaled_size(const Settings& settings, std::string_view template_name, std::uint64_t rows,
                       const std::string& pitch);

}  // namespace kit
}  // namespace ptxloom
