// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/config.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "ptxloom/pruned_search.hpp"

namespace ptxloom::scaled_gemm {
namespace {

struct Number {
  const char* name;
  int Config::* value;
};
constexpr std::array<Number, 5> kNumbers = {{{"tile_m", &Config::tile_m},
                                             {"tile_n", &Config::tile_n},
                                             {"warps_m", &Config::warps_m},
                                             {"warps_n", &Config::warps_n},
                                             {"stages", &Config::stages}}};

constexpr int kMostRegisters = 255;  // of a thread, on every target
constexpr int kOtherRegisters = 64;  // addresses, positions, scales
constexpr int kUsualWarps = 4, kUsualStages = 3;
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;

std::uint64_t divide_up(std::uint64_t a, int b) {
  return (a + static_cast<std::uint64_t>(b) - 1) / static_cast<std::uint64_t>(b);
}

/// Smaller is better: elements computed outside of D and read again, then the distance from usual numbers.
auto order(const Problem& p, const Config& c) {
  const double blocks = double(c.grid(p));
  const double work = blocks * (double(c.tile_m) * c.tile_n + 32.0 * (c.tile_m + c.tile_n));
  return std::tuple(work, std::abs(c.warps_m * c.warps_n - kUsualWarps), std::abs(c.stages - kUsualStages),
                    std::abs(c.warp_m() - c.warp_n()));
}

std::vector<std::string> values_of(const TemplateParameter& parameter, const Settings& given) {
  const auto word = given.find(parameter.name);
  return word == given.end() ? parameter.values : std::vector{word->second};
}

}  // namespace

std::uint64_t Config::grid(const Problem& p) const { return divide_up(p.m, tile_m) * divide_up(p.n, tile_n); }

std::uint64_t Config::stage_bytes(const Problem& p) const {
  const int bits = tile_m * p.a.format.element.bits + tile_n * p.b.format.element.bits;
  return static_cast<std::uint64_t>(bits) * kTileK / 8;
}

Config read_config(const Settings& words) {
  Config c;
  for (const auto& [name, member] : kNumbers)
    if (const auto word = words.find(name); word != words.end()) c.*member = std::stoi(word->second);
  return c;
}

Settings words_of(const Config& c) {
  Settings words{{"strategy", "block_scale"}};
  for (const auto& [name, member] : kNumbers) words[name] = std::to_string(c.*member);
  return words;
}

int estimated_registers(const Config& c) {
  const int accumulators = c.warp_m() * c.warp_n() / 32;
  const int fragments = c.warp_m() / 4 + c.warp_n() / 4;
  const int scales = 2 * (c.warp_m() / 16 + c.warp_n() / 8);
  return kOtherRegisters + accumulators + fragments + scales;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"a warp must have whole instructions of 16 rows",
       {"tile_m", "warps_m"},
       [](const Target&, const Problem&, const Config& c) { return c.warp_m() % 16 == 0 && c.warp_m() > 0; }},
      {"a warp must have whole instructions of 8 columns",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.warp_n() % 8 == 0; }},
      {"the stages must fit into shared memory",
       {"tile_m", "tile_n", "stages"},
       [](const Target& target, const Problem& p, const Config& c) {
         const std::uint64_t bytes = static_cast<std::uint64_t>(c.stages) * c.stage_bytes(p);
         return bytes <= static_cast<std::uint64_t>(target.info().shared_per_block);
       }},
      {"the accumulators need more registers than a thread has",
       {"tile_m", "tile_n", "warps_m", "warps_n"},
       [](const Target& target, const Problem&, const Config& c) {
         const int registers = estimated_registers(c);
         return registers <= kMostRegisters && registers * c.threads() <= target.info().registers_per_sm;
       }},
      {"a grid has at most 2^31 - 1 thread blocks",
       {"tile_m", "tile_n"},
       [](const Target&, const Problem& p, const Config& c) { return c.grid(p) <= kMostBlocks; }}};
  return all;
}

std::string_view inadmissible(const Target& target, const Problem& p, const Config& c) {
  for (const Rule& rule : rules())
    if (!rule.allows(target, p, c)) return rule.says;
  return {};
}

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
  Settings words;
  std::vector<Config> fitting;
  search.run({.assign = [&](std::size_t axis,
                            std::size_t value) { words[std::string(axes[axis].name)] = values[axis][value]; },
              .allows = [&](std::size_t rule) { return rules()[rule].allows(target, p, read_config(words)); },
              .visit = [&] { fitting.push_back(read_config(words)); }});
  std::ranges::stable_sort(fitting, {}, [&](const Config& c) { return order(p, c); });
  return fitting;
}

tune::Demand demand_of(const Problem& p, const Config& c) {
  const double k_blocks = double(c.grid(p)) * double(divide_up(p.k, Config::kTileK));
  const double traffic = k_blocks * double(c.stage_bytes(p));
  return {.threads = c.threads(),
          .registers = estimated_registers(c),
          .shared_bytes = static_cast<std::uint64_t>(c.stages) * c.stage_bytes(p),
          .blocks = c.grid(p),
          .unit = std::string(p.a.format.element.name),
          .operations = 2.0 * c.tile_m * c.tile_n * Config::kTileK * k_blocks,
          .dram_bytes = input_bytes(p) + double(p.m) * p.n * p.d.bytes(),
          .l2_bytes = traffic,
          .shared_traffic = 2 * traffic,
          .steps = divide_up(p.k, Config::kTileK),
          .in_flight = c.stages};
}

}  // namespace ptxloom::scaled_gemm
