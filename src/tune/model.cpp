// SPDX-License-Identifier: Apache-2.0
#include "tune/model.hpp"

#include <algorithm>
#include <cmath>

namespace ptxloom::tune {
namespace {

// A data-center chip; only for targets without a device at hand.
constexpr double kTypicalClock = 1.7e9;
constexpr double kTypicalMemory = 3e12;

constexpr double kStepLatency = 800;     // clocks for a load from global to shared memory
constexpr double kBlockOverhead = 1500;  // clocks to start a thread block and to write its results
constexpr double kLaunch = 2e-6;         // seconds
constexpr int kReservedShared = 1024;    // per thread block, by the system
constexpr double kOverlap = 0.25;        // the fraction of the other units' time that is not hidden behind
                                         // the busiest

double over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Clocks of an SM for `blocks` thread blocks at once, and for how many of these its busiest unit works.
struct Wave {
  double clocks = 0, busy = 0;
};

Wave wave(const Demand& d, const Chip& chip, double blocks) {
  const double share = blocks / static_cast<double>(d.blocks);
  const double warps = blocks * std::max(d.threads, 32) / 32;
  // Few warps cannot keep a unit busy, because each waits for its own results.
  const double filled = warps / (warps + 2);
  const double units[] = {over(d.operations * share, chip.rates.operations(d.unit) * filled),
                          over(d.shared_traffic * share, chip.rates.shared),
                          over(d.l2_bytes * share, chip.rates.l2)};
  double most = 0, all = 0;
  for (const double clocks : units) most = std::max(most, clocks), all += clocks;
  const double busy = most + kOverlap * (all - most);
  const double steps = std::max<double>(static_cast<double>(d.steps), 1);
  const double step = std::max(busy / steps, kStepLatency / std::max(d.in_flight, 1));
  return {.clocks = steps * step + kBlockOverhead, .busy = busy};
}

}  // namespace

int resident_blocks(const Demand& d, const TargetInfo& chip) {
  int blocks = chip.blocks_per_sm;
  if (d.threads > 0) blocks = std::min(blocks, chip.threads_per_sm / d.threads);
  if (d.threads > 0 && d.registers > 0)
    blocks = std::min(blocks, chip.registers_per_sm / (d.threads * ((d.registers + 7) / 8 * 8)));
  if (d.shared_bytes > 0)
    blocks = std::min(blocks, static_cast<int>(static_cast<std::uint64_t>(chip.shared_per_sm) /
                                               (d.shared_bytes + kReservedShared)));
  return std::max(blocks, 1);
}

double dram_rate(const DeviceInfo& device) {
  return 2.0 * device.memory_clock_mhz * 1e6 * device.memory_bus_bits / 8;
}

Chip chip_of(const Target& target, const std::optional<DeviceInfo>& device) {
  const target::ChipRates* rates = target::rates_of(target.number());
  Chip chip{.limits = target.info(),
            .rates = rates == nullptr ? target::ChipRates() : *rates,
            .sms = target.info().sms,
            .clock_hz = kTypicalClock,
            .dram_bytes_per_s = kTypicalMemory};
  if (!device || device->sms == 0) return chip;
  chip.sms = device->sms;
  if (device->clock_mhz > 0) chip.clock_hz = device->clock_mhz * 1e6;
  if (dram_rate(*device) > 0) chip.dram_bytes_per_s = dram_rate(*device);
  return chip;
}

Prediction predict(const Demand& d, const Chip& chip) {
  Prediction result;
  if (d.blocks == 0) return result;
  result.resident = resident_blocks(d, chip.limits);
  const double slots = static_cast<double>(chip.sms) * result.resident;
  const double blocks = static_cast<double>(d.blocks);
  result.waves = blocks / slots;
  const double whole = std::floor(result.waves);
  const double rest = std::ceil((blocks - whole * slots) / chip.sms);
  double clocks = 0, busy = 0;
  const auto add = [&](double waves, double at_once) {
    if (waves <= 0 || at_once <= 0) return;
    const Wave one = wave(d, chip, at_once);
    clocks += waves * one.clocks;
    busy += waves * one.busy;
  };
  add(whole, result.resident);
  add(1, rest);
  const double seconds = std::max(clocks / chip.clock_hz, over(d.dram_bytes, chip.dram_bytes_per_s));
  result.us = 1e6 * (seconds + kLaunch);
  result.waiting = std::max(0.0, 1 - busy / std::max(clocks, 1.0));
  return result;
}

}  // namespace ptxloom::tune
