// SPDX-License-Identifier: Apache-2.0
#include "quantize/config.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "ptxloom/kit/packed.hpp"

namespace ptxloom::quantize_kernel {
namespace {

constexpr std::array<std::pair<std::string_view, TeamKind>, 2> kKinds = {
    {{"warp", TeamKind::warp}, {"block", TeamKind::block}}};

struct Number {
  const char* name;
  int Config::* value;
};
constexpr std::array<Number, 4> kNumbers = {{{"lanes", &Config::lanes},
                                             {"threads", &Config::threads},
                                             {"vector", &Config::vector},
                                             {"elements", &Config::elements}}};

constexpr int kMostRegisters = 255;  // of a thread, on every target
constexpr int kOtherRegisters = 32;  // addresses, positions, scales
constexpr int kMostOfPart = 32;      // elements that are enough to hide the latency of memory
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1, kMostAlongY = 65535;

template <class T>
T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace

kit::Team Config::team() const {
  return kind == TeamKind::warp ? kit::Team::part_of_warp(lanes) : kit::Team::block(threads);
}

kit::Team Config::row_team(const Problem& p) const {
  return p.scales == Scales::block ? kit::Team::part_of_warp(lanes) : team();
}

// Chunks begin with the row, whatever the pitch of x: of the pitch only its remainder counts.
kit::RowShape Config::shape(const Problem& p) const {
  const auto chunk = static_cast<std::uint64_t>(vector);
  return {.length = p.n,
          .pitch = divide_up<std::uint64_t>(p.n, chunk) * chunk,
          .vector = vector,
          .team = row_team(p)};
}

bool Config::keeps_row(const Problem& p) const {
  return p.scales == Scales::block || shape(p).slots() * vector <= elements;
}

int Config::slots(const Problem& p) const {
  if (p.scales == Scales::block) return std::max(elements / vector, 1);
  return keeps_row(p) ? shape(p).slots() : std::max(elements / vector, 1);
}

int Config::parts(const Problem& p) const {
  return p.scales == Scales::block ? 1 : divide_up(shape(p).slots(), slots(p));
}

int Config::lanes_per_group(const Problem& p) const {
  return std::max(static_cast<int>(p.group) / vector, 1);
}

std::uint64_t Config::items(const Problem& p) const {
  if (p.scales == Scales::block) return std::uint64_t{p.scale_rows()} * p.scales_per_row();
  return std::uint64_t{p.rows} * (p.scales == Scales::row ? 1U : static_cast<std::uint64_t>(parts(p)));
}

std::uint64_t Config::grid_x(const Problem& p) const {
  return divide_up(items(p) / grid_y(p), static_cast<std::uint64_t>(teams_per_block()));
}

std::uint64_t Config::grid_y(const Problem& p) const {
  return p.transposed ? static_cast<std::uint64_t>(parts(p)) : 1;
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
  return kOtherRegisters + c.slots(p) * kit::packed_registers(p.x, c.vector) + 2 * c.vector;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"team=block is for scales=row and scales=block, which needs it",
       {"team"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.scales == Scales::row || (c.kind == TeamKind::block) == (p.scales == Scales::block);
       }},
      {"with team=block and scales=row lanes must be 32",
       {"team", "lanes"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.kind == TeamKind::warp || p.scales != Scales::row || c.lanes == kit::kWarpThreads;
       }},
      {"with scales=block lanes times vector must be 128",
       {"lanes", "vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.scales != Scales::block || c.lanes * c.vector == int{kBlock};
       }},
      {"with scales=block threads times elements must be 128 x 128",
       {"threads", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.scales != Scales::block || c.threads * c.elements == int{kBlock * kBlock};
       }},
      {"with team=warp threads must be at most 256",
       {"team", "threads"},
       [](const Target&, const Problem&, const Config& c) {
         return c.kind != TeamKind::warp || c.threads <= 256;
       }},
      {"with team=block threads must be at least 64",
       {"team", "threads"},
       [](const Target&, const Problem&, const Config& c) {
         return c.kind != TeamKind::block || c.threads > kit::kWarpThreads;
       }},
      {"a vector must be whole bytes of y, and padded 16 elements or more",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.vector % kit::narrow_unit(p.format->element, p.packing).elements == 0;
       }},
      {"a vector must have at most 64 bytes of x",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) { return c.vector * p.x.bytes() <= 64; }},
      {"a vector must not have more elements than a group",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.scales != Scales::group || static_cast<std::uint32_t>(c.vector) <= p.group;
       }},
      {"the elements of a group must be in the lanes of one team",
       {"lanes", "vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.scales != Scales::group || c.lanes_per_group(p) <= c.lanes;
       }},
      {"elements must be at least vector",
       {"vector", "elements"},
       [](const Target&, const Problem&, const Config& c) { return c.elements >= c.vector; }},
      {"the row has too few elements for so many threads",
       {"team", "lanes", "threads", "vector"},
       [](const Target&, const Problem& p, const Config& c) {
         if (p.scales == Scales::block) return true;
         const int least = p.scales == Scales::group ? c.lanes_per_group(p) : 1;
         if (c.kind == TeamKind::warp && c.lanes <= least) return true;
         const int others = c.team().threads() / 2;
         return static_cast<std::uint64_t>(others) * static_cast<std::uint64_t>(c.vector) < p.n;
       }},
      {"half as many elements of a thread would hold the row",
       {"team", "lanes", "threads", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         if (p.scales == Scales::block) return true;
         Config half = c;
         half.elements = c.elements / 2;
         return half.elements < c.vector || !half.keeps_row(p);
       }},
      {"elements must be at most 32 where they are not the whole row",
       {"team", "lanes", "threads", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.elements <= kMostOfPart || p.scales == Scales::block ||
                (p.scales == Scales::row && c.keeps_row(p));
       }},
      {"the elements need more registers than a thread has",
       {"team", "lanes", "threads", "vector", "elements"},
       [](const Target& target, const Problem& p, const Config& c) {
         const int registers = estimated_registers(p, c);
         return registers <= kMostRegisters && registers * c.threads <= target.info().registers_per_sm;
       }},
      {"a grid has at most 65535 thread blocks along y, which are the parts of a row if x is transposed",
       {"lanes", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) { return c.grid_y(p) <= kMostAlongY; }},
      {"a grid has at most 2^31 - 1 thread blocks, and as many teams",
       {"team", "lanes", "threads", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) { return c.items(p) <= kMostBlocks; }}};
  return all;
}

std::string_view inadmissible(const Target& target, const Problem& p, const Config& c) {
  for (const Rule& rule : rules())
    if (!rule.allows(target, p, c)) return rule.says;
  return {};
}

}  // namespace ptxloom::quantize_kernel
