// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "gemm/config/parameters.hpp"
#include "gemm/config/rules.hpp"
#include "gemm/reduction/cluster_reduction.hpp"
#include "gemm/reduction/stream_k_reduction.hpp"

namespace ptxloom::gemm_kernel {
namespace {

/// Reads the parameters that are present; a field that none of them affects stays the same for all
/// configurations.
class Reader {
 public:
  Reader(const Specs& specs, const Target& target, const Problem& problem,
         const std::vector<std::string>& shapes)
      : target_(target), problem_(problem), transposed_(transposed(problem)) {
    for (const std::string& shape : shapes) bases_[shape] = base_config(specs, target, problem, {}, shape);
  }

  Config operator()(const Settings& settings) const {
    const auto shape = settings.find("mma");
    return partial_config(shape == settings.end() ? bases_.begin()->second : bases_.at(shape->second),
                          settings);
  }
  const Target& target() const { return target_; }
  const Problem& seen_by(const Config& c) const { return c.swap ? transposed_ : problem_; }

 private:
  Target target_;
  Problem problem_, transposed_;
  std::map<std::string, Config, std::less<>> bases_;
};

std::uint64_t k_blocks_of(const Problem& p, const Config& c) {
  const auto depth = static_cast<std::uint64_t>(c.tile_k);
  return (p.k + depth - 1) / depth;
}

/// A thread block's share of all k-blocks.
struct Shares {
  std::uint64_t blocks, k_blocks;
  double left_bytes = 0;  ///< to the workspace, written and read
};

Shares shares_of(const Target& target, const Problem& p, const Config& c) {
  const auto tiles = static_cast<std::uint64_t>(tiles_of(p, c)), split = static_cast<std::uint64_t>(c.split);
  const std::uint64_t k_blocks = k_blocks_of(p, c);
  if (!c.stream_k) return {.blocks = tiles * split, .k_blocks = (k_blocks + split - 1) / split};
  const StreamPlan plan(p, c, 0);
  const StreamShare share(plan, p, c, target.info().sms);
  return {.blocks = static_cast<std::uint64_t>(share.blocks),
          .k_blocks = static_cast<std::uint64_t>(share.k_blocks),
          .left_bytes = 2 * share.blocks * plan.workspace.slot_bytes};
}

tune::Demand demand_of(const Target& target, const Problem& p, const Config& c) {
  const auto blocks = static_cast<std::uint64_t>(tiles_of(p, c));
  const double all_k_blocks = double(k_blocks_of(p, c)) * double(blocks);
  const double a_bytes = double(c.tile_k) * c.tile_m * p.a.type.bytes(),
               b_bytes = double(c.tile_k) * c.tile_n * p.b.type.bytes(), tile_bytes = a_bytes + b_bytes;
  const double brought_bytes = a_bytes / c.sharing_a() + b_bytes / c.sharing_b();
  const double fragment_bytes = c.strategy->fragment_bytes(p, c);
  const double result_bytes = double(p.m) * p.n * p.d.type.bytes() * p.results();
  const double sum_bytes = double(c.split - 1) * cluster_reduction_bytes(p, c) * double(blocks);
  const Shares shares = shares_of(target, p, c);
  return {.threads = c.threads(),
          .registers = c.strategy->registers(target, p, c),
          .shared_bytes = static_cast<std::uint64_t>(c.strategy->shared_bytes(target, p, c)),
          .blocks = shares.blocks,
          .unit = unit_of(p),
          .operations = 2.0 * c.tile_m * c.tile_n * c.tile_k * all_k_blocks,
          .dram_bytes = input_bytes(p) + result_bytes,
          .l2_bytes = brought_bytes * all_k_blocks + result_bytes + shares.left_bytes,
          .shared_traffic = (tile_bytes + fragment_bytes) * all_k_blocks + 2 * sum_bytes,
          .steps = shares.k_blocks,
          .in_flight = c.stages - 1};
}

using AvailableStrategies = std::vector<const Strategy*>;

AvailableStrategies strategies_of(const std::vector<std::string>& shapes) {
  AvailableStrategies available;
  for (const Strategy* one : strategies())
    if (std::ranges::any_of(shapes, [&](const std::string& shape) { return one->owns(shape); }))
      available.push_back(one);
  return available;
}

/// The values of a parameter that the target has and that the search tries.
std::vector<std::string> searched_values(const TemplateParameter& parameter,
                                         const AvailableStrategies& available, const Problem& p) {
  const auto& searched = parameter_named(parameter.name).searched;
  if (searched != nullptr && !searched(p, available)) return {parameter.values.front()};
  std::vector<std::string> values = parameter.values;
  if (parameter.name == "strategy")
    std::erase_if(values, [&](const std::string& name) {
      return std::ranges::find(available, name, &Strategy::name) == available.end();
    });
  return values;
}

}  // namespace

std::string unit_of(const Problem& problem) {
  const Type type = problem.a.type;
  if (type == tf32 || type == f64) return std::string(type.name);
  return type.bits == 8 ? "b8" : "f16";
}

tune::Space tuning_space(const ParameterSpace& space, const Specs& specs, const Target& target,
                         const Problem& problem) {
  const std::vector<std::string> shapes = mma_shapes(space, specs, target, problem);
  const auto read = std::make_shared<const Reader>(specs, target, problem, shapes);
  const AvailableStrategies available = strategies_of(shapes);
  tune::Space result;
  for (const TemplateParameter& parameter : space.config())
    result.parameters.push_back(
        {parameter.name, parameter.name == "mma" ? shapes : searched_values(parameter, available, problem)});
  for (const Rule& rule : rules()) {
    std::vector<std::string> reads = rule.reads;
    reads.emplace_back("swap");  // which decides what m and n are
    if (rule.strategy != nullptr) reads.emplace_back("strategy");
    result.rules.push_back(
        {.name = std::string(rule.says), .reads = reads, .allows = [read, &rule](const Settings& settings) {
           const Config c = (*read)(settings);
           return rule.allows(read->target(), read->seen_by(c), c);
         }});
  }
  result.demand = [read](const Settings& settings) {
    const Config c = (*read)(settings);
    return demand_of(read->target(), read->seen_by(c), c);
  };
  return result;
}

}  // namespace ptxloom::gemm_kernel
