// SPDX-License-Identifier: Apache-2.0
#include "gemm/launch/launch.hpp"

#include <fmt/format.h>

#include <bit>

namespace ptxloom::gemm_kernel {

std::uint64_t scalar_bits(Type type, double value) {
  if (type == s32) return static_cast<std::uint32_t>(static_cast<std::int32_t>(value));
  if (type == f32) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  return std::bit_cast<std::uint64_t>(value);
}

std::string kernel_name(const Problem& p, const Config& c) {
  std::string name = fmt::format("gemm_{}", p.a.type.name);
  if (p.b.type != p.a.type) name += fmt::format("_{}", p.b.type.name);
  name += fmt::format("_{}_{}x{}x{}_{}_{}stages", p.d.type.name, c.tile_m, c.tile_n, c.tile_k,
                      c.strategy->name(), c.stages);
  if (c.split > 1) name += fmt::format("_split{}", c.split);
  if (c.stream_k) name += "_streamk";
  if (c.tiles_in_flight() > 1) name += "_pingpong";
  if (c.sharing_a() > 1) name += "_multicast_a";
  if (c.sharing_b() > 1) name += "_multicast_b";
  if (c.swap) name += "_swap";
  return name;
}

LaunchPlan tile_grid(const Problem& p, const Config& c) {
  constexpr std::uint32_t kMaxGridX = (1U << 31) - 1;
  const double tiles = tiles_of(p, c);
  const auto split = static_cast<std::uint32_t>(c.split);
  if (tiles * split > kMaxGridX)
    throw Error(ErrorKind::usage, "shape-too-large",
                fmt::format("gemm: {} tiles of {} thread blocks each", tiles, split),
                "a grid has at most 2^31 - 1 thread blocks: divide m, n or the batches");
  LaunchPlan launch;
  launch.grid[0] = static_cast<std::uint32_t>(tiles) * split;
  launch.cluster[0] = static_cast<std::uint32_t>(c.cluster());
  launch.block[0] = static_cast<std::uint32_t>(c.threads());
  return launch;
}

}  // namespace ptxloom::gemm_kernel
