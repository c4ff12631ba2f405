// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/conform.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/interrupt.hpp"
#include "cli/table.hpp"

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

/// What became of the variants of one form.
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

void print_findings(const std::vector<ConformResult>& results, bool all) {
  for (const ConformResult& result : results) {
    const bool finding = result.state == State::differs || result.state == State::failed;
    if (finding || all) fmt::print("{} {}: {}\n", word(result.state), result.opcode, result.note);
  }
}

nlohmann::json to_json(const std::vector<ConformResult>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const ConformResult& result : results) {
    list.push_back({{"form", result.form},
                    {"opcode", result.opcode},
                    {"state", word(result.state)},
                    {"operand_sets", result.operand_sets},
                    {"elements", result.elements},
                    {"differing", result.differing},
                    {"note", result.note}});
  }
  return {{"schema", 1}, {"variants", std::move(list)}};
}

int run_conform(const Tool& tool, const ConformFlags& options) {
  const Context context({.device = options.device, .specs = tool.spec_folders, .log = tool_log()});
  ConformOptions wanted{.selection = options.selection, .elements = options.count, .seed = options.seed};
  wanted.stop = &catch_interrupt();
  const std::vector<ConformResult> results = conform(context, wanted);
  if (options.json) {
    fmt::print("{}\n", to_json(results).dump(2));
  } else {
    print_table(results);
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
  command.add_option("selection", options.selection, "an opcode, family or form; all if left out");
  command.add_option("--device", options.device, "gpu, gpu:1, or cpu: the executor with itself");
  command.add_option("--count", options.count, "elements to compare for each variant, at least")
      ->type_name("N")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32));
  command.add_option("--seed", options.seed, "of the operands")->type_name("N");
  command.add_flag("--all", options.all, "a line for each variant, also where nothing differs");
  command.add_flag("--json", options.json, "docs/json/conform.json");
}

}  // namespace

void add_conform(Tool& tool) {
  tool.command<ConformFlags>("conform", "compare what the GPU computes with the executor, bit by bit",
                             declare, run_conform);
}

}  // namespace ptxloom::cli
