// SPDX-License-Identifier: Apache-2.0
#include "tune/model/model.hpp"

#include <algorithm>
#include <cmath>

#include "tune/model/streaming_model.hpp"

namespace ptxloom::tune {
namespace {

constexpr double kThousandth = 0.001;

double over(double amount, double rate) { return rate > 0 ? amount / rate : 0; }

/// Clocks for which a thread block's k-blocks keep the SM's busiest unit busy, with `at_once` thread blocks
/// on the SM.
double busy_clocks(const Demand& d, const Chip& chip, double at_once) {
  const double share = 1.0 / static_cast<double>(d.blocks);
  const double warps = at_once * std::max(d.threads, 32) / 32;
  // Few warps cannot keep a unit busy, because each waits for its own results.
  const double filled = warps / (warps + chip.model.warps);
  const double rate = chip.rates.operations(d.unit) * (d.asynchronous ? 1 : filled);
  const int shared = d.asynchronous ? chip.rates.shared : chip.model.shared;
  return std::max({over(d.operations * share, rate), d.instructions * share / kSchedulers / filled,
                   over(d.shared_traffic * share, shared), over(d.l2_bytes * share, chip.model.l2)});
}

/// Clocks from one k-block to the next for which a thread block waits at least: those until all data of a
/// k-block are there, divided by the number of k-blocks in flight.
double latency(const Demand& d, const target::ChipModel& model) {
  const double steps = static_cast<double>(d.blocks) * std::max<double>(static_cast<double>(d.steps), 1);
  const double moved = d.load_instructions / kSchedulers + over(d.l2_bytes / steps, model.transfer);
  const int in_flight = std::max(d.in_flight, 1);
  switch (d.loads) {
    case Loads::registers:
      return model.load_latency + moved;
    case Loads::threads:
      return (model.async_latency + moved) / in_flight;
    case Loads::bulk:
      return (model.bulk_latency + moved) / in_flight;
    case Loads::streamed:
      break;  // has a model of its own
  }
  return 0;
}

/// Clocks until the first k-block can be computed.
double fill(const Demand& d, const target::ChipModel& model) {
  switch (d.loads) {
    case Loads::registers:
      return double(model.load_latency) * std::max(d.in_flight, 1);
    case Loads::threads:
      return model.async_fill;
    case Loads::bulk:
      return model.bulk_fill;
    case Loads::streamed:
      break;
  }
  return 0;
}

/// Clocks of an SM for `at_once` thread blocks, and for how many of these its busiest unit works.
struct Round {
  double clocks = 0, busy = 0;
};

/// `code`: of the k-blocks, if it is known; else the demand says how long they take.
Round round(const Demand& d, const Chip& chip, double at_once, const CodeClocks* code) {
  const bool bulk = d.loads == Loads::bulk;
  const double steps = std::max<double>(static_cast<double>(d.steps), 1);
  const double busy = code != nullptr
                          ? code->of_each(at_once)
                          : busy_clocks(d, chip, at_once) + (bulk ? steps * chip.model.bulk_step : 0);
  const double step = std::max(busy / steps, latency(d, chip.model));
  const double alone = steps * step + d.epilogue + (d.persistent ? 0 : fill(d, chip.model));
  return {.clocks = std::max(at_once * busy, alone / std::max(d.in_turn, 1)), .busy = at_once * busy};
}

/// Clocks for what happens once, or once for each thread block, beside its k-blocks.
double other_clocks(const Demand& d, const Chip& chip) {
  const target::ChipModel& model = chip.model;
  const double per_sm = static_cast<double>(d.blocks) / chip.sms;
  return (d.persistent ? fill(d, model) : model.block * per_sm) + (d.in_turn > 1 ? d.epilogue : 0) +
         (d.cluster > 1 ? model.cluster : 0) + over(d.summed_bytes, model.summed) +
         over(d.exchanged_bytes, model.exchanged) + d.grid_waits * model.grid_wait + d.tail +
         over(d.prologue_bytes / chip.sms, model.prologue);
}

/// Seconds for device memory, and for L2 to take the results.
double memory_seconds(const Demand& d, const Chip& chip) {
  const double stores =
      kThousandth * (d.stored_sectors * chip.model.sector + d.partial_sectors * chip.model.partial);
  return std::max(over(d.dram_bytes, chip.dram_bytes_per_s * kPercent * chip.model.memory),
                  stores / chip.sms / chip.clock_hz);
}

}  // namespace

double sector_factor(double row_bytes, double access_bytes) {
  constexpr double kSector = 64;
  return std::max(1.0, std::min(kSector, row_bytes) / access_bytes);
}

int resident_blocks(const Demand& d, const TargetInfo& chip) {
  int blocks = chip.blocks_per_sm;
  if (d.most_per_sm > 0) blocks = std::min(blocks, d.most_per_sm);
  if (d.threads > 0) blocks = std::min(blocks, chip.resident_blocks(d.threads, d.registers));
  if (d.shared_bytes > 0) {
    const std::uint64_t each = d.shared_bytes + static_cast<std::uint64_t>(chip.shared_reserved());
    blocks = std::min(blocks, static_cast<int>(static_cast<std::uint64_t>(chip.shared_per_sm) / each));
  }
  return std::max(blocks, 1);
}

double dram_rate(const DeviceInfo& device) {
  return 2.0 * device.memory_clock_mhz * 1e6 * device.memory_bus_bits / 8;
}

Chip chip_of(const Target& target, const std::optional<DeviceInfo>& device) {
  const target::ChipRates* rates = target::rates_of(target.number());
  const target::Product& typical = target::device_of(target.number());
  Chip chip{.limits = target.info(),
            .rates = rates == nullptr ? target::ChipRates() : *rates,
            .model = target::model_of(target.number()),
            .sms = target.info().sms,
            .clock_hz = typical.clock * 1e6,
            .dram_bytes_per_s = typical.memory * 1e9};
  if (!device || device->sms == 0) return chip;
  chip.sms = device->sms;
  if (device->clock_mhz > 0) chip.clock_hz = device->clock_mhz * 1e6;
  if (dram_rate(*device) > 0) chip.dram_bytes_per_s = dram_rate(*device);
  return chip;
}

namespace {

Prediction predict_rounds(const Demand& d, const Chip& chip, const CodeClocks* code) {
  Prediction result;
  result.resident = code != nullptr ? code->at_once : resident_blocks(d, chip.limits);
  const double slots = static_cast<double>(chip.sms) * result.resident;
  const double blocks = static_cast<double>(d.blocks);
  result.waves = blocks / slots;
  const double whole = std::floor(result.waves);
  const double rest = std::ceil((blocks - whole * slots) / chip.sms);
  double clocks = other_clocks(d, chip), busy = 0;
  const auto add = [&](double rounds, double at_once) {
    if (rounds <= 0 || at_once <= 0) return;
    const Round one = round(d, chip, at_once, code);
    clocks += rounds * one.clocks;
    busy += rounds * one.busy;
  };
  add(whole, result.resident);
  add(1, rest);
  const double seconds = clocks / chip.clock_hz, memory = memory_seconds(d, chip);
  const double together =
      std::max(seconds, memory) + kPercent * chip.model.overlap * std::min(seconds, memory);
  result.us = 1e6 * (together + chip.model.launch / chip.clock_hz);
  result.waiting = std::max(0.0, 1 - busy / std::max(clocks, 1.0));
  return result;
}

}  // namespace

double CodeClocks::of_each(double blocks) const { return std::max(together / at_once, alone / blocks); }

Prediction predict(const Demand& d, const Chip& chip) {
  if (d.blocks == 0) return {};
  return d.loads == Loads::streamed ? predict_streaming(d, chip) : predict_rounds(d, chip, nullptr);
}

Prediction predict(const Demand& d, const Chip& chip, const CodeClocks& code) {
  return d.blocks == 0 ? Prediction() : predict_rounds(d, chip, &code);
}

CostModel::CostModel(const Target& target)
    : chip_(std::make_unique<const Chip>(chip_of(target, std::nullopt))) {}
CostModel::~CostModel() = default;
double CostModel::us(const Demand& demand) const { return predict(demand, *chip_).us; }
int CostModel::sms() const { return chip_->sms; }
int CostModel::resident_blocks(const Demand& demand) const {
  return tune::resident_blocks(demand, chip_->limits);
}

}  // namespace ptxloom::tune
