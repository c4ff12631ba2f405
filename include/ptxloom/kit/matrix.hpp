// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/type.hpp"

/// \file
/// A matrix in memory, as the kit's tiles and copies see it. Sizes are in elements:
///
///                  cols            ld - cols
///          |------------------|................|
///     row  |x x x x x x x x x x . . . . . . . . |   `rows` stored rows, `ld` apart;
///     row  |x x x x x x x x x x . . . . . . . . |   batches of it are `stride` apart
///
/// As an operand of a product, A is m x k and B is k x n. An operand has an extent of its own (m or n), and
/// shares the depth k. Its stored rows run along k (`k_contiguous`) or along its extent.
///
/// Errors: none of its own. Sizes are not checked: there is at least one row, column and batch, and the type
/// has whole bytes.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A or B of a product, or any other matrix.
struct MatrixOperand {
  Type type = {};            ///< of an element
  bool k_contiguous = true;  ///< a stored row runs along k; else along m (A) or n (B)
  std::uint64_t rows = 0;    ///< stored rows
  std::uint64_t cols = 0;    ///< elements of a row
  std::uint64_t ld = 0;      ///< leading dimension: elements from a row to the next
  std::uint64_t stride = 0;  ///< elements from a batch to the next; 0: all batches share one matrix

  /// Bytes of a row, without the gap after it.
  std::uint64_t row_bytes() const { return cols * static_cast<std::uint64_t>(type.bytes()); }
  /// Bytes from a row to the next.
  std::uint64_t pitch_bytes() const { return ld * static_cast<std::uint64_t>(type.bytes()); }
};

/// Elements from the first to the last, over all batches.
std::uint64_t span(std::uint64_t rows, std::uint64_t cols, std::uint64_t ld, std::uint64_t stride,
                   std::uint64_t batches);

/// The largest power of two of bytes, up to 16, that divides the start of every row in every batch and, if
/// `whole`, the length of a row. Matrices begin at multiples of 16 bytes.
///@{
int alignment(Type type, std::uint64_t ld, std::uint64_t stride, std::uint64_t length, bool whole);
int alignment(const MatrixOperand& matrix, bool whole);
///@}

}  // namespace kit
}  // namespace ptxloom
