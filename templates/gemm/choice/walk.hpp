// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "gemm/config/rules.hpp"

// Enumerates all values of some numeric parameters, one after another. A rule is evaluated as soon as
// everything it reads is known, and prunes all that would follow: of half a million mma.sync configurations a
// few thousand are visited.
namespace ptxloom::gemm_kernel {

class Walk {
 public:
  /// Receives what the rules on the axes and the given parameters allow. It evaluates the other rules, on
  /// parameters that it chooses, itself.
  using Visit = std::function<void(const Config&)>;

  /// `axes`: the numeric parameters of which all values are tried, the outermost first.
  Walk(const ParameterSpace& space, const Target& target, const Problem& problem, const Settings& given,
       std::span<const std::string_view> axes);

  void run(const Config& base, const Visit& visit) const;

 private:
  struct Step {
    int Config::* number;
    std::vector<int> values;
    std::vector<const Rule*> rules;  ///< to evaluate once this axis has a value
  };

  void descend(std::size_t depth, Config& config, const Visit& visit) const;

  const Target& target_;
  const Problem& problem_;
  const Settings& given_;
  std::vector<Step> steps_;
};

/// Whether stream-K is tried where it is not given.
bool offers_stream_k(const Problem& problem, const Settings& given);

}  // namespace ptxloom::gemm_kernel
