// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gemm/problem/problem.hpp"
#include "ptxloom/config_rule.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "ptxloom/template.hpp"

// A strategy: the instruction that multiplies, and all that follows from it. Each lives in a folder of its
// own, mma_sync/ and wgmma/. Code outside asks the configuration's strategy, never which one it is.
namespace ptxloom::gemm_kernel {

struct Config;
struct Parameter;
using Rule = ConfigRule<Problem, Config>;

/// Threads that hold a part of the tile together, a warp or a warpgroup.
struct AccumulatorPart {
  int threads;
  int mma_rows;  ///< rows of one instruction
  int rows;      ///< rows of the part
};

/// How warps and thread blocks divide the tiles of D.
struct Cooperation {
  kit::TilePair pair =
      kit::TilePair::none;  ///< tiles of thread blocks that share an operand and load it together
  int tiles_in_flight = 1;  ///< of a thread block, each with consumers of its own
  int producer_warps = 0;   ///< that only load
};

class Strategy {
 public:
  /// Values of a parameter that the estimate ignores.
  using Variation = std::pair<std::string_view, std::string_view>;

  virtual ~Strategy() = default;
  virtual std::string_view name() const = 0;    ///< as the parameter `strategy` spells it
  virtual std::string_view opcode() const = 0;  ///< of its instruction

  // ---- the instruction

  /// Whether a value of the parameter `mma` is one of its instructions.
  virtual bool owns(std::string_view shape) const = 0;
  /// Whether the target has it for the problem's types.
  virtual bool has(const Specs& specs, const Target& target, const Problem& problem,
                   const std::string& shape) const = 0;
  /// Selects the instruction of `config.shape`, as far as it is known without the tiles. Throws if the target
  /// does not have it.
  virtual void select(const Specs& specs, const Target& target, const Problem& problem,
                      Config& config) const = 0;
  /// Selects what depends on the tiles of an admissible configuration.
  virtual void complete(const Specs& specs, const Target& target, const Problem& problem,
                        Config& config) const = 0;

  // ---- what configurations it has

  /// The rows of its own parameters, which are fields of its Options. With other strategies these keep their
  /// defaults, which no rule has to say.
  virtual std::span<const Parameter> parameters() const = 0;
  virtual std::vector<Rule> rules() const = 0;
  virtual bool can_swap() const = 0;           ///< can compute the transpose
  virtual bool loads_by_tma() const = 0;       ///< instead of cp.async
  virtual bool reduces_in_slices() const = 0;  ///< with `split` each thread block stores a slice of the tile
  virtual Cooperation cooperation(const Config& config) const = 0;
  virtual AccumulatorPart part(const Config& config) const = 0;
  /// Whether operands are rearranged before they are loaded.
  virtual bool packs(const Problem& problem) const = 0;
  /// Adds what it knows of the demand of a configuration: registers (roughly), shared memory, operations, how
  /// data are loaded and stored.
  virtual void demand(const Target& target, const Problem& problem, const Config& config,
                      tune::Demand& demand) const = 0;
  /// Configurations that are worth considering, agree with the given parameters and have the instruction of
  /// `base`. They still have to be completed.
  virtual std::vector<Config> choose(const ParameterSpace& space, const Target& target,
                                     const Problem& problem, const Settings& given,
                                     const Config& base) const = 0;
  /// What to try for the best of them besides.
  virtual std::span<const Variation> variations() const = 0;

  // ---- the kernel

  virtual Emitted emit(std::shared_ptr<const Specs> specs, const Target& target, const Problem& problem,
                       const Config& config) const = 0;
};

/// All strategies, the one to be preferred first.
std::span<const Strategy* const> strategies();
/// By the value of the parameter `strategy`.
const Strategy& strategy_named(std::string_view name);
/// By a value of the parameter `mma`.
const Strategy& strategy_of(std::string_view shape);

}  // namespace ptxloom::gemm_kernel
