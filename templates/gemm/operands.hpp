// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/plan.hpp"

// What a kernel relies on of the addresses that a launch is given: alignment, and that nothing lies where D
// is written.
namespace ptxloom::gemm_kernel {

/// Where a matrix, or a vector, has elements: `rows` rows of `row_bytes`, `pitch` apart, in each of
/// `batches`, `stride` apart.
struct Area {
  std::string name;
  std::uint64_t rows = 0, row_bytes = 0, pitch = 0;
  std::uint64_t alignment = 1;
  std::uint64_t batches = 1, stride = 0;
};

/// Of a whole problem's tensors, D last, as a kernel of this configuration accesses them.
std::vector<Area> areas(const Settings& problem, const Settings& config,
                        const std::vector<TensorPlan>& tensors);

/// Throws Error(usage) for an address that is null ("missing-operand") or not aligned ("misaligned-operand"),
/// and where D overlaps an operand ("overlapping-operands"); C may be D.
void check_operands(const std::vector<Area>& areas,
                    const std::function<std::uint64_t(std::string_view)>& address);

/// The same for a workspace that a launch is given: "misaligned-operand", and "overlapping-operands" where
/// any operand lies in it.
void check_workspace(const std::vector<Area>& areas,
                     const std::function<std::uint64_t(std::string_view)>& address, std::uint64_t workspace,
                     std::uint64_t bytes);

}  // namespace ptxloom::gemm_kernel
