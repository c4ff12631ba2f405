// SPDX-License-Identifier: Apache-2.0
#include "cli/run/run_output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "cli/common/diagnostics_json.hpp"
#include "cli/common/say.hpp"
#include "cli/common/table.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;

Json memory_json(std::uint64_t requests, const char* unit, std::uint64_t units, std::uint64_t needed) {
  return {{"requests", requests}, {unit, units}, {"needed", needed}};
}

Json stats_json(const exec::Stats& stats) {
  Json json = {{"executed", Json::object()}, {"instructions", Json::array()}};
  for (const auto& [opcode, count] : stats.executed) json["executed"][opcode] = count;
  for (const exec::InstructionStats& each : stats.instructions) {
    Json row = {{"text", each.text}, {"line", each.line}, {"executed", each.executed}, {"lanes", each.lanes}};
    if (each.shared_requests != 0)
      row["shared"] = memory_json(each.shared_requests, "passes", each.shared_passes, each.shared_needed);
    if (each.global_requests != 0)
      row["global"] = memory_json(each.global_requests, "sectors", each.global_sectors, each.global_needed);
    json["instructions"].push_back(std::move(row));
  }
  return json;
}

std::string ratio(std::uint64_t units, std::uint64_t requests) {
  return fmt::format("{:.2f}", static_cast<double>(units) / static_cast<double>(requests));
}

void print_mix(const exec::Stats& stats) {
  std::vector<std::pair<std::string, std::uint64_t>> counts(stats.executed.begin(), stats.executed.end());
  std::ranges::stable_sort(counts, std::greater<>(), [](const auto& count) { return count.second; });
  std::vector<std::vector<std::string>> rows;
  for (const auto& [opcode, count] : counts) rows.push_back({fmt::format("{:>12}", count), opcode});
  fmt::print("instructions executed, by warp:\n{}", format_table(rows));
}

// One row per instruction that accesses memory, by cost per request.
void print_traffic(const exec::Stats& stats) {
  std::vector<std::vector<std::string>> shared{
      {"requests", "passes each", "at least", "line", "instruction"}};
  std::vector<std::vector<std::string>> global{
      {"requests", "sectors each", "at least", "line", "instruction"}};
  for (const exec::InstructionStats& each : stats.instructions) {
    const auto add = [&](auto& rows, std::uint64_t requests, std::uint64_t units, std::uint64_t needed) {
      if (requests == 0) return;
      rows.push_back({fmt::format("{}", requests), ratio(units, requests), ratio(needed, requests),
                      fmt::format("{}", each.line), each.text});
    };
    add(shared, each.shared_requests, each.shared_passes, each.shared_needed);
    add(global, each.global_requests, each.global_sectors, each.global_needed);
  }
  if (shared.size() > 1) fmt::print("shared memory, passes over the banks:\n{}", format_table(shared));
  if (global.size() > 1) fmt::print("global memory, sectors of 32 bytes:\n{}", format_table(global));
}

bool is_uniform(const exec::Change& change, std::uint32_t lanes) {
  const std::uint64_t first = change.values[static_cast<std::size_t>(std::countr_zero(lanes))];
  for (; lanes != 0; lanes &= lanes - 1) {
    if (change.values[static_cast<std::size_t>(std::countr_zero(lanes))] != first) return false;
  }
  return true;
}

// "%r1=0x5" if all lanes that changed have the same value, else "%r1={0:0x5 3:0x7}".
std::string describe(const exec::Change& change) {
  if (is_uniform(change, change.lanes)) {
    const auto lane = static_cast<std::size_t>(std::countr_zero(change.lanes));
    return fmt::format("{}={:#x}", change.name, change.values[lane]);
  }
  std::string text = change.name + "={";
  for (std::uint32_t rest = change.lanes; rest != 0; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    text += fmt::format("{}{}:{:#x}", rest == change.lanes ? "" : " ", lane,
                        change.values[static_cast<std::size_t>(lane)]);
  }
  return text + "}";
}

void print_text(const exec::Step& step, const std::string& text) {
  const auto& [x, y, z] = step.block;
  std::string changes;
  for (const exec::Change& change : step.changes)
    changes += fmt::format("{}{}", changes.empty() ? "  // " : " ", describe(change));
  say("block {},{},{} warp {} lanes {:08x}  {}{}\n", x, y, z, step.warp, step.lanes, text, changes);
}

