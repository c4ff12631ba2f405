// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "ptxloom/template.hpp"
#include "scaled_gemm/config.hpp"

// The strategy block_scale: mma.sync with .block_scale multiplies the codes and applies the scales. And
// f8f6f4: without scales of blocks mma.sync with kind::f8f6f4 multiplies the codes.
namespace ptxloom::scaled_gemm::block_scale {

/// The opcode of the instruction, and the elements of k that it multiplies.
///@{
std::string mma_opcode(const Problem& problem);
int mma_depth(const Problem& problem);
///@}
Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::scaled_gemm::block_scale
