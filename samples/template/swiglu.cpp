// SPDX-License-Identifier: Apache-2.0
// A kernel family of its own: problem, tensors, rules and demand. See swiglu.hpp.
#include "swiglu.hpp"

#include <ptxloom/templates.hpp>

#include "space.json.hpp"

namespace swiglu {
namespace {

using Rule = pl::ConfigRule<Problem, Config>;
using Strategy = pl::TypedStrategy<Problem, Config>;

std::uint64_t parts(std::uint64_t x, int by) {
  return (x + static_cast<std::uint64_t>(by) - 1) / static_cast<std::uint64_t>(by);
}

std::uint32_t number(const pl::Settings& settings, const char* name) {
  return static_cast<std::uint32_t>(std::stoul(settings.at(name)));
}

pl::Settings complete_problem(const pl::ParameterSpace& space, const pl::Settings& given) {
  pl::Settings whole = space.complete(space.problem(), given);
  space.require(whole, {"m", "n", "k"});
  if (number(whole, "n") >= 1U << 30)
    throw pl::Error(pl::ErrorKind::usage, "shape-too-large", "swiglu: n=" + whole.at("n"),
                    "n can be at most 2^30 - 1: divide it");
  space.complete_pitch(whole, "lda", number(whole, "k"));
  space.complete_pitch(whole, "ldb", number(whole, "k"));
  space.complete_pitch(whole, "ldd", number(whole, "n"));
  return whole;
}

std::vector<pl::TensorPlan> tensors_of(const Problem& p) {
  return {{"a", p.type, {pl::kit::span(p.m, p.k, p.lda, 0, 1)}},
          {"b", p.type, {pl::kit::span(p.columns(), p.k, p.ldb, 0, 1)}},
          {"d", p.d, {pl::kit::span(p.m, p.n, p.ldd, 0, 1)}, pl::TensorPlan::Role::out}};
}

double operations_of(const Problem& p) { return 2.0 * p.m * p.columns() * p.k; }
std::string unit_of(const Problem& p) { return std::string(p.type.name); }

// README rules {
std::vector<Rule> rules() {
  return {{"a warp must have whole instructions of 16 rows: choose fewer warps_m, or a larger tile_m",
           {"tile_m", "warps_m"},
           [](const pl::Target&, const Problem&, const Config& c) { return c.warp_m() % 16 == 0; }},
          {"a warp must have whole instructions of 8 columns: choose more warps_m, or a larger tile_n",
           {"tile_n", "warps_m"},
           [](const pl::Target&, const Problem&, const Config& c) { return c.warp_n() % 8 == 0; }},
          {"the stages must fit into shared memory",
           {"tile_m", "tile_n", "stages"},
           [](const pl::Target& target, const Problem&, const Config& c) {
             return c.shared_bytes() <= target.info().shared_per_block;
           }},
          {"a grid has at most 2^31 - 1 thread blocks",
           {"tile_m", "tile_n"},
           [](const pl::Target&, const Problem& p, const Config& c) {
             return c.grid(p) < std::uint64_t{1} << 31;
           }}};
}
// }

pl::tune::Demand demand_of(const pl::Target&, const Problem& p, const Config& c) {
  const std::uint64_t steps = parts(p.k, Config::kTileK);
  const double k_blocks = double(c.grid(p)) * double(steps);
  const double loaded = 2.0 * (c.tile_m + c.tile_n) * Config::kTileK * k_blocks;
  return {.threads = Config::kThreads,
          .registers = 40 + c.warp_m() * c.warp_n() / 32 + c.warp_m() / 4 + c.warp_n() / 4,
          .shared_bytes = static_cast<std::uint64_t>(c.shared_bytes()),
          .blocks = c.grid(p),
          .unit = unit_of(p),
          .operations = 2.0 * c.tile_m * c.tile_n * Config::kTileK * k_blocks,
          .l2_bytes = loaded,
          .shared_traffic = 2 * loaded,
          .steps = steps,
          .in_flight = c.stages};
}

const Strategy& strategy_for(const pl::Specs& specs, const pl::Target& target, const Problem& p,
                             const pl::Settings&) {
  static const Strategy only{.rules = rules(), .demand = demand_of, .emit = emit_kernel};
  if (specs.match(mma_opcode(p)).front().since(target)) return only;
  throw pl::Error(pl::ErrorKind::refused, "not-on-target",
                  "swiglu: target " + std::string(target.name()) + " has no mma.sync of m16n8k16",
                  "choose sm_80 or later");
}

// README family {
const pl::Template& swiglu() {
  static const pl::TypedTemplate<Problem, Config> instance({.space = kSpaceJson,
                                                            .parameters = kParameters,
                                                            .problem = complete_problem,
                                                            .tensors = tensors_of,
                                                            .operations = operations_of,
                                                            .unit = unit_of,
                                                            .strategy = strategy_for,
                                                            .expect = reference});
  return instance;
}
// }

}  // namespace

Problem::Problem(const pl::Settings& s)
    : m(number(s, "m")),
      n(number(s, "n")),
      k(number(s, "k")),
      type(*pl::find_type(s.at("type"))),
      d(*pl::find_type(s.at("d"))),
      lda(number(s, "lda")),
      ldb(number(s, "ldb")),
      ldd(number(s, "ldd")) {}

std::uint64_t Config::grid(const Problem& p) const { return parts(p.m, tile_m) * parts(p.columns(), tile_n); }

}  // namespace swiglu

PTXLOOM_TEMPLATE_LIBRARY(&swiglu::swiglu())
