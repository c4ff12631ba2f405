// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxloom/specs.hpp"
#include "spec/database.hpp"

// The words of specs/words.json and specs/types.json by class, as a form sees them: its own family's, and
// foreign ones.
namespace ptxloom::oracle {

class Words {
 public:
  Words(const Specs& specs, const spec::FormData& form, std::set<std::string> unread);

  /// The other words of all classes that a word is in.
  std::set<std::string> class_mates(std::string_view word) const;
  /// A word of some class that no form of the family knows, or one of those in unread_words.txt.
  bool is_foreign(std::string_view word) const { return foreign_.contains(std::string(word)); }
  /// A word that stands for itself alone: the others of its class do not exclude it.
  bool is_flag(std::string_view word) const { return of_class("flag").contains(std::string(word)); }
  /// One that forms of the family know, and ptxas does not look at on some variants of this one.
  bool is_unread(std::string_view word) const { return unread_.contains(std::string(word)); }
  const std::set<std::string>& all() const { return all_; }
  /// The words of the class with this name in words.json.
  const std::set<std::string>& of_class(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, std::set<std::string>>> classes_;  // by name
  std::set<std::string> all_, foreign_, unread_;
};

}  // namespace ptxloom::oracle
