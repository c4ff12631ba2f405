// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "ptxloom/template.hpp"
#include "scaled_gemm/config.hpp"

// The kernel of strategy dequantize, for targets whose tensor cores do not apply scales: tiles of A and B
// arrive in a ring of stages as they lie in memory, become bf16 in shared memory (halves.hpp), and are
// multiplied by mma.sync.
namespace ptxloom::scaled_gemm::dequantize {

/// The instruction's opcode.
std::string mma_opcode(const Problem& problem);
int shared_bytes(const Problem& problem, const Config& config);
Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::scaled_gemm::dequantize
