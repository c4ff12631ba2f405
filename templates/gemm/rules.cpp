// SPDX-License-Identifier: Apache-2.0
#include "rules.hpp"

#include <algorithm>
#include <array>

#include "batch.hpp"
#include "stream_sums.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr int kRegisterLimit = 255;  // per thread, on every target
constexpr int kMostThreads = 512;
constexpr double kMostSteps = std::uint64_t{1} << 31;
constexpr int kMostThatSplit = 256;  // thread blocks; about what a large chip holds

bool power_of_two(int x) { return x > 0 && (x & (x - 1)) == 0; }

/// One operand in shared memory; the rules treat A and B alike.
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

// The swizzle permutes 16-byte chunks within rows of 2, 4, 8 ... chunks.
bool good_row(const Side& side, const Config& c) {
  const int bytes = side.row_bytes(c);
  return bytes >= 32 && bytes <= 1024 && power_of_two(bytes);
}

bool transposable(const Side& side, const Config& c) {
  return side.matrix.k_contiguous || (power_of_two(side.warp) && side.row_bytes(c) >= 64);
}

// Threads are mapped to the 16-byte chunks of a tile in whole rows.
bool divides_among_threads(const Side& side, const Config& c) {
  const int rows = side.matrix.k_contiguous ? side.tile : c.tile_k;
  const int step = c.threads() / (side.row_bytes(c) / 16);
  return step <= 0 || rows <= step || rows % step == 0;
}

}  // namespace

std::vector<Rule> mma_rules() {
  std::vector<Rule> all = {
      {"mma.sync of sm_89 accumulates 8-bit floats with 13 bits: sums must be plain",
       {},
       [](const Target& target, const Problem& p, const Config&) {
         return !p.promoted || p.function.by_block() || target.info().number != 89;
       }},
      {"with strategy=mma tile_n must be 16, 32, 64, 96, 128, 192 or 256",
       {"tile_n"},
       [](const Target&, const Problem&, const Config& c) {
         return power_of_two(c.tile_n) || c.tile_n == 96 || c.tile_n == 192;
       }},
      {"with strategy=mma there is no multicast",
       {"multicast"},
       [](const Target&, const Problem&, const Config& c) { return c.multicast == Multicast::none; }},
      {"with strategy=mma schedule must be cooperative",
       {"schedule"},
       [](const Target&, const Problem&, const Config& c) { return c.turns() == 1; }},
      {"with strategy=mma there are no TMA loads: loads must be warp",
       {"loads"},
       [](const Target&, const Problem&, const Config& c) { return c.loads == Loads::warp; }},
      {"with strategy=mma swap must be no",
       {"swap"},
       [](const Target&, const Problem&, const Config& c) { return !c.swap; }},
      {"with strategy=mma there are at most 6 stages",
       {"stages"},
       [](const Target&, const Problem&, const Config& c) { return c.stages <= 6; }},
      {"each warp's part of the tile must be a multiple of 16 rows and of 16 columns",
       {"tile_m", "tile_n", "warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) {
         return c.tile_m % (16 * c.warps_m) == 0 && c.tile_n % (16 * c.warps_n) == 0;
       }},
      {"tile_k must be a multiple of twice the k of the mma shape",
       {"tile_k", "mma"},
       [](const Target&, const Problem&, const Config& c) { return c.tile_k % (2 * c.mma_k) == 0; }},
      {"a thread block has at most 16 warps",
       {"warps_m", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.threads() <= kMostThreads; }},
      {"with strategy=mma epilogue=staged needs a 16-bit D and a tile_n of 32, 64, 128 or 256",
       {"tile_n", "epilogue"},
       [](const Target&, const Problem& p, const Config& c) {
         return !c.staged || (p.d.type.bits == 16 && power_of_two(c.tile_n) && c.tile_n >= 32);
       }},
      {"a row of a tile in shared memory must have 32 to 1024 bytes, a power of two",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, good_row); }},
      {"an operand that is not contiguous along k needs warp tiles of a power of two, and rows of at least "
       "64 bytes in shared memory",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, transposable); }},
      {"the rows of a tile do not divide evenly among the threads",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, divides_among_threads); }},
      {"the warp tiles need more registers than a thread has",
       {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "mma", "stream_k", "static"},
       [](const Target& target, const Problem& p, const Config& c) {
         const int registers = estimated_registers(target, p, c);
         return registers <= kRegisterLimit && registers * c.threads() <= target.info().registers_per_sm;
       }},
      {"the stages need more shared memory than a thread block has",
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
        {"strategy=wgmma needs mma=m64nNk8, m64nNk16 or m64nNk32, and these need strategy=wgmma",
         {"strategy", "mma"},
         [](const Target&, const Problem&, const Config& c) {
           return (c.strategy == Strategy::wgmma) == is_wgmma(c.shape);
         }},
        {"with swap=yes epilogue must be direct",
         {"swap", "epilogue"},
         [](const Target&, const Problem&, const Config& c) { return !c.swap || !c.staged; }},
        {"with block scales swap must be no",
         {"swap"},
         [](const Target&, const Problem& p, const Config& c) { return !c.swap || !p.function.by_block(); }},
        {"split needs clusters, which this target does not have",
         {"split"},
         [](const Target&, const Problem&, const Config& c) { return c.split == 1 || c.clusters; }},
        {"split is for few tiles: at most 256 thread blocks may split k",
         {"tile_m", "tile_n", "split"},
         [](const Target&, const Problem& p, const Config& c) {
           return c.split == 1 || tiles_of(p, c) * c.split <= kMostThatSplit;
         }},
        {"k has fewer k-blocks than split has thread blocks",
         {"split", "tile_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return (p.k + static_cast<unsigned>(c.tile_k) - 1) / static_cast<unsigned>(c.tile_k) >=
                  static_cast<unsigned>(c.split);
         }},
        {"with stream_k=yes split must be 1",
         {"split", "stream_k"},
         [](const Target&, const Problem&, const Config& c) { return !c.stream_k || c.split == 1; }},
        {"with stream_k=yes groups must be none: the sizes of groups are known only on the device",
         {"stream_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return !c.stream_k || p.groups == GemmGroups::none;
         }},
        {"with stream_k=yes all tiles together must have fewer than 2^31 k-blocks",
         {"tile_m", "tile_n", "tile_k", "stream_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return !c.stream_k || stream_steps(p, c) < kMostSteps;
         }},
        {"with groups=contiguous all rows of a tile must be in one group: tile_m must divide 128, or 64 with "
         "multicast=b",
         {"tile_m", "multicast"},
         [](const Target&, const Problem& p, const Config& c) {
           return c.swap || p.groups != GemmGroups::contiguous || kGroupRows % c.cluster_m() == 0;
         }},
        {"with groups=contiguous and swap=yes all rows of D in a tile must be in one group: tile_n must "
         "divide 128, or 64 with multicast=a",
         {"tile_n", "multicast"},
         [](const Target&, const Problem& p, const Config& c) {
           return !c.swap || p.groups != GemmGroups::contiguous || kGroupRows % c.cluster_n() == 0;
         }},
        {"with block scales, which change every 128 elements of k, tile_k must be at most 128",
         {"tile_k"},
         [](const Target&, const Problem& p, const Config& c) {
           return !p.function.by_block() || c.tile_k <= kScaleBlock;
         }},
        {"with scale_b=block the columns of a warp or warpgroup must be in one block of 128: tile_n / "
         "warps_n must divide 128",
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
