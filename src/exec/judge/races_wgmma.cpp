// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/judge/races.hpp"
#include "exec/judge/touches.hpp"
#include "exec/judge/wgmma_operands.hpp"

// Operands that wgmma reads from shared memory.
namespace ptxloom::exec {

// All four warps have to know of what was written there; that takes too long to check, so each looks after
// a fourth of the units. Mostly one copy wrote them all: what a warp knows of one write it judges once.
void Races::check_wgmma(const Actor& actor, std::span<const std::uint32_t> units) {
  struct Member {
    Actor actor;
    Touch now;
    Touch known;  // a write that is fine
    Mask known_lanes = 0;
  };
  const Block& block = actor.warp->block();
  std::array<Member, WgmmaOperands::kWarps> members;
  for (std::size_t i = 0; i < members.size(); ++i) {
    Member& member = members[i];
    member.actor = {&actor.warp->block().warps()[actor.warp->index() + i], actor.op, actor.lane};
    member.now = touch_of(member.actor, AccessKind::proxy());
  }
  for (const std::uint32_t unit : units) {
    Member& member = members[unit / WgmmaOperands::kUnit % members.size()];
    found_ = false;
    logs_[block.rank()].for_cells_at(
        unit, WgmmaOperands::kUnit, [&](const SharedCell& cell, std::uint32_t offset) {
          const bool is_plain = !cell.copied_to && !cell.write.kind.strong;
          if (is_plain && is_same(cell.write, member.known) && cell.writing_lanes == member.known_lanes)
            return;
          const Here here{.actor = member.actor, .touch = member.now, .offset = offset, .rank = block.rank()};
          check_read(here, cell);
          check_proxy(here, cell);
          if (found_ || !is_plain || !after_write(member.now, cell.write, cell.writing_lanes)) return;
          member.known = cell.write;
          member.known_lanes = cell.writing_lanes;
        });
  }
}

}  // namespace ptxloom::exec
