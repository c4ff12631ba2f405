// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <algorithm>
#include <array>

#include "batch.hpp"
#include "stream_sums.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr int kRegisterLimit = 255;  // of a thread, on every target
constexpr int kMostThreads = 512;
constexpr double kMostSteps = std::uint64_t{1} << 31;
constexpr int kMostThatSplit = 256;  // blocks; a large chip holds about as many

bool power_of_two(int x) { return x > 0 && (x & (x - 1)) == 0; }

/// One operand in shared memory, as the rules see A and B alike.
struct Side {
  const Matrix& matrix;
  int tile, warp;
  int row_bytes(const Config& c) const {
    return (matrix.k_contiguous ? c.tile_k : tile) * matrix.type.bytes();
  }
};

bool both(const Problem& p, const Config& c, bool (*holds)(const Side&, const Config&)) {
  return holds({p.a, c.tile_m, c.warp_m()}, c) && holds({p.b, c.tile_n, c.warp_n()}, c);
}

// The swizzle permutes 16-byte chunks within rows of 2, 4, 8 ... of them.
bool good_row(const Side& side, const Config& c) {
  const int bytes = side.row_bytes(c);
  return bytes >= 32 && bytes <= 1024 && power_of_two(bytes);
}

bool transposable(const Side& side, const Config& c) {
  return side.matrix.k_contiguous || (power_of_two(side.warp) && side.row_bytes(c) >= 64);
}

// Threads are dealt to the 16-byte chunks of a tile in whole rows.
bool divides_among_threads(const Side& side, const Config& c) {
  const int rows = side.matrix.k_contiguous ? side.tile : c.tile_k;
  const int step = c.threads() / (side.row_bytes(c) / 16);
  return step <= 0 || rows <= step || rows % step == 0;
}

}  // namespace

std::vector<Rule> mma_rules() {
  std::vector<Rule> all = {
      {"mma.sync of sm_89 keeps 13 bits of sums of 8-bit floats: sums=plain is what it has",
       {},
       [](const Target& target, const Problem& p, const Config&) {
         return !p.promoted || p.function.by_block() || target.info().number != 89;
       }},
      {"mma.sync takes a tile_n of 16, 32, 64, 96, 128, 192 or 256",
       {"tile_n"},
       [](const Target&, const Problem&, const Config& c) {
         return power_of_two(c.tile_n) || c.tile_n == 96 || c.tile_n == 192;
       }},
      {"mma.sync knows no multicast",
       {"multicast"},
       [](const Target&, const Problem&, const Config& c) { return c.multicast == Multicast::none; }},
      {"mma.sync knows no warpgroups that take turns: schedule=cooperative",
       {"schedule"},
       [](const Target&, const Problem&, const Config& c) { return c.turns() == 1; }},
      {"mma.sync has no tensor copies that a thread could load: loads=warp",
       {"loads"},
       [](const Target&, const Problem&, const Config& c) { return c.loads == Loads::warp; }},
      {"mma.sync knows no swap",
       {"swap"},
       [](const Target&, const Problem&, const Config& c) { return !c.swap; }},
      {"mma.sync takes up to 6 stages",
       {"stages"},
       [](const Target&, const Problem&, const Config& c) { return c.stages <= 6; }},
      {"each warp's part of a tile is a multiple of 16 both ways",
       {"tile_m", "tile_n", "warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_m % (16 * c.warps_m) == 0 && c.tile_n % (16 * c.warps_n) == 0;
       }},
      {"tile_k is a multiple of two steps of the mma",
       {"tile_k", "mma"},
       [](const Target&, const Problem&, const Config& c) { return c.tile_k % (2 * c.mma_k) == 0; }},
      {"a block has up to 16 warps",
       {"warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.threads() <= kMostThreads; }},
      {"a staged epilogue is for 16-bit results in tiles of 32, 64, 128 or 256 columns",
       {"tile_n", "epilogue"},
       [](const Target&, const Problem& p, const Config& c) {
         return !c.staged || (p.d.type.bits == 16 && power_of_two(c.tile_n) && c.tile_n >= 32);
       }},
      {"a row of a shared tile is 32 to 1024 bytes, a power of two",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, good_row); }},
      {"a transposed operand needs warp tiles of a power of two, and shared rows of 64 bytes",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, transposable); }},
      {"the rows of a tile do not divide evenly among the threads",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, divides_among_threads); }},
      {"the warp tiles need more registers than there are",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "mma", "stream_k", "static"},
       [](const Target& target, const Problem& p, const Config& c) {
         const int registers = estimated_registers(target, p, c);
         return registers <= kRegisterLimit && registers * c.threads() <= target.info().registers_per_sm;
       }},
      {"the stages need more shared memory than there is",
       {"tile_m", "tile_n", "tile_k", "stages", "split", "stream_k", "epilogue"},
       [](const Target& target, const Problem& p, const Config& c) {
         return shared_bytes(target, p, c) <= target.info().shared_per_block;
       }},
  };
  for (Rule& rule : all) rule.strategy = Strategy::mma;
  return all;
}

