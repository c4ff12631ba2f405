// SPDX-License-Identifier: Apache-2.0
// What a configuration must obey, in groups named by what they protect.
#include "dequantize/config.hpp"
#include "ptxloom/kit/narrow.hpp"

namespace ptxloom::dequantize_kernel {
namespace {

constexpr int kMostRegisters = 128;  // of a thread: more would leave too few threads to hide latency
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;

/// Vectors: whole bytes, and elements that share a scale.
std::vector<Rule> vector_rules() {
  return {{"a vector must be whole bytes of x, and padded 16 elements or more",
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
           [](const Target&, const Problem&, const Config& c) { return c.elements >= c.vector; }}};
}

/// Lanes and registers that the row would leave idle.
std::vector<Rule> waste_rules() {
  return {{"the row has too few elements for so many lanes",
           {"lanes", "vector"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.lanes == 1 || static_cast<std::uint32_t>(c.lanes / 2 * c.vector) < p.n;
           }},
          {"half as many elements of a thread would hold the row",
           {"lanes", "vector", "elements"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.elements / 2 < c.vector || c.shape(p).slots() * c.vector > c.elements / 2;
           }}};
}

/// What a thread and a grid can hold.
std::vector<Rule> limit_rules() {
  return {{"the elements need more registers than is useful",
           {"vector", "elements"},
           [](const Target&, const Problem& p, const Config& c) {
             return estimated_registers(p, c) <= kMostRegisters;
           }},
          {"a grid has at most 2^31 - 1 thread blocks, and as many teams",
           {"lanes", "threads", "vector", "elements"},
           [](const Target&, const Problem& p, const Config& c) { return c.items(p) <= kMostBlocks; }}};
}

}  // namespace

std::vector<Rule> rules() { return join_rules({vector_rules(), waste_rules(), limit_rules()}); }

}  // namespace ptxloom::dequantize_kernel
