// SPDX-License-Identifier: Apache-2.0
#include "cli/measure/bench_insn.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>

#include "cli/common/interrupt.hpp"
#include "cli/common/say.hpp"
#include "cli/common/table.hpp"
#include "insn/build.hpp"
#include "insn/compare.hpp"
#include "insn/output.hpp"
#include "insn/probe.hpp"
#include "insn/run.hpp"
#include "ptxloom/context.hpp"

namespace ptxloom::cli {
namespace {

void dry_run_probes(const std::vector<insn::Probe>& probes, const Linker& linker, const Target& target) {
  for (const insn::Probe& probe : probes) {
    std::string found = "links";
    try {
      linker.link(insn::probe_text(probe, target), {.target = std::string(target.name())});
    } catch (const Error& error) {
      if (error.code() == "no-nvjitlink") throw;
      found = "refused: " + error.diagnostics().front().message;
    }
    fmt::print("{}: {}\n", probe.label(), found);
  }
}

int dry_run(const Tool& tool, const InsnFlags& options) {
  if (options.format != "text")
    throw Error(ErrorKind::usage, "bad-option",
                "bench insn --dry-run has no records to print as " + options.format,
                "leave --format and --json out");
  const auto specs = tool.specs();
  const Target target = specs->target(options.target);
  const Linker linker(Libraries(), Cache::from_environment(tool.log()));
  const std::vector<insn::Probe> probes = insn::probes(options.selection == "probe" ? "" : options.selection);
  dry_run_probes(probes, linker, target);
  if (!probes.empty() && !options.selection.empty()) return 0;
  const std::vector<insn::Row> rows = insn::rows(*specs, target, options.selection);
  std::vector<std::vector<std::string>> cells = {
      {"instruction", "from", "SASS in the loop", "of each", "instructions", "between"}};
  for (const insn::Row& row : rows) {
    if (!row.why_not.empty()) {
      cells.push_back({std::string(row.variant.opcode()), "", "not measured: " + row.why_not});
      continue;
    }
    const insn::BuiltRow built = insn::build(row, linker, target);
    if (!built.failure.empty())
      cells.push_back({std::string(row.variant.opcode()), "", "refused: " + built.failure});
    if (!built.failure.empty()) continue;
    for (const insn::BuiltPair& pair : built.pairs) {
      cells.push_back(
          {std::string(row.variant.opcode()), (pair.throughput ? "throughput " : "") + pair.shape.chain.name,
           std::string(insn::to_string(pair.proof.state)) + (pair.shape.guarded ? " guarded" : ""),
           fmt::format("{:.3g}", pair.proof.length()), pair.proof.opcodes(), pair.proof.bridge()});
    }
  }
  fmt::print("{}", format_table(cells));
  return 0;
}

Context context_of(const Tool& tool, const InsnFlags& options) {
  try {
    return Context({.device = options.device, .specs = tool.spec_folders, .log = tool.log()});
  } catch (const Error& error) {
    const Diagnostic& found = error.diagnostics().front();
    if (error.kind() != ErrorKind::missing) throw;
    throw Error(error.kind(), found.code, "bench insn measures a GPU: " + found.message,
                "run it on a machine with a GPU and its driver (a container needs --gpus all; ptxloom doctor "
                "shows what is found); with --dry-run the kernels are linked and shown without one");
  }
}

/// insn/NVIDIA_H200.jsonl beside the tuning records.
std::filesystem::path records_file(const Context& context, const InsnFlags& options) {
  if (!options.records.empty()) return options.records;
  std::string name = context.device().name;
  std::ranges::replace_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return context.records().folder() / "insn" / (name + ".jsonl");
}

void print_records(std::span<const std::string> records, const std::string& format) {
  if (format == "json") {
    fmt::print("{}", insn::json_of(records));
  } else if (format == "html") {
    fmt::print("{}", insn::html_of(records));
  } else {
    fmt::print("{}", format_table(insn::table_of(records)));
  }
}

/// The records that --against names; none without it.
std::vector<std::string> earlier_records(const InsnFlags& options) {
  if (options.against.empty()) return {};
  std::vector<std::string> records = insn::read_records(options.against, options.selection);
  insn::require_one_origin(records);
  return records;
}

/// Prints how well the records repeat earlier ones. The exit code: 1 if no figure is in both.
int compare(std::span<const std::string> records, std::span<const std::string> earlier) {
  insn::require_one_origin(records);
  const auto figures = insn::repeated(records, earlier);
  fmt::print("{}", insn::comparison_text(figures));
  if (figures.empty()) say("no figure is in the records of both\n");
  return figures.empty() ? 1 : 0;
}

int measure(const Tool& tool, const InsnFlags& options) {
  const std::vector<std::string> earlier = earlier_records(options);
  const Context context = context_of(tool, options);
  insn::RunOptions wanted{.selection = options.selection, .records = records_file(context, options)};
  wanted.again = options.again;
  wanted.stop = &catch_interrupt();
  const bool terminal = isatty(STDERR_FILENO) != 0;
  if (terminal) {
    wanted.progress = [](std::size_t done, std::size_t total, std::string_view opcode) {
      const std::size_t width = 30, full = total == 0 ? width : done * width / total;
      say("\r\033[K[{}{}] {}/{} {}", std::string(full, '#'), std::string(width - full, ' '), done, total,
          opcode.substr(0, 50));
    };
  }
  const insn::RunResult result = insn::run(context, wanted);
  if (terminal) say("\r\033[K");
  int code = 0;
  if (options.against.empty())
    print_records(result.records, options.format);
  else
    code = compare(result.records, earlier);
  say("{}", insn::spread_text(result.records));
  say("{} rows measured, {} were recorded before, in {}\n", result.measured, result.known,
      wanted.records.string());
  if (result.skipped_lines > 0)
    say("{} lines of it cannot be read and were passed over\n", result.skipped_lines);
  return wanted.stop->load() ? kInterrupted : code;
}

}  // namespace

int run_bench_insn(const Tool& tool, const InsnFlags& options) {
  if (!options.against.empty() && options.format != "text")
    throw Error(ErrorKind::usage, "bad-option", "bench insn --against prints text, not " + options.format,
                "leave --format and --json out; the records themselves are JSON");
  if (!options.against.empty() && options.dry_run)
    throw Error(ErrorKind::usage, "bad-option", "bench insn --dry-run has no figures to compare",
                "leave --against out");
  if (!options.from.empty()) {
    const std::vector<std::string> records = insn::read_records(options.from, options.selection);
    if (!options.against.empty()) return compare(records, earlier_records(options));
    print_records(records, options.format);
    return 0;
  }
  if (options.selection.empty() && !options.all)
    throw Error(ErrorKind::usage, "no-selection", "bench insn measures what is named",
                "name a form, a family or an opcode (ptxloom list shows them), or give --all");
  return options.dry_run ? dry_run(tool, options) : measure(tool, options);
}

}  // namespace ptxloom::cli
