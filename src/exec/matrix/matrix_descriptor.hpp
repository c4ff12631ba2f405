// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "exec/machine/operation.hpp"
#include "exec/machine/warp.hpp"
#include "ptxloom/type.hpp"

// A multiplicand of wgmma in shared memory, as its 64-bit matrix descriptor says (PTX ISA 9.7.15.5.1.2). The
// unit is 16 bytes of neighbours, along k or, transposed, along the rows of A (columns of B). Eight such
// units side by side in the other direction are 16 bytes apart without swizzling, else as many bytes as the
// swizzling mode says, whose units change places: address bits 4 to 6 (4 to 5, 4) are xored with bits 7 to 9
// (7 to 8, 7), counted from where the pattern starts (base offset).
namespace ptxloom::exec {

class MatrixDescriptor {
 public:
  explicit MatrixDescriptor(std::uint64_t bits);

  /// What is read: rows of A or columns of B.
  struct Shape {
    Type type;
    std::size_t lines = 0, depth = 0;
    bool transposed = false;  ///< neighbours in memory are neighbours across lines, not in k
  };
  /// The elements, line by line. Those outside of the block's shared memory are the fault "out-of-bounds".
  /// The judge is told of the reading, unless it is null.
  std::vector<std::uint32_t> read(Warp& warp, const Operation& op, const Shape& shape, Judge* judge) const;

 private:
  std::uint64_t offset_along_k(std::uint64_t line, std::uint64_t unit) const;
  std::uint64_t offset_across(std::uint64_t unit, std::uint64_t k) const;
  std::uint64_t swizzled(std::uint64_t address) const;

  std::uint64_t start_, leading_, stride_;  // bytes
  std::uint64_t base_;                      // phase at which the swizzling pattern starts
  std::uint64_t width_;                     // of the swizzling mode, in bytes; 16: none
};

}  // namespace ptxloom::exec
