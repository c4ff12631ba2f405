// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "ptxloom/config_parameter.hpp"
#include "ptxloom/config_rule.hpp"
#include "sparse_gemm/problem.hpp"

// The configuration as typed data: how D is divided among thread blocks and warps.
namespace ptxloom::sparse_gemm {

struct Config {
  int tile_m = 128, tile_n = 128, tile_k = 64;  // of a thread block; tile_k is a k-block
  int warps_m = 2, warps_n = 2;                 // of a thread block
  int stages = 3;                               // k-blocks in shared memory

  int threads() const { return 32 * warps_m * warps_n; }
  int warp_m() const { return tile_m / warps_m; }
  int warp_n() const { return tile_n / warps_n; }
  std::uint64_t grid(const Problem& p) const { return parts(p.m, tile_m) * parts(p.n, tile_n); }

 private:
  static std::uint64_t parts(std::uint64_t extent, int size) {
    return (extent + static_cast<std::uint64_t>(size) - 1) / static_cast<std::uint64_t>(size);
  }
};

/// A new parameter is a field, a row here and one in space.json.
inline constexpr ConfigParameter<Config> kParameters[] = {
    parameter::number<&Config::tile_m>("tile_m"),   parameter::number<&Config::tile_n>("tile_n"),
    parameter::number<&Config::tile_k>("tile_k"),   parameter::number<&Config::warps_m>("warps_m"),
    parameter::number<&Config::warps_n>("warps_n"), parameter::number<&Config::stages>("stages"),
};

using Rule = ConfigRule<Problem, Config>;

/// Elements of k that an instruction multiplies: 64 bytes of the dense operand.
inline int instruction_depth(const Problem& p) { return 64 / p.type.bytes(); }

/// Rules of all strategies.
///@{
inline Rule unit_rule() {
  return {"a k-block must have whole tiles of metadata: 64 elements of k, of tf32 32",
          {"tile_k"},
          [](const Target&, const Problem& p, const Config& c) {
            return c.tile_k % p.layout().tile_depth() == 0;
          }};
}
inline Rule grid_rule() {
  return {
      "a grid has at most 2^31 - 1 thread blocks",
      {"tile_m", "tile_n"},
      [](const Target&, const Problem& p, const Config& c) { return c.grid(p) < std::uint64_t{1} << 31; }};
}
///@}

}  // namespace ptxloom::sparse_gemm
