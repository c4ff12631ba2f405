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

// What a kernel assumes about the addresses of a launch: alignment, and that D overlaps nothing else.
namespace ptxloom::gemm_kernel {

/// What each launch passes to its kernel, in this order: addresses of the tensors, then the bits of scalars.
inline constexpr std::array<std::string_view, 13> kGiven = {
    "a",        "b",     "c",   "d", "bias", "scale_a", "scale_b", "scale_d", "group_rows", "group_of_rows",
    kWorkspace, "alpha", "beta"};
using Given = std::array<std::uint64_t, kGiven.size()>;
constexpr std::size_t place_of(std::string_view name) {
  return static_cast<std::size_t>(std::ranges::find(kGiven, name) - kGiven.begin());
}

/// Where a matrix or vector has elements: `batches` batches, `stride` apart, of `rows` rows of `row_bytes`,
/// `pitch` apart.
struct Area {
  std::string name;
  std::size_t place = 0;  ///< index of its address in Given
  std::uint64_t rows = 0, row_bytes = 0, pitch = 0;
  std::uint64_t alignment = 1;
  std::uint64_t batches = 1, stride = 0;
};

/// The areas of all tensors of a complete problem, D last, as a kernel of this configuration accesses them.
std::vector<Area> areas(const Settings& problem, const Settings& config,
                        const std::vector<TensorPlan>& tensors);

/// Throws Error(usage) for a null address ("missing-operand"), a misaligned one ("misaligned-operand"), and a
/// D that overlaps an operand ("overlapping-operands"); C may be D.
void check_operands(const std::vector<Area>& areas, const Given& given);

/// The same for the workspace of a launch: "misaligned-operand", and "overlapping-operands" if it overlaps an
/// operand.
void check_workspace(const std::vector<Area>& areas, const Given& given, std::uint64_t bytes);

}  // namespace ptxloom::gemm_kernel
