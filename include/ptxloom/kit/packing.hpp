// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ptxloom/kit/grid_rendezvous.hpp"
#include "ptxloom/kit/matrix.hpp"

/// \file
/// Copies of matrices that TMA cannot load. TMA requires rows, and batches, that begin at multiples of 16
/// bytes. A matrix without such rows is first copied into the launch's workspace with a suitable pitch, by
/// all warps of the grid:
///
///     workspace  | counter | matrix 0, rows 128 bytes apart or more | matrix 1 ... |
///
/// A PackPlan says on the host which matrices need it and where they go. The kernel's Packing copies them in
/// units of 16 bytes; each warp copies the pieces that its number selects. Whoever issues TMA loads waits
/// until all thread blocks have packed theirs (grid_rendezvous.hpp). So the launch is cooperative: all thread
/// blocks are resident at once, or the launch fails. The workspace holds zeros before the first launch.
///
/// Errors: Packing throws Error(usage, "bad-packing") for a plan without a packed matrix, and for sources
/// that are not the plan's packed matrices. Sizes are not checked.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Whether TMA can load the matrix's rows.
bool takes_tma_loads(const MatrixOperand& matrix);

/// A matrix in a number of batches.
struct MatrixBatches {
  MatrixOperand matrix;       ///< as it lies in memory
  std::uint64_t batches = 1;  ///< only those that are in memory: 1 if all share one matrix
};

/// A matrix as TMA loads it: in place, or in the workspace.
struct PackedMatrix {
  MatrixOperand matrix;         ///< as it lies there
  std::uint64_t batches = 1;    ///< of it, in memory
  bool packed = false;          ///< in the workspace
  std::uint64_t at = 0;         ///< offset in the workspace, in bytes
  std::uint32_t row_units = 0;  ///< units of a row, of 16 bytes
  /// Units of all rows.
  std::uint32_t units() const { return row_units * static_cast<std::uint32_t>(matrix.rows * batches); }
};

/// What a launch packs.
class PackPlan {
 public:
  /// Matrices with a stride count all of their batches, others one.
  explicit PackPlan(std::span<const MatrixBatches> matrices);

  const std::vector<PackedMatrix>& matrices() const { return matrices_; }  ///< in the order given
  bool any() const;                                                        ///< whether one is packed
  /// Bytes of the counter and of all packed matrices; 0 if there are none.
  std::uint64_t workspace_bytes() const { return any() ? bytes_ : 0; }
  /// A warp copies this many rounds of units at a time, a piece.
  std::uint32_t rounds() const;
  /// Pieces of a matrix, and of all. With as many warps each copies one.
  ///@{
  std::uint32_t pieces(const PackedMatrix& packed) const;
  std::uint32_t pieces() const;
  ///@}

 private:
  std::vector<PackedMatrix> matrices_;
  std::uint64_t bytes_;
};

/// A matrix to pack, and its address.
struct PackSource {
  MatrixOperand from;      ///< as it is given
  const PackedMatrix& to;  ///< one that is packed, of the plan
  Reg pointer;             ///< its address in global memory, u64
};

/// The copies of a kernel.
class Packing {
 public:
  /// `plan` must outlive this object and have a packed matrix. `sources`: one for each packed matrix.
  /// `workspace`: the address (u64) of PackPlan::workspace_bytes() bytes, a multiple of 256. Throws
  /// Error(usage, "bad-packing") for other sources.
  Packing(KernelBuilder& k, const PackPlan& plan, std::vector<PackSource> sources, Reg workspace);

  /// Copies, and counts this thread block. Called by all threads of the grid, once. `thread`: tid.x (u32);
  /// `warps`: of a thread block.
  void run(Reg thread, int warps);
  /// Waits for all thread blocks. Called by one thread of each, before its first TMA load.
  void await();

 private:
  GridRendezvous rendezvous();
  void copy_piece(Reg piece, Reg lane);
  void copy_rounds(const PackSource& source, Reg piece, Reg lane);
  Reg load_tail(const PackSource& source);
  void copy_units(const PackSource& source, Reg first);
  Reg row_address(const PackSource& source, Reg row);

  KernelBuilder& k_;
  const PackPlan& plan_;
  std::vector<PackSource> sources_;
  Reg workspace_;
};

}  // namespace kit
}  // namespace ptxloom
