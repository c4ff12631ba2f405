// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "cluster_sum.hpp"
#include "rules.hpp"
#include "stream_sums.hpp"
#include "wgmma_plan.hpp"

namespace ptxloom::gemm_kernel {
namespace {

// Registers of a thread beside those of sums and kBesideSums:
constexpr int kOfFunctions = 12;   // with stream_k, where D is a function of the sums
constexpr int kOfRows = 32;        // where D is stored row by row, in 4 bytes beside C, or by warps that load
constexpr int kOfNarrowRows = 12;  // in fewer bytes beside C
constexpr int kOfOthers = 32;      // with `split`, that another block's sums are read to

constexpr int kLeastColumns = 8;      // of a wgmma, and of a slice of D
constexpr int kPatternRows = 8;       // of a swizzle
constexpr int kLongestBox = 256;      // elements that a tensor copy moves along one dimension
constexpr int kMostCopies = 16;       // of a stage; the producer has few registers
constexpr int kTensorAlignment = 16;  // bytes
constexpr std::uint64_t kMostPacked = std::uint64_t{32} << 30;  // bytes; units of 16 are counted by 32 bits
constexpr std::uint64_t kMostScales = std::uint64_t{1} << 30;   // of blocks; coordinates have 31 bits
constexpr int kLeastCopiedRow = 32;  // columns; narrower boxes are more work than storing from registers

bool aligned(Type type, std::uint64_t elements) {
  return elements * static_cast<std::uint64_t>(type.bytes()) % kTensorAlignment == 0;
}

Config of_one_turn(Config c) {
  c.schedule = Schedule::cooperative;
  return c;
}

// As many registers a thread as there can be.
Config without_loading_warp(Config c) {
  c.loads = Loads::thread;
  return of_one_turn(c);
}

int of_rows(const Problem& p, const Config& c) {
  if (!c.loading_warp()) return kOfRows;
  if (!p.reads_c()) return 0;
  return p.d.type.bytes() < 4 ? kOfNarrowRows : kOfRows;
}

}  // namespace

std::vector<Rule> wgmma_rules() {
  std::vector<Rule> all = {
      {"strategy wgmma packs A and B where their rows do not begin at multiples of 16 bytes, with static=mnk",
       {"static"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.bake == Bake::mnk || !PackPlan(p).any();
       }},
      {"strategy wgmma packs A and B by blocks that wait for each other, all on the chip at once, "
       "with split=1; stream_k=yes splits k too",
       {"split"},
       [](const Target&, const Problem& p, const Config& c) { return c.split == 1 || !PackPlan(p).any(); }},
      {"strategy wgmma packs up to 32 GiB of A and B; use mma",
       {},
       [](const Target&, const Problem& p, const Config&) {
         return PackPlan(p).workspace_bytes() <= kMostPacked;
       }},
      {"strategy wgmma copies up to 4 GiB of scales of blocks; use mma",
       {},
       [](const Target&, const Problem& p, const Config& c) {
         const ScaleTile scales(p, c);
         return std::max(scales.a.factors, scales.b.factors) <= kMostScales;
       }},
      {"strategy wgmma transposes elements of 16 bits only: others want A and B contiguous along k, "
       "a_layout=row and b_layout=col; use mma",
       {"mma"},
       [](const Target&, const Problem& p, const Config& c) {
         return (p.a.k_contiguous && p.b.k_contiguous) || c.mma.operand_index("TB") >= 0;
       }},
      {"strategy wgmma stages D in rows of 16 bytes or more: a warpgroup's part, or slice of it, has fewer",
       {"tile_n", "warps_n", "split", "epilogue"},
       [](const Target&, const Problem& p, const Config& c) {
         return !c.staged || aligned(p.d.type, static_cast<std::uint64_t>(c.group_n() / sum_slices(c)));
       }},
      {"strategy wgmma takes prefetch=step, and static=none or mnk",
       {"prefetch", "static"},
       [](const Target&, const Problem&, const Config& c) { return !c.across_tiles && c.bake != Bake::nk; }},
      {"a warpgroup has four warps along m: warps_m is 4 or 8",
       {"warps_m"},
       [](const Target&, const Problem&, const Config& c) { return c.warps_m == 4 || c.warps_m == 8; }},
      {"one or two warpgroups multiply: with warps_m=8 warps_n is 1, with 4 it is 1 or 2",
       {"warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.tile_warps() <= 8; }},
      {"with schedule=pingpong a warpgroup has a tile of its own: warps_m is 4 and warps_n 1",
       {"schedule", "warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.turns() == 1 || c.tile_warps() == 4; }},
      {"warpgroups that take turns walk all tiles over all of k: with schedule=pingpong split is 1",
       {"schedule", "split"},
       [](const Target&, const Problem&, const Config& c) { return c.turns() == 1 || c.split == 1; }},
      {"warpgroups that take turns walk whole tiles: with schedule=pingpong stream_k is no",
       {"schedule", "stream_k"},
       [](const Target&, const Problem&, const Config& c) { return c.turns() == 1 || !c.stream_k; }},
      {"warpgroups that take turns skip no tiles and promote no sums: groups, promoted sums and "
       "scales of blocks want schedule=cooperative",
       {"schedule"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.turns() == 1 || (p.groups == GemmGroups::none && !p.promoted);
       }},
      {"a thread that loads and multiplies too does both for one tile: with loads=thread schedule is "
       "cooperative",
       {"loads", "schedule"},
       [](const Target&, const Problem&, const Config& c) { return c.loading_warp() || c.turns() == 1; }},
      {"a thread that loads and multiplies too does both for whole tiles: with loads=thread split is 1 and "
       "stream_k no",
       {"loads", "split", "stream_k"},
       [](const Target&, const Problem&, const Config& c) {
         return c.loading_warp() || (c.split == 1 && !c.stream_k);
       }},
      {"a thread that loads ahead of what it multiplies skips no tiles: groups want loads=warp",
       {"loads"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.loading_warp() || p.groups == GemmGroups::none;
       }},
      {"a warpgroup computes 64 or 128 rows of D",
       {"tile_m", "warps_m"},
       [](const Target&, const Problem&, const Config& c) {
         return c.group_m() == 64 || c.group_m() == 128;
       }},
      {"a warpgroup computes a multiple of 8 columns of D",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_n % (kLeastColumns * c.warps_n) == 0;
       }},
      {"wgmma of integers computes 8, 24 or a multiple of 16 columns of D",
       {"tile_n", "warps_n", "mma"},
       [](const Target&, const Problem&, const Config& c) {
         return c.every_width || c.group_n() % 16 == 0 || c.group_n() < 32;
       }},
      {"the accumulators need more registers than there are",
       {"tile_m", "tile_n", "warps_m", "warps_n"},
       [](const Target& target, const Problem& p, const Config& c) {
         return sum_registers(p, c) + kBesideSums <=
                registers_with(1, target.info(), without_loading_warp(c));
       }},
      {"the accumulators leave no registers for the warp that loads beside two warpgroups, or for the thread "
       "of theirs that does (loads)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "loads"},
       [](const Target& target, const Problem& p, const Config& c) {
         return leaves_registers(target.info(), p, of_one_turn(c));
       }},
      {"two warpgroups with tiles of their own need more registers than there are: with schedule=pingpong a "
       "tile has 128 x 128 elements at most",
       {"tile_m", "tile_n", "warps_m", "warps_n", "schedule"},
       [](const Target& target, const Problem& p, const Config& c) {
         return c.turns() == 1 || sum_registers(p, c) + kBesideSums <= registers_with(1, target.info(), c);
       }},
      {"the accumulators leave no registers for what D is of sums of parts of tiles (stream_k)",
       {"tile_m", "tile_n", "warps_m", "warps_n", "stream_k"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.stream_k || ((p.function.none() || p.function.by_block()) && !p.reads_c()) ||
                sum_registers(p, c) + kBesideSums + kOfFunctions <=
                    registers_with(1, target.info(), of_one_turn(c));
       }},
      {"the accumulators leave no registers for a staged D that is stored row by row, beside C or with "
       "loads=thread: its rows do not begin and end at multiples of 16 bytes",
       {"tile_m", "tile_n", "warps_m", "warps_n", "schedule", "loads", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.staged || alignment(p.d, p.n, true) == 16 ||
                sum_registers(p, c) + kBesideSums + of_rows(p, c) <= registers_with(1, target.info(), c);
       }},
      {"the accumulators leave no registers for the sums of the other blocks that split k",
       {"tile_m", "tile_n", "warps_m", "warps_n", "split"},
       [](const Target& target, const Problem& p, const Config& c) {
         return c.split == 1 || sum_registers(p, c) + kBesideSums + kOfOthers <=
                                    registers_with(1, target.info(), of_one_turn(c));
       }},
      {"each of the blocks that split k stores columns of its own, a multiple of 8 in each warpgroup's part",
       {"tile_n", "warps_n", "split"},
       [](const Target&, const Problem&, const Config& c) {
         return c.group_n() % (kLeastColumns * c.split) == 0;
       }},
      {"blocks of a cluster share A or B, or split k: with multicast split is 1",
       {"multicast", "split"},
       [](const Target&, const Problem&, const Config& c) { return c.sharing() == 1 || c.split == 1; }},
      {"two blocks that share A compute neighbouring tiles along n, those that share B along m: there is one",
       {"multicast", "tile_m", "tile_n"},
       [](const Target&, const Problem& p, const Config& c) {
         return (c.multicast != Multicast::a || p.n > static_cast<unsigned>(c.tile_n)) &&
                (c.multicast != Multicast::b || p.m > static_cast<unsigned>(c.tile_m));
       }},
      {"tile_k is one step of wgmma (as many as 32 bytes hold) or more of them, up to 256",
       {"tile_k", "mma"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_k >= c.mma_k && c.tile_k <= kLongestBox;
       }},
      {"sums are promoted after each stage: with sums=promoted tile_k is 128 at most",
       {"tile_k"},
       [](const Target&, const Problem& p, const Config& c) { return !p.promoted || c.tile_k <= kPromoted; }},
      {"a stage takes more than 16 tensor copies: B, contiguous along n, wants a tile_n of more powers of "
       "two",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target& target, const Problem& p, const Config& c) {
         const WgmmaPlan plan(target.info(), p, c);
         return plan.a.boxes() + plan.b.boxes() <= kMostCopies;
       }},
      {"strategy wgmma stages a D whose rows do not begin and end at multiples of 16 bytes in boxes of "
       "32 columns or more: a warpgroup's part is no multiple of them; else epilogue=direct",
       {"tile_n", "warps_n", "split", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         if (!c.staged) return true;
         const WgmmaPlan plan(target.info(), p, c);
         return plan.copies_d || plan.store.width >= kLeastCopiedRow;
       }},
      {"the sums that blocks leave each other (split) need more shared memory than the stages have",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "stages", "split"},
       [](const Target& target, const Problem& p, const Config& c) {
         return cluster_sum_bytes(p, c) <= WgmmaPlan(target.info(), p, c).stores_at;
       }},
      {"the slices of tiles that blocks share (stream_k) need more shared memory than the stages have",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "stages", "stream_k"},
       [](const Target& target, const Problem& p, const Config& c) {
         return !c.stream_k ||
                stream_slice_bytes(p, of_one_turn(c)) <= WgmmaPlan(target.info(), p, c).stores_at;
       }},
      {"two blocks load half a tile each: multiples of 8 rows of 128 bytes (or of what a box has)",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "multicast"},
       [](const Target& target, const Problem& p, const Config& c) {
         const WgmmaPlan plan(target.info(), p, c);
         return plan.a.copied_rows() % kPatternRows == 0 && plan.b.copied_rows() % kPatternRows == 0;
       }},
      {"the stages need more shared memory than there is",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "schedule", "stages", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         return shared_bytes(target, p, c) <= target.info().shared_per_block;
       }},
  };
  for (Rule& rule : all) rule.strategy = Strategy::wgmma;
  return all;
}

}  // namespace ptxloom::gemm_kernel
