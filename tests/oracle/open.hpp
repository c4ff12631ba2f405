// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "ptxloom/specs.hpp"

// A ratchet: neighbours on which ptxas and we are known to disagree still, by form and kind. They are not
// compared, all others are, so that whatever disagrees beyond this list is new. Legality is never left out.
//
// A line of the file is `FORM KIND REASON`. A kind is `words` (other words), `order` (words twice or
// elsewhere), `operands` (all of them), `operands:B` (others in the place of B) or `operands:number` (one
// less or one more).
namespace ptxloom::oracle {

class OpenKinds {
 public:
  /// Throws std::runtime_error for a line with a form or an operand that does not exist, with a kind that
  /// does not, or without a reason. No file is an empty one.
  static OpenKinds read(const std::filesystem::path& file, const Specs& specs);
  void write(const std::filesystem::path& file) const;

  /// Whether neighbours of this kind are left out.
  bool contains(std::string_view form, std::string_view kind) const;
  /// Notes a kind; the reason of one that is known already stands.
  void add(std::string_view form, std::string_view kind, std::string reason);
  /// Adds what another list has and this one lacks.
  void merge(const OpenKinds& other);
  /// Without the kinds that `found` lacks.
  void keep_only(const OpenKinds& found);

 private:
  using Reasons = std::map<std::string, std::string, std::less<>>;
  std::map<std::string, Reasons, std::less<>> forms_;
};

}  // namespace ptxloom::oracle
