// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/config_parameter.hpp"
#include "shuffle_weights/problem.hpp"

// The configuration as typed data. Thread blocks with whole tiles of weights come first, then those with
// groups of scales.
namespace ptxloom::shuffle_weights {

inline constexpr int kTileThreads = 128;                            // each writes 16 bytes of a tile
inline constexpr int kGroupThreads = kit::WeightLayout::kTileRows;  // each writes the scale of a row

struct Config {
  int threads = 256;

  int tiles() const { return threads / kTileThreads; }    ///< of a thread block
  int groups() const { return threads / kGroupThreads; }  ///< of a thread block
  std::uint64_t tile_blocks(const Problem& p) const { return blocks_of(p.tiles(), tiles()); }
  std::uint64_t grid(const Problem& p) const {
    return tile_blocks(p) + blocks_of(p.scale_groups(), groups());
  }

 private:
  static std::uint64_t blocks_of(std::uint64_t units, int size) {
    return (units + static_cast<std::uint64_t>(size) - 1) / static_cast<std::uint64_t>(size);
  }
};

/// A new parameter is a field, a row here and one in space.json.
inline constexpr ConfigParameter<Config> kParameters[] = {parameter::number<&Config::threads>("threads")};

}  // namespace ptxloom::shuffle_weights
