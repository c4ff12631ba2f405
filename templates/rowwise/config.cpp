// SPDX-License-Identifier: Apache-2.0
#include "rowwise/config.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace ptxloom::rowwise_kernel {
namespace {

constexpr std::array<std::pair<std::string_view, TeamKind>, 3> kKinds = {
    {{"warp", TeamKind::warp}, {"block", TeamKind::block}, {"cluster", TeamKind::cluster}}};

struct Number {
  const char* name;
  int Config::* value;
};
constexpr std::array<Number, 5> kNumbers = {{{"lanes", &Config::lanes},
                                             {"threads", &Config::threads},
                                             {"blocks", &Config::blocks},
                                             {"vector", &Config::vector},
                                             {"elements", &Config::elements}}};

constexpr int kMostRegisters = 255;  // of a thread, on every target
constexpr int kOtherRegisters = 28;  // addresses, positions, partial results
constexpr int kOfTensor = 6;         // more for each tensor besides x and y
constexpr int kOfShift = 22;         // more for each vector of n, if it is at another offset in each row
constexpr int kOfEnds = 12;          // more if each part of a row may be at its end, and one for each slot
constexpr int kMostOfPart = 32;      // elements that are enough to hide the latency of memory
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;

std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

/// Registers of a slot: elements as they lie in memory, or the f32 sums with the residual, and before these
/// both summands.
int slot_registers(const Problem& p, int vector) {
  const int x = kit::packed_registers(p.x, vector);
  return p.residual ? std::max(vector, x + kit::packed_registers(*p.residual, vector)) : x;
}

}  // namespace

kit::Team Config::team() const {
  if (kind == TeamKind::warp) return kit::Team::part_of_warp(lanes);
  return kit::Team::cluster(threads, blocks);
}

kit::RowShape Config::shape(const Problem& p) const {
  return {.length = p.n, .pitch = p.pitch_x, .vector = vector, .team = team()};
}

bool Config::keeps_row(const Problem& p) const { return shape(p).slots() * vector <= elements; }

int Config::slots(const Problem& p) const {
  return keeps_row(p) ? shape(p).slots() : std::max(elements / vector, 1);
}

std::uint64_t Config::grid(const Problem& p) const {
  return divide_up(p.rows, static_cast<std::uint64_t>(teams_per_block())) *
         static_cast<std::uint64_t>(blocks);
}

void Config::set(std::string_view name, std::string_view value) {
  for (const auto& [word, its_kind] : kKinds)
    if (name == "team" && value == word) kind = its_kind;
  for (const auto& [word, number] : kNumbers)
    if (name == word) this->*number = std::stoi(std::string(value));
}

Config read_config(const Settings& words) {
  Config c;
  for (const auto& [name, value] : words) c.set(name, value);
  return c;
}

Settings words_of(const Config& c) {
  Settings words;
  for (const auto& [word, kind] : kKinds)
    if (kind == c.kind) words["team"] = word;
  for (const auto& [word, number] : kNumbers) words[word] = std::to_string(c.*number);
  return words;
}

int estimated_registers(const Problem& p, const Config& c) {
  const int held = c.slots(p) * slot_registers(p, c.vector);
  const int vectors = (p.residual ? 1 : 0) + (p.weight ? 1 : 0) + (p.bias ? 1 : 0);
  const int shifts = c.shape(p).shifted() && c.keeps_row(p) ? (p.weight ? 1 : 0) + (p.bias ? 1 : 0) : 0;
  const int sums = p.residual ? c.slots(p) * c.vector / 2 : 0;
  const int ends = c.keeps_row(p) ? 0 : kOfEnds + c.slots(p) + sums;
  return kOtherRegisters + held + ends + vectors * kOfTensor + shifts * kOfShift + (2 + vectors) * c.vector;
}

int resident_blocks(const TargetInfo& chip, const Problem& p, const Config& c) {
  // The registers of the whole SM, not of each partition as TargetInfo::resident_blocks counts them: the
  // estimate of the time was fitted with this number, and the kernels that it chooses were timed with it.
  const int registers = (estimated_registers(p, c) + 7) / 8 * 8;
  return std::max(1, std::min({chip.blocks_per_sm, chip.threads_per_sm / c.threads,
                               chip.registers_per_sm / (registers * c.threads)}));
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"with team=block or cluster lanes must be 32",
       {"team", "lanes"},
       [](const Target&, const Problem&, const Config& c) {
         return c.kind == TeamKind::warp || c.lanes == kit::kWarpThreads;
       }},
      {"with team=warp threads must be at most 256",
       {"team", "threads"},
       [](const Target&, const Problem&, const Config& c) {
         return c.kind != TeamKind::warp || c.threads <= 256;
       }},
      {"with team=cluster threads must be at least 128",
       {"team", "threads"},
       [](const Target&, const Problem&, const Config& c) {
         return c.kind != TeamKind::cluster || c.threads >= 128;
       }},
      {"with team=block threads must be at least 64",
       {"team", "threads"},
       [](const Target&, const Problem&, const Config& c) {
         return c.kind != TeamKind::block || c.threads > kit::kWarpThreads;
       }},
      {"blocks must be at least 2 with team=cluster, and 1 without",
       {"team", "blocks"},
       [](const Target&, const Problem&, const Config& c) {
         return (c.kind == TeamKind::cluster) == (c.blocks > 1);
       }},
      {"team=cluster needs clusters, which this target does not have",
       {"team", "blocks"},
       [](const Target& target, const Problem&, const Config& c) {
         return c.blocks == 1 || c.blocks <= target.info().cluster_blocks;
       }},
      {"a vector must have at most 16 bytes of x",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) { return c.vector * p.x.bytes() <= 16; }},
      {"elements must be at least vector",
       {"vector", "elements"},
       [](const Target&, const Problem&, const Config& c) { return c.elements >= c.vector; }},
      {"the row has too few elements for such a vector",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.vector == 1 || static_cast<std::uint32_t>(c.vector) <= p.n;
       }},
      {"the row has too few elements for so many threads",
       {"team", "lanes", "threads", "blocks", "vector"},
       [](const Target&, const Problem& p, const Config& c) {
         const int others = c.team().threads() / 2;
         return static_cast<std::uint64_t>(others) * static_cast<std::uint64_t>(c.vector) < p.n;
       }},
      {"half as many elements of a thread would hold the row",
       {"team", "lanes", "threads", "blocks", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         Config half = c;
         half.elements = c.elements / 2;
         return half.elements < c.vector || !half.keeps_row(p);
       }},
      {"elements must be at most 32 where the row is read again",
       {"team", "lanes", "threads", "blocks", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.elements <= kMostOfPart || c.keeps_row(p);
       }},
      {"the elements need more registers than a thread has",
       {"team", "lanes", "threads", "blocks", "vector", "elements"},
       [](const Target& target, const Problem& p, const Config& c) {
         const int registers = estimated_registers(p, c);
         return registers <= kMostRegisters && registers * c.threads <= target.info().registers_per_sm;
       }},
      {"a grid has at most 2^31 - 1 thread blocks",
       {"team", "lanes", "threads", "blocks"},
       [](const Target&, const Problem& p, const Config& c) { return c.grid(p) <= kMostBlocks; }}};
  return all;
}

std::string_view inadmissible(const Target& target, const Problem& p, const Config& c) {
  for (const Rule& rule : rules())
    if (!rule.allows(target, p, c)) return rule.says;
  return {};
}

}  // namespace ptxloom::rowwise_kernel
