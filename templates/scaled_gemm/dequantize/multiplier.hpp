// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "scaled_gemm/warp_tiles.hpp"

// How a thread block multiplies tiles of A and B that are bf16 in shared memory: its warps by mma.sync, or
// its warpgroups by wgmma, each of which has all rows of the tile and some of its columns.
namespace ptxloom::scaled_gemm::dequantize {

inline constexpr int kWgmmaRows = 64, kWarpgroupWarps = 4;

/// u32.
struct MultiplierInputs {
  Reg a, b;  ///< shared addresses of halves_tile()
  Reg thread;
};

class Multiplier {
 public:
  virtual ~Multiplier() = default;
  /// Before a barrier: what this thread has written to the tiles may be multiplied.
  virtual void publish() = 0;
  /// Adds the products of the k-block in this buffer (u32). When it returns, this thread no longer reads the
  /// other buffer, or this one if there is no other.
  virtual void multiply(Reg buffer) = 0;
  /// Waits for all products.
  virtual void finish() = 0;
  /// The accumulators.
  virtual WarpPart part(const kit::TileOrigin& tile) = 0;
};

using MakeMultiplier = std::unique_ptr<Multiplier> (*)(KernelBuilder& k, const Config& config,
                                                       const MultiplierInputs& in);
std::unique_ptr<Multiplier> by_mma_sync(KernelBuilder& k, const Config& config, const MultiplierInputs& in);
std::unique_ptr<Multiplier> by_wgmma(KernelBuilder& k, const Config& config, const MultiplierInputs& in);

/// `buffers`: tiles of A and B as bf16 in shared memory. With two a k-block is converted while the one before
/// is multiplied.
struct MultiplierKind {
  MakeMultiplier make;
  int buffers;
};
inline constexpr MultiplierKind kMmaSync{by_mma_sync, 1}, kWgmma{by_wgmma, 2};

/// The instructions, if the target has them; `n`: columns that a wgmma multiplies.
///@{
std::optional<Variant> find_mma(const Specs& specs, const Target& target);
std::optional<Variant> find_wgmma(const Specs& specs, const Target& target, int n);
///@}

}  // namespace ptxloom::scaled_gemm::dequantize
