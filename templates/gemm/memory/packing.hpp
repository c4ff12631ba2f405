// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

#include "gemm/config/config.hpp"
#include "ptxloom/kit/grid_rendezvous.hpp"

// TMA requires a row pitch that is a multiple of 16 bytes. A matrix without one, in any batch, is first
// copied into the launch's workspace with a suitable pitch, by all warps of the grid. Each warp copies the
// pieces that its number selects; whoever issues TMA loads waits until all thread blocks have packed theirs
// (kit/grid_rendezvous.hpp). So the launch is cooperative: all thread blocks are resident at once, or
// the launch fails.
namespace ptxloom::gemm_kernel {

/// Whether TMA can load the matrix's rows.
bool takes_tma_loads(const Matrix& matrix);

/// A or B as TMA loads it: in place, or in the workspace.
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
  /// A warp copies this many rounds of units at a time, a piece.
  std::uint32_t rounds() const;
  std::uint32_t pieces(const PackedMatrix& packed) const;
  std::uint32_t pieces() const { return pieces(a()) + pieces(b()); }

 private:
  std::array<PackedMatrix, 2> operands_;
  std::uint64_t bytes_;
};

/// A matrix to pack, and its address.
struct PackSource {
  const Matrix& from;
  const PackedMatrix& to;
  Reg pointer;
};

class Packing {
 public:
  Packing(KernelBuilder& k, const PackPlan& plan, std::vector<PackSource> sources, Reg workspace);

  /// Called by all threads of thread blocks of this many warps.
  void run(Reg thread, int warps);
  /// Called by one thread of each thread block, before its first TMA load.
  void await();

 private:
  kit::GridRendezvous rendezvous();
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
