// SPDX-License-Identifier: Apache-2.0
#include "tune/model/model.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace ptxloom;
using Catch::Approx;
using tune::Demand;
using tune::resident_blocks;

TEST_CASE("an SM holds as many thread blocks as its scarcest resource allows") {
  // Compute capability 9.0: 64 K registers, 2048 threads, 32 blocks, 228 KiB of shared memory of which each
  // block loses one (CUDA C++ Programming Guide, technical specifications).
  const TargetInfo& chip = Target("sm_90a").info();
  CHECK(resident_blocks({.threads = 32}, chip) == 32);
  CHECK(resident_blocks({.threads = 1024}, chip) == 2);
  CHECK(resident_blocks({.threads = 256, .registers = 255}, chip) == 1);
  CHECK(resident_blocks({.threads = 256, .registers = 128}, chip) == 2);
  CHECK(resident_blocks({.threads = 256, .registers = 129}, chip) == 1);  // registers come in eights
  CHECK(resident_blocks({.threads = 128, .shared_bytes = 113 * 1024}, chip) == 2);
  CHECK(resident_blocks({.threads = 128, .shared_bytes = 113 * 1024 + 1}, chip) == 1);
  CHECK(resident_blocks({.threads = 128, .registers = 96, .shared_bytes = 50 * 1024}, chip) == 4);
  // Compute capability 7.5: 64 KiB, all of which a thread block can have.
  const TargetInfo& turing = Target("sm_75").info();
  CHECK(resident_blocks({.threads = 128, .shared_bytes = 32 * 1024}, turing) == 2);
  CHECK(resident_blocks({.threads = 128, .shared_bytes = 32 * 1024 + 1}, turing) == 1);
}

namespace {

// A chip whose figures are easy to reckon with: at most 16 blocks of 128 threads on each of 10 SMs.
tune::Chip round_chip() {
  return {.limits = Target("sm_90a").info(),
          .rates = {.mma_f16 = 1000, .shared = 128},
          .model = {.launch = 2000,
                    .memory = 100,
                    .l2 = 64,
                    .shared = 128,
                    .warps = 2,
                    .bulk_latency = 1200,
                    .async_latency = 800,
                    .load_latency = 700,
                    .bulk_step = 3,
                    .bulk_fill = 1500,
                    .async_fill = 1500,
                    .sector = 2000,
                    .partial = 5000,
                    .cluster = 100,
                    .summed = 16,
                    .exchanged = 32,
                    .grid_wait = 4000,
                    .prologue = 10},
          .sms = 10,
          .clock_hz = 1e9,
          .dram_bytes_per_s = 1e12};
}

Demand of_blocks(std::uint64_t blocks) {
  const auto n = static_cast<double>(blocks);
  return {.threads = 128,
          .blocks = blocks,
          .unit = "f16",
          .operations = 25e3 * n,
          .l2_bytes = 1600 * n,
          .shared_traffic = 6400 * n,
          .steps = 10,
          .in_flight = 2,
          .loads = tune::Loads::threads};
}

// Clocks for which the busiest unit of an SM that has `blocks` of these works: shared memory.
double busy(double blocks) { return 50 * blocks; }

}  // namespace

TEST_CASE("a time is predicted from waves of thread blocks, their busiest unit and their k-blocks") {
  const tune::Prediction part = tune::predict(of_blocks(40), round_chip());
  CHECK(part.resident == 16);
  CHECK(part.waves == Approx(0.25));
  // 4 blocks an SM: their 10 steps wait 800 / 2 clocks each, which is longer than any unit needs.
  CHECK(part.us == Approx(2 + (10 * 400 + 1500) * 1e-3));
  CHECK(part.waiting == Approx(1 - busy(4) / 5500));

  const tune::Prediction more = tune::predict(of_blocks(200), round_chip());
  CHECK(more.waves == Approx(1.25));
  CHECK(more.us == Approx(2 + 2 * 5500 * 1e-3));
  CHECK(more.waiting == Approx(1 - (busy(16) + busy(4)) / 11000));

  Demand deep = of_blocks(160);
  deep.in_flight = 100;
  CHECK(tune::predict(deep, round_chip()).waves == Approx(1));
  CHECK(tune::predict(deep, round_chip()).us == Approx(2 + (10 * 8 + 1500) * 1e-3));

  const tune::Prediction one = tune::predict(of_blocks(1), round_chip());
  CHECK(one.waves == Approx(1 / 160.0));
  CHECK(one.us == Approx(7.5));
}

TEST_CASE("device memory bounds a prediction from below") {
  Demand demand = of_blocks(40);
  demand.dram_bytes = 1e9;
  CHECK(tune::predict(demand, round_chip()).us == Approx(1002));
  tune::Chip unknown = round_chip();
  unknown.dram_bytes_per_s = 0;
  CHECK(tune::predict(demand, unknown).us == Approx(7.5));
}

