// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/config.hpp"

// The demand of a configuration on the chip, which the cost model turns into a time. What all strategies have
// in common is here: operands from L2, division among thread blocks, stores of D. A strategy adds its own.
namespace ptxloom::gemm_kernel {

/// For the product that the configuration sees (seen_by), on a chip with this many SMs.
tune::Demand demand_of(const Target& target, const Problem& problem, const Config& config, int sms);

/// How results are stored, if not by TMA.
enum class Stores { from_registers, row_by_row };
/// Adds the stores of D to the demand.
void add_stores(tune::Demand& demand, const Problem& problem, const Config& config, Stores stores);

/// Bytes of A and B in a pipeline stage.
double stage_bytes_of(const Problem& problem, const Config& config);

}  // namespace ptxloom::gemm_kernel
