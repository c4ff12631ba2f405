// SPDX-License-Identifier: Apache-2.0
// The time of kernels that stream elements, computed by hand for a chip of round figures.
#include "tune/model/streaming_model.hpp"

#include <catch2/catch_approx.hpp>
#include <catch2/catch_test_macros.hpp>

using namespace ptxloom;
using Catch::Approx;

namespace {

// 10 SMs, each with 50 bytes a clock of device memory.
tune::Chip round_chip() {
  return {.limits = Target("sm_90a").info(),
          .model = {.launch = 2000,
                    .stream_memory = 50,
                    .stream_latency = 500,
                    .stream_block = 100,
                    .stream_launch = 20,
                    .stream_issue = 2,
                    .stream_code = 1000,
                    .stream_overlap = 10,
                    .stream_alone = 0,
                    .stream_cluster = 50,
                    .shuffle = 10,
                    .barrier = 40,
                    .cluster_barrier = 300},
          .sms = 10,
          .clock_hz = 1e9,
          .dram_bytes_per_s = 1e12};
}

// Thread blocks of 4 warps and 10,000 bytes, with 100 instructions of a thread. An SM holds 16 of them.
tune::Demand of_blocks(std::uint64_t blocks) {
  const auto n = static_cast<double>(blocks);
  return {.threads = 128,
          .blocks = blocks,
          .instructions = 400 * n,
          .l2_bytes = 10000 * n,
          .steps = 1,
          .loads = tune::Loads::streamed,
          .shuffles = 5};
}

double clocks(const tune::Demand& demand) { return 1e3 * tune::predict(demand, round_chip()).us - 2000; }

}  // namespace

TEST_CASE("streaming takes the longest of memory, issue and one team, and a part of the others") {
  // 4 thread blocks an SM: memory 800, issue 400, starts 80 (hidden), a team 500 + 100 + 200 + 50.
  CHECK(clocks(of_blocks(40)) == Approx(850 + 0.1 * (800 + 400)));
  tune::Demand waits = of_blocks(40);
  waits.barriers = 2, waits.steps = 3;
  CHECK(clocks(waits) == Approx(850 + 80 + 1000 + 0.1 * (800 + 400)));
  tune::Demand bytes = of_blocks(40);
  bytes.l2_bytes *= 2;
  CHECK(clocks(bytes) == Approx(1600 + 0.1 * (850 + 400)));
}

TEST_CASE("streaming runs whole waves, then what is left") {
  // 16 at once: memory 3200, issue 1600; then 2 an SM: memory 400, issue 200.
  CHECK(clocks(of_blocks(180)) == Approx(3200 + 0.1 * (1600 + 850) + 850 + 0.1 * (400 + 200)));
  CHECK(tune::predict(of_blocks(180), round_chip()).waves == Approx(180.0 / 160));
}

TEST_CASE("long code, scattered accesses, clusters and single teams cost") {
  tune::Demand code = of_blocks(40);
  code.instructions = 40 * 4 * 1100;  // 1100 of a thread, of which one is issued a clock
  CHECK(clocks(code) == Approx(4 * 4 * 1100 + 0.1 * (800 + 500 + 100 + 2200 + 50)));
  tune::Demand scattered = of_blocks(40);
  scattered.sectors = 40 * 1000;
  CHECK(clocks(scattered) == Approx(4000 + 0.1 * (800 + 850)));
  tune::Demand cluster = of_blocks(40);
  cluster.cluster = 2, cluster.cluster_barriers = 1;
  CHECK(clocks(cluster) == Approx(1.5 * (850 + 300 + 0.1 * (800 + 400))));
  CHECK(tune::sector_factor(1000, 16) == Approx(4));
  CHECK(tune::sector_factor(32, 16) == Approx(2));
  CHECK(tune::sector_factor(1000, 256) == Approx(1));
}
