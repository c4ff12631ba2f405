// SPDX-License-Identifier: Apache-2.0
#include "dequantize/config.hpp"

#include <algorithm>
#include <array>

#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

struct Number {
  const char* name;
  int Config::* value;
};
constexpr std::array<Number, 4> kNumbers = {{{"lanes", &Config::lanes},
                                             {"threads", &Config::threads},
                                             {"vector", &Config::vector},
                                             {"elements", &Config::elements}}};

constexpr int kMostRegisters = 128;  // of a thread: more would leave too few threads to hide latency
constexpr int kOtherRegisters = 32;  // addresses, positions, scales
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;

template <class T>
T divide_up(T a, T b) {
  return (a + b - 1) / b;
}

}  // namespace

// Chunks begin with the row, whatever the pitches: of the leading pitch only its remainder counts.
kit::RowShape Config::shape(const Problem& p) const {
  const auto chunk = static_cast<std::uint64_t>(vector);
  return {
      .length = p.n, .pitch = divide_up<std::uint64_t>(p.n, chunk) * chunk, .vector = vector, .team = team()};
}

int Config::slots(const Problem& p) const {
  return std::min(shape(p).slots(), std::max(elements / vector, 1));
}

int Config::parts(const Problem& p) const { return divide_up(shape(p).slots(), slots(p)); }

std::uint64_t Config::items(const Problem& p) const {
  return std::uint64_t{p.rows} * static_cast<std::uint64_t>(parts(p));
}

std::uint64_t Config::grid(const Problem& p) const {
  return divide_up(items(p), static_cast<std::uint64_t>(threads / lanes));
}

void Config::set(std::string_view name, std::string_view value) {
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
  for (const auto& [word, number] : kNumbers) words[word] = std::to_string(c.*number);
  return words;
}

int estimated_registers(const Problem& p, const Config& c) {
  return kOtherRegisters + c.slots(p) * (kit::narrow_words(p.format->element, c.vector) + 1) + 2 * c.vector;
}

const std::vector<Rule>& rules() {
  static const std::vector<Rule> all = {
      {"a vector must be whole bytes of x, and padded 16 elements or more",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.vector % kit::narrow_unit(p.format->element, p.packing).elements == 0;
       }},
      {"a vector must have at most 64 bytes of y",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) { return c.vector * p.y.bytes() <= 64; }},
      {"a vector must not have more elements than share a scale",
       {"vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return p.scales == Scales::row || p.scales == Scales::tensor ||
                static_cast<std::uint32_t>(c.vector) <= p.group;
       }},
      {"elements must be at least vector",
       {"vector", "elements"},
       [](const Target&, const Problem&, const Config& c) { return c.elements >= c.vector; }},
      {"the row has too few elements for so many lanes",
       {"lanes", "vector"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.lanes == 1 || static_cast<std::uint32_t>(c.lanes / 2 * c.vector) < p.n;
       }},
      {"half as many elements of a thread would hold the row",
       {"lanes", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         return c.elements / 2 < c.vector || c.shape(p).slots() * c.vector > c.elements / 2;
       }},
      {"the elements need more registers than is useful",
       {"vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) {
         return estimated_registers(p, c) <= kMostRegisters;
       }},
      {"a grid has at most 2^31 - 1 thread blocks, and as many teams",
       {"lanes", "threads", "vector", "elements"},
       [](const Target&, const Problem& p, const Config& c) { return c.items(p) <= kMostBlocks; }}};
  return all;
}

std::string_view inadmissible(const Target& target, const Problem& p, const Config& c) {
  for (const Rule& rule : rules())
    if (!rule.allows(target, p, c)) return rule.says;
  return {};
}

}  // namespace ptxloom::dequantize_kernel
