// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ptxloom/launch.hpp"
#include "ptxloom/tuning_space.hpp"
#include "target/rates.hpp"

// Estimates the time of a configuration from its demands and the chip's capabilities. Thread blocks run in
// waves. A wave takes as long as its busiest unit (matrix or vector units, shared memory, L2), or as the
// latency of its k-blocks in sequence; the total is at least the time that device memory needs. What the
// model misses is learned from measurements (surrogate.hpp), so its order matters, its unit does not.
namespace ptxloom::tune {

/// The chip's properties that the model uses.
struct Chip {
  TargetInfo limits;
  target::ChipRates rates;
  int sms = 0;
  double clock_hz = 0;
  double dram_bytes_per_s = 0;
};
/// The device's own figures if it is known, else those of a typical device of the target.
Chip chip_of(const Target& target, const std::optional<DeviceInfo>& device);

/// Peak bandwidth of the device's memory: both clock edges, full bus width.
double dram_rate(const DeviceInfo& device);

/// Thread blocks that an SM holds at once for this `demand`: at least one.
int resident_blocks(const Demand& demand, const TargetInfo& limits);

struct Prediction {
  double us = 0;       ///< 0 if the demand is not known
  double waves = 0;    ///< thread blocks divided by those that run at once
  int resident = 1;    ///< thread blocks per SM at once
  double waiting = 0;  ///< fraction of the time in which no unit is busy
};
Prediction predict(const Demand& demand, const Chip& chip);

}  // namespace ptxloom::tune
