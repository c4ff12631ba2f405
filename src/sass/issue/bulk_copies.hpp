// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "sass/issue/issue_table.hpp"
#include "sass/issue/loops.hpp"
#include "sass/lint/hazards.hpp"
#include "sass/listing/own_text.hpp"

// What bulk copies (TMA) bring to shared memory in an iteration of a loop. Their sizes are not in their
// instructions, but mbarriers are told how many bytes to expect, which is a constant in most kernels.
//   In the loop of a producer warp, and in one that copies and computes, those bytes count. A loop of
// consumers has no such instruction: it empties stages that other warps fill. A stage is what a producer
// fills after one wait, and a consumer gives back by one arrival at an mbarrier.
namespace ptxloom::sass {

/// Bytes that bulk copies bring to a thread block in one iteration of a loop.
struct BulkBytes {
  double bytes = 0;
  int unknown = 0;  ///< instructions that announce copies of a size that the code does not tell
};

class BulkCopies {
 public:
  /// The arguments must outlive it.
  BulkCopies(const ListedFunction& function, const std::vector<HazardStep>& steps,
             const std::vector<CodeLoop>& loops, const IssueTable& table, const OwnText& own);

  BulkBytes in(const CodeLoop& loop) const;

 private:
  struct Counts {
    int expects = 0, unknown = 0, waits = 0, releases = 0;
    double bytes = 0;
  };
  Counts counts_of(const std::vector<std::size_t>& steps) const;
  void add(std::size_t step, Counts& counts) const;
  std::optional<double> expected(std::size_t step) const;
  std::optional<std::uint64_t> value_before(std::size_t step, RegisterId id) const;

  const ListedFunction& function_;
  const std::vector<HazardStep>& steps_;
  const IssueTable& table_;
  const OwnText& own_;
  double stage_bytes_ = 0;
  int unknown_ = 0;
};

}  // namespace ptxloom::sass
