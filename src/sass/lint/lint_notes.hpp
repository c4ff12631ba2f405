// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "sass/lint/hazards.hpp"

namespace ptxloom::sass {

/// A reuse bit that does nothing: the register is overwritten before an instruction reads it from the same
/// operand slot again.
struct IdleReuse {
  std::size_t step = 0;
  unsigned slot = 0;
  RegisterId kept = 0;   ///< the register that the bit keeps
  std::size_t next = 0;  ///< the instruction that overwrites it
};

std::vector<IdleReuse> idle_reuse(const std::vector<HazardStep>& steps);

/// The greatest stall count.
inline constexpr int kMostStall = 15;

/// A stall count that no reader of a result needs.
struct LongStall {
  std::size_t step = 0;
  int stall = 0, need = 0;  ///< cycles; `need` is what would do
};

/// What reads results of fixed latency, on the shortest paths.
struct Readers {
  std::vector<Distance> distances;
  std::vector<Unseen> unseen;

  /// Adds a distance once.
  void add(const Distance& one);
};

/// Each by itself: two counts of one line may both be longer than needed only as long as the other is.
/// `longest`: cycles after which all readers can have all results. `readers`: those up to kMostStall cycles
/// later.
std::vector<LongStall> long_stalls(const std::vector<HazardStep>& steps, const Readers& readers, int longest);

}  // namespace ptxloom::sass
