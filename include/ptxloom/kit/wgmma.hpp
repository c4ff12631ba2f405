// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ptxloom/kit/tma_tile.hpp"

/// \file
/// Products by wgmma (sm_90a). A warpgroup of four warps multiplies 64 rows of A by the columns of B, both in
/// shared memory, and accumulates in registers. The instruction finds an operand by a matrix descriptor: a
/// u64 with the layout of the tile, which does not change, and in its low half the address, in units of 16
/// bytes. So the same registers serve all stages of a pipeline:
///
///     WgmmaOperand a(k, tile, stage 0)                once
///     low = a.low(k, distance of the stage)           for each stage
///     wgmma_fence(k)
///     wgmma(..., a.descriptor(k, low, row, depth), ...)   for each instruction: one addition, or none
///     wgmma_commit(k);  wgmma_wait(k, pending)
///
/// The instructions between a fence and a commit form a group; groups complete in order. Accumulators must
/// not be touched while a group that adds to them is in flight: the linker then serialises everything.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

inline constexpr int kWarpgroupThreads = 128;  ///< threads of a warpgroup

/// An operand in shared memory.
class WgmmaOperand {
 public:
  /// Bytes that the addresses in descriptors count in.
  static constexpr int kUnit = 16;

  /// `start`: the address (u32) in shared memory of the tile in stage 0, or of a part of it that begins at
  /// TmaTile::offset().
  WgmmaOperand(KernelBuilder& k, const TmaTile& tile, Reg start);

  /// Moves the start by `count` (u32) times `bytes`, a multiple of kUnit. What low() has returned before
  /// stays where it was.
  void move(KernelBuilder& k, Reg count, int bytes);
  /// The low half of the descriptor for a stage `units` (u32), in kUnit, from stage 0.
  Reg low(KernelBuilder& k, Reg units) const { return k.add(low_, units); }
  /// The descriptor (u64) of what begins at row `extent` and k `depth` of the tile, in elements. `low`: of
  /// low().
  Reg descriptor(KernelBuilder& k, Reg low, int extent, int depth) const;
  bool transposed() const { return tile_.transposed(); }  ///< the instruction transposes it

 private:
  TmaTile tile_;
  Reg low_, high_;
};

/// Registers for the accumulators of one instruction in each thread of the warpgroup: f32, s32, or b32 with
/// two f16. Their values are undefined.
std::vector<Reg> wgmma_accumulators(KernelBuilder& k, Variant mma);

/// One instruction, by all threads of a warpgroup: d = A * B + d, or A * B where the predicate `add` does not
/// hold. `d`: of wgmma_accumulators(). `a` and `b`: descriptors (u64). Only forms of 16-bit types transpose;
/// others take operands that are contiguous along k. Throws Error(usage, "bad-wgmma") if an operand would
/// have to be transposed and cannot.
void wgmma(KernelBuilder& k, Variant mma, const std::vector<Reg>& d, Reg a, Reg b, Reg add,
           bool transposed_a = false, bool transposed_b = false);

/// The same with A in registers: `a` are those of the instruction's fragment map, and the form of `mma` is
/// the one that takes them. They must not be written while a group that reads them is in flight.
void wgmma(KernelBuilder& k, Variant mma, const std::vector<Reg>& d, std::span<const Reg> a, Reg b, Reg add,
           bool transposed_b = false);

/// The same with half of A's elements (wgmma.sp), in shared memory. `metadata`: a register of each thread
/// that says which; `selector`: which lanes of each four have those of the instruction (the PTX ISA's
/// sparsity selector). It must not be written while a group that reads it is in flight.
void wgmma_sparse(KernelBuilder& k, Variant mma, const std::vector<Reg>& d, Reg a, Reg b, Reg metadata,
                  int selector, Reg add);

/// Before the first instruction of a group, by all threads of the warpgroup: orders it after their accesses
/// to the accumulators, and to A in registers.
void wgmma_fence(KernelBuilder& k);
/// Closes a group, by all threads of the warpgroup.
void wgmma_commit(KernelBuilder& k);
/// Waits until at most `pending` groups are in flight; 0: none. Called by all threads of the warpgroup.
void wgmma_wait(KernelBuilder& k, int pending = 0);

}  // namespace kit
}  // namespace ptxloom
