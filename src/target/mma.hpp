// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ptxloom::target {

/// How the tensor cores of a chip sum matrix products, in addition to mma_fraction_bits and mma_halves of
/// TargetInfo: a row of "mma" in specs/targets.json. specs/README.md describes the columns and gives the
/// sources. 0 = the chip has no such unit.
struct ChipMma {
  int chip = 0;
  int least_f32 = 0, least_f16 = 0;  ///< exponent below which nothing is aligned, by accumulator type
  int fp8_bits = 0;         ///< fraction bits of the unit that sums e4m3 and e5m2, which has no such floor
  bool fp8_as_f16 = false;  ///< mma.sync of e4m3 and e5m2 converts them and multiplies f16
  int fp4_bits = 0, fp4_least = 0;      ///< fraction bits and floor of the unit for mxf4 and mxf4nvf4
  bool m8n8k4_scalar = false;           ///< mma.m8n8k4 of f16 is scalar f32 arithmetic
  int wmma_f16_k = 0, wmma_tf32_k = 0;  ///< k of the steps of a wmma, by element type; 0: as mma.sync
};

/// A chip without a row, of which nothing is known, is treated as the previous one.
const ChipMma& mma_of(int chip);

}  // namespace ptxloom::target
