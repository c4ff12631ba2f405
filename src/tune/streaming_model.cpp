// SPDX-License-Identifier: Apache-2.0
#include "tune/streaming_model.hpp"

#include <algorithm>
#include <cmath>

namespace ptxloom::tune {
namespace {

constexpr double kLanes = 32, kSchedulers = 4;
constexpr double kPercent = 0.01;

/// Clocks of a team from its first load to its last store, if it has the SM to itself.
double team_clocks(const Demand& d, const target::ChipModel& model) {
  const double threads = static_cast<double>(d.blocks) * std::max(d.threads, 1);
  return static_cast<double>(d.steps) * model.stream_latency + d.shuffles * model.shuffle +
         d.barriers * model.barrier + d.cluster_barriers * model.cluster_barrier + model.stream_block +
         d.instructions * kLanes / threads;
}

}  // namespace

Prediction predict_streaming(const Demand& d, const Chip& chip) {
  Prediction result;
  result.resident = resident_blocks(d, chip.limits);
  const target::ChipModel& model = chip.model;
  const double blocks = static_cast<double>(d.blocks), slots = double(chip.sms) * result.resident;
  const double at_once = std::min<double>(result.resident, std::ceil(blocks / chip.sms));
  const double bandwidth =
      chip.dram_bytes_per_s * kPercent * model.stream_memory / chip.sms / chip.clock_hz;  // bytes a clock
  const double memory = bandwidth > 0 ? at_once * d.l2_bytes / blocks / bandwidth : 0;
  const double issue = at_once * d.instructions / blocks / kSchedulers;
  const double alone = team_clocks(d, model);
  const double most = std::max({memory, issue, alone}), others = memory + issue + alone - most;
  const double exposed = kPercent * (model.stream_overlap + model.stream_alone / (at_once * d.teams));
  const double cluster = 1 + kPercent * model.stream_cluster * std::log2(double(d.cluster));
  result.waves = blocks / slots;
  const double rounds = std::ceil(result.waves);
  const double clocks = rounds * cluster * (most + exposed * others);
  result.us = 1e6 * (clocks + model.launch) / chip.clock_hz;
  result.waiting = std::max(0.0, 1 - rounds * std::max(memory, issue) / std::max(clocks, 1.0));
  return result;
}

}  // namespace ptxloom::tune
