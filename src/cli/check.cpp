// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::cli {
namespace {

struct Options {
  std::filesystem::path file;
  std::string target;
};

std::string read_input(const std::filesystem::path& file) {
  if (file != "-") return read_file(file);
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

int run(const Tool& tool, const Options& options) {
  const std::string ptx = read_input(options.file);
  const auto specs = tool.specs();
  if (!options.target.empty()) specs->target(options.target);
  ParseResult parsed = parse(ptx, specs, options.target);
  std::vector<Diagnostic> found = std::move(parsed.diagnostics);
  const auto has_error = [&] {
    return std::ranges::any_of(found, [](const Diagnostic& d) { return d.severity == Severity::error; });
  };
  if (!has_error()) {
    for (Diagnostic& diagnostic : check(parsed.module)) found.push_back(std::move(diagnostic));
  }
  for (const Diagnostic& diagnostic : found) {
    fmt::print("{}:{}\n", options.file == "-" ? "stdin" : options.file.string(), to_string(diagnostic));
  }
  return has_error() ? 1 : 0;
}

}  // namespace

void add_check(Tool& tool) {
  tool.command<Options>(
      "check", "is this PTX legal for its target? exit 1 if it is not",
      [](CLI::App& command, Options& options) {
        command.add_option("file", options.file, "PTX; - is stdin")->required()->type_name("FILE|-");
        command.add_option("--target", options.target, "default: the file's .target")->type_name("T");
      },
      run);
}

}  // namespace ptxloom::cli
