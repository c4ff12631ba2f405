// SPDX-License-Identifier: Apache-2.0
#include "sass/lint/lint.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sass/lint/hazards.hpp"
#include "sass/lint/lint_notes.hpp"

namespace ptxloom::sass {
namespace {

std::string_view code_of(Hazard::Kind kind) {
  switch (kind) {
    case Hazard::Kind::short_stall:
      return "short-stall";
    case Hazard::Kind::no_scoreboard:
      return "no-scoreboard";
    default:
      return "missing-wait";
  }
}

/// "scoreboard 2", "scoreboard 1 or 2"
std::string scoreboards(unsigned mask, std::string_view between) {
  std::string text;
  for (unsigned i = 0; mask >> i != 0; ++i)
    if ((mask >> i & 1U) != 0) text += fmt::format("{}{}", text.empty() ? "scoreboard " : between, i);
  return text;
}

std::string message_of(const Hazard& hazard, const ListedFunction& function) {
  const std::string reg = register_name(hazard.id);
  const ListedInstruction& producer = function.instructions[hazard.producer];
  const std::string other = fmt::format("`{}` at {:04x}", producer.text, producer.offset);
  switch (hazard.kind) {
    case Hazard::Kind::read_result:
      return fmt::format("it reads {} without waiting for {}, which {} sets until it is written", reg,
                         scoreboards(hazard.any_of, " or "), other);
    case Hazard::Kind::overwrite_result:
      return fmt::format("it writes {} without waiting for {}, which {} sets until it has written it", reg,
                         scoreboards(hazard.any_of, " or "), other);
    case Hazard::Kind::overwrite_operand:
      return fmt::format("it writes {} without waiting for {}, which {} sets until it has read it", reg,
                         scoreboards(hazard.any_of, " or "), other);
    case Hazard::Kind::short_stall:
      return fmt::format("it reads {} {} cycles after {}, whose result takes {}", reg, hazard.have, other,
                         hazard.need);
    case Hazard::Kind::no_scoreboard:
      return fmt::format("it uses {}, but no scoreboard tells when {} is done with it", reg, other);
  }
  return "";
}

LintFinding finding_of(const Hazard& hazard, const ListedFunction& function) {
  LintFinding finding{.code = code_of(hazard.kind),
                      .offset = function.instructions[hazard.step].offset,
                      .text = function.instructions[hazard.step].text,
                      .reg = register_name(hazard.id),
                      .producer = {},
                      .have = hazard.have,
                      .need = hazard.need,
                      .message = message_of(hazard, function)};
  if (hazard.producer != hazard.step) finding.producer = function.instructions[hazard.producer].offset;
  return finding;
}

/// One instruction may need the same wait for several registers: the first tells it.
void add_once(std::vector<LintFinding>& findings, LintFinding finding) {
  const bool known = std::ranges::any_of(findings, [&](const LintFinding& one) {
    return one.offset == finding.offset && one.code == finding.code && one.producer == finding.producer;
  });
  if (!known) findings.push_back(std::move(finding));
}

LintFinding idle_wait(const HazardStep& step, const ListedInstruction& one, unsigned mask) {
  const bool drain = step.text.opcode == "DEPBAR";
  return {.severity = LintSeverity::note,
          .code = drain ? "idle-depbar" : "idle-wait",
          .offset = one.offset,
          .text = one.text,
          .reg = {},
          .producer = {},
          .message = fmt::format("it waits for {}, which nothing can have set since it was last waited for",
                                 scoreboards(mask, " and "))};
}

LintFinding idle_reuse_finding(const IdleReuse& idle, const ListedFunction& function) {
  const ListedInstruction& next = function.instructions[idle.next];
  return {
      .severity = LintSeverity::note,
      .code = "idle-reuse",
      .offset = function.instructions[idle.step].offset,
      .text = function.instructions[idle.step].text,
      .reg = register_name(idle.kept),
      .producer = {},
      .message = fmt::format(
          "it keeps {} for operand slot {}, which is not read there again before `{}` at {:04x} writes it",
          register_name(idle.kept), idle.slot, next.text, next.offset)};
}

LintFinding long_stall_finding(const LongStall& found, const ListedFunction& function) {
  const ListedInstruction& one = function.instructions[found.step];
  return {.severity = LintSeverity::note,
          .code = "long-stall",
          .offset = one.offset,
          .text = one.text,
          .reg = {},
          .producer = {},
          .have = found.stall,
          .need = found.need,
          .message = fmt::format("it stalls the warp for {} cycles, of which {} would do for all that read "
                                 "results if no other count changes",
                                 found.stall, found.need)};
}

class Linter {
 public:
  Linter(int chip, bool notes) : chip_(chip), notes_(notes), latencies_(chip) {}

  LintedFunction lint(const ListedFunction& function) const {
    LintedFunction linted{.name = std::string(function.facts.name), .unknown_opcodes = {}, .findings = {}};
    const std::vector<HazardStep> steps = steps_of(function, operands_, chip_);
    linted.instructions = static_cast<int>(steps.size());
    for (const HazardStep& step : steps) {
      if (!step.uses.type.empty()) continue;
      ++linted.unknown;
      ++linted.unknown_opcodes[std::string(step.text.opcode)];
    }
    Readers readers;
    Watch watch{
        .hazard = [&](const Hazard& hazard) { add_once(linted.findings, finding_of(hazard, function)); },
        .idle_wait =
            [&](std::size_t step, unsigned mask) {
              if (notes_)
                add_once(linted.findings, idle_wait(steps[step], function.instructions[step], mask));
            },
        .distance = {},
        .unseen = {}};
    if (notes_) {
      watch.distance = [&](const Distance& one) { readers.add(one); };
      watch.unseen = [&](const Unseen& one) { readers.unseen.push_back(one); };
      watch.longer = kMostStall;
    }
    follow(steps, function.facts.kernel, latencies_, watch);
    if (notes_) add_notes(linted, function, steps, readers);
    std::ranges::stable_sort(linted.findings, {}, &LintFinding::offset);
    return linted;
  }

 private:
  void add_notes(LintedFunction& linted, const ListedFunction& function, const std::vector<HazardStep>& steps,
                 const Readers& readers) const {
    for (const IdleReuse& idle : idle_reuse(steps))
      linted.findings.push_back(idle_reuse_finding(idle, function));
    for (const LongStall& found : long_stalls(steps, readers, latencies_.longest()))
      linted.findings.push_back(long_stall_finding(found, function));
  }

  int chip_;
  bool notes_;
  const OperandTable& operands_ = OperandTable::compiled();
  LatencyTable latencies_;
};

}  // namespace

int Lint::count(LintSeverity severity) const {
  int count = 0;
  for (const LintedFunction& function : functions)
    count += static_cast<int>(std::ranges::count(function.findings, severity, &LintFinding::severity));
  return count;
}

Lint lint(const Listing& listing, int chip, bool notes) {
  Lint result{.file = listing.file,
              .target = listing.target,
              .nvdisasm = listing.nvdisasm,
              .relocatable = listing.relocatable,
              .functions = {}};
  const Linter linter(chip, notes);
  for (const ListedFunction& function : listing.functions) result.functions.push_back(linter.lint(function));
  return result;
}

}  // namespace ptxloom::sass