// Values by lane; null for lanes that did not change.
void print_json(const exec::Step& step, const std::string& text) {
  Json changes = Json::array();
  for (const exec::Change& change : step.changes) {
    Json values = Json::array();
    for (std::size_t lane = 0; lane < change.values.size(); ++lane)
      values.push_back((change.lanes >> lane & 1) != 0 ? Json(change.values[lane]) : Json());
    changes.push_back({{"register", change.name}, {"bits", change.bits}, {"values", std::move(values)}});
  }
  const Json json = {{"schema", 1},
                     {"block", step.block},
                     {"warp", step.warp},
                     {"lanes", step.lanes},
                     {"instruction", text},
                     {"line", step.instruction.line},
                     {"changes", std::move(changes)}};
  say("{}\n", json.dump());
}

/// "2-3@5,0,2"
struct Warps {
  std::uint32_t first = 0, last = 0;
  std::vector<std::uint32_t> block;  // the given components of its index; empty: any
};

[[noreturn]] void bad_warps(const std::string& text) {
  throw Error(ErrorKind::usage, "bad-warps", fmt::format("--trace={}: this does not name warps", text),
              "give numbers and ranges, such as 0,2-3; append @x,y,z for one thread block: 0@1,2,0");
}

// Parses a number at the front.
std::uint32_t number(std::string_view& rest, const std::string& text) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  if (error != std::errc()) bad_warps(text);
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return value;
}

bool take(std::string_view& rest, char c) {
  if (!rest.starts_with(c)) return false;
  rest.remove_prefix(1);
  return true;
}

bool has(const Warps& warps, const std::array<std::uint32_t, 3>& block, std::uint32_t warp) {
  return warp >= warps.first && warp <= warps.last &&
         std::equal(warps.block.begin(), warps.block.end(), block.begin());
}

}  // namespace

decltype(exec::Launch::traced) parse_warps(const std::string& text) {
  std::vector<Warps> all;
  std::string_view rest = text;
  do {
    Warps warps;
    warps.first = warps.last = number(rest, text);
    if (take(rest, '-')) warps.last = number(rest, text);
    if (warps.last < warps.first) bad_warps(text);
    if (take(rest, '@')) {
      do warps.block.push_back(number(rest, text));
      while (warps.block.size() < 3 && take(rest, ','));
    }
    all.push_back(std::move(warps));
  } while (take(rest, ','));
  if (!rest.empty()) bad_warps(text);
  return [all = std::move(all)](const std::array<std::uint32_t, 3>& block, std::uint32_t warp) {
    return std::ranges::any_of(all, [&](const Warps& warps) { return has(warps, block, warp); });
  };
}

exec::Trace trace_to_stderr(bool json) {
  // An instruction's text is made once, because a loop executes it often.
  return [json,
          texts = std::unordered_map<const ir::Instruction*, std::string>()](const exec::Step& step) mutable {
    std::string& text = texts[&step.instruction];
    if (text.empty()) text = print(step.kernel, step.instruction);
    json ? print_json(step, text) : print_text(step, text);
  };
}

void print_to_stderr(const exec::Printed& printed) { write_to_stderr(printed.text); }

void print_report(const Context& context, const RunFlags& flags, const RunReport& report,
                  const exec::Stats& stats) {
  if (flags.findings != nullptr) return;
  if (flags.stats && context.is_gpu())
    say("--stats: only the executor counts instructions: use --device cpu\n");
  const bool counted = flags.stats && !context.is_gpu();
  if (flags.json) {
    Json json = {{"schema", 1}, {"ok", report.ok}, {"run_ms", report.run_ms}, {"report", Json::object()}};
    if (const auto& first = report.first_launch)
      json["first_launch_ms"] = {
          {"device", first->device}, {"context", first->context}, {"kernel", first->kernel}};
    for (const auto& [word, value] : report.rows) json["report"][word] = value;
    json["warnings"] = diagnostics_json(report.warnings, Severity::warning);
    if (counted) json["stats"] = stats_json(stats);
    fmt::print("{}\n", json.dump(1));
    return;
  }
  std::vector<std::vector<std::string>> rows;
  for (const auto& [word, value] : report.rows) rows.push_back({word, value});
  fmt::print("{}", format_table(rows));
  if (!counted) return;
  print_mix(stats);
  print_traffic(stats);
}

}  // namespace ptxloom::cli
