// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <unordered_map>

#include "spec/form_data.hpp"
#include "spec/need.hpp"

namespace ptxloom::spec {

/// The number that must follow the name of a pragma.
enum class PragmaNumber : std::uint8_t { none, integer, positive };

/// Directives and pragmas that some targets or PTX versions lack (directives.json). Later additions take
/// precedence.
class Directives {
 public:
  /// Throws Error(usage, "spec-need") for a need that cannot be read.
  void add(const DirectivesData& data, const Vocabulary& vocabulary);

  /// The need of a directive, ".language", or of a feature, "the type .b128"; nullptr if it has none.
  const Need* need(std::string_view directive) const;
  /// The need of a pragma, "frequency"; nullptr if it has none.
  const Need* need_of_pragma(std::string_view pragma) const;
  /// Whether the file names the pragma.
  bool knows_pragma(std::string_view pragma) const { return pragmas_.contains(pragma); }
  /// The number that a pragma needs; none too if the file does not name it.
  PragmaNumber number_of_pragma(std::string_view pragma) const;
  /// The names that .language takes, in the order of their numbers.
  std::span<const std::string_view> languages() const { return languages_; }

 private:
  std::unordered_map<std::string_view, Need> directives_, pragmas_;
  std::unordered_map<std::string_view, PragmaNumber> numbers_;  // of pragmas that need one
  std::span<const std::string_view> languages_;
};

}  // namespace ptxloom::spec
