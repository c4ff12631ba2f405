// SPDX-License-Identifier: Apache-2.0
#include "cli/sass/kernel_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/common/table.hpp"
#include "insn/output.hpp"
#include "target/peak.hpp"

namespace ptxloom::cli {
namespace {

using Json = nlohmann::ordered_json;
using sass::FunctionModel;
using sass::IssueModel;
using sass::LoopModel;

Json events_json(const LoopModel& loop, const IssueModel& model) {
  Json events = Json::array();
  for (const sass::IssueEvent& one : loop.sim.events)
    events.push_back({{"op", one.op},
                      {"unit", model.units[one.unit].name},
                      {"warp", one.warp},
                      {"begin", one.begin},
                      {"end", one.end}});
  return events;
}

/// The instructions of a loop, beside what warps wait for.
Json code_json(const LoopModel& loop, const sass::ListedFunction& function, const sass::Listing& listing) {
  Json code = Json::array();
  for (std::size_t i = 0; i < loop.ops.size(); ++i) {
    const sass::ListedInstruction& one = function.instructions[loop.ops[i]];
    code.push_back({{"offset", one.offset},
                    {"control", to_string(one.control)},
                    {"text", one.text},
                    {"ptx", std::string(listing.ptx_line(one.ptx_line))},
                    {"waited", i < loop.sim.waits.size() ? loop.sim.waits[i] : 0}});
  }
  return code;
}

/// Operations a second of all SMs, if all their warps are in this loop.
Json rate_json(const LoopModel& loop, const ReportInput& input) {
  if (!input.gpu || loop.operations == 0 || loop.cycles == 0) return {};
  const double clock = 1e6 * (loop.tensor_busy > 0 ? input.gpu->mma_clock : input.gpu->clock);
  return loop.operations * loop.warps / loop.cycles * input.gpu->sms * clock;
}

Json hottest_json(const FunctionModel& function, std::size_t index, const ReportInput& input,
                  const IssueModel& model) {
  const LoopModel* const hottest = function.hottest();
  if (hottest == nullptr) return {};
  return {{"loop", hottest - function.loops.data()},
          {"operations_per_second", rate_json(*hottest, input)},
          {"code", code_json(*hottest, input.listing.functions[index], input.listing)},
          {"events", events_json(*hottest, model)},
          {"event_cycles", hottest->sim.event_cycles}};
}

Json resources_json(const sass::CubinFunction& facts, const ReportInput& input) {
  int dynamic = input.how.shared;
  for (const ModelLaunch& launch : input.work.launches)
    if (launch.entry == facts.name && dynamic == 0) dynamic = launch.shared;
  return {{"registers", facts.registers}, {"static_shared", facts.shared},
          {"dynamic_shared", dynamic},    {"local", std::max(facts.stack, facts.frame)},
          {"barriers", facts.barriers},   {"parameters", facts.parameter_bytes}};
}

Json gpu_json(const ReportInput& input) {
  if (!input.gpu) return {};
  return {{"name", input.gpu->name},
          {"sms", input.gpu->sms},
          {"clock_mhz", input.gpu->clock},
          {"mma_clock_mhz", input.gpu->mma_clock},
          {"memory_gb_per_second", input.gpu->memory}};
}

/// Null if it was not measured.
Json measured_json(const sass::CubinFunction& facts, const ReportInput& input) {
  const auto found = input.measured.find(std::string(facts.name));
  if (found == input.measured.end()) return {};
  return {{"launches", found->second.launches}, {"stalls", found->second.cycles}};
}

/// "scoreboard 40 %, stall count 21 %": of a warp's time, the largest first.
std::string shares_text(const Json& stalls) {
  std::vector<std::pair<double, std::string>> shares;
  double total = 0;
  for (const auto& [name, cycles] : stalls.items()) {
    shares.emplace_back(cycles.get<double>(), name);
    total += cycles.get<double>();
  }
  std::ranges::sort(shares, std::greater());
  std::string text;
  for (auto& [cycles, name] : shares) {
    if (cycles < 0.005 * total) continue;
    std::ranges::replace(name, '_', ' ');
    text += fmt::format("{}{} {:.0f} %", text.empty() ? "" : ", ", name, 100 * cycles / total);
  }
  return text;
}

/// The product m * n * k of the word m16n8k16 of an opcode; 0: it has none.
double shape_in(const std::string& opcode) {
  for (std::size_t at = opcode.find(".m"); at != std::string::npos; at = opcode.find(".m", at + 1)) {
    double product = 1;
    const char* next = opcode.data() + at + 1;
    const char* const end = opcode.data() + opcode.size();
    for (const char axis : {'m', 'n', 'k'}) {
      int extent = 0;
      if (next == end || *next != axis) break;
      const auto [stop, error] = std::from_chars(next + 1, end, extent);
      if (error != std::errc()) break;
      product *= extent;
      next = stop;
      if (axis == 'k') return product;
    }
  }
  return 0;
}

/// What records of bench insn measured of matrix products: operations a second, the fastest of each type.
void add_measured(const ReportInput& input, Json& ceilings) {
  if (input.records.empty() || !input.gpu) return;
  for (const std::string& line : insn::read_records(input.records, "")) {
    const Json record = Json::parse(line);
    const double product = shape_in(record.value("opcode", ""));
    if (product == 0 || !record.contains("throughput")) continue;
    double best = 0;
    for (const Json& one : record["throughput"]) best = std::max(best, one.value("per_cycle", 0.0));
    const double clock = record.value("clock_mhz", static_cast<double>(input.gpu->mma_clock));
    ceilings.push_back({{"name", record.value("opcode", "")},
                        {"unit", ""},
                        {"measured", true},
                        {"per_second", 2 * product * best * input.gpu->sms * clock * 1e6}});
  }
}

Json roofline_json(const ReportInput& input) {
  Json ceilings = Json::array();
  if (input.gpu) {
    for (const target::Peak& peak : target::peaks_of(*input.gpu)) {
      const bool cores = peak.sums.empty();
      ceilings.push_back(
          {{"name", cores ? fmt::format("{} of CUDA cores", peak.type)
                          : fmt::format("{} of tensor cores, {} accumulation", peak.type, peak.sums)},
           {"unit", peak.unit},
           {"measured", false},
           {"per_second", peak.dense}});
    }
  }
  add_measured(input, ceilings);
  const ReportWork& work = input.work;
  return {{"operations", work.operations > 0 ? Json(work.operations) : Json()},
          {"bytes", work.bytes > 0 ? Json(work.bytes) : Json()},
          {"unit", work.unit},
          {"memory_per_second", input.gpu ? Json(1e9 * input.gpu->memory) : Json()},
          {"ceilings", std::move(ceilings)}};
}

/// "b8" and "b4" may be integers.
std::string tera_of(const Json& value, const std::string& unit) {
  if (value.is_null()) return "not known";
  const bool floats = unit.starts_with('f') || unit.starts_with("tf");
  return fmt::format("{:.1f} {}", value.get<double>() / 1e12, floats ? "TFLOP/s" : "Tops/s");
}

std::string occupancy_text(const Json& function) {
  const Json& occupancy = function.at("occupancy");
  if (occupancy.is_null()) return "a function that kernels call";
  const std::string limit = occupancy.at("limit").get<std::string>();
  if (occupancy.at("blocks") == 0) return "a thread block does not fit on an SM: " + limit;
  return fmt::format("{} of {} warps on an SM, limit: {}", occupancy.at("warps").get<int>(),
                     occupancy.at("most_warps").get<int>(), limit);
}

std::string hottest_text(const Json& function, const std::string& unit) {
  const Json& hottest = function.at("hottest");
  if (hottest.is_null()) return "  no loops: there is nothing to predict\n";
  const Json& loop = function.at("loops").at(hottest.at("loop").get<std::size_t>());
  if (const Json& occupancy = function.at("occupancy"); !occupancy.is_null() && occupancy.at("blocks") == 0)
    return "  no prediction: a thread block does not fit on an SM\n";
  if (loop.at("cycles").is_null())
    return "  no prediction: warps wait for something that is not in the loop\n";
  std::string text = fmt::format("  hottest loop at {:04x}: {:.1f} cycles an iteration, limit: {}\n",
                                 loop.at("first").get<int>(), loop.at("cycles").get<double>(),
                                 loop.at("bound").get<std::string>());
  text += fmt::format("  operations, if all warps are in this loop: {}\n",
                      tera_of(hottest.at("operations_per_second"), unit));
  std::vector<std::vector<std::string>> rows = {{"    limit", "cycles", "busy"}};
  for (const Json& bound : loop.at("bounds"))
    rows.push_back({"    " + bound.at("name").get<std::string>(),
                    fmt::format("{:.1f}", bound.at("cycles").get<double>()),
                    fmt::format("{:.0f} %", 100 * bound.at("busy").get<double>())});
  return text + format_table(rows) +
         fmt::format("  a warp's time in it, predicted: {}\n", shares_text(loop.at("stalls")));
}

}  // namespace

Json kernel_report(const ReportInput& input) {
  const IssueModel model = model_of(input.listing, input.chip, input.how, input.work.launches);
  Json report = Json::parse(sass::model_json(model));
  Json& functions = report["functions"];
  for (std::size_t i = 0; i < functions.size(); ++i) {
    functions[i]["resources"] = resources_json(model.functions[i].facts, input);
    functions[i]["measured"] = measured_json(model.functions[i].facts, input);
    functions[i]["hottest"] = hottest_json(model.functions[i], i, input, model);
    if (!model.functions[i].facts.kernel) functions[i]["occupancy"] = nullptr;
  }
  std::ranges::stable_partition(functions.get_ref<Json::array_t&>(),
                                [](const Json& one) { return one.at("kernel").get<bool>(); });
  Json units = Json::array();
  for (const sass::IssueUnit& unit : model.units)
    units.push_back({{"name", unit.name}, {"what", unit.what}, {"of_sm", unit.of_sm}});
  report["title"] = input.work.title;
  report["problem"] = input.work.problem;
  report["config"] = input.work.config;
  report["gpu"] = gpu_json(input);
  report["unmeasured"] = input.unmeasured;
  report["roofline"] = roofline_json(input);
  report["units"] = std::move(units);
  return report;
}

std::string kernel_report_text(const Json& report) {
  std::string text =
      report.at("title").get<std::string>() + " for " + report.at("target").get<std::string>() + "\n";
  const Json& roofline = report.at("roofline");
  if (!roofline.at("bytes").is_null() && !roofline.at("operations").is_null())
    text += fmt::format("{:.3g} operations, {:.3g} bytes of tensors: {:.1f} operations a byte\n",
                        roofline.at("operations").get<double>(), roofline.at("bytes").get<double>(),
                        roofline.at("operations").get<double>() / roofline.at("bytes").get<double>());
  for (const Json& function : report.at("functions")) {
    const Json& resources = function.at("resources");
    text += fmt::format("{}: {} registers, {} bytes of shared memory; {}\n",
                        function.at("name").get<std::string>(), resources.at("registers").get<int>(),
                        resources.at("static_shared").get<int>() + resources.at("dynamic_shared").get<int>(),
                        occupancy_text(function));
    text += hottest_text(function, roofline.at("unit").get<std::string>());
    if (const Json& measured = function.at("measured"); !measured.is_null())
      text +=
          fmt::format("  a warp's time in all, measured by ncu: {}\n", shares_text(measured.at("stalls")));
  }
  return text;
}

}  // namespace ptxloom::cli
