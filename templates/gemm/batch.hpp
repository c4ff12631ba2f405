// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "launch.hpp"
#include "ptxloom/builder.hpp"

// Many products in one kernel: batches, whose matrices lie a stride apart, and groups, of whose sizes the
// kernel learns from memory. Which product a tile belongs to is the business of scheduler.hpp.
namespace ptxloom::gemm_kernel {

/// Rows of A that have the same B, where groups are contiguous.
inline constexpr int kGroupRows = 128;

/// A masked group's rows of D are kept from such a multiple behind its last on: tensor copies store so many.
inline constexpr int kMaskedRows = 64;

/// What the groups are, in memory: how many rows each has, or which each kGroupRows rows belong to.
std::optional<TensorPlan> group_tensor(const Problem& problem);

/// Registers that hold for the whole kernel.
struct BatchInputs {
  GemmGroups kind = GemmGroups::none;
  std::optional<Reg> count = {};                 ///< of batches, where there may be several
  std::optional<Reg> groups = {};                ///< address of the group tensor
  std::map<std::string_view, Reg> strides = {};  ///< of matrices that are found by pointer; u64, elements
};
/// Declares the kernel's parameters. `pointers`: the matrices that it finds by pointer. `baked`: sizes are
/// constants.
BatchInputs batch_parameters(KernelBuilder& k, const Problem& problem,
                             const std::vector<std::string_view>& pointers, bool baked);
void add_batch_arguments(LaunchArgumentList& add, const std::vector<std::string_view>& pointers);

/// Where a batch's matrix begins; `pointer` where there is one for all.
Reg of_batch(KernelBuilder& k, const BatchInputs& in, std::string_view name, Type type, Reg pointer,
             const std::optional<Reg>& batch);

}  // namespace ptxloom::gemm_kernel
