// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ptxloom/launch.hpp"
#include "ptxloom/tuning_space.hpp"
#include "target/rates.hpp"

// Estimates the time of a configuration from its demand and the chip's capabilities (specs/README.md,
// "model").
//   Thread blocks run in rounds, as many at once as an SM holds. A round takes as long as its busiest unit
//   (operations, issue of instructions, shared memory, L2), or as long as one thread block alone: its
//   k-blocks, each at least as long as the latency that its stages do not hide, and its epilogue.
//   The start, waits of the whole grid, and rearranging or adding up data take additional time. Meanwhile
//   device memory moves operands and results, and L2 takes the stores. The shorter of the two times is only
//   partly hidden by the longer.
// Kernels that only stream elements have a model of their own (streaming_model.hpp).
// The default choice takes the configuration with the least time. The tuner learns from measurements what the
// model misses (surrogate.hpp).
namespace ptxloom::tune {

inline constexpr int kSchedulers = 4;     ///< of an SM; each issues an instruction a clock
inline constexpr double kPercent = 0.01;  ///< the unit of many constants in specs/targets.json

/// The chip's properties that the model uses.
struct Chip {
  TargetInfo limits;
  target::ChipRates rates;
  target::ChipModel model;
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

/// How long k-blocks keep an SM busy, as machine code has it.
struct CodeClocks {
  int at_once = 1;      ///< thread blocks of an SM
  double together = 0;  ///< clocks for all k-blocks of each of them, at the same time
  double alone = 0;     ///< clocks that those of one take at least
  /// Clocks that a thread block takes when this many share the SM.
  double of_each(double blocks) const;
};
/// With this in place of the operations, instructions and bytes that the demand names.
Prediction predict(const Demand& demand, const Chip& chip, const CodeClocks& code);

}  // namespace ptxloom::tune
