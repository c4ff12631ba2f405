// SPDX-License-Identifier: Apache-2.0
#include "gemm/mma_sync/choice.hpp"

namespace ptxloom::gemm_kernel::mma_sync {
namespace {

constexpr int kMostThreads = 512;

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

/// What the strategy cannot do: accumulate in 13 bits, and compute the transpose.
std::vector<Rule> capability_rules() {
  return {{"mma.sync of sm_89 accumulates 8-bit floats with 13 bits: sums must be plain",
           {},
           [](const Target& target, const Problem& p, const Config&) {
             return !p.promoted || p.terms.by_block() || target.info().number != 89;
           }},
          {"with strategy=mma swap must be no", {"swap"}, [](const Target&, const Problem&, const Config& c) {
             return !c.swap;
           }}};
}

/// Tiles that warps, their instructions and copies divide.
std::vector<Rule> shape_rules() {
  return {
      {"with strategy=mma tile_n must be 16, 32, 64, 96, 128, 192 or 256",
       {"tile_n"},
       [](const Target&, const Problem&, const Config& c) {
         return power_of_two(c.tile_n) || c.tile_n == 96 || c.tile_n == 192;
       }},
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
       [](const Target&, const Problem& p, const Config& c) { return both(p, c, divides_among_threads); }}};
}

/// Registers and shared memory.
std::vector<Rule> resource_rules() {
  return {{"the warp tiles need more registers than a thread has",
           {"tile_m", "tile_n", "tile_k", "warps_m", "warps_n", "mma", "stream_k", "static"},
           [](const Target& target, const Problem& p, const Config& c) {
             const int registers = needed_registers(p, c);
             return registers <= kRegisterLimit && registers * c.threads() <= target.info().registers_per_sm;
           }},
          {"the stages need more shared memory than a thread block has",
           {"tile_m", "tile_n", "tile_k", "stages", "split", "stream_k", "epilogue"},
           [](const Target& target, const Problem& p, const Config& c) {
             return shared_bytes(p, c) <= target.info().shared_per_block;
           }}};
}

}  // namespace

std::vector<Rule> rules() { return join_rules({capability_rules(), shape_rules(), resource_rules()}); }

}  // namespace ptxloom::gemm_kernel::mma_sync
