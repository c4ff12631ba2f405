// SPDX-License-Identifier: Apache-2.0
// What a configuration must obey, in groups named by what they protect.
#include "rowwise/config.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

constexpr int kMostRegisters = 255;  // of a thread, on every target
constexpr int kMostOfPart = 32;      // elements that are enough to hide the latency of memory
constexpr std::uint64_t kMostBlocks = (std::uint64_t{1} << 31) - 1;

/// Teams and their threads.
std::vector<Rule> team_rules() {
  return {{"with team=block or cluster lanes must be 32",
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
           }}};
}

/// Vectors.
std::vector<Rule> vector_rules() {
  return {{"a vector must have at most 16 bytes of x",
           {"vector"},
           [](const Target&, const Problem& p, const Config& c) { return c.vector * p.x.bytes() <= 16; }},
          {"elements must be at least vector",
           {"vector", "elements"},
           [](const Target&, const Problem&, const Config& c) { return c.elements >= c.vector; }},
          {"the row has too few elements for such a vector",
           {"vector"},
           [](const Target&, const Problem& p, const Config& c) {
             return c.vector == 1 || static_cast<std::uint32_t>(c.vector) <= p.n;
           }}};
}

/// Threads and registers that the row would leave idle.
std::vector<Rule> waste_rules() {
  return {{"the row has too few elements for so many threads",
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
           }}};
}

/// What a thread, an SM and a grid can hold.
std::vector<Rule> limit_rules() {
  return {{"the elements need more registers than a thread has",
           {"team", "lanes", "threads", "blocks", "vector", "elements"},
           [](const Target& target, const Problem& p, const Config& c) {
             const int registers = estimated_registers(p, c);
             return registers <= kMostRegisters && registers * c.threads <= target.info().registers_per_sm;
           }},
          {"a grid has at most 2^31 - 1 thread blocks",
           {"team", "lanes", "threads", "blocks"},
           [](const Target&, const Problem& p, const Config& c) { return c.grid(p) <= kMostBlocks; }}};
}

}  // namespace

std::vector<Rule> rules() { return join_rules({team_rules(), vector_rules(), waste_rules(), limit_rules()}); }

}  // namespace ptxloom::rowwise_kernel
