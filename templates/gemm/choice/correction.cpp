// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/correction.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "templates/gemm/choice/correction.json.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr const char* kMeasured = "sm_90a";  // the target whose kernels were timed

const Feature& feature_named(const std::string& name) {
  const auto found = std::ranges::find(features(), name, &Feature::name);
  if (found == features().end()) throw std::logic_error("correction.json has an unknown feature: " + name);
  return *found;
}

}  // namespace

// A tree is a list of numbers, three for each node: its feature, its value, and the node to go to.
Correction::Correction(std::string_view json) {
  const nlohmann::json data = nlohmann::json::parse(json);
  data.at("units").get_to(units_);
  for (const std::string name : data.at("features")) features_.push_back(&feature_named(name));
  for (const auto& numbers : data.at("trees")) {
    Tree& tree = trees_.emplace_back(numbers.size() / 3);
    bool sound = !tree.empty() && numbers.size() % 3 == 0;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      tree[i] = {numbers.at(3 * i), numbers.at(3 * i + 1), numbers.at(3 * i + 2)};
      const bool leaf = tree[i].feature < 0;
      sound = sound && (leaf || (static_cast<std::size_t>(tree[i].feature) < features_.size() &&
                                 tree[i].other > i && tree[i].other < tree.size()));
    }
    // The last node must be a leaf: from each other one a walk goes on to a later one.
    if (!sound || tree.back().feature >= 0) throw std::logic_error("correction.json has a tree that is none");
  }
}

const Correction* Correction::measured(const Target& target) {
  if (target.name() != kMeasured) return nullptr;  // the data need not be read
  static const Correction instance(spaces::gemm::kCorrectionJson);
  return &instance;
}

bool Correction::knows(std::string_view unit) const {
  return std::ranges::find(units_, unit) != units_.end();
}

double Correction::factor(const Candidate& candidate) const {
  std::vector<double> values;
  values.reserve(features_.size());
  for (const Feature* feature : features_) values.push_back(feature->value(candidate));
  double sum = 0;
  for (const Tree& tree : trees_) {
    std::size_t at = 0;
    while (tree[at].feature >= 0)
      at = values[static_cast<std::size_t>(tree[at].feature)] <= tree[at].value ? at + 1 : tree[at].other;
    sum += tree[at].value;
  }
  return std::exp(sum);
}

}  // namespace ptxloom::gemm_kernel
