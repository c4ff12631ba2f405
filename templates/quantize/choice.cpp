// SPDX-License-Identifier: Apache-2.0
// The choice without measurements: an estimate of the time that a configuration takes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "ptxloom/pruned_search.hpp"
#include "quantize/config.hpp"

namespace ptxloom::quantize_kernel {
namespace {

// SMs assumed for every target, as in rowwise. They matter only where there are about as many items as teams
// at once. The other constants are of the same kind: in clocks, and not fitted to measurements yet.
constexpr double kSms = 128;
constexpr double kBytesPerClock = 16;   // of device memory, for each SM
constexpr double kLanesPerClock = 128;  // of an SM
constexpr double kLatency = 900;        // of a load from device memory
constexpr double kShuffle = 30, kBarrier = 60;
constexpr double kStart = 400;     // of a thread block
constexpr double kPerElement = 6;  // instructions: convert, magnitude, scale, round, pack
constexpr double kPerGroup = 24;   // instructions of a chunk: its scale and the store of it
constexpr double kPerEdge = 12;    // instructions of a chunk that may be at the end of its row
constexpr double kSector = 64;     // bytes that DRAM reads and writes at once
constexpr double kWide = 0.02;     // how much longer half as many adjacent lanes take for a row
constexpr int kMostResident = 16;

/// How often a row is read.
double reads_of(const Problem& p, const Config& c) {
  return p.scales == Scales::row && !c.keeps_row(p) ? 2 : 1;
}

/// Bytes of an access, given where rows begin.
double access_bytes(const Problem& p, const Config& c) {
  if (p.transposed) return p.x.bytes();
  const auto common = std::gcd(p.pitch_x, static_cast<std::uint64_t>(c.vector));
  return std::min(16.0, double(common) * p.x.bytes());
}

/// Instructions of a thread for a chunk.
double chunk_instructions(const Problem& p, const Config& c) {
  const double accesses = c.vector * p.x.bytes() / access_bytes(p, c);
  const double shuffles = p.scales == Scales::group ? std::log2(c.lanes_per_group(p)) : 0;
  const double group = p.scales == Scales::group ? kPerGroup : 0;
  return (kPerElement * c.vector + 2 * accesses) * reads_of(p, c) + 3 * shuffles + group + kPerEdge;
}

/// Elements that threads read at once and that are adjacent in memory.
double adjacent_elements(const Problem& p, const Config& c) {
  if (p.transposed) return double(kit::kWarpThreads) / c.lanes;
  return double(c.row_team(p).threads()) * c.vector;
}

double clocks_of(const Target& target, const Problem& p, const Config& c) {
  const int registers = (estimated_registers(p, c) + 7) / 8 * 8;
  const TargetInfo& chip = target.info();
  const double resident =
      std::max(1, std::min({chip.blocks_per_sm, chip.threads_per_sm / c.threads,
                            chip.registers_per_sm / (registers * c.threads), kMostResident}));
  const double blocks = double(c.grid_x(p) * c.grid_y(p)),
               at_once = std::min(resident, std::ceil(blocks / kSms));
  const double rounds = std::ceil(blocks / (kSms * resident));
  const double chunks = double(c.slots(p)) * (p.scales == Scales::row ? c.parts(p) : 1);  // of a thread
  const double elements = chunks * c.vector * c.threads;  // of a thread block, those beyond the row included
  const double length = p.transposed ? p.rows : p.n;      // of a row in memory
  const double together = adjacent_elements(p, c) * p.x.bytes();
  const double scattered = std::max(1.0, std::min(kSector, length * p.x.bytes()) / together);
  const double narrow = p.transposed ? 1 : 1 + kWide * std::log2(double(kit::kWarpThreads) / c.lanes);
  const double bytes = narrow * at_once * elements *
                       (p.x.bytes() * reads_of(p, c) + p.format->element.bits / 8.0) * scattered /
                       kBytesPerClock;
  const double work = at_once * c.threads * chunks * chunk_instructions(p, c) / kLanesPerClock;
  const double waits = reads_of(p, c) * (p.scales == Scales::row ? c.parts(p) : 1);
  const double reduction =
      p.scales == Scales::row ? 5 * kShuffle + (c.kind == TeamKind::block ? kBarrier : 0) : 0;
  const double alone = waits * kLatency + reduction + kStart + chunks * chunk_instructions(p, c);
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
  const double once = input_bytes(p) + output_bytes(p);
  const double chunks =
      double(c.items(p)) * c.slots(p) * (p.scales == Scales::row ? c.parts(p) : 1) * c.team().threads();
  return {.threads = c.threads,
          .registers = estimated_registers(p, c),
          .shared_bytes = c.kind == TeamKind::warp ? 0 : static_cast<std::uint64_t>(c.threads),
          .cluster = 1,
          .blocks = c.grid_x(p) * c.grid_y(p),
          .unit = "f32",
          .operations = chunks * chunk_instructions(p, c),
          .dram_bytes = once,
          .l2_bytes = once + (reads_of(p, c) - 1) * input_bytes(p),
          .steps = static_cast<std::uint64_t>(reads_of(p, c)) *
                   (p.scales == Scales::row ? static_cast<std::uint64_t>(c.parts(p)) : 1)};
}

}  // namespace ptxloom::quantize_kernel
