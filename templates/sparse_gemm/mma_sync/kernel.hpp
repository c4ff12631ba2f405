// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "ptxloom/template.hpp"
#include "sparse_gemm/config.hpp"

// The kernel of strategy mma_sync, by mma.sp. Its sparse operand is A of the instruction, so the transpose is
// computed: rows of the product are columns of D. Tiles of A and of the values arrive in a ring of stages by
// cp.async; each thread loads its words of metadata straight from global memory, a k-block ahead.
namespace ptxloom::sparse_gemm::mma_sync {

/// The instruction, if the target has it.
std::optional<Variant> find_mma(const Specs& specs, const Target& target, const Problem& problem);
/// Shared memory of the stages.
int shared_bytes(const Problem& problem, const Config& config);
/// Registers of a thread, estimated.
int estimated_registers(const Problem& problem, const Config& config);

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                    const Config& config);

}  // namespace ptxloom::sparse_gemm::mma_sync
