// SPDX-License-Identifier: Apache-2.0
#include "tune/model/streaming_model.hpp"

#include <algorithm>
#include <cmath>

namespace ptxloom::tune {
namespace {

constexpr double kLanes = 32;

/// Instructions of a thread: they stand one after the other, without a loop.
double thread_instructions(const Demand& d) {
  return d.instructions * kLanes / (static_cast<double>(d.blocks) * std::max(d.threads, 1));
}

/// Clocks of a team from its first load to its last store, if it has the SM to itself.
double team_clocks(const Demand& d, const target::ChipModel& model) {
  return static_cast<double>(d.steps) * model.stream_latency + d.shuffles * model.shuffle +
         d.barriers * model.barrier + d.cluster_barriers * model.cluster_barrier + model.stream_block +
         thread_instructions(d) * model.stream_issue;
}

/// A wave of thread blocks on an SM: its clocks, and those in which memory or the schedulers are busy.
struct Wave {
  double clocks = 0, busy = 0;
};

Wave wave(const Demand& d, const Chip& chip, double at_once) {
  const target::ChipModel& model = chip.model;
  const double share = at_once / static_cast<double>(d.blocks);
  const double bandwidth =
      chip.dram_bytes_per_s * kPercent * model.stream_memory / chip.sms / chip.clock_hz;  // bytes a clock
  const double memory = bandwidth > 0 ? d.l2_bytes * share / bandwidth : 0;
  const double pace = thread_instructions(d) > model.stream_code ? 1 : kSchedulers;
  const double issue = share * std::max(d.instructions / pace, d.sectors);
  const double starts = at_once * model.stream_launch, alone = team_clocks(d, model);
  const double work = std::max({memory, issue, alone}), others = memory + issue + alone - work;
  const double exposed = kPercent * (model.stream_overlap + model.stream_alone / (at_once * d.teams));
  const double cluster = 1 + kPercent * model.stream_cluster * std::log2(double(d.cluster));
  return {.clocks = cluster * (std::max(work, starts) + exposed * others), .busy = std::max(memory, issue)};
}

}  // namespace

Prediction predict_streaming(const Demand& d, const Chip& chip) {
  Prediction result;
  result.resident = resident_blocks(d, chip.limits);
  const double blocks = static_cast<double>(d.blocks), slots = double(chip.sms) * result.resident;
  result.waves = blocks / slots;
  double clocks = 0, busy = 0;
  const auto add = [&](double waves, double at_once) {
    if (waves <= 0 || at_once <= 0) return;
    const Wave one = wave(d, chip, at_once);
    clocks += waves * one.clocks;
    busy += waves * one.busy;
  };
  const double whole = std::floor(result.waves);
  add(whole, result.resident);
  add(1, std::ceil((blocks - whole * slots) / chip.sms));
  result.us = 1e6 * (clocks + chip.model.launch) / chip.clock_hz;
  result.waiting = std::max(0.0, 1 - busy / std::max(clocks, 1.0));
  return result;
}

}  // namespace ptxloom::tune
