// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gemm/choice/features.hpp"

// What the cost model misses, learned from times measured on a chip (correction.json, which
// tests/bench/gemm/fit_correction.py writes): regression trees over the features of a configuration, whose
// values add up to the logarithm of measured over predicted time, less its mean over the problem's
// configurations: corrected times order the configurations of a problem, and say nothing of how long they
// take.
namespace ptxloom::gemm_kernel {

class Correction {
 public:
  /// Throws std::logic_error if the data name a feature that is none, or have a tree that is none.
  explicit Correction(std::string_view json);
  /// That of correction.json; null for a target whose kernels were not measured.
  static const Correction* measured(const Target& target);

  /// Whether operations of this unit (tune::Demand) were among what was measured.
  bool knows(std::string_view unit) const;
  /// The factor on the time that the cost model predicts.
  double factor(const Candidate& candidate) const;

 private:
  struct Node {
    int feature = -1;       // an index into features_; -1: a leaf
    double value = 0;       // threshold of the feature, or the leaf's value
    std::size_t other = 0;  // where to go if the feature is above the threshold; else to the next node
  };
  using Tree = std::vector<Node>;

  Tree read_tree(const nlohmann::json& numbers) const;

  std::vector<std::string> units_;
  std::vector<const Feature*> features_;
  std::vector<Tree> trees_;
};

}  // namespace ptxloom::gemm_kernel
