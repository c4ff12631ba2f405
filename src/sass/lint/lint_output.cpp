// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "sass/lint/lint.hpp"

namespace ptxloom::sass {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(LintSeverity severity) { return severity == LintSeverity::error ? "error" : "note"; }

std::string counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

Json finding_json(const LintFinding& one) {
  const bool cycles = one.need > 0;
  return {{"severity", name_of(one.severity)},
          {"code", one.code},
          {"offset", one.offset},
          {"text", one.text},
          {"register", one.reg.empty() ? Json() : Json(one.reg)},
          {"producer", one.producer ? Json(*one.producer) : Json()},
          {"have", cycles ? Json(one.have) : Json()},
          {"need", cycles ? Json(one.need) : Json()},
          {"message", one.message}};
}

/// ": FUTURE 2, OTHER 1"
std::string opcodes_text(const std::map<std::string, int, std::less<>>& opcodes) {
  std::string text;
  for (const auto& [opcode, count] : opcodes)
    text += fmt::format("{}{} {}", text.empty() ? ": " : ", ", opcode, count);
  return text;
}

}  // namespace

std::string lint_text(const Lint& lint) {
  int instructions = 0, unknown = 0;
  std::map<std::string, int, std::less<>> opcodes;
  std::string text;
  for (const LintedFunction& function : lint.functions) {
    instructions += function.instructions;
    unknown += function.unknown;
    for (const auto& [opcode, count] : function.unknown_opcodes) opcodes[opcode] += count;
    for (const LintFinding& one : function.findings)
      text += fmt::format("{}:{:04x}: {}: `{}`: {} [{}]\n", function.name, one.offset, name_of(one.severity),
                          one.text, one.message, one.code);
  }
  return text + fmt::format("{} for {}: {}, {}, in {} of {}; operands of {} are not known{}\n", lint.file,
                            lint.target, counted(lint.count(LintSeverity::error), "error"),
                            counted(lint.count(LintSeverity::note), "note"),
                            counted(instructions, "instruction"),
                            counted(static_cast<int>(lint.functions.size()), "function"), unknown,
                            opcodes_text(opcodes));
}

std::string lint_json(const Lint& lint) {
  Json functions = Json::array();
  for (const LintedFunction& function : lint.functions) {
    Json findings = Json::array();
    for (const LintFinding& one : function.findings) findings.push_back(finding_json(one));
    functions.push_back({{"name", function.name},
                         {"instructions", function.instructions},
                         {"unknown", function.unknown},
                         {"unknown_opcodes", function.unknown_opcodes},
                         {"findings", std::move(findings)}});
  }
  const Json json = {{"schema", 1},
                     {"file", lint.file},
                     {"target", lint.target},
                     {"nvdisasm", lint.nvdisasm},
                     {"relocatable", lint.relocatable},
                     {"errors", lint.count(LintSeverity::error)},
                     {"notes", lint.count(LintSeverity::note)},
                     {"functions", std::move(functions)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptxloom::sass
