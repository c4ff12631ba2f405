// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ptxloom/launch.hpp"
#include "ptxloom/tuning_space.hpp"
#include "target/rates.hpp"

// How long a configuration should take by what it asks and what the chip can do. Blocks run in waves; a wave
// takes as long as its busiest unit (matrix or vector units, shared memory, L2), or as waiting for its steps
// one after the other; the whole no less than device memory needs. What the model misses is learned from
// measurements (surrogate.hpp), so its order matters, its unit does not.
namespace ptxloom::tune {

/// What the model knows of a chip.
struct Chip {
  TargetInfo limits;
  target::ChipRates rates;
  int sms = 0;
  double clock_hz = 0;
  double dram_bytes_per_s = 0;
};
/// The device's own figures where it is known, else a typical device of the target.
Chip chip_of(const Target& target, const std::optional<DeviceInfo>& device);

/// Peak of the device's memory: both edges of its clock, all of its bus.
double dram_rate(const DeviceInfo& device);

/// Blocks that an SM holds at once, by what `demand` says of a block: at least one.
int resident_blocks(const Demand& demand, const TargetInfo& limits);

struct Prediction {
  double us = 0;       ///< 0 where the demand is not known
  double waves = 0;    ///< blocks over those that run at once
  int resident = 1;    ///< blocks of an SM at once
  double waiting = 0;  ///< part of the time that no unit is busy
};
Prediction predict(const Demand& demand, const Chip& chip);

}  // namespace ptxloom::tune