TEST_CASE("a demand that says little is predicted by what it says") {
  CHECK(tune::predict({}, round_chip()).us == 0);
  CHECK(tune::predict({}, round_chip()).resident == 1);
  // One step that waits, and no unit that works.
  const tune::Prediction idle = tune::predict({.blocks = 10, .in_flight = 0}, round_chip());
  CHECK(idle.resident == 32);
  CHECK(idle.us == Approx(2 + (700 + 700) * 1e-3));
  CHECK(idle.waiting == 1);
  // Fewer threads than a warp are one: 1 warp keeps a third of the unit busy.
  const Demand narrow{
      .threads = 8, .blocks = 10, .unit = "f16", .operations = 1e7, .steps = 1, .in_flight = 1};
  CHECK(tune::predict(narrow, round_chip()).us == Approx(2 + (3000 + 700) * 1e-3));
}

TEST_CASE("the rarer demands of a configuration have their times") {
  const Demand plain = of_blocks(40);
  const auto longer = [&](const Demand& demand) {
    return 1e3 * (tune::predict(demand, round_chip()).us - tune::predict(plain, round_chip()).us);
  };
  Demand one = plain;
  one.grid_waits = 2;
  CHECK(longer(one) == Approx(8000));
  one = plain;
  one.cluster = 2;
  CHECK(longer(one) == Approx(100));
  one = plain;
  one.summed_bytes = 1600;
  CHECK(longer(one) == Approx(100));
  one = plain;
  one.exchanged_bytes = 3200;
  CHECK(longer(one) == Approx(100));
  one = plain;
  one.prologue_bytes = 1e4;
  CHECK(longer(one) == Approx(100));
  one = plain;
  one.epilogue = 300;
  CHECK(longer(one) == Approx(300));
  one = plain;
  one.stored_sectors = 5e4;
  one.partial_sectors = 1e4;
  CHECK(longer(one) == Approx(15000 - 5500));  // 10,000 and 5,000 clocks of an SM, beside 5,500
  one = plain;
  one.most_per_sm = 1;
  CHECK(longer(one) == Approx(3 * 5500));
}

TEST_CASE("a persistent kernel fills its pipeline once, and stores one tile while it computes another") {
  Demand demand = of_blocks(40);
  demand.most_per_sm = 1;
  demand.persistent = true;
  demand.loads = tune::Loads::bulk;
  demand.epilogue = 400;
  // Four rounds of ten k-blocks, each waiting for half of the latency.
  CHECK(tune::predict(demand, round_chip()).us == Approx(2 + (1500 + 4 * (10 * 600 + 400)) * 1e-3));
  demand.in_turn = 2;
  CHECK(tune::predict(demand, round_chip()).us == Approx(2 + (1500 + 4 * 3200 + 400) * 1e-3));
}

TEST_CASE("operations on shared memory need no warps to hold operands") {
  Demand demand = of_blocks(40);
  demand.operations = 25e6 * 40;  // 25,000 clocks for a thread block
  demand.asynchronous = true;
  CHECK(tune::predict(demand, round_chip()).us == Approx(2 + 4 * 25));
  demand.asynchronous = false;
  CHECK(tune::predict(demand, round_chip()).us == Approx(2 + 4 * 25 * 18 / 16.0));
}

TEST_CASE("a chip is the device's, and a typical one where there is none") {
  const Target target("sm_90a");
  const tune::Chip typical = tune::chip_of(target, std::nullopt);
  CHECK(typical.limits.name == "sm_90a");
  CHECK(typical.rates.operations("f16") == target::rates_of(90)->operations("f16"));
  CHECK(typical.sms > 0);
  CHECK(typical.clock_hz > 0);
  CHECK(typical.dram_bytes_per_s > 0);
  DeviceInfo device;
  device.sms = 132;
  device.clock_mhz = 1980;
  device.memory_clock_mhz = 3201;
  device.memory_bus_bits = 6144;
  const tune::Chip known = tune::chip_of(target, device);
  CHECK(known.sms == 132);
  CHECK(known.clock_hz == 1.98e9);
  CHECK(known.dram_bytes_per_s == Approx(4.917e12).epsilon(1e-3));  // of an H200
  device.clock_mhz = device.memory_bus_bits = 0;
  CHECK(tune::chip_of(target, device).sms == 132);
  CHECK(tune::chip_of(target, device).clock_hz == typical.clock_hz);
  CHECK(tune::chip_of(target, device).dram_bytes_per_s == typical.dram_bytes_per_s);
  device.clock_mhz = 1;
  CHECK(tune::chip_of(target, device).clock_hz == 1e6);
  device.sms = 0;
  CHECK(tune::chip_of(target, device).clock_hz == typical.clock_hz);
}
