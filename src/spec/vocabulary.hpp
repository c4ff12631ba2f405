// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ptxloom/target.hpp"
#include "spec/form_data.hpp"

// The words that forms are written with: types, targets, classes of modifiers. What is added later wins.
namespace ptxloom::spec {

class Vocabulary {
 public:
  void add(std::span<const TypeData> types);
  void add(std::span<const WordClass> classes);
  void add(std::span<const TargetInfo> targets);

  const TypeData* type(std::string_view name) const;
  const TargetInfo* target(std::string_view name) const;
  /// Words with the same number >= 0 keep their order among themselves; -1: any order.
  int order_class(std::string_view word) const;
  std::span<const WordClass> classes() const { return classes_; }

 private:
  std::unordered_map<std::string_view, const TypeData*> types_;
  std::unordered_map<std::string_view, const TargetInfo*> targets_;
  std::unordered_map<std::string_view, int> order_;
  std::vector<WordClass> classes_;
};

}  // namespace ptxloom::spec