namespace {

const std::vector<Rule>& table() {
  static const std::vector<Rule> all = [] {
    std::vector<Rule> list = {
        {"strategy wgmma goes with mma=m64nNk8, m64nNk16 or m64nNk32, and no other does",
         {"strategy", "mma"},
         [](const Target&, const Problem&, const Config& c) {
           return (c.strategy == Strategy::wgmma) == is_wgmma(c.shape);
         }},
        {"with swap each lane stores its own elements of D: epilogue=direct",
         {"swap", "epilogue"},
         [](const Target&, const Problem&, const Config& c) { return !c.swap || !c.staged; }},
        {"scales of blocks are of rows of A and of 128 columns of B, which change places with swap: swap=no",
         {"swap"},
         [](const Target&, const Problem& p, const Config& c) { return !c.swap || !p.function.by_block(); }},
        {"k is split among the blocks of a cluster, which the target has not",
         {"split"},
         [](const Target&, const Problem&, const Config& c) { return c.split == 1 || c.clusters; }},
        {"tiles enough keep a chip busy: k is split among 256 blocks at most",
         {"tile_m", "tile_n", "split"},
         [](const Target&, const Problem& p, const Config& c) {
           return c.split == 1 || tiles_of(p, c) * c.split <= kMostThatSplit;
         }},
        {"each of the blocks that split k needs a tile of it",
         {"split", "tile_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return (p.k + static_cast<unsigned>(c.tile_k) - 1) / static_cast<unsigned>(c.tile_k) >=
                  static_cast<unsigned>(c.split);
         }},
        {"k is split among the blocks of a cluster or of the whole grid: with stream_k=yes split is 1",
         {"split", "stream_k"},
         [](const Target&, const Problem&, const Config& c) { return !c.stream_k || c.split == 1; }},
        {"which tiles of groups there are is known on the device only: with stream_k=yes groups is none",
         {"stream_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return !c.stream_k || p.groups == GemmGroups::none;
         }},
        {"with stream_k=yes the steps of k of all tiles are fewer than 2^31",
         {"tile_m", "tile_n", "tile_k", "stream_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return !c.stream_k || stream_steps(p, c) < kMostSteps;
         }},
        {"the rows of a tile, or of two that share B, belong to one group: with groups=contiguous tile_m "
         "divides 128, with multicast=b 64",
         {"tile_m", "multicast"},
         [](const Target&, const Problem& p, const Config& c) {
           return c.swap || p.groups != GemmGroups::contiguous || kGroupRows % c.cluster_m() == 0;
         }},
        {"with swap the rows of a tile, or of two that share A, belong to one group: with groups=contiguous "
         "tile_n divides 128, with multicast=a 64",
         {"tile_n", "multicast"},
         [](const Target&, const Problem& p, const Config& c) {
           return !c.swap || p.groups != GemmGroups::contiguous || kGroupRows % c.cluster_n() == 0;
         }},
        {"scales of blocks change every 128 of k: tile_k is 128 at most",
         {"tile_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return !p.function.by_block() || c.tile_k <= kScaleBlock;
         }},
        {"with scale_b=block the columns of a warp, or of a warpgroup, lie in one block of 128: tile_n / "
         "warps_n divides 128",
         {"tile_n", "warps_n"},
         [](const Target&, const Problem& p, const Config& c) {
           return p.function.scale_b != GemmScale::block || kScaleBlock % c.warp_n() == 0;
         }}};
    for (const std::vector<Rule>& more : {wgmma_rules(), mma_rules()})
      list.insert(list.end(), more.begin(), more.end());
    return list;
  }();
  return all;
}

}  // namespace

std::span<const Rule> rules() { return table(); }

std::string_view inadmissible(const Target& target, const Problem& problem, const Config& config) {
  for (const Rule& rule : table()) {
    if (!rule.allows(target, problem, config)) return rule.says;
  }
  return {};
}

}  // namespace ptxloom::gemm_kernel
