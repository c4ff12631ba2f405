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
constexpr double kLeafUnit = 1e-4;

const Feature& feature_named(const std::string& name) {
  const auto found = std::ranges::find(features(), name, &Feature::name);
  if (found == features().end()) throw std::logic_error("correction.json has an unknown feature: " + name);
  return *found;
}

}  // namespace

Correction::Correction(std::string_view json) {
  const nlohmann::json data = nlohmann::json::parse(json);
  data.at("units").get_to(units_);
  for (const std::string name : data.at("features")) features_.push_back(&feature_named(name));
  for (const auto& numbers : data.at("trees")) trees_.push_back(read_tree(numbers));
}

// A list of numbers, two for each node: its feature and threshold, followed by the branch for values up to
// the threshold and that for others; or -1 and the value of a leaf in ten-thousandths.
Correction::Tree Correction::read_tree(const nlohmann::json& numbers) const {
  Tree tree(numbers.size() / 2);
  std::vector<std::size_t> open;  // nodes whose second branch has not begun
  std::size_t missing = 1;        // nodes
  std::size_t i = 0;
  for (; i < tree.size() && missing > 0; ++i) {
    tree[i] = {.feature = numbers.at(2 * i), .value = numbers.at(2 * i + 1)};
    if (tree[i].feature >= static_cast<int>(features_.size())) break;
    if (tree[i].feature >= 0) {
      open.push_back(i);
      ++missing;
      continue;
    }
    tree[i].value *= kLeafUnit;
    --missing;
    if (open.empty()) continue;
    tree[open.back()].other = i + 1;
    open.pop_back();
  }
  if (missing > 0 || 2 * i != numbers.size())
    throw std::logic_error("correction.json has a tree that is none");
  return tree;
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
