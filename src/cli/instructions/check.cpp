// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/file.hpp"
#include "base/kinds.hpp"
#include "cli/command.hpp"
#include "cli/common/diagnostics_json.hpp"
#include "cli/common/ptx_file.hpp"
#include "cli/common/requirement_json.hpp"
#include "cli/common/say.hpp"
#include "cli/instructions/check_lines.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::cli {
namespace {

struct CheckFlags {
  std::filesystem::path file;
  std::string target;
  bool jsonl = false;
  bool json = false;
};

/// The lines of a text by their numbers.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (std::size_t at = 0; at <= text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines_.push_back(text.substr(at, end - at));
      at = end + 1;
    }
  }

  /// The line of a diagnostic, with a caret below the column; of a long line, the part around it.
  std::string quote(const Diagnostic& diagnostic) const {
    constexpr std::size_t kWidth = 100;
    if (diagnostic.line <= 0 || static_cast<std::size_t>(diagnostic.line) > lines_.size()) return "";
    std::string_view line = lines_[static_cast<std::size_t>(diagnostic.line) - 1];
    std::size_t caret = std::min(static_cast<std::size_t>(std::max(diagnostic.column, 1)) - 1, line.size());
    if (line.size() > kWidth) {
      const std::size_t begin = std::min(caret - std::min(caret, kWidth / 2), line.size() - kWidth);
      line = line.substr(begin, kWidth);
      caret -= begin;
    }
    std::string shown(line), below(caret, ' ');
    for (std::size_t i = 0; i < shown.size(); ++i) {
      if (i < caret && shown[i] == '\t') below[i] = '\t';
      if (static_cast<unsigned char>(shown[i]) < ' ' && shown[i] != '\t') shown[i] = '?';
    }
    return fmt::format("{:>6} | {}\n       | {}^\n", diagnostic.line, shown, below);
  }

 private:
  std::vector<std::string_view> lines_;
};

/// Prints one line per kind of warning, unless all are wanted.
void print_text(const std::string& file, const Lines& lines, std::vector<Diagnostic> found, bool all) {
  std::vector<Diagnostic> kinds;
  if (!all) {
    std::ranges::copy_if(found, std::back_inserter(kinds),
                         [](const Diagnostic& d) { return d.severity == Severity::warning; });
    std::erase_if(found, [](const Diagnostic& d) { return d.severity == Severity::warning; });
  }
  for (const Diagnostic& diagnostic : found) {
    fmt::print("{}:{}{}\n{}", file, diagnostic.line > 0 ? "" : " ", to_string(diagnostic),
               lines.quote(diagnostic));
  }
  for (const std::string& line : one_line_a_kind(kinds, file)) fmt::print("{}\n", line);
}

/// What it takes to link and load the module; null where the target is not known.
nlohmann::ordered_json needs_json(const ir::Module& module) try {
  return requirement_json(requirement_of(module));
} catch (const Error&) {
  return nullptr;
}

int check_file(const Tool& tool, const CheckFlags& options) {
  refuse_cuda_source(options.file);
  const std::string ptx = options.file == "-" ? read_stdin() : read_file(options.file);
  const auto specs = tool.specs();
  if (!options.target.empty()) specs->target(options.target);
  ParseResult parsed = parse(ptx, specs, options.target);
  std::vector<Diagnostic> found = std::move(parsed.diagnostics);
  for (Diagnostic& diagnostic : check(parsed.module)) found.push_back(std::move(diagnostic));
  std::ranges::stable_sort(found, {}, [](const Diagnostic& d) { return std::pair(d.line, d.column); });
  const bool legal =
      std::ranges::none_of(found, [](const Diagnostic& d) { return d.severity == Severity::error; });
  if (options.json)
    fmt::print("{}\n", nlohmann::ordered_json{{"schema", 1},
                                              {"ok", legal},
                                              {"needs", legal ? needs_json(parsed.module) : nullptr},
                                              {"errors", diagnostics_json(found, Severity::error)},
                                              {"warnings", diagnostics_json(found, Severity::warning)}}
                           .dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
  else
    print_text(options.file == "-" ? "stdin" : options.file.string(), Lines(ptx), std::move(found),
               tool.verbose);
  if (legal && tool.verbose) {
    const Requirement needs = requirement_of(parsed.module);
    say("needs PTX {} on {}: {}\n", to_string(needs.ptx), parsed.module.target, to_string(needs));
  }
  return legal ? 0 : 1;
}

int run_check(const Tool& tool, const CheckFlags& options) {
  if (!options.jsonl) return check_file(tool, options);
  return check_lines(tool.specs(), {.file = options.file, .target = options.target});
}

}  // namespace

void add_check(Tool& tool) {
  tool.command<CheckFlags>(
      "check", "check whether PTX is legal for its target; exit 1 if it is not",
      [](CLI::App& command, CheckFlags& options) {
        command
            .add_option("file", options.file, "a PTX file, or with --jsonl a file of JSON lines; - is stdin")
            ->required()
            ->type_name("FILE|-");
        command.add_option("--target", options.target, "target to check for; default: the file's .target")
            ->type_name("T");
        command.add_flag("--jsonl", options.jsonl,
                         "read statements and print verdicts, one JSON object a line "
                         "(docs/json/check_in.json, check.json)");
        command.add_flag("--json", options.json, "print JSON (docs/json/check_file.json), with all warnings")
            ->excludes("--jsonl");
      },
      run_check);
}

}  // namespace ptxloom::cli
