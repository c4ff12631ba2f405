// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sass/listing/listing.hpp"

// The lint of control codes. It recomputes which instruction needs which other's result, from the registers
// that specs/sass says they read and write, and checks that stall counts and scoreboards wait for it, on
// every path through the code that it can follow.
namespace ptxloom::sass {

enum class LintSeverity : std::uint8_t {
  error,  ///< the code may compute something else
  note    ///< it costs a little time, or does nothing
};

struct LintFinding {
  LintSeverity severity = LintSeverity::error;
  std::string_view code;  ///< "missing-wait"; docs/sass.md has all
  std::uint64_t offset = 0;
  std::string text;                       ///< of the instruction
  std::string reg;                        ///< "R4"; empty if it is about none
  std::optional<std::uint64_t> producer;  ///< offset of the instruction that it must wait for
  int have = 0, need = 0;                 ///< cycles, of short-stall
  std::string message;
};

struct LintedFunction {
  std::string name;
  int instructions = 0;
  int unknown = 0;  ///< instructions whose operands specs/sass/operands.json does not have
  std::map<std::string, int, std::less<>> unknown_opcodes;  ///< theirs, and how many each has
  std::vector<LintFinding> findings;
};

struct Lint {
  std::string file, target, nvdisasm;
  bool relocatable = false;  ///< an object file, which the linker may still change
  std::vector<LintedFunction> functions;

  int count(LintSeverity severity) const;
};

/// The listing must have nvdisasm's text. `notes`: also what only costs time.
Lint lint(const Listing& listing, int chip, bool notes);

std::string lint_text(const Lint& lint);
/// One JSON object, docs/json/sass_lint.json.
std::string lint_json(const Lint& lint);

}  // namespace ptxloom::sass
