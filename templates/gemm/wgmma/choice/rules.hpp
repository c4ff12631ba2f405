// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "gemm/config/rules.hpp"

// The rules of strategy wgmma, by what they protect. Each may rely on the rules before it, in this order.
namespace ptxloom::gemm_kernel::wgmma {

/// What TMA loads and wgmma require of A, B and the block scales.
std::vector<Rule> operand_rules();
/// Which ways to divide the work among warpgroups and thread blocks go together.
std::vector<Rule> scheduling_rules();
/// Tiles that warpgroups and their instructions divide.
std::vector<Rule> shape_rules();
/// Registers of a thread: the accumulators, and what else it needs.
std::vector<Rule> register_rules();
/// Shared memory of a thread block, and the boxes that TMA moves there.
std::vector<Rule> shared_memory_rules();

/// The configuration with its warpgroups on one tile.
Config as_cooperative(Config config);
inline constexpr int kLeastColumns = 8;  // of a wgmma, and of a slice of D

/// All of them.
std::vector<Rule> rules();

}  // namespace ptxloom::gemm_kernel::wgmma
