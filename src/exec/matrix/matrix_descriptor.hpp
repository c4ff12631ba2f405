// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "exec/machine/operation.hpp"
#include "exec/machine/warp.hpp"
#include "ptxloom/type.hpp"

// A or B of wgmma in shared memory, as given by its 64-bit matrix descriptor (PTX ISA 9.7.15.5.1.2). The unit
// is 16 contiguous bytes along k or, if transposed, along the rows of A (columns of B). Eight such units,
// adjacent in the other direction, are 16 bytes apart without swizzling, else one swizzle width apart with
// their units permuted: address bits 4 to 6 (4 to 5, 4) are XORed with bits 7 to 9 (7 to 8, 7), counted from
// where the pattern starts (base offset).
namespace ptxloom::exec {

class MatrixDescriptor {
 public:
  explicit MatrixDescriptor(std::uint64_t bits);

  /// What is read: rows of A or columns of B.
  struct Shape {
    Type type;
    std::size_t lines = 0, depth = 0;
    bool transposed = false;  ///< elements adjacent in memory are adjacent across lines, not along k
  };
  /// Where its units lie in shared memory. A fault "out-of-bounds" unless operand number `operand` lies
  /// entirely in that of the thread block. Reports the read to the judge.
  std::vector<std::uint32_t> check(Warp& warp, const Operation& op, std::size_t operand,
                                   const Shape& shape) const;

 private:
  template <class F>
  bool for_units(const Shape& shape, F f) const;
  std::string describe() const;
  std::uint64_t offset_along_k(std::uint64_t line, std::uint64_t unit) const;
  std::uint64_t offset_across(std::uint64_t unit, std::uint64_t k) const;
  std::uint64_t swizzled(std::uint64_t address) const;

  std::uint64_t start_, leading_, stride_;  // bytes
  std::uint64_t base_;                      // phase at which the swizzle pattern starts
  std::uint64_t width_;                     // the swizzle width in bytes; 16: none
};

/// An operand that was checked. `shared` is all of shared memory.
struct SharedMatrix {
  MatrixDescriptor::Shape shape;
  std::vector<std::uint32_t> units;

  /// The elements, line by line.
  std::vector<std::uint32_t> read(std::span<const std::byte> shared) const;
  /// Whether all bits of it are zero.
  bool is_zero(std::span<const std::byte> shared) const;

 private:
  template <class Element>
  void read_as(std::span<const std::byte> shared, std::span<std::uint32_t> elements) const;
};

}  // namespace ptxloom::exec
