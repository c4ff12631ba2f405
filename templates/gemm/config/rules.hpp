// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "gemm/config/config.hpp"

// A table of the rules that a configuration must obey for the problem it sees (seen_by). They are applied to
// a whole configuration when a kernel is made, and to a partial one during a search, as soon as the
// parameters that a rule reads are known.
namespace ptxloom::gemm_kernel {

/// Those of all strategies: a rule of one reads `strategy`, too, and allows every other strategy.
/// Each may rely on the rules before it.
std::span<const Rule> rules();

/// Why a configuration is invalid; empty if it is valid.
std::string_view inadmissible(const Target& target, const Problem& problem, const Config& config);

/// All configurations of a problem, with these rules and the resources that each needs.
tune::Space tuning_space(const ParameterSpace& space, const Specs& specs, const Target& target,
                         const Problem& problem);
/// The column of the chip's rate table for the problem's products.
std::string unit_of(const Problem& problem);

}  // namespace ptxloom::gemm_kernel
