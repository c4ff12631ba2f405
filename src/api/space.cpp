// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/space.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "base/nearest.hpp"
#include "ptxloom/build_words.hpp"

namespace ptxloom {
namespace {

using Json = nlohmann::json;

/// The non-empty parts between separators. Every process pays for this, so it avoids streams.
std::vector<std::string> split_on(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::vector<TemplateParameter> read_parameters(const Json& list) {
  std::vector<TemplateParameter> parameters;
  for (const Json& entry : list) {
    TemplateParameter parameter;
    parameter.name = entry.at("name");
    parameter.kind = entry.value("kind", "choice");
    parameter.values = split_on(entry.value("values", ""), '|');
    parameter.fallback = entry.value("default", "");
    parameter.doc = entry.at("doc");
    parameter.former = split_on(entry.value("was", ""), '|');
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

bool is_integer_in(const std::string& text, std::int64_t low, std::int64_t high) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value >= low && value <= high;
}

bool is_number(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(value);
}

constexpr std::int64_t kLargest = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kFarthest = std::int64_t{1} << 46;

// What the value should be; empty if it is valid.
std::string expected(const TemplateParameter& parameter, const std::string& value) {
  if (parameter.kind == "size")
    return is_integer_in(value, 1, kLargest) ? "" : fmt::format("an integer from 1 to {}", kLargest);
  if (parameter.kind == "stride")
    return is_integer_in(value, 0, kLargest) ? ""
                                             : fmt::format("an integer from 0 (contiguous) to {}", kLargest);
  if (parameter.kind == "distance")
    return is_integer_in(value, 0, kFarthest) ? "" : fmt::format("an integer from 0 to {}", kFarthest);
  if (parameter.kind == "number") return is_number(value) ? "" : "a finite decimal number";
  const bool listed =
      std::find(parameter.values.begin(), parameter.values.end(), value) != parameter.values.end();
  return listed ? "" : fmt::format("one of {}", fmt::join(parameter.values, ", "));
}

constexpr const char* kLeaveOut = "leave parameters out to have them chosen";

/// "m, n and k".
std::string listed(std::initializer_list<std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 < names.size() ? ", " : " and ", names.begin()[i]);
  return text;
}

bool has(const std::vector<TemplateParameter>& part, const std::string& name) {
  return std::ranges::find(part, name, &TemplateParameter::name) != part.end();
}

/// `--set` names no part, so a name means one parameter.
void check_names(const std::string& name, const std::vector<TemplateParameter>& problem,
                 const std::vector<TemplateParameter>& config) {
  std::set<std::string_view> seen;
  for (const auto* part : {&problem, &config}) {
    for (const TemplateParameter& parameter : *part) {
      if (is_build_word(parameter.name))
        throw Error(ErrorKind::usage, "bad-space",
                    fmt::format("the space of {} has a parameter '{}', which is a build parameter", name,
                                parameter.name),
                    "rename it");
      std::vector<std::string_view> names{parameter.name};
      names.insert(names.end(), parameter.former.begin(), parameter.former.end());
      for (const std::string_view one : names)
        if (!seen.insert(one).second)
          throw Error(ErrorKind::usage, "bad-space",
                      fmt::format("the space of {} has two parameters '{}'", name, one),
                      "problem and configuration share no name, nor a former one: rename one of them");
    }
  }
}

}  // namespace

ParameterSpace::ParameterSpace(std::string_view json) {
  try {
    const Json document = Json::parse(json);
    name_ = document.at("template");
    doc_ = document.at("doc");
    problem_ = read_parameters(document.at("problem"));
    config_ = read_parameters(document.at("config"));
    for (const Json& row : document.value("types", Json::array()))
      types_.push_back(split_on(row.get_ref<const std::string&>(), ' '));
  } catch (const Json::exception&) {
    throw Error(ErrorKind::usage, "bad-space",
                "cannot read the parameter space: it is not JSON, or a field is missing or of the wrong kind",
                "write it like templates/gemm/space.json");
  }
  check_names(name_, problem_, config_);
}

void ParameterSpace::require(const Settings& settings, std::initializer_list<std::string_view> names) const {
  for (const std::string_view one : names)
    if (!settings.contains(one))
      throw Error(ErrorKind::usage, "missing-parameter", fmt::format("{} needs {}", name_, one),
                  fmt::format("give the parameters {}", listed(names)));
}

void ParameterSpace::complete_pitch(Settings& settings, const std::string& name, std::uint64_t length,
                                    RowUnit unit) const {
  const auto elements = static_cast<std::uint64_t>(unit.elements);
  const std::uint64_t pitch = std::stoull(settings.at(name)),
                      least = (length + elements - 1) / elements * elements;
  const std::string_view zero = elements == 1 ? "0 for contiguous rows" : "0 for the shortest rows";
  if (pitch == 0) settings[name] = std::to_string(least);
  if (pitch != 0 && pitch < length)
    throw Error(ErrorKind::usage, "bad-stride",
                fmt::format("{}: {}={} is shorter than a row of {} elements", name_, name, pitch, length),
                fmt::format("give at least {}, or {}", least, zero));
  if (pitch % elements != 0)
    throw Error(
        ErrorKind::usage, "bad-stride",
        fmt::format("{}: with {}={} rows do not begin at {}", name_, name, pitch,
                    unit.bytes == 1 ? "whole bytes" : fmt::format("multiples of {} bytes", unit.bytes)),
        fmt::format("give a multiple of {}, or {}", elements, zero));
}

void ParameterSpace::require_config(std::span<const std::string_view> names) const {
  for (const std::string_view one : names)
    if (!has(config_, std::string(one)))
      throw Error(ErrorKind::usage, "bad-space",
                  fmt::format("the space of {} lacks the parameter '{}' of its configuration", name_, one),
                  "add it to space.json, or remove its row from the table of parameters");
  for (const TemplateParameter& parameter : config_)
    if (parameter.name != "strategy" && std::ranges::find(names, parameter.name) == names.end())
      throw Error(ErrorKind::usage, "bad-space",
                  fmt::format("the configuration of {} has no field for the parameter '{}' of its space",
                              name_, parameter.name),
                  "add a row to the table of parameters, or remove it from space.json");
}

Error ParameterSpace::inadmissible(std::string_view rule) const {
  return {ErrorKind::refused, "bad-configuration",
          fmt::format("{}: this configuration is not admissible: {}", name_, rule), kLeaveOut};
}

Error ParameterSpace::no_configuration(const Settings& wanted, const Target& target, std::string why) const {
  if (wanted.empty() && why.empty()) why = "the problem is too large for one launch: divide it";
  std::string values = wanted.empty() ? "" : " with";
  for (const auto& [name, value] : wanted) values += fmt::format(" {}={}", name, value);
  return {ErrorKind::refused, "no-configuration",
          fmt::format("{}: no configuration is admissible{} on {}", name_, values, target.name()),
          why.empty() ? kLeaveOut : std::move(why)};
}

Settings ParameterSpace::complete(const std::vector<TemplateParameter>& part, const Settings& given) const {
  for (const auto& [name, value] : given) {
    if (!has(part, name)) throw misplaced(name);
  }
  Settings whole;
  for (const TemplateParameter& parameter : part) {
    const auto found = given.find(parameter.name);
    if (found == given.end()) {
      if (parameter.fallback.empty()) continue;
      whole[parameter.name] =
          parameter.fallback.front() == '=' ? whole.at(parameter.fallback.substr(1)) : parameter.fallback;
      continue;
    }
    if (const std::string wanted = expected(parameter, found->second); !wanted.empty())
      throw Error(ErrorKind::usage, "bad-value",
                  fmt::format("{}: {}={} is not {}", name_, parameter.name, found->second, wanted),
                  parameter.doc);
    whole[parameter.name] = found->second;
  }
  return whole;
}

RecordParameters ParameterSpace::record_parameters() const {
  RecordParameters parameters;
  for (const auto* part : {&problem_, &config_}) {
    for (const TemplateParameter& parameter : *part) {
      parameters.names.insert(parameter.name);
      for (const std::string& former : parameter.former) parameters.former[former] = parameter.name;
    }
  }
  for (const std::string_view name : build_word_names()) parameters.names.emplace(name);
  return parameters;
}

ParameterSpace::Split ParameterSpace::split(const Settings& words) const {
  Split result;
  for (const auto& [name, value] : words) {
    if (has(problem_, name)) {
      result.problem[name] = value;
    } else if (has(config_, name) || is_build_word(name)) {
      result.config[name] = value;
    } else {
      throw unknown(name);
    }
  }
  return result;
}

// For a name that the part in which it is given does not have: the other part may have it.
Error ParameterSpace::misplaced(const std::string& name) const {
  const bool of_problem = has(problem_, name);
  if (!of_problem && !has(config_, name)) return unknown(name);
  const std::string_view right = of_problem ? "problem" : "configuration";
  const std::string_view given = of_problem ? "configuration" : "problem";
  return Error(
      ErrorKind::usage, "unknown-parameter",
      fmt::format("{}: '{}' is a parameter of the {}, but it is given in the {}", name_, name, right, given),
      fmt::format("move it to the {}", right));
}

Error ParameterSpace::unknown(const std::string& name) const {
  std::vector<std::string> known;
  for (const TemplateParameter& p : problem_) known.push_back(p.name);
  for (const TemplateParameter& p : config_) known.push_back(p.name);
  return Error(ErrorKind::usage, "unknown-parameter", fmt::format("{} has no parameter '{}'", name_, name),
               fmt::format("did you mean {}? It has: {}", nearest(name, known), fmt::join(known, " ")));
}

std::string admissible_without(const Settings& given, const std::function<bool(const Settings&)>& fits) {
  std::string found;
  const auto add = [&](const std::string& values) {
    found += fmt::format("{}{}", found.empty() ? "it is admissible without " : ", or without ", values);
  };
  const auto without = [](Settings settings, const Settings::value_type& one) {
    settings.erase(one.first);
    return settings;
  };
  for (const auto& one : given)
    if (fits(without(given, one))) add(fmt::format("{}={}", one.first, one.second));
  if (!found.empty()) return found;
  for (auto first = given.begin(); first != given.end(); ++first) {
    const Settings others = without(given, *first);
    for (auto second = std::next(first); second != given.end(); ++second)
      if (fits(without(others, *second)))
        add(fmt::format("{}={} {}={}", first->first, first->second, second->first, second->second));
  }
  return found;
}

}  // namespace ptxloom
