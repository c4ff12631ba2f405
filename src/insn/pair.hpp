// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "insn/device.hpp"

// Two kernels that differ in the number of copies of a step: the second has twice as many. What the second
// takes longer is the time of the copies alone, without the loop and what surrounds it.
namespace ptxloom::insn {

/// How far the three values in the middle lie apart, as a part of the median; 0 for less than three.
double spread_of(std::vector<double> values);

struct PairNames {
  std::string few, many;
  int copies = 16;  ///< of the first
};

class Pair {
 public:
  Pair(const Device& device, const DeviceModule& module, const PairNames& names);

  /// Cycles of one step: the median of three differences, or of up to nine until the three in the middle
  /// agree within 0.5 %, with at least `shape.rounds` rounds.
  /// `warps_per_sm`: as Device::run. 0: it cannot be said.
  double cycles(LaunchShape shape, int warps_per_sm);
  /// By events, from the last call that took long enough; 0: none did.
  double clock_mhz() const { return clock_mhz_; }
  /// spread_of the differences that the last call measured; 0 if it returned 0.
  double spread() const { return spread_; }

 private:
  const Device& device_;
  Function few_, many_;
  int copies_;
  double clock_mhz_ = 0, spread_ = 0;
};

}  // namespace ptxloom::insn
