// SPDX-License-Identifier: Apache-2.0
#include "gemm/config/config.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"

namespace ptxloom::gemm_kernel {
namespace {

bool divides(int tile, std::uint32_t extent) { return extent % static_cast<std::uint32_t>(tile) == 0; }

bool has_clusters(const Specs& specs, const Target& target) {
  return std::ranges::any_of(specs.match("barrier.cluster.arrive"),
                             [&](Variant v) { return v.since(target).has_value(); });
}

/// An extent of "m16n8k16"; 0 for N of "m64nNk16".
int extent_of(const std::string& shape, char axis) { return std::atoi(shape.c_str() + shape.find(axis) + 1); }

void set_shape(Config& config, const std::string& shape) {
  config.shape = shape;
  config.mma_m = extent_of(shape, 'm');
  config.mma_n = extent_of(shape, 'n');
  config.mma_k = extent_of(shape, 'k');
}

}  // namespace

Problem seen_by(const Config& c, const Problem& p) { return c.swap ? transposed(p) : p; }

double tiles_of(const Problem& p, const Config& c) {
  return std::ceil(double(p.m) / c.cluster_m()) * std::ceil(double(p.n) / c.cluster_n()) * c.sharing() *
         p.results();
}

OperandPlan plan_a(const Problem& p, const Config& c) {
  return {.name = "A",
          .matrix = p.a,
          .access = c.a,
          .tile = c.tile_m,
          .warp = c.warp_m(),
          .mma = c.mma_m,
          .whole_extent = c.bake == Bake::mnk && divides(c.tile_m, p.m),
          .whole_k = c.bake != Bake::none && divides(c.tile_k, p.k)};
}

OperandPlan plan_b(const Problem& p, const Config& c) {
  return {.name = "B",
          .matrix = p.b,
          .access = c.b,
          .tile = c.tile_n,
          .warp = c.warp_n(),
          .mma = c.mma_n,
          .whole_extent = c.bake != Bake::none && divides(c.tile_n, p.n),
          .whole_k = c.bake != Bake::none && divides(c.tile_k, p.k)};
}

Config base_config(const Specs& specs, const Target& target, const Problem& problem, const Settings& given,
                   const std::string& shape) {
  Config base;
  base.clusters = has_clusters(specs, target);
  base.a = kit::copy_access(specs, target, problem.a);
  base.b = kit::copy_access(specs, target, problem.b);
  set_shape(base, shape);
  base.strategy = &strategy_of(shape);
  base.strategy->select(specs, target, problem, base);
  read_parameters(base, given);
  return base;
}

Config read_config(const Specs& specs, const Target& target, const Problem& problem,
                   const Settings& parameters) {
  Config c = base_config(specs, target, problem, parameters, parameters.at("mma"));
  const Problem seen = seen_by(c, problem);
  if (inadmissible(target, seen, c).empty()) c.strategy->complete(specs, target, seen, c);
  return c;
}

std::vector<std::string> mma_shapes(const ParameterSpace& space, const Specs& specs, const Target& target,
                                    const Problem& problem) {
  using Rank = std::tuple<std::ptrdiff_t, int, std::string>;  // of the strategy; by multiply-adds
  std::vector<Rank> found;
  for (const TemplateParameter& parameter : space.config()) {
    if (parameter.name != "mma") continue;
    for (const std::string& shape : parameter.values) {
      const auto owner =
          std::ranges::find_if(strategies(), [&](const Strategy* one) { return one->owns(shape); });
      if (!(*owner)->has(specs, target, problem, shape)) continue;
      const int size = extent_of(shape, 'm') * extent_of(shape, 'n') * extent_of(shape, 'k');
      found.emplace_back(owner - strategies().begin(), -size, shape);
    }
  }
  std::ranges::sort(found);
  std::vector<std::string> shapes;
  for (auto& [strategy, size, shape] : found) shapes.push_back(std::move(shape));
  return shapes;
}

}  // namespace ptxloom::gemm_kernel
