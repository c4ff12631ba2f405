// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "exec/machine/code.hpp"

// Where threads may go from an operation. All warps of a grid share what has been found: several host threads
// may ask.
namespace ptxloom::exec {

/// Edges of a directed graph, by the node at which they begin.
class Edges {
 public:
  using Edge = std::pair<std::uint32_t, std::uint32_t>;  ///< from, to

  Edges() = default;
  Edges(std::size_t nodes, const std::vector<Edge>& edges);
  /// By node: whether a path of one edge or more leads there.
  std::vector<bool> reached_from(std::uint32_t node) const;

 private:
  std::vector<std::size_t> first_;  // by node, into targets_; one more at the end
  std::vector<std::uint32_t> targets_;
};

class Paths {
 public:
  /// What is beyond the operations of a basic block: threads get there from it, but not back.
  struct Beyond {
    std::uint32_t block = 0;
    bool repeats = false;      ///< a path leads from the block to itself
    std::vector<bool> blocks;  ///< others that are beyond it
  };

  explicit Paths(const Code& code) : code_(&code) {}
  /// For the basic block of this operation. Valid as long as the grid.
  const Beyond& beyond(std::uint32_t pc);
  /// Whether threads at `pc` may come from the operation `from`, to which `beyond` belongs, and cannot get to
  /// it again.
  bool is_beyond(const Beyond& beyond, std::uint32_t from, std::uint32_t pc) const {
    const std::uint32_t block = block_of_[pc];
    return block == beyond.block ? pc > from && !beyond.repeats : beyond.blocks[block];
  }

 private:
  void divide();
  void connect();

  const Code* code_;
  std::mutex mutex_;
  std::vector<std::uint32_t> block_of_;  // by program counter
  Edges after_, before_;                 // between basic blocks
  std::map<std::uint32_t, Beyond> beyond_;
};

}  // namespace ptxloom::exec
