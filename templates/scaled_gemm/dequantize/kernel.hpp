// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "ptxloom/template.hpp"
#include "scaled_gemm/dequantize/multiplier.hpp"

// The kernel of strategies dequantize and dequantize_wgmma, for targets whose tensor cores do not apply
// scales: tiles of A and B arrive in a ring of stages as they lie in memory, become bf16 in shared memory
// (halves.hpp), and are multiplied (multiplier.hpp).
namespace ptxloom::scaled_gemm::dequantize {

int shared_bytes(const Problem& problem, const Config& config, const MultiplierKind& kind);
Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config, const MultiplierKind& kind);

}  // namespace ptxloom::scaled_gemm::dequantize
