// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"

/// \file
/// The products of a launch: one, batches of the same size, or groups of rows whose sizes are in device
/// memory (TileGroups). A tensor of s32, which the kernel reads, tells the groups:
///
///     masked        group_rows, one for each batch: how many of its rows are computed
///     contiguous    group_of_rows, one for each run of rows: the number of the B that they are multiplied by
///
/// ProductGroups has what follows from that for the problem's tensors, the kernel's parameters and its
/// scheduler.
///
/// Errors: the functions that need the tensor throw Error(usage, "bad-schedule") for runs of less than one
/// row.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// A tensor of s32 that tells groups.
struct GroupTensor {
  std::string name;            ///< "group_rows" or "group_of_rows"
  std::uint64_t elements = 0;  ///< how many it has
  std::uint64_t below = 0;     ///< meaningful values are less than this
};

/// Which products a launch computes.
struct ProductGroups {
  TileGroups::Kind kind = TileGroups::Kind::none;  ///< whether rows are grouped
  std::uint32_t rows = 0;                          ///< of D, in each batch or, if contiguous, in all
  std::uint32_t batches = 1;                       ///< matrices B
  int run = 128;                                   ///< rows of a run of contiguous groups

  /// Whether there are several B, or can be: a tile then has the number of its own.
  bool several() const { return batches > 1 || kind == TileGroups::Kind::contiguous; }
  /// The tensor that tells the groups, if there are any.
  std::optional<GroupTensor> tensor() const;

  /// Adds the parameter `batch`, the number of matrices B, if there are several. `baked`: as Params::size().
  void add_batches(Params& params, bool baked = false) const;
  /// Adds the pointer to tensor(), and returns whether there is one.
  bool add_tensor(Params& params) const;
  /// TileProblem::batches.
  std::optional<Reg> batches_in(const ParamRegs& in) const;
  /// TileProblem::groups. `columns`: the kernel computes the transpose of D.
  TileGroups groups_in(const ParamRegs& in, bool columns) const;
};

}  // namespace kit
}  // namespace ptxloom
