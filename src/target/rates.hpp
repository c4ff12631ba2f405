// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace ptxloom::target {

/// The peak rates of an SM per clock: a row of "rates" in specs/targets.json. 0 = it has no such unit.
struct ChipRates {
  int chip = 0;
  int f64 = 0, f32 = 0, tf32 = 0, f16 = 0, b8 = 0, b4 = 0;  ///< operations
  int shared = 0, l2 = 0;                                   ///< bytes

  /// Operations by column name; 0 for any other.
  int operations(std::string_view unit) const;
};

/// Null if the chip has no row.
const ChipRates* rates_of(int chip);

/// A typical device of a chip: a row of "devices".
struct ChipDevice {
  int chip = 0;
  int clock = 0;   ///< MHz
  int memory = 0;  ///< GB/s, peak
};
/// The row of the chip; that of the measured one if the chip has none.
const ChipDevice& device_of(int chip);

/// What the cost model (tune/model.hpp) knows of a chip: a row of "model". specs/README.md says what the
/// columns mean and how they were measured.
struct ChipModel {
  int chip = 0;
  int launch = 0, memory = 0, l2 = 0, shared = 0, warps = 0;
  int bulk_latency = 0, async_latency = 0, load_latency = 0, transfer = 0, bulk_step = 0, bulk_fill = 0,
      async_fill = 0;
  int block = 0;
  int sector = 0, partial = 0, overlap = 0, cluster = 0, summed = 0, exchanged = 0, grid_wait = 0,
      prologue = 0;
};

struct ModelColumn {
  const char* name;
  int ChipModel::* field;
};
inline constexpr ModelColumn kModelColumns[] = {
    {"chip", &ChipModel::chip},
    {"launch", &ChipModel::launch},
    {"memory", &ChipModel::memory},
    {"l2", &ChipModel::l2},
    {"shared", &ChipModel::shared},
    {"warps", &ChipModel::warps},
    {"bulk_latency", &ChipModel::bulk_latency},
    {"async_latency", &ChipModel::async_latency},
    {"load_latency", &ChipModel::load_latency},
    {"transfer", &ChipModel::transfer},
    {"bulk_step", &ChipModel::bulk_step},
    {"bulk_fill", &ChipModel::bulk_fill},
    {"async_fill", &ChipModel::async_fill},
    {"block", &ChipModel::block},
    {"sector", &ChipModel::sector},
    {"partial", &ChipModel::partial},
    {"overlap", &ChipModel::overlap},
    {"cluster", &ChipModel::cluster},
    {"summed", &ChipModel::summed},
    {"exchanged", &ChipModel::exchanged},
    {"grid_wait", &ChipModel::grid_wait},
    {"prologue", &ChipModel::prologue},
};
/// The row of the chip; that of the only measured one if the chip has none.
const ChipModel& model_of(int chip);

}  // namespace ptxloom::target
