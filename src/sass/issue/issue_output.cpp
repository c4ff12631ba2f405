// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sass/issue/issue_model.hpp"

namespace ptxloom::sass {
namespace {

using Json = nlohmann::ordered_json;

std::string counted(int count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string mix_text(const std::vector<MixEntry>& mix) {
  std::string text;
  for (const MixEntry& one : mix)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", one.name, one.count);
  return text;
}

std::string occupancy_text(const Occupancy& one) {
  if (one.blocks == 0)
    return fmt::format("  a thread block of {} does not fit on an SM: {}\n", counted(one.block_warps, "warp"),
                       one.limit);
  return fmt::format("  {} of {} warps on an SM ({}: {} of {})\n", one.warps, one.most_warps,
                     one.limit == "given" ? "as given" : fmt::format("limit: {}", one.limit),
                     counted(one.blocks, "thread block"), counted(one.block_warps, "warp"));
}

std::string stalls_text(const SimResult& sim) {
  std::string text = fmt::format("issued {:.0f}", sim.issued);
  for (std::size_t i = 0; i < kStallReasons; ++i)
    if (sim.stalls[i] >= 0.5)
      text += fmt::format(", {} {:.0f}", name_of(static_cast<StallReason>(i)), sim.stalls[i]);
  return text;
}

std::string tensor_text(const LoopModel& loop) {
  if (loop.tensor_busy == 0) return "";
  std::string beside;
  for (const Bound& one : loop.bounds)
    if (one.name != "tensor" && one.name != "latency")
      beside += fmt::format("{}{} {:.0f} %", beside.empty() ? "" : ", ", one.name, 100 * one.busy);
  return fmt::format("    tensor cores are busy {:.0f} % of the time; beside them: {}\n",
                     100 * loop.tensor_busy, beside);
}

std::string copies_text(const LoopModel& loop) {
  std::string text;
  if (loop.copied_bytes > 0)
    text += fmt::format("    bulk copies: {:.0f} bytes of a thread block an iteration\n", loop.copied_bytes);
  if (loop.unknown_copies > 0)
    text += fmt::format("    bulk copies of a size that the code does not tell are not counted: {}\n",
                        loop.unknown_copies);
  return text;
}

/// The instructions of a loop.
std::string code_text(const LoopModel& loop) {
  std::string text = fmt::format("  loop {:04x} to {:04x}: {} ({})\n", loop.first, loop.last,
                                 counted(loop.instructions, "instruction"), mix_text(loop.mix));
  if (loop.other > 0)
    text += fmt::format("    {} {} on other paths\n", counted(loop.other, "instruction"),
                        loop.other == 1 ? "is" : "are");
  if (!loop.inner) text += "    it holds another loop, of which one iteration is counted\n";
  if (loop.unknown > 0)
    text += fmt::format("    {} that specs/sass/issue.json does not have, or only the class of\n",
                        counted(loop.unknown, "instruction"));
  return text;
}

std::string loop_text(const LoopModel& loop, const Occupancy& occupancy) {
  std::string text = code_text(loop);
  if (occupancy.blocks == 0) return text + "    no prediction: a thread block does not fit on an SM\n";
  if (loop.cycles == 0)
    return text + "    no prediction: its warps wait for something that is not in the loop\n";
  text += fmt::format("    predicted {:.1f} cycles an iteration of {}; limit: {}\n", loop.cycles,
                      loop.warps == 1 ? "its warp" : fmt::format("all {} warps", loop.warps), loop.bound);
  for (const Bound& one : loop.bounds) {
    text += fmt::format("      {:10} {:8.1f} cycles, {:3.0f} %   {}{}\n", one.name, one.cycles,
                        100 * one.busy, one.what, one.assumed ? " (assumed)" : "");
  }
  text += fmt::format("    a warp by itself {:.1f} cycles, of which dependences between iterations {:.1f}\n",
                      loop.alone, loop.path);
  text += fmt::format("    cycles of a warp: {}\n", stalls_text(loop.sim));
  if (loop.shared_bytes > 0)
    text += fmt::format("    shared memory: {:.0f} bytes of a warp an iteration\n", loop.shared_bytes);
  return text + copies_text(loop) + tensor_text(loop);
}

Json mix_json(const std::vector<MixEntry>& mix) {
  Json made = Json::array();
  for (const MixEntry& one : mix) made.push_back({{"unit", one.name}, {"count", one.count}});
  return made;
}

Json stalls_json(const SimResult& sim) {
  Json made = {{"issued", sim.issued}};
  for (std::size_t i = 0; i < kStallReasons; ++i) {
    std::string name(name_of(static_cast<StallReason>(i)));
    std::ranges::replace(name, ' ', '_');
    made[name] = sim.stalls[i];
  }
  return made;
}

Json loop_json(const LoopModel& loop) {
  Json bounds = Json::array(), chain = Json::array();
  for (const Bound& one : loop.bounds)
    bounds.push_back({{"name", one.name},
                      {"what", one.what},
                      {"warp_cycles", one.warp},
                      {"cycles", one.cycles},
                      {"busy", one.busy},
                      {"assumed", one.assumed}});
  for (const PathStep& one : loop.chain)
    chain.push_back({{"offset", one.offset}, {"text", one.text}, {"cycles", one.cycles}});
  return {{"first", loop.first},
          {"last", loop.last},
          {"depth", loop.depth},
          {"inner", loop.inner},
          {"instructions", loop.instructions},
          {"warps", loop.warps},
          {"other", loop.other},
          {"unknown", loop.unknown},
          {"mix", mix_json(loop.mix)},
          {"cycles", loop.cycles > 0 ? Json(loop.cycles) : Json()},
          {"bound", loop.bound},
          {"bounds", std::move(bounds)},
          {"alone", loop.alone},
          {"path", loop.path},
          {"chain", std::move(chain)},
          {"operations", loop.operations},
          {"shared_bytes", loop.shared_bytes},
          {"copied_bytes", loop.copied_bytes},
          {"unknown_copies", loop.unknown_copies},
          {"tensor_busy", loop.tensor_busy},
          {"stalls", stalls_json(loop.sim)}};
}

Json function_json(const FunctionModel& function) {
  Json loops = Json::array();
  for (const LoopModel& loop : function.loops) loops.push_back(loop_json(loop));
  const Occupancy& occupancy = function.occupancy;
  return {{"name", function.name},
          {"kernel", function.facts.kernel},
          {"instructions", function.instructions},
          {"mix", mix_json(function.mix)},
          {"occupancy",
           {{"warps", occupancy.warps},
            {"most_warps", occupancy.most_warps},
            {"blocks", occupancy.blocks},
            {"block_warps", occupancy.block_warps},
            {"limit", occupancy.limit}}},
          {"loops", std::move(loops)},
          {"waiting", function.waiting}};
}

}  // namespace

std::string model_text(const IssueModel& model) {
  std::string text;
  for (const FunctionModel& function : model.functions) {
    text += summary(function.facts) + "\n" + occupancy_text(function.occupancy);
    text += fmt::format("  {} instructions: {}\n", function.instructions, mix_text(function.mix));
    if (function.loops.empty()) text += "  no loops: the model has nothing to predict\n";
    for (const LoopModel& loop : function.loops) text += loop_text(loop, function.occupancy);
    if (function.waiting > 0)
      text += function.waiting == 1
                  ? "  1 loop that only waits is left out\n"
                  : fmt::format("  {} loops that only wait are left out\n", function.waiting);
  }
  return text;
}

std::string model_json(const IssueModel& model) {
  Json functions = Json::array();
  for (const FunctionModel& function : model.functions) functions.push_back(function_json(function));
  const Json json = {{"schema", 1},
                     {"file", model.file},
                     {"target", model.target},
                     {"nvdisasm", model.nvdisasm},
                     {"assumed", model.assumed},
                     {"functions", std::move(functions)}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ptxloom::sass
