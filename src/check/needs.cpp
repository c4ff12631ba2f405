// SPDX-License-Identifier: Apache-2.0
#include "check/needs.hpp"

#include <algorithm>
#include <optional>
#include <string>

namespace ptxloom::check_rules {
namespace {

// Features, by their names in specs/directives.json.
constexpr std::string_view kWideType = "the type .b128", kMask = "a mask in an initial value",
                           kManyParameters = "a parameter list of more than 4352 bytes",
                           kInlinedAt = "inlined_at of .loc", kLabel = "a label in a .section",
                           kDistance = "a distance of labels in a .section",
                           kNegative = "a negative number in a .section";
constexpr std::uint64_t kFewParameterBytes = 4352;

void add_of_interface(const ir::Interface& interface, std::vector<std::string_view>& names) {
  if (interface.noreturn) names.emplace_back(".noreturn");
  if (interface.abi_preserve) names.emplace_back(".abi_preserve");
  if (interface.abi_preserve_control) names.emplace_back(".abi_preserve_control");
}

bool has_wide(const std::vector<ir::Parameter>& parameters) {
  return std::ranges::any_of(parameters, [](const ir::Parameter& parameter) {
    return parameter.type == b128 && parameter.count == 0 && !parameter.unsized;
  });
}

/// Of prototypes and arrays ptxas asks no version.
bool has_wide_type(const ir::Function& function) {
  const auto wide = [](const ir::RegisterDecl& declared) { return declared.type == b128; };
  return has_wide(function.parameters) || has_wide(function.results) ||
         std::ranges::any_of(function.registers, wide);
}

/// Every need of one owner.
class Needs {
 public:
  Needs(const spec::Directives& directives, const std::function<void(const ModuleNeed&)>& use)
      : directives_(directives), use_(use) {}

  void of(const ir::Module& module) const {
    for (const ir::Variable& variable : module.variables) of(variable);
    for (const ir::Section& section : module.sections) of(section);
    for (const ir::Function& function : module.functions) of(function);
  }

 private:
  void of(const ir::Variable& variable) const {
    if (variable.unified) feature("", variable.name, ".unified");
    const bool array = variable.count != 1 || variable.array;
    if (variable.type == b128 && !array) feature("", variable.name, kWideType);
    if (std::ranges::any_of(variable.addresses, [](const ir::AddressValue& a) { return a.mask != 0; }))
      feature("", variable.name, kMask);
  }

  void of(const ir::Section& section) const {
    constexpr std::string_view kind = "section ";
    if (section.labels) feature(kind, section.name, kLabel);
    if (section.distances) feature(kind, section.name, kDistance);
    if (section.negatives) feature(kind, section.name, kNegative);
  }

  void of(const ir::Function& function) const {
    const std::string_view kind = kind_of(function);
    for (const std::string_view name : directives_of(function)) feature(kind, function.name, name);
    for (const ir::Variable& variable : function.variables) of(variable);
    if (has_wide_type(function)) feature(kind, function.name, kWideType);
    if (function.entry && bytes_of_parameters(function) > kFewParameterBytes)
      feature(kind, function.name, kManyParameters);
    const auto inlined = [](const ir::Location& location) { return location.inlined_at.has_value(); };
    if (std::ranges::any_of(function.locations, inlined)) feature(kind, function.name, kInlinedAt);
    for (const std::string& pragmas : function.pragmas) {
      for_each_pragma(pragmas, [&](std::string_view name, std::string_view) {
        report(kind, function.name, "the pragma ", name, directives_.need_of_pragma(name));
      });
    }
  }

  void feature(std::string_view kind, std::string_view owner, std::string_view name) const {
    report(kind, owner, "", name, directives_.need(name));
  }

  void report(std::string_view kind, std::string_view owner, std::string_view prefix, std::string_view what,
              const spec::Need* need) const {
    if (need != nullptr) use_({.kind = kind, .owner = owner, .prefix = prefix, .what = what, .need = *need});
  }

  const spec::Directives& directives_;
  const std::function<void(const ModuleNeed&)>& use_;
};

}  // namespace

void for_each_need(const ir::Module& module, const spec::Directives& directives,
                   const std::function<void(const ModuleNeed&)>& use) {
  Needs(directives, use).of(module);
}

std::vector<std::string_view> directives_of(const ir::Function& function) {
  std::vector<std::string_view> names;
  add_of_interface(function, names);
  for (const ir::Prototype& prototype : function.prototypes) add_of_interface(prototype, names);
  if (function.unified) names.emplace_back(".unified");
  if (function.reqnctapercluster) names.emplace_back(".reqnctapercluster");
  if (function.maxclusterrank) names.emplace_back(".maxclusterrank");
  if (function.explicitcluster) names.emplace_back(".explicitcluster");
  if (function.blocksareclusters) names.emplace_back(".blocksareclusters");
  if (function.minperctamemory) names.emplace_back(".minperctamemory");
  if (!function.languages.empty()) names.emplace_back(".language");
  if (std::ranges::any_of(function.locations, &ir::Location::intermediate))
    names.emplace_back(".loc_intermediate");
  return names;
}

std::uint64_t bytes_of_parameters(const ir::Function& function) {
  std::uint64_t bytes = 0;
  for (const ir::Parameter& parameter : function.parameters)
    bytes += std::uint64_t{std::max(parameter.count, 1U)} *
             static_cast<std::uint64_t>(parameter.type.whole_bytes());
  return std::max<std::uint64_t>(bytes, ir::signature(function).size());
}

}  // namespace ptxloom::check_rules
