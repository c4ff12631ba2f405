// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "ptxloom/kit/accumulators.hpp"
#include "ptxloom/kit/fragments.hpp"

/// \file
/// Products by mma.sync of a warp's part of a tile: `m` x `n` elements by as many instructions as fit into
/// it. The fragments of A and B (fragments.hpp) are reused in registers:
///
///                 B 0   B 1   B 2
///     A 0       | 0,0 | 0,1 | 0,2 |     accumulators of each instruction; they are computed back and
///     A 1       | 1,0 | 1,1 | 1,2 |     forth along n, so that consecutive ones share a fragment
///
/// A thread holds elements of D as accumulator_places() says.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The position in D of a register of lane 0.
struct AccumulatorPlace {
  int row = 0;     ///< along m
  int column = 0;  ///< along n
};
/// The positions of the accumulators of an mma.sync, or of the first warp of a wgmma (the others follow 16
/// rows apart). Lane l holds elements l / 4 rows and l % 4 * 2 columns further. Accumulators of 16 bits,
/// two to a register, are not supported. Throws Error(refused, "fragment-map") if lanes do not follow this
/// pattern.
std::vector<AccumulatorPlace> accumulator_places(Variant mma);

/// Whether mma.sync of e4m3 and e5m2 is one of f16 on the target: ptxas converts the elements and multiplies
/// halves of k, with several times as many instructions. wgmma and mma.sync of s8 are not concerned.
bool multiplies_fp8_as_f16(const Target& target);

/// The products of a warp.
class MmaTiles {
 public:
  /// `m`, `n`: extents of the warp's part. Throws Error(usage, "bad-fragments") unless they are multiples of
  /// the instruction's.
  MmaTiles(KernelBuilder& k, Variant mma, int m, int n);

  /// New accumulators, zero.
  Accumulators zeros();
  /// d += a * b for one k-step; with `anew` d = a * b.
  void multiply(const Fragments::Tiles& a, const Fragments::Tiles& b, const Accumulators& d,
                bool anew = false);
  /// d += a * b for one k-step of mma.sp, whose A has half of its elements. `metadata`: a register for each
  /// mma tile of A; `selector`: which lanes of each four have those of the step (the PTX ISA's sparsity
  /// selector).
  void multiply_sparse(const Fragments::Tiles& a, const Fragments::Tiles& b, const Accumulators& d,
                       const std::vector<Reg>& metadata, int selector);

 private:
  Arg operand(std::string_view name, const std::vector<Reg>& registers) const;

  KernelBuilder& k_;
  Variant mma_;
  int rows_ = 0, columns_ = 0;  // of instructions
};

}  // namespace kit
}  // namespace ptxloom
