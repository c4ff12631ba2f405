// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "base/file.hpp"
#include "cli/command.hpp"
#include "ptxloom/jit.hpp"

namespace ptxloom::cli {
namespace {

struct CompileFlags {
  std::filesystem::path file;
  std::string target;
  std::filesystem::path output;
};

/// The first word behind `.target`, outside comments.
std::string target_of(std::string_view ptx, const std::filesystem::path& file) {
  constexpr std::string_view kSpace = " \t\r\n";
  constexpr std::string_view kDirective = ".target";
  while (!ptx.empty()) {
    ptx.remove_prefix(std::min(ptx.find_first_not_of(kSpace), ptx.size()));
    if (ptx.starts_with("//")) {
      ptx.remove_prefix(std::min(ptx.find('\n'), ptx.size()));
    } else if (ptx.starts_with("/*")) {
      const std::size_t end = ptx.find("*/");
      ptx.remove_prefix(end == std::string_view::npos ? ptx.size() : end + 2);
    } else if (ptx.starts_with(kDirective)) {
      ptx.remove_prefix(kDirective.size());
      ptx.remove_prefix(std::min(ptx.find_first_not_of(kSpace), ptx.size()));
      return std::string(ptx.substr(0, ptx.find_first_of(" \t\r\n,;/")));
    } else {
      ptx.remove_prefix(std::min(ptx.find_first_of(kSpace), ptx.size()));
    }
  }
  throw Error(ErrorKind::usage, "no-target", fmt::format("{} has no .target", file.string()),
              "give one with --target, or check that this is PTX");
}

int run_compile(const Tool& tool, const CompileFlags& options) {
  const std::string ptx = read_file(options.file);
  const auto specs = tool.specs();
  const Target target = specs->target(options.target.empty() ? target_of(ptx, options.file) : options.target);
  const Linker linker(Libraries(), Cache::from_environment(tool_log()));
  const LinkResult result = linker.link(ptx, {.target = std::string(target.name())});
  for (const Diagnostic& diagnostic : result.diagnostics) fmt::print(stderr, "{}\n", to_string(diagnostic));
  std::filesystem::path output = options.output;
  if (output.empty()) output = std::filesystem::path(options.file).replace_extension(".cubin");
  if (output == "-") {
    std::fwrite(result.cubin.data(), 1, result.cubin.size(), stdout);
    return 0;
  }
  write_file(output, result.cubin);
  fmt::print(stderr, "{}: {} bytes for {}{}\n", output.string(), result.cubin.size(), target.name(),
             result.cached ? " (from the cache)" : "");
  for (const Resources& kernel : result.resources) {
    fmt::print(stderr, "  {}: {} registers, {} bytes of shared memory, {} bytes of spills\n", kernel.kernel,
               kernel.registers, kernel.shared, kernel.spill_stores + kernel.spill_loads);
  }
  return 0;
}

}  // namespace

void add_compile(Tool& tool) {
  tool.command<CompileFlags>(
      "compile", "PTX to a cubin, through nvJitLink; needs no GPU",
      [](CLI::App& command, CompileFlags& options) {
        command.add_option("file", options.file, "PTX")->required()->type_name("FILE.ptx");
        command.add_option("--target", options.target, "default: the file's .target")->type_name("T");
        command.add_option("-o,--output", options.output, "default: FILE.cubin; - is stdout")
            ->type_name("FILE.cubin");
      },
      run_compile);
}

}  // namespace ptxloom::cli
