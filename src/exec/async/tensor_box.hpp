// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "ptxloom/tensor_map.hpp"

// The elements that one tensor copy moves, as rows: a row is contiguous along dimension 0 of the tensor and
// lies in one line of shared memory (PTX ISA 5.5.3 to 5.5.7).
namespace ptxloom::exec {

enum class TensorMode : std::uint8_t {
  tile,
  rows,        ///< tile::gather4 and tile::scatter4: coordinates are a column and four rows
  image,       ///< im2col
  wide_image,  ///< im2col::w and im2col::w::128, whose pixel order the manual only draws, and
               ///< im2col_no_offs::w: refused
};

struct TensorBox {
  TensorMode mode = TensorMode::tile;
  std::array<std::int32_t, 5> coordinates{};
  std::array<std::uint16_t, 3> offsets{};  ///< im2col: by W, H, D
};

/// The start of a row in the tensor: coordinates, which may lie outside.
using TensorPoint = std::array<std::int64_t, 5>;

/// In the order of shared memory.
std::vector<TensorPoint> rows_of(const TensorMap& map, const TensorBox& box);

/// Elements of a row.
std::uint32_t row_elements(const TensorMap& map);
/// Bytes of a row in shared memory, and the row pitch.
std::uint32_t row_bytes(const TensorMap& map);
std::uint32_t row_pitch(const TensorMap& map);

/// The swizzled position of the byte at `offset` of shared memory.
std::uint32_t swizzled(const TensorMap& map, std::uint32_t offset);
/// The size of the units that the swizzle moves.
std::uint32_t swizzle_chunk(const TensorMap& map);

}  // namespace ptxloom::exec
