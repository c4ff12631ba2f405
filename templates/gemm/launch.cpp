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
  const auto parts = [](std::uint64_t extent, int size) {
    return (extent + static_cast<std::uint64_t>(size) - 1) / static_cast<std::uint64_t>(size);
  };
  const std::uint64_t tiles_m = parts(p.m, c.cluster_m()), tiles_n = parts(p.n, c.cluster_n());
  constexpr std::uint64_t kMaxGridX = (std::uint64_t{1} << 31) - 1;
  const auto cluster = static_cast<std::uint32_t>(c.cluster());
  if (tiles_m * tiles_n * cluster > kMaxGridX)
    throw Error(ErrorKind::usage, "shape-too-large",
                fmt::format("gemm: {} x {} x {} blocks", tiles_m, tiles_n, cluster),
                "a grid has up to 2^31 - 1 blocks: split m or n");
  LaunchPlan launch;
  launch.entry = "gemm";
  launch.grid[0] = static_cast<std::uint32_t>(tiles_m * tiles_n) * cluster;
  launch.cluster[0] = cluster;
  launch.block[0] = static_cast<std::uint32_t>(c.threads());
  return launch;
}

void LaunchArgumentList::scalar(const char* name, double value) {
  arguments.push_back({name, problem.arithmetic, "", scalar_bits(problem.arithmetic, value)});
}

}  // namespace ptxloom::gemm_kernel
