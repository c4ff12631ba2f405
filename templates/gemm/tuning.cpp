// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <memory>

#include "cluster_sum.hpp"
#include "rules.hpp"
#include "wgmma_plan.hpp"

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

  Config operator()(const Settings& words) const {
    const auto shape = words.find("mma");
    return partial_config(shape == words.end() ? bases_.begin()->second : bases_.at(shape->second), words);
  }
  const Target& target() const { return target_; }
  const Problem& seen_by(const Config& c) const { return c.swap ? transposed_ : problem_; }

 private:
  Target target_;
  Problem problem_, transposed_;
  std::map<std::string, Config, std::less<>> bases_;
};

std::uint64_t steps_of(const Problem& p, const Config& c) {
  const auto depth = static_cast<std::uint64_t>(c.tile_k);
  return (p.k + depth - 1) / depth;
}

/// A thread block's share of all k-blocks.
struct Shares {
  std::uint64_t blocks, steps;
  double left_bytes = 0;  ///< to the workspace, written and read
};

Shares shares_of(const Problem& p, const Config& c) {
  const auto tiles = static_cast<std::uint64_t>(tiles_of(p, c)), split = static_cast<std::uint64_t>(c.split);
  const std::uint64_t steps = steps_of(p, c);
  if (!c.stream_k) return {.blocks = tiles * split, .steps = (steps + split - 1) / split};
  const StreamPlan plan(p, c, 0);
  const StreamShare share(plan, p, c, kWgmmaSms);
  return {.blocks = static_cast<std::uint64_t>(share.blocks),
          .steps = static_cast<std::uint64_t>(share.steps),
          .left_bytes = 2 * share.blocks * plan.slot_bytes};
}

tune::Demand demand_of(const Target& target, const Problem& p, const Config& c) {
  const auto blocks = static_cast<std::uint64_t>(tiles_of(p, c));
  const double all_steps = double(steps_of(p, c)) * double(blocks);
  const double a_bytes = double(c.tile_k) * c.tile_m * p.a.type.bytes(),
               b_bytes = double(c.tile_k) * c.tile_n * p.b.type.bytes(), tile_bytes = a_bytes + b_bytes;
  const double brought_bytes = a_bytes / (c.multicast == Multicast::a ? c.sharing() : 1) +
                               b_bytes / (c.multicast == Multicast::b ? c.sharing() : 1);
  // What an instruction or a warp reads of a tile: a wgmma reads 64 rows of A and all columns of B.
  const bool wgmma = c.strategy == Strategy::wgmma;
  const int parts = wgmma ? c.tile_m / c.mma_m * c.warps_n : c.warps();
  const double fragment_bytes =
      double(c.tile_k) * parts *
      ((wgmma ? c.mma_m : c.warp_m()) * p.a.type.bytes() + c.warp_n() * p.b.type.bytes());
  const double result_bytes = double(p.m) * p.n * p.d.type.bytes() * p.results();
  const double sum_bytes = double(c.split - 1) * cluster_sum_bytes(p, c) * double(blocks);
  const Shares shares = shares_of(p, c);
  return {.threads = c.threads(),
          .registers = estimated_registers(target, p, c),
          .shared_bytes = static_cast<std::uint64_t>(shared_bytes(target, p, c)),
          .blocks = shares.blocks,
          .unit = unit_of(p),
          .operations = 2.0 * c.tile_m * c.tile_n * c.tile_k * all_steps,
          .dram_bytes = input_bytes(p) + result_bytes,
          .l2_bytes = brought_bytes * all_steps + result_bytes + shares.left_bytes,
          .shared_traffic = (tile_bytes + fragment_bytes) * all_steps + 2 * sum_bytes,
          .steps = shares.steps,
          .in_flight = c.stages - 1};
}

// The values of a parameter that the target has and that the search tries.
std::vector<std::string> values_of(const TemplateParameter& parameter, const std::vector<std::string>& shapes,
                                   const Problem& p) {
  const bool wgmma = std::ranges::any_of(shapes, is_wgmma);
  if (parameter.name == "mma") return shapes;
  if (parameter.name == "strategy" && !wgmma) return {"mma"};
  if (parameter.name == "swap" && (!wgmma || p.m > kFewRows)) return {"no"};
  if (parameter.name == "stream_k" && !shares_steps(p)) return {"no"};
  if (parameter.name == "loads") return {"warp"};  // the other one has never won
  return parameter.values;
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
  tune::Space result;
  for (const TemplateParameter& parameter : space.config())
    result.parameters.push_back({parameter.name, values_of(parameter, shapes, problem)});
  for (const Rule& rule : rules()) {
    std::vector<std::string> reads = rule.reads;
    reads.emplace_back("swap");  // which decides what m and n are
    if (rule.strategy) reads.emplace_back("strategy");
    result.rules.push_back(
        {.name = std::string(rule.says), .reads = reads, .allows = [read, &rule](const Settings& words) {
           const Config c = (*read)(words);
           return rule.allows(read->target(), read->seen_by(c), c);
         }});
  }
  result.demand = [read](const Settings& words) {
    const Config c = (*read)(words);
    return demand_of(read->target(), read->seen_by(c), c);
  };
  return result;
}

}  // namespace ptxloom::gemm_kernel
