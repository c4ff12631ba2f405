// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "base/kinds.hpp"
#include "cli/command.hpp"
#include "cli/common/diagnostics_json.hpp"
#include "cli/common/ptx_file.hpp"
#include "cli/common/say.hpp"
#include "jit/ptx_header.hpp"
#include "ptxloom/jit.hpp"

namespace ptxloom::cli {
namespace {

struct CompileFlags {
  std::filesystem::path file;
  std::string target;
  std::filesystem::path output;
  bool json = false;
};

std::string target_of(std::string_view ptx, const std::filesystem::path& file) {
  if (auto target = jit::directive_argument(ptx, ".target")) return *std::move(target);
  throw Error(ErrorKind::usage, "no-target", fmt::format("{} has no .target", file.string()),
              "give one with --target, and check that the file is PTX");
}

/// The path of the cubin; it has been checked to be writable.
std::filesystem::path output_of(const CompileFlags& options) {
  if (options.output == "-") return options.output;
  std::filesystem::path output = options.output;
  if (output.empty()) output = std::filesystem::path(options.file).replace_extension(".cubin");
  std::error_code none;
  if (std::filesystem::equivalent(options.file, output, none))
    throw Error(ErrorKind::usage, "bad-usage",
                fmt::format("the cubin would overwrite the input, {}", options.file.string()),
                "give another file with -o");
  check_writable(output);
  return output;
}

/// Prints the linker's warnings, which do not refer to PTX lines.
void print_warnings(std::span<const Diagnostic> warnings, bool all) {
  if (!all) {
    for (const std::string& line : one_line_a_kind(warnings)) say("{}\n", line);
    return;
  }
  for (const Diagnostic& warning : warnings) say("{}\n", to_string(warning));
}

void print_compiled(const std::filesystem::path& output, const Target& target, const LinkResult& result) {
  say("{}: {} bytes for {}{}\n", output.string(), result.cubin.size(), target.name(),
      result.cached ? " (from the cache)" : "");
  for (const Resources& kernel : result.resources) {
    say("  {}: {} registers, {} bytes of shared memory, {} bytes spilled\n", kernel.kernel, kernel.registers,
        kernel.shared, kernel.spill_stores + kernel.spill_loads);
  }
}

void print_compiled_json(const std::filesystem::path& output, const Target& target,
                         const LinkResult& result) {
  auto kernels = nlohmann::ordered_json::array();
  for (const Resources& kernel : result.resources) {
    kernels.push_back({{"kernel", kernel.kernel},
                       {"registers", kernel.registers},
                       {"shared_bytes", kernel.shared},
                       {"spill_bytes", kernel.spill_stores + kernel.spill_loads}});
  }
  const nlohmann::ordered_json json = {{"schema", 1},
                                       {"ok", true},
                                       {"output", output.string()},
                                       {"bytes", result.cubin.size()},
                                       {"target", target.name()},
                                       {"cached", result.cached},
                                       {"kernels", std::move(kernels)},
                                       {"warnings", diagnostics_json(result.diagnostics, Severity::warning)}};
  fmt::print("{}\n", json.dump(1));
}

int run_compile(const Tool& tool, const CompileFlags& options) {
  if (options.json && options.output == "-") {
    throw Error(ErrorKind::usage, "bad-usage", "--json and -o - both write to stdout", "give a file with -o");
  }
  const std::filesystem::path output = output_of(options);
  refuse_cuda_source(options.file);
  const std::string ptx = read_file(options.file);
  const auto specs = tool.specs();
  const Target target = specs->target(options.target.empty() ? target_of(ptx, options.file) : options.target);
  const Linker linker(Libraries(), Cache::from_environment(tool.log()));
  const LinkResult result = linker.link(ptx, {.target = std::string(target.name())});
  print_warnings(result.diagnostics, tool.verbose);
  if (output == "-") {
    std::fwrite(result.cubin.data(), 1, result.cubin.size(), stdout);
    return 0;
  }
  write_file(output, result.cubin);
  (options.json ? print_compiled_json : print_compiled)(output, target, result);
  return 0;
}

}  // namespace

void add_compile(Tool& tool) {
  tool.command<CompileFlags>(
      "compile", "link PTX to a cubin with nvJitLink; needs no GPU",
      [](CLI::App& command, CompileFlags& options) {
        command.add_option("file", options.file, "a PTX file")->required()->type_name("FILE.ptx");
        command.add_option("--target", options.target, "target to link for; default: the file's .target")
            ->type_name("T");
        command.add_option("-o,--output", options.output, "output file; default: FILE.cubin; - is stdout")
            ->type_name("FILE.cubin");
        command.add_flag("--json", options.json, "print JSON (docs/json/compile.json), with all warnings");
      },
      run_compile);
}

}  // namespace ptxloom::cli
