// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/product_groups.hpp"

#include <fmt/format.h>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {

std::optional<GroupTensor> ProductGroups::tensor() const {
  const auto of_run = static_cast<std::uint64_t>(run);
  switch (kind) {
    case TileGroups::Kind::masked:
      return GroupTensor{.name = "group_rows", .elements = batches, .below = std::uint64_t{rows} + 1};
    case TileGroups::Kind::contiguous:
      if (run < 1)
        throw Error(ErrorKind::usage, "bad-schedule", fmt::format("groups in runs of {} rows", run),
                    "a run has at least one row");
      return GroupTensor{.name = "group_of_rows", .elements = (rows + of_run - 1) / of_run, .below = batches};
    case TileGroups::Kind::none:
      break;
  }
  return std::nullopt;
}

void ProductGroups::add_batches(Params& params, bool baked) const {
  if (several()) params.size("batch", u32, batches, baked);
}

bool ProductGroups::add_tensor(Params& params) const {
  const std::optional<GroupTensor> groups = tensor();
  if (groups) params.pointer(groups->name, s32);
  return groups.has_value();
}

std::optional<Reg> ProductGroups::batches_in(const ParamRegs& in) const {
  return several() ? std::optional(in["batch"]) : std::nullopt;
}

TileGroups ProductGroups::groups_in(const ParamRegs& in, bool columns) const {
  TileGroups groups{.kind = kind, .run = run, .columns = columns};
  if (const std::optional<GroupTensor> vector = tensor()) groups.address = in[vector->name];
  return groups;
}

}  // namespace ptxloom::kit
