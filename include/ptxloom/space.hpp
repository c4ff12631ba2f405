// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/template.hpp"

/// \file
/// The parameter space of a template, read from its space.json: the parameters of a problem and of a
/// configuration, with the values that they may have.
namespace [[gnu::visibility("default")]] ptxloom {

/// A parameter.
struct TemplateParameter {
  std::string name;  ///< as on the command line
  /// "choice": one of `values`; "size": 1 to 2147483647; "stride": 0 to 2147483647, where 0 is contiguous;
  /// "distance": 0 to 2^46; "number": any decimal number.
  std::string kind;
  std::vector<std::string> values;  ///< of a choice
  /// The default. "=a" is the value of parameter a; empty: it is required, or the template chooses it.
  std::string fallback;
  std::string doc;  ///< a sentence about it
  /// Names that it had before ("was": "old|older"), by which tuning records may still know it.
  std::vector<std::string> former = {};
};

/// The parameters of a template.
class ParameterSpace {
 public:
  /// Reads the text of a space.json. Throws Error(usage, "bad-space").
  explicit ParameterSpace(std::string_view json);

  const std::string& name() const { return name_; }  ///< name of the template
  const std::string& doc() const { return doc_; }    ///< a sentence about the template
  const std::vector<TemplateParameter>& problem() const { return problem_; }  ///< parameters of the problem
  const std::vector<TemplateParameter>& config() const {
    return config_;
  }  ///< parameters of the configuration
  /// The table "types" of legal combinations of types: rows of cells, the header first.
  const std::vector<std::vector<std::string>>& types() const { return types_; }

  /// The given values, checked against `part` (problem() or config()), with defaults filled in. A parameter
  /// without a default that is not given is left out. Throws Error(usage, "unknown-parameter"), with the
  /// nearest known one, and Error(usage, "bad-value") for a value out of range.
  Settings complete(const std::vector<TemplateParameter>& part, const Settings& given) const;
  /// Values in two parts.
  struct Split {
    Settings problem;  ///< those of the problem
    Settings config;   ///< those of the configuration, with build parameters (build_words.hpp)
  };
  /// Throws Error(usage, "missing-parameter") unless all of these are among the settings.
  void require(const Settings& settings, std::initializer_list<std::string_view> names) const;
  /// What the beginnings of rows are multiples of.
  struct RowUnit {
    int elements = 1;  ///< as elements
    int bytes = 1;     ///< the same in bytes, for the message
  };
  /// Completes a row pitch or leading dimension, in elements. 0 becomes that of the shortest rows: `length`
  /// elements, rounded up to whole units. Throws Error(usage, "bad-stride") for a shorter one, and for one
  /// that is not whole units.
  void complete_pitch(Settings& settings, const std::string& name, std::uint64_t length, RowUnit unit) const;
  /// The same for rows that may begin at any element.
  void complete_pitch(Settings& settings, const std::string& name, std::uint64_t length) const {
    complete_pitch(settings, name, length, RowUnit());
  }
  /// Throws Error(usage, "bad-space") unless the parameters of the configuration are these; a parameter
  /// `strategy` may come to them.
  void require_config(std::span<const std::string_view> names) const;
  /// The error for values of the configuration that no admissible configuration has: Error(refused,
  /// "no-configuration"). `why` is its hint, such as the rule that they break; empty: none alone is to blame.
  Error no_configuration(const Settings& wanted, const Target& target, std::string why) const;
  /// The error for a whole configuration that breaks a rule: Error(refused, "bad-configuration").
  Error inadmissible(std::string_view rule) const;
  /// The parameters as tuning records have them: those of problem and configuration, and of the build
  /// (build_words.hpp).
  RecordParameters record_parameters() const;
  /// Splits values into problem and configuration. Throws Error(usage, "unknown-parameter").
  Split split(const Settings& words) const;

 private:
  Error unknown(const std::string& name) const;
  Error misplaced(const std::string& name) const;

  std::string name_, doc_;
  std::vector<TemplateParameter> problem_, config_;
  std::vector<std::vector<std::string>> types_;
};

/// Which one of the given values, or which two, must go so that a configuration is admissible, as a hint:
/// "it is admissible without stages=8, or without tile_m=256"; empty if even more must. `fits`: whether some
/// configuration has these values.
std::string admissible_without(const Settings& given, const std::function<bool(const Settings&)>& fits);

}  // namespace ptxloom
