// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "gemm/problem/problem.hpp"
#include "ptxloom/kit/product_groups.hpp"
#include "ptxloom/plan.hpp"

// Several products in one kernel: batches, whose matrices lie a stride apart, and groups, whose sizes the
// kernel reads from memory (kit/product_groups.hpp). kit/tile_scheduler.hpp decides which product a tile
// belongs to.
namespace ptxloom::gemm_kernel {

/// With contiguous groups, each run of this many rows of A multiplies the same B.
inline constexpr int kGroupRows = 128;

/// With masked groups, rows of D after a group's last one stay untouched from the next multiple of this on: a
/// TMA store writes this many rows.
inline constexpr int kMaskedRows = 64;

/// The products of a problem.
kit::ProductGroups product_groups(const Problem& problem);
/// The tensor that describes the groups, if there are any.
std::optional<TensorPlan> group_tensor(const Problem& problem);

/// Registers that stay live for the whole kernel.
struct BatchInputs {
  std::optional<Reg> count = {};                 ///< of batches, where there may be several
  kit::TileGroups groups = {};                   ///< of rows of D
  std::map<std::string_view, Reg> strides = {};  ///< of matrices that are found by pointer; u64, elements
};
/// Adds the parameters. `pointers`: the matrices that the kernel addresses by pointer. `baked`: sizes are
/// constants.
void add_batch_parameters(kit::Params& params, const Problem& problem,
                          const std::vector<std::string_view>& pointers, bool baked);
BatchInputs batch_inputs(const kit::ParamRegs& in, const Problem& problem);

/// The address of a batch's matrix; `pointer` itself if all batches share one.
Reg of_batch(KernelBuilder& k, const BatchInputs& in, std::string_view name, Type type, Reg pointer,
             const std::optional<Reg>& batch);

}  // namespace ptxloom::gemm_kernel
