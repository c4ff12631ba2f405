// SPDX-License-Identifier: Apache-2.0
#include "exec/fragment.hpp"

#include <fmt/format.h>

#include "ptxloom/layout.hpp"

namespace ptxloom::exec {

Fragment::Fragment(const Decoder& decoder, std::string_view operand, bool transposed) {
  if (!has_layout(decoder.variant(), operand)) {
    decoder.unsupported(fmt::format("the specs have no fragment map of {}", operand));
  }
  const Layout layout = ptxloom::layout(decoder.variant(), operand);
  if (layout.lanes != kLanes || layout.registers > static_cast<int>(kMaxRegisters)) {
    decoder.unsupported(fmt::format("the fragment of {} is none of a warp", operand));
  }
  type_ = layout.type;
  rows_ = layout.rows;
  cols_ = layout.cols;
  matrices_ = layout.matrices;
  element_bits_ = layout.bits;
  registers_ = static_cast<std::size_t>(layout.registers);
  positions_.resize(static_cast<std::size_t>(matrices_ * rows_ * cols_));
  for (const LayoutElement& e : layout.elements()) {
    const int place = transposed ? e.col * rows_ + e.row : e.row * cols_ + e.col;
    positions_[static_cast<std::size_t>(e.matrix * rows_ * cols_ + place)] = {
        .reg = static_cast<std::uint8_t>(e.reg),
        .lane = static_cast<std::uint8_t>(e.lane),
        .bit = static_cast<std::uint8_t>(e.bit)};
  }
}

}  // namespace ptxloom::exec
