// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

namespace ptxloom::target {

/// The peak rates of an SM per clock: a row of "rates" in specs/targets.json. Operations: a multiply-add is
/// two. 0 = it has no such unit.
struct ChipRates {
  int chip = 0;
  int f64 = 0, f32 = 0, f16 = 0, bf16 = 0;  ///< of the CUDA cores
  /// Rates of dense products on the tensor cores, with the accumulator type that is fastest.
  int mma_f64 = 0, mma_tf32 = 0, mma_f16 = 0, mma_bf16 = 0, mma_s8 = 0, mma_s4 = 0, mma_fp8 = 0, mma_fp6 = 0,
      mma_fp4 = 0;
  int sparse = 0;          ///< how many times as fast they are with 2:4 sparsity; 1: they do not have it
  int sparse_fp4 = 0;      ///< mma_fp4 with 2:4 sparsity
  int shared = 0, l2 = 0;  ///< bytes

  /// Operations of the fastest units that can compute in f64, f32, tf32, f16 (or bf16), in integers or floats
  /// of 8 bits (b8) or of 4 (b4, by the units for 8 bits where there are none); 0 for any other name.
  int operations(std::string_view unit) const;
};

struct RateColumn {
  const char* name;
  int ChipRates::* field;
};
inline constexpr RateColumn kRateColumns[] = {
    {"chip", &ChipRates::chip},         {"f64", &ChipRates::f64},
    {"f32", &ChipRates::f32},           {"f16", &ChipRates::f16},
    {"bf16", &ChipRates::bf16},         {"mma_f64", &ChipRates::mma_f64},
    {"mma_tf32", &ChipRates::mma_tf32}, {"mma_f16", &ChipRates::mma_f16},
    {"mma_bf16", &ChipRates::mma_bf16}, {"mma_s8", &ChipRates::mma_s8},
    {"mma_s4", &ChipRates::mma_s4},     {"mma_fp8", &ChipRates::mma_fp8},
    {"mma_fp6", &ChipRates::mma_fp6},   {"mma_fp4", &ChipRates::mma_fp4},
    {"sparse", &ChipRates::sparse},     {"sparse_fp4", &ChipRates::sparse_fp4},
    {"shared", &ChipRates::shared},     {"l2", &ChipRates::l2},
};

/// Null if the chip has no row.
const ChipRates* rates_of(int chip);

/// A GPU that is or was sold: a row of "products".
struct Product {
  std::string_view name;  ///< "GeForce_RTX_4090"
  int chip = 0, sms = 0;
  int clock = 0, mma_clock = 0;  ///< MHz, boost; mma_clock: while the tensor cores work
  int memory = 0;                ///< GB/s, peak
  int f32_sums = 1;  ///< tensor products that are added in f32, but for fp4, take this many times as long
};
/// All of them, by chip.
std::span<const Product> products();

/// The typical product of a chip, or of the measured chip if the chip has none: a row of "devices".
const Product& device_of(int chip);

/// What the cost model (tune/model/model.hpp) knows of a chip: a row of "model". specs/README.md says what
/// the columns mean and how they were measured.
struct ChipModel {
  int chip = 0;
  int launch = 0, memory = 0, l2 = 0, shared = 0, warps = 0;
  int bulk_latency = 0, async_latency = 0, load_latency = 0, transfer = 0, bulk_step = 0, bulk_fill = 0,
      async_fill = 0;
  int block = 0;
  int sector = 0, partial = 0, overlap = 0, cluster = 0, summed = 0, exchanged = 0, grid_wait = 0,
      prologue = 0;
  int stream_memory = 0, stream_latency = 0, stream_block = 0, stream_launch = 0, stream_issue = 0,
      stream_code = 0, stream_overlap = 0, stream_alone = 0, stream_cluster = 0, shuffle = 0, barrier = 0,
      cluster_barrier = 0;
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
    {"stream_memory", &ChipModel::stream_memory},
    {"stream_latency", &ChipModel::stream_latency},
    {"stream_block", &ChipModel::stream_block},
    {"stream_launch", &ChipModel::stream_launch},
    {"stream_issue", &ChipModel::stream_issue},
    {"stream_code", &ChipModel::stream_code},
    {"stream_overlap", &ChipModel::stream_overlap},
    {"stream_alone", &ChipModel::stream_alone},
    {"stream_cluster", &ChipModel::stream_cluster},
    {"shuffle", &ChipModel::shuffle},
    {"barrier", &ChipModel::barrier},
    {"cluster_barrier", &ChipModel::cluster_barrier},
};
/// The row of the chip; that of the only measured one if the chip has none.
const ChipModel& model_of(int chip);

}  // namespace ptxloom::target
