// SPDX-License-Identifier: Apache-2.0
// The choice without measurements: an estimate of the time that a configuration takes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "dequantize/config.hpp"
#include "ptxloom/pruned_search.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

// As in quantize: clocks on an assumed number of SMs, not fitted to measurements yet.
constexpr double kSms = 128;
constexpr double kBytesPerClock = 16, kLanesPerClock = 128;  // of an SM
constexpr double kLatency = 900;                             // of a load from device memory
constexpr double kStart = 400;                               // of a thread block
constexpr double kPerElement = 4;                            // instructions: convert, scale, round
constexpr double kPerChunk = 16;  // instructions: its scale, and the end of the row
constexpr double kSector = 64;    // bytes that DRAM reads and writes at once
constexpr double kWide = 0.02;    // how much longer half as many adjacent lanes take for a row
constexpr int kMostResident = 16;

/// Bytes of an access to y, given where rows begin.
double access_bytes(const Problem& p, const Config& c) {
  const auto common = std::gcd(p.pitch_y, static_cast<std::uint64_t>(c.vector));
  return std::min(16.0, double(common) * p.y.bytes());
}

double chunk_instructions(const Problem& p, const Config& c) {
  return kPerElement * c.vector + 2 * c.vector * p.y.bytes() / access_bytes(p, c) + kPerChunk;
}

double clocks_of(const Target& target, const Problem& p, const Config& c) {
  const int registers = (estimated_registers(p, c) + 7) / 8 * 8;
  const TargetInfo& chip = target.info();
  const double resident =
      std::max(1, std::min({chip.blocks_per_sm, chip.threads_per_sm / c.threads,
                            chip.registers_per_sm / (registers * c.threads), kMostResident}));
  const double blocks = double(c.grid(p)), at_once = std::min(resident, std::ceil(blocks / kSms));
  const double rounds = std::ceil(blocks / (kSms * resident));
  const double elements = double(c.slots(p)) * c.vector * c.threads;
  const double together = double(c.lanes) * c.vector * p.y.bytes();
  const double scattered = std::max(1.0, std::min(kSector, double(p.n) * p.y.bytes()) / together) *
                           (1 + kWide * std::log2(double(kit::kWarpThreads) / c.lanes));
  const double bytes =
      at_once * elements * (p.y.bytes() + p.format->element.bits / 8.0) * scattered / kBytesPerClock;
  const double instructions = c.slots(p) * chunk_instructions(p, c);
  const double work = at_once * c.threads * instructions / kLanesPerClock;
  const double alone = kLatency + kStart + instructions;
  return rounds * (std::max({bytes, work, alone}) + 0.05 * (bytes + work + alone));
}

std::vector<std::string> values_of(const TemplateParameter& parameter, const Settings& given) {
  const auto word = given.find(parameter.name);
  return word == given.end() ? parameter.values : std::vector{word->second};
}

}  // namespace

std::vector<Config> ranked_configs(const ParameterSpace& space, const Target& target, const Problem& p,
                                   const Settings& given) {
  std::vector<std::vector<std::string>> values;
  std::vector<tune::PrunedSearch::Axis> axes;
  for (const TemplateParameter& parameter : space.config()) {
    values.push_back(values_of(parameter, given));
    axes.push_back({parameter.name, values.back().size()});
  }
  tune::PrunedSearch search(axes);
  for (std::size_t i = 0; i < rules().size(); ++i) search.add_rule(i, rules()[i].reads);
  Config config;
  std::vector<std::pair<double, Config>> fitting;
  search.run({.assign = [&](std::size_t axis,
                            std::size_t value) { config.set(axes[axis].name, values[axis][value]); },
              .allows = [&](std::size_t rule) { return rules()[rule].allows(target, p, config); },
              .visit = [&] { fitting.emplace_back(clocks_of(target, p, config), config); }});
  std::ranges::stable_sort(fitting, {}, [](const auto& one) { return one.first; });
  std::vector<Config> ranked;
  for (const auto& [clocks, one] : fitting) ranked.push_back(one);
  return ranked;
}

tune::Demand demand_of(const Problem& p, const Config& c) {
  const double bytes = input_bytes(p) + output_bytes(p);
  const double chunks = double(p.rows) * c.shape(p).slots() * c.lanes;
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = 0,
          .cluster = 1,
          .blocks = c.grid(p),
          .unit = "f32",
          .operations = chunks * chunk_instructions(p, c),
          .dram_bytes = bytes,
          .l2_bytes = bytes,
          .steps = 1};
}

}  // namespace ptxloom::dequantize_kernel
