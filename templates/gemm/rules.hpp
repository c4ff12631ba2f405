// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>

#include "config.hpp"

// What a configuration must keep to of the problem that it sees (seen_by), as a table: asked of a whole
// configuration when a kernel is made, and of a part of one, as soon as it has the words that a rule reads,
// when a space is searched.
namespace ptxloom::gemm_kernel {

struct Rule {
  std::string_view says;
  std::vector<std::string> reads;  ///< words of the configuration; `strategy` comes to them
  bool (*holds)(const Target&, const Problem&, const Config&);
  std::optional<Strategy> strategy = {};  ///< the only one it is about

  bool allows(const Target& target, const Problem& problem, const Config& config) const {
    return (strategy && *strategy != config.strategy) || holds(target, problem, config);
  }
};
/// Each may rely on those before it.
std::span<const Rule> rules();
std::vector<Rule> mma_rules();
std::vector<Rule> wgmma_rules();

/// Why a configuration does not fit; empty if it does.
std::string_view inadmissible(const Target& target, const Problem& problem, const Config& config);

/// All configurations of a problem, with these rules and what each asks of the chip.
tune::Space tuning_space(const ParameterSpace& space, const Specs& specs, const Target& target,
                         const Problem& problem);
/// The column of the chip's rates that the problem's products go to.
std::string unit_of(const Problem& problem);

}  // namespace ptxloom::gemm_kernel
