// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/template.hpp"

// The parameter space of a template, read from its space.json: the words of a problem and of a configuration,
// with the values they may take.
namespace [[gnu::visibility("default")]] ptxloom {

/// One word. Values are listed, or of a kind: "size" (1 to 2147483647), "stride" (0 to 2147483647, 0 =
/// tight), "distance" (0 to 2^46) or "number" (any decimal).
struct TemplateParameter {
  std::string name;
  std::string kind;                 ///< "choice", "size", "stride", "distance", "number"
  std::vector<std::string> values;  ///< of a choice
  std::string
      fallback;  ///< the default; "=a" is the value of `a`; empty = required, or chosen by the template
  std::string doc;
};

class ParameterSpace {
 public:
  /// Throws Error(usage, "bad-space") for text that is no such description.
  explicit ParameterSpace(std::string_view json);

  const std::string& name() const { return name_; }
  const std::string& doc() const { return doc_; }
  const std::vector<TemplateParameter>& problem() const { return problem_; }
  const std::vector<TemplateParameter>& config() const { return config_; }
  /// Rows of cells of the table "types" (the legal combinations of types), the header first.
  const std::vector<std::vector<std::string>>& types() const { return types_; }

  /// Words checked against `part`, defaults filled in. Throws Error(usage) for an unknown word
  /// ("unknown-parameter", with the nearest known one), a value outside its range ("bad-value"), or a
  /// required word that is missing.
  Settings complete(const std::vector<TemplateParameter>& part, const Settings& given) const;
  /// Splits words into problem and configuration, build words (build_words.hpp) with the latter; an unknown
  /// word throws as above.
  struct Split {
    Settings problem, config;
  };
  Split split(const Settings& words) const;

 private:
  Error unknown(const std::string& name) const;

  std::string name_, doc_;
  std::vector<TemplateParameter> problem_, config_;
  std::vector<std::vector<std::string>> types_;
};

}  // namespace ptxloom
