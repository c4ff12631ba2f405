// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/conform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/common/interrupt.hpp"
#include "cli/common/number.hpp"
#include "cli/common/table.hpp"

namespace ptxloom::cli {
namespace {

using State = ConformResult::State;

struct ConformFlags {
  std::string selection;
  std::string device = "gpu";
  std::uint64_t count = 10000;
  std::uint64_t seed = 1;
  bool all = false;
  bool json = false;
};

constexpr std::string_view word(State state) {
  constexpr std::array kWords = {"agrees", "differs", "failed", "skipped"};
  return kWords[static_cast<std::size_t>(state)];
}

/// The results for the variants of one form.
struct Row {
  std::array<std::size_t, 4> states{};
  std::uint64_t elements = 0, differing = 0;
};

void print_table(const std::vector<ConformResult>& results) {
  std::map<std::string_view, Row> rows;
  for (const ConformResult& result : results) {
    Row& row = rows[result.form];
    ++row.states[static_cast<std::size_t>(result.state)];
    row.elements += result.elements;
    row.differing += result.differing;
  }
  std::vector<std::vector<std::string>> cells = {
      {"form", "agree", "differ", "failed", "skipped", "elements", "differing"}};
  for (const auto& [form, row] : rows) {
    std::vector<std::string>& line = cells.emplace_back();
    line.emplace_back(form);
    for (const std::size_t count : row.states) line.push_back(std::to_string(count));
    line.push_back(std::to_string(row.elements));
    line.push_back(std::to_string(row.differing));
  }
  fmt::print("{}", format_table(cells));
}

// The same by operand profile.
void print_profiles(const std::vector<ConformResult>& results) {
  std::vector<ConformResult::OfProfile> sums;
  for (const ConformResult& result : results) {
    for (const ConformResult::OfProfile& profile : result.profiles) {
      auto sum = std::ranges::find(sums, profile.profile, &ConformResult::OfProfile::profile);
      if (sum == sums.end()) sum = sums.insert(sums.end(), {.profile = profile.profile});
      sum->elements += profile.elements;
      sum->differing += profile.differing;
    }
  }
  if (sums.empty()) return;
  std::vector<std::vector<std::string>> cells = {{"operands", "elements", "differing"}};
  for (const ConformResult::OfProfile& sum : sums)
    cells.push_back({sum.profile, std::to_string(sum.elements), std::to_string(sum.differing)});
  fmt::print("\n{}", format_table(cells));
}

void print_findings(const std::vector<ConformResult>& results, bool all) {
  for (const ConformResult& result : results) {
    const bool finding = result.state == State::differs || result.state == State::failed;
    if (finding || all) fmt::print("{} {}: {}\n", word(result.state), result.opcode, result.note);
  }
}

std::string device_text(const Context& context) {
  const std::string target(context.target().name());
  return fmt::format("{} ({})", context.is_gpu() ? context.device().name : "executor", target);
}

nlohmann::json to_json(const Context& context, std::uint64_t seed,
                       const std::vector<ConformResult>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const ConformResult& result : results) {
    nlohmann::json profiles = nlohmann::json::array();
    for (const ConformResult::OfProfile& profile : result.profiles)
      profiles.push_back(
          {{"profile", profile.profile}, {"elements", profile.elements}, {"differing", profile.differing}});
    list.push_back({{"form", result.form},
                    {"opcode", result.opcode},
                    {"state", word(result.state)},
                    {"operand_sets", result.operand_sets},
                    {"elements", result.elements},
                    {"differing", result.differing},
                    {"note", result.note},
                    {"profiles", std::move(profiles)}});
  }
  return {{"schema", 1},
          {"device", device_text(context)},
          {"against", context.is_gpu() ? "executor" : "itself"},
          {"seed", seed},
          {"variants", std::move(list)}};
}

// Without a GPU nothing can be compared; the executor alone shows less.
Context context_of(const Tool& tool, const ConformFlags& options) {
  try {
    return Context({.device = options.device, .specs = tool.spec_folders, .log = tool.log()});
  } catch (const Error& error) {
    const Diagnostic& found = error.diagnostics().front();
    if (error.kind() != ErrorKind::missing) throw;
    throw Error(
        error.kind(), found.code, "conform compares a GPU with the executor: " + found.message,
        "run it on a machine with a GPU and its driver (a container needs --gpus all); with --device cpu the "
        "executor is compared with itself, which shows that every kernel runs, but not that a GPU agrees");
  }
}

int run_conform(const Tool& tool, const ConformFlags& options) {
  const Context context = context_of(tool, options);
  ConformOptions wanted{.selection = options.selection, .elements = options.count, .seed = options.seed};
  wanted.stop = &catch_interrupt();
  const std::vector<ConformResult> results = conform(context, wanted);
  if (options.json) {
    fmt::print("{}\n", to_json(context, options.seed, results).dump(2));
  } else {
    if (!context.is_gpu())
      fmt::print(
          "The executor compared with itself: a kernel that agrees runs, but a GPU may still disagree.\n\n");
    print_table(results);
    print_profiles(results);
    print_findings(results, options.all);
  }
  if (wanted.stop->load()) return 130;
  return std::ranges::any_of(results,
                             [](const ConformResult& result) {
                               return result.state == State::differs || result.state == State::failed;
                             })
             ? 1
             : 0;
}

void declare(CLI::App& command, ConformFlags& options) {
  command.add_option("selection", options.selection, "an opcode, family or form; default: all");
  command.add_option("--device", options.device, "gpu, gpu:N, or cpu to compare the executor with itself");
  add_number(command, "--count", options.count, 1, std::uint64_t{1} << 32,
             "compare at least this many elements of each variant");
  add_number(command, "--seed", options.seed, 0, UINT64_MAX, "seed of the operands");
  command.add_flag("--all", options.all, "print a line for each variant, even where nothing differs");
  command.add_flag("--json", options.json, "print JSON (docs/json/conform.json)");
}

}  // namespace

void add_conform(Tool& tool) {
  tool.command<ConformFlags>("conform",
                             "compare the results of the GPU with those of the executor, bit by bit", declare,
                             run_conform);
}

}  // namespace ptxloom::cli
