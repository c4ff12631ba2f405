// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "problem.hpp"

// A configuration as typed data, and which of them a problem and a target admit.
namespace ptxloom::gemm_kernel {

enum class Bake { none, nk, mnk };

/// How the threads of a block read a matrix: so many bytes at once, by cp.async or through registers.
struct Access {
  int bytes = 16;
  bool asynchronous = true;
};
Access access_of(const Specs& specs, const Target& target, const Matrix& matrix);

struct Config {
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int warps_m = 0, warps_n = 0;
  int stages = 0;
  int raster = 1;
  bool staged = false;        ///< epilogue through shared memory
  bool across_tiles = false;  ///< the first fragments of a tile are read during the tile before
  Bake bake = Bake::none;
  Access a, b;
  Variant mma;
  std::string shape;  ///< "m16n8k16"
  int mma_m = 0, mma_n = 0, mma_k = 0;

  int warps() const { return warps_m * warps_n; }
  int threads() const { return warps() * 32; }
  int warp_m() const { return tile_m / warps_m; }
  int warp_n() const { return tile_n / warps_n; }
  int k_steps() const { return tile_k / mma_k; }
};

/// A or B as the configuration divides it: extents along m or n.
struct OperandPlan {
  std::string_view name;  ///< as the mma calls it
  const Matrix& matrix;
  Access access;
  int tile = 0, warp = 0, mma = 0;
  bool whole_extent = false, whole_k = false;  ///< a baked size that the tiles divide: nothing to check there
};
OperandPlan plan_a(const Problem& problem, const Config& config);
OperandPlan plan_b(const Problem& problem, const Config& config);

/// Shared memory of a block in bytes: all stages, or the staged result if that is larger.
int shared_bytes(const Problem& problem, const Config& config);
/// Registers a thread will need, roughly: what decides whether a configuration can be good.
int estimated_registers(const Problem& problem, const Config& config);

/// The words of a configuration as data; `mma` is selected from the specs. Throws where the target has no
/// such mma.
Config read_config(const Specs& specs, const Target& target, const Problem& problem, const Settings& words);

/// Shapes of mma.sync that the target has for the problem's types, the deepest first.
std::vector<std::string> mma_shapes(const ParameterSpace& space, const Specs& specs, const Target& target,
                                    const Problem& problem);
/// What does not depend on the tiles: the mma of a shape, and the words given or their defaults.
Config base_config(const Specs& specs, const Target& target, const Problem& problem, const Settings& given,
                   const std::string& shape);
/// Configurations with the mma of `base` that fit and agree with the given words, the most promising first.
std::vector<Config> admissible_configs(const ParameterSpace& space, const Target& target,
                                       const Problem& problem, const Settings& given, const Config& base);
Settings words_of(const Config& config);

}  // namespace ptxloom::gemm_kernel
