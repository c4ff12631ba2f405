// SPDX-License-Identifier: Apache-2.0
#include "tune/model.hpp"

#include <catch2/catch_test_macros.hpp>

using namespace ptxloom;
using tune::resident_blocks;

TEST_CASE("an SM holds as many blocks as its scarcest resource allows") {
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
}
