// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ptxloom::target {

/// How the tensor cores of a chip align the terms they sum, in addition to mma_fraction_bits and mma_halves
/// of TargetInfo: a row of "mma" in specs/targets.json, which gives the sources. 0 = the chip has no such
/// unit.
struct ChipMma {
  int chip = 0;
  int least_f32 = 0, least_f16 = 0;  ///< exponent below which nothing is aligned, by accumulator type
  int fp8_bits = 0;  ///< fraction bits of the unit that sums e4m3 and e5m2, which has no such floor
  int fp4_bits = 0, fp4_least = 0;  ///< fraction bits and floor of the unit for mxf4 and mxf4nvf4
};

/// A chip without a row (from an overlay) uses that of the previous chip.
const ChipMma& mma_of(int chip);

}  // namespace ptxloom::target
