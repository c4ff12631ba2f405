// SPDX-License-Identifier: Apache-2.0
#include "launch.hpp"

#include <fmt/format.h>

#include <bit>

namespace ptxloom::gemm_kernel {
namespace {

std::uint64_t scalar_bits(Type type, double value) {
  if (type == s32) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  if (type == f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

}  // namespace

LaunchPlan tile_grid(const Problem& p, const Config& c) {
  const std::uint64_t tiles_m = (p.m + std::uint64_t(c.tile_m) - 1) / std::uint64_t(c.tile_m);
  const std::uint64_t tiles_n = (p.n + std::uint64_t(c.tile_n) - 1) / std::uint64_t(c.tile_n);
  constexpr std::uint64_t kMaxGridX = (std::uint64_t{1} << 31) - 1;
  const auto split = static_cast<std::uint32_t>(c.split);
  if (tiles_m * tiles_n * split > kMaxGridX)
    throw Error(ErrorKind::usage, "shape-too-large",
                fmt::format("gemm: {} x {} x {} blocks", tiles_m, tiles_n, split),
                "a grid has up to 2^31 - 1 blocks: split m or n");
  LaunchPlan launch;
  launch.entry = "gemm";
  launch.grid[0] = static_cast<std::uint32_t>(tiles_m * tiles_n) * split;
  launch.cluster[0] = split;
  launch.block[0] = static_cast<std::uint32_t>(c.threads());
  return launch;
}

void LaunchArgumentList::scalar(const char* name, double value) {
  arguments.push_back({name, problem.arithmetic, "", scalar_bits(problem.arithmetic, value)});
}

}  // namespace ptxloom::gemm_kernel
