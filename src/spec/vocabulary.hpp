// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ptxloom/target.hpp"
#include "spec/form_data.hpp"

// The words used by forms: types, targets, classes of modifiers. Later additions take precedence.
namespace ptxloom::spec {

/// The maximum number of order classes: types, then the ordered word classes.
inline constexpr int kMaxOrders = 16;

class Vocabulary {
 public:
  void add(std::span<const TypeData> types);
  void add(std::span<const WordClass> classes);
  void add(std::span<const TargetInfo> targets);
  void add(std::span<const Surrounding> surroundings);
  void add(std::span<const Version> versions) {
    versions_.insert(versions_.end(), versions.begin(), versions.end());
  }
  /// Restricts facts about assemblers to those of this release of CUDA.
  void restrict_to(std::optional<Version> assembler) { assembler_ = assembler; }

  const TypeData* type(std::string_view name) const;
  /// All types, unordered.
  std::vector<Type> types() const;
  const TargetInfo* target(std::string_view name) const;
  /// The built-in targets, then those of overlays; an overlay's target replaces one of the same name.
  std::span<const TargetInfo* const> targets() const { return target_list_; }
  /// Words with the same number >= 0 keep their relative order; -1: any order.
  int order_class(std::string_view word) const;
  /// The opcode with duplicates of words that may be repeated (words.json, class `twice`) removed.
  std::string without_repeats(std::string_view opcode) const;
  std::span<const WordClass> classes() const { return classes_; }
  /// Statements by name; nullptr if there are none.
  const Surrounding* surrounding(std::string_view name) const;
  /// PTX versions: the built-in ones, then those of overlays.
  std::span<const Version> versions() const { return versions_; }
  /// The release of CUDA whose assembler is meant; nullopt: what any of them knows.
  std::optional<Version> assembler() const { return assembler_; }

 private:
  std::unordered_map<std::string_view, const TypeData*> types_;
  std::unordered_map<std::string_view, const TargetInfo*> targets_;
  std::vector<const TargetInfo*> target_list_;
  std::unordered_map<std::string_view, int> order_;
  int last_order_ = 0;  // types
  std::vector<WordClass> classes_;
  std::vector<Version> versions_;
  std::optional<Version> assembler_;
  std::unordered_set<std::string_view> repeatable_;
  std::unordered_map<std::string_view, const Surrounding*> surroundings_;
};

}  // namespace ptxloom::spec
