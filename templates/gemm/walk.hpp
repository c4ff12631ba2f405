// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "rules.hpp"

// Numbers of a configuration, each given all its values, one after the other. A rule is asked as soon as all
// that it reads is known, and cuts off all that would follow: of half a million configurations of mma.sync
// a few thousand are looked at.
namespace ptxloom::gemm_kernel {

/// A word of which all values are tried.
struct Axis {
  std::string_view word;
  int Config::* number;
};

class Walk {
 public:
  /// Gets what rules about the axes and the given words allow. It asks the others, of words that it chooses.
  using Visit = std::function<void(const Config&)>;

  Walk(const ParameterSpace& space, const Target& target, const Problem& problem, const Settings& given,
       std::span<const Axis> axes);

  void run(const Config& base, const Visit& visit) const;

 private:
  struct Step {
    int Config::* number;
    std::vector<int> values;
    std::vector<const Rule*> rules;  ///< to ask when it has one
  };

  void descend(std::size_t depth, Config& config, const Visit& visit) const;

  const Target& target_;
  const Problem& problem_;
  const Settings& given_;
  std::vector<Step> steps_;
};

}  // namespace ptxloom::gemm_kernel
