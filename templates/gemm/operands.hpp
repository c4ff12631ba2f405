// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/plan.hpp"

// What a kernel relies on of the addresses that a launch is given: alignment, and that nothing lies where D
// is written.
namespace ptxloom::gemm_kernel {

/// What each launch gives its kernel, in this order: where the tensors lie, then scalars by their bits.
inline constexpr std::array<std::string_view, 13> kGiven = {
    "a",        "b",     "c",   "d", "bias", "scale_a", "scale_b", "scale_d", "group_rows", "group_of_rows",
    kWorkspace, "alpha", "beta"};
using Given = std::array<std::uint64_t, kGiven.size()>;
constexpr std::size_t place_of(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kGiven, name) - kGiven.begin());
}

/// Where a matrix, or a vector, has elements: `rows` rows of `row_bytes`, `pitch` apart, in each of
/// `batches`, `stride` apart.
struct Area {
  std::string name;
  std::size_t place = 0;  ///< of its address in Given
  std::uint64_t rows = 0, row_bytes = 0, pitch = 0;
  std::uint64_t alignment = 1;
  std::uint64_t batches = 1, stride = 0;
};

/// Of a whole problem's tensors, D last, as a kernel of this configuration accesses them.
std::vector<Area> areas(const Settings& problem, const Settings& config,
                        const std::vector<TensorPlan>& tensors);

/// Throws Error(usage) for an address that is null ("missing-operand") or not aligned ("misaligned-operand"),
/// and where D overlaps an operand ("overlapping-operands"); C may be D.
void check_operands(const std::vector<Area>& areas, const Given& given);

/// The same for a workspace that a launch is given: "misaligned-operand", and "overlapping-operands" where
/// any operand lies in it.
void check_workspace(const std::vector<Area>& areas, const Given& given, std::uint64_t bytes);

}  // namespace ptxloom::gemm_kernel
