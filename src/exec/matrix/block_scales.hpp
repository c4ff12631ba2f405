// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "exec/machine/warp.hpp"
#include "exec/matrix/fragment.hpp"

// The scale factors of A or B in a block-scaled mma (PTX ISA 9.7.14.3): bytes of one register, in lanes and
// positions that two selectors choose, each an immediate or a register.
namespace ptxloom::exec {

class BlockScales {
 public:
  BlockScales() = default;
  /// `data`, `byte_id` and `thread_id` name the operands: "SA", "BA", "TA".
  BlockScales(const Decoder& decoder, std::string_view data, std::string_view byte_id,
              std::string_view thread_id);

  Type type() const { return fragment_.find(0, 0)->type(); }
  /// Factors per row.
  int blocks() const { return fragment_.find(0, 0)->cols(); }
  /// By row (for B: column), then by block. A selector out of range is the fault "mma-selector".
  std::vector<std::uint32_t> gather(Warp& warp, const Operation& op) const;
  /// The positions of the factors, and the operand's registers.
  const Fragment& fragment(Warp& warp, const Operation& op) const;
  std::span<const Slot> slots(const Operation& op) const {
    return std::span(op.slots).subspan(op.first[data_]);
  }

 private:
  SelectedFragment fragment_;
  std::size_t data_ = 0, byte_id_ = 0, thread_id_ = 0;  // operand indices
};

}  // namespace ptxloom::exec
