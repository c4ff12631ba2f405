// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/machine/warp.hpp"
#include "exec/matrix/fragment.hpp"

// The positions of the stored half of a sparse A (PTX ISA 9.7.14.6.1). Of four adjacent elements of a row two
// are stored, and E has a two-bit index for each, that of the lower one in the lower bits; for 4-bit types
// the elements are adjacent pairs. For tf32 one of two adjacent elements is stored, and its index is that of
// two 16-bit halves: 0b0100 for the first, 0b1110 for the second.
namespace ptxloom::exec {

class Metadata {
 public:
  Metadata() = default;
  /// Reads the operands E and F of an instruction whose A has `k` stored elements per row. With `ordered`,
  /// indices must ascend, else they must differ.
  Metadata(const Decoder& decoder, int k, bool ordered);

  /// For each element of A, row by row, the index of the element of B's columns that it multiplies. An index
  /// without a meaning in the manual is the fault "sparse-metadata".
  std::vector<std::uint16_t> picked(std::span<Warp* const> warps, const Operation& op) const;
  /// The positions of the indices, and the operand's registers.
  const Fragment& fragment(Warp& warp, const Operation& op) const;
  std::span<const Slot> slots(const Operation& op) const {
    return std::span(op.slots).subspan(op.first[data_]);
  }

 private:
  bool valid(const std::uint32_t* indices) const;
  void pick(const std::uint32_t* indices, std::size_t chunk, std::vector<std::uint16_t>& picked) const;

  SelectedFragment fragment_;
  std::size_t data_ = 0, selector_ = 0;  // operand indices
  std::size_t indices_ = 2;              // per chunk: 1 for tf32
  std::size_t width_ = 1;                // elements per index
  bool ordered_ = false;
};

}  // namespace ptxloom::exec
