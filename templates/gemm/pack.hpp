// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "config.hpp"
#include "meeting.hpp"

// Tensor copies refuse rows that do not begin at multiples of 16 bytes. A matrix that has such rows, in any
// batch, is copied first, by all warps of the grid, to the launch's workspace, where its rows do. Each warp
// has its pieces by its number; whoever starts tensor copies waits until all blocks have packed theirs
// (meeting.hpp). So the launch is cooperative: all blocks run at once, or it fails.
namespace ptxloom::gemm_kernel {

/// Does a matrix have rows that tensor copies take?
bool takes_tensor_copies(const Matrix& matrix);

/// A or B as tensor copies find it: where it was, or in the workspace.
struct PackedMatrix {
  Matrix matrix;
  std::uint64_t batches = 1;  ///< of it, in memory
  bool packed = false;
  std::uint64_t at = 0;         ///< in the workspace
  std::uint32_t row_units = 0;  ///< of 16 bytes
  std::uint32_t units() const { return row_units * static_cast<std::uint32_t>(matrix.rows * batches); }
};

/// What a launch packs.
class PackPlan {
 public:
  explicit PackPlan(const Problem& problem);

  const PackedMatrix& a() const { return operands_[0]; }
  const PackedMatrix& b() const { return operands_[1]; }
  bool any() const { return a().packed || b().packed; }
  std::uint64_t workspace_bytes() const { return any() ? bytes_ : 0; }
  /// A warp copies so many rounds of units at a time, a piece.
  std::uint32_t rounds() const;
  std::uint32_t pieces(const PackedMatrix& packed) const;
  std::uint32_t pieces() const { return pieces(a()) + pieces(b()); }

 private:
  std::array<PackedMatrix, 2> operands_;
  std::uint64_t bytes_;
};

/// A matrix that is packed, and where it is.
struct PackSource {
  const Matrix& from;
  const PackedMatrix& to;
  Reg pointer;
};

class Packing {
 public:
  Packing(KernelBuilder& k, const PackPlan& plan, std::vector<PackSource> sources, Reg workspace);

  /// By all threads of blocks of so many warps.
  void run(Reg thread, int warps);
  /// By one thread of each block, before its first tensor copy.
  void await();

 private:
  Meeting meeting();
  void copy_piece(Reg piece, Reg lane);
  Reg load_tail(const PackSource& source);
  void copy_units(const PackSource& source, Reg first);
  Reg row_address(const PackSource& source, Reg row);

  KernelBuilder& k_;
  const PackPlan& plan_;
  std::vector<PackSource> sources_;
  Reg workspace_;
};

}  // namespace ptxloom::gemm_kernel
