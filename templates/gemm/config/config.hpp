// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gemm/config/parameter.hpp"
#include "gemm/config/strategy.hpp"
#include "gemm/mma_sync/options.hpp"
#include "gemm/problem/problem.hpp"
#include "gemm/wgmma/options.hpp"
#include "ptxloom/kit/tile_copy.hpp"

// A configuration as typed data. With `swap` the kernel
// computes the transpose of D: tiles, warps, rules and estimates describe that product (seen_by); only
// parameters and the result follow the problem as given.
namespace ptxloom::gemm_kernel {

enum class Bake { none, nk, mnk };
inline constexpr std::string_view kBakes[] = {"none", "nk", "mnk"};
inline constexpr std::string_view kNoYes[] = {"no", "yes"};
inline constexpr std::string_view kEpilogues[] = {"direct", "staged"};

/// The common parameters, those of each strategy, and what follows from them. The parameters
/// of other strategies keep their defaults (foreign_rules in rules.cpp).
struct Config {
  const Strategy* strategy = nullptr;
  bool swap = false;  ///< D^T = B^T A^T
  int tile_m = 0, tile_n = 0, tile_k = 0;
  int warps_m = 0, warps_n = 0;
  int stages = 0;
  int split = 1;          ///< thread blocks of a cluster that share a tile of D, each with a part of k
  bool stream_k = false;  ///< thread blocks share the k-blocks of all tiles evenly
  int raster = 8;
  bool staged = false;  ///< epilogue through shared memory; with wgmma by TMA stores
  Bake bake = Bake::none;
  mma_sync::Options mma_sync;
  wgmma::Options wgmma;
  kit::CopyAccess a, b;
  Variant mma;        ///< for wgmma the narrowest, until Strategy::complete
  std::string shape;  ///< "m16n8k16"
  int mma_m = 0, mma_n = 0, mma_k = 0;
  bool clusters = false;  ///< the target has them

  Cooperation cooperation() const { return strategy->cooperation(*this); }
  int tiles_in_flight() const { return cooperation().tiles_in_flight; }
  int warps() const { return tile_warps() * tiles_in_flight(); }  ///< consumer warps
  int tile_warps() const { return warps_m * warps_n; }            ///< consumer warps of one tile
  int threads() const { return (warps() + cooperation().producer_warps) * 32; }
  /// Thread blocks of a cluster; thread blocks that share an operand's tiles; that share tiles of A, and of
  /// B; rows and columns these compute.
  int cluster() const { return split * sharing(); }
  int sharing() const { return sharing_a() * sharing_b(); }
  int sharing_a() const { return cooperation().pair == kit::TilePair::beside ? 2 : 1; }
  int sharing_b() const { return cooperation().pair == kit::TilePair::below ? 2 : 1; }
  int cluster_m() const { return tile_m * sharing_b(); }
  int cluster_n() const { return tile_n * sharing_a(); }
  int warp_m() const { return tile_m / warps_m; }
  int warp_n() const { return tile_n / warps_n; }
  int k_steps() const { return tile_k / mma_k; }
  /// Maps values for A and B, or m and n, to the order of the product that is computed, and back.
  template <typename T>
  std::pair<T, T> places(T first, T second) const {
    return swap ? std::pair(second, first) : std::pair(first, second);
  }
};

void read_strategy(Config& config, std::string_view value);
std::string print_strategy(const Config& config);
std::string print_shape(const Config& config);
/// Whether the tuner tries them.
///@{
bool stream_k_may_pay(const Target& target, const Problem& problem,
                      std::span<const Strategy* const> available);
bool swap_may_pay(const Target& target, const Problem& problem, std::span<const Strategy* const> available);
///@}

/// The parameters that all strategies have.
inline constexpr Parameter kCommonParameters[] = {
    parameter::choice<kEpilogues, &Config::staged>("epilogue"),
    Parameter({.name = "mma", .read = nullptr, .print = print_shape})
        .decided_first(),  // base_config reads it
    numeric<&Config::raster>("raster"),
    numeric<&Config::split>("split", 1),
    numeric<&Config::stages>("stages", 2),
    parameter::choice<kBakes, &Config::bake>("static"),
    Parameter({.name = "strategy", .read = read_strategy, .print = print_strategy}).decided_first(),
    Parameter(parameter::choice<kNoYes, &Config::stream_k>("stream_k"))
        .decided_first()
        .searched_if(stream_k_may_pay),
    Parameter(parameter::choice<kNoYes, &Config::swap>("swap")).decided_first().searched_if(swap_may_pay),
    numeric<&Config::tile_k>("tile_k", 256),
    numeric<&Config::tile_m>("tile_m", 256),
    numeric<&Config::tile_n>("tile_n", 256),
    numeric<&Config::warps_m>("warps_m", 1),
    numeric<&Config::warps_n>("warps_n", 1),
};

/// The product that the kernel of a configuration computes.
Problem seen_by(const Config& config, const Problem& problem);
/// Small M or N: up to this many rows or columns a stage may be deeper.
inline constexpr std::uint32_t kSmallM = 64;

/// A or B as the configuration divides it; extents are along m or n.
struct OperandPlan {
  std::string_view name;  ///< as the mma calls it
  const Matrix& matrix;
  kit::CopyAccess access;
  int tile = 0, warp = 0, mma = 0;
  bool whole_extent = false, whole_k = false;  ///< a baked size that the tiles divide: needs no check
};
OperandPlan plan_a(const Problem& problem, const Config& config);
OperandPlan plan_b(const Problem& problem, const Config& config);

/// Tiles of D in all batches, including tiles of a cluster that lie outside.
double tiles_of(const Problem& problem, const Config& config);

/// The mma of a shape, the given parameters, and what else does not depend on the tiles.
Config base_config(const Specs& specs, const Target& target, const Problem& problem, const Settings& given,
                   const std::string& shape);
/// The whole configuration, with the instruction selected. Throws if the target has none.
Config read_config(const Specs& specs, const Target& target, const Problem& problem,
                   const Settings& parameters);

/// Values of the parameter `mma` that the target has for the problem's types: those of the preferred strategy
/// first, and of each the deepest first.
std::vector<std::string> mma_shapes(const ParameterSpace& space, const Specs& specs, const Target& target,
                                    const Problem& problem);

}  // namespace ptxloom::gemm_kernel
