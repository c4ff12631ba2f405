// SPDX-License-Identifier: Apache-2.0
// What a configuration must obey, in groups named by what they protect.
#include "ptxloom/kit/narrow.hpp"
#include "quantize/config.hpp"

namespace ptxloom::quantize_kernel {
namespace {

constexpr int kMostRegisters = 255;  // of a thread, on every target
constexpr int kMostOfPart = 32;      // elements that are enough to hide the latency of memory
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1, kMostAlongY = 65535;

/// Teams: their threads, and what they work on.
std::vector<Rule> division_rules() {
  return {{"team=block is for scales=row and scales=block, which needs it",
           {"team"},
           [](const Target&, const Problem& p, const Config& c) {
             return p.whole_rows() || (c.kind == TeamKind::block) == (p.whole_blocks());
           }},
          {"with team=block and scales=row lanes must be 32",
           {"team", "lanes"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.kind == TeamKind::warp || !p.whole_rows() || c.lanes == kit::kWarpThreads;
           }},
          {"with scales=block lanes times vector must be 128",
           {"lanes", "vector"},
           [](const Target&, const Problem& p, const Config& c) {
             return !p.whole_blocks() || c.lanes * c.vector == int{kScaleBlock};
           }},
          {"with scales=block threads times elements must be 128 x 128",
           {"threads", "elements"},
           [](const Target&, const Problem& p, const Config& c) {
             return !p.whole_blocks() || c.threads * c.elements == int{kScaleBlock * kScaleBlock};
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
           }}};
}

/// Vectors: whole bytes, and elements that share a scale.
std::vector<Rule> vector_rules() {
  return {{"a vector must be whole bytes of y, and padded 16 elements or more",
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
          {"lanes times vector must be at most 128 for scales of blocks of a transposed x",
           {"lanes", "vector"},
           [](const Target&, const Problem& p, const Config& c) {
             return p.scales != Scales::block || !p.transposed || c.lanes * c.vector <= int{kScaleBlock};
           }},
          {"elements must be at least vector",
           {"vector", "elements"},
           [](const Target&, const Problem&, const Config& c) { return c.elements >= c.vector; }}};
}

/// Threads and registers that the row would leave idle.
std::vector<Rule> waste_rules() {
  return {{"the row has too few elements for so many threads",
           {"team", "lanes", "threads", "vector"},
           [](const Target&, const Problem& p, const Config& c) {
             if (p.whole_blocks()) return true;
             const int least = p.scales == Scales::group ? c.lanes_per_group(p) : 1;
             if (c.kind == TeamKind::warp && c.lanes <= least) return true;
             const int others = c.team().threads() / 2;
             return static_cast<std::uint64_t>(others) * static_cast<std::uint64_t>(c.vector) < p.n;
           }},
          {"half as many elements of a thread would hold the row",
           {"team", "lanes", "threads", "vector", "elements"},
           [](const Target&, const Problem& p, const Config& c) {
             if (p.whole_blocks()) return true;
             Config half = c;
             half.elements = c.elements / 2;
             return half.elements < c.vector || !half.keeps_row(p);
           }},
          {"elements must be at most 32 where they are not the whole row",
           {"team", "lanes", "threads", "vector", "elements"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.elements <= kMostOfPart || p.whole_blocks() || (p.whole_rows() && c.keeps_row(p));
           }}};
}

/// What a thread, an SM and a grid can hold.
std::vector<Rule> limit_rules() {
  return {{"the elements need more registers than a thread has",
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
}

}  // namespace

std::vector<Rule> rules() {
  return join_rules({division_rules(), vector_rules(), waste_rules(), limit_rules()});
}

}  // namespace ptxloom::quantize_kernel
