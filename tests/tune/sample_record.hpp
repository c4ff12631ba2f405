// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "ptxloom/record.hpp"
#include "support/temporary_folder.hpp"

// A record as the tests of records want it, and the files that it gets into.
namespace ptxloom::record_test {

inline const DeviceKey kDevice{.name = "NVIDIA Test 1/2", .sm = "sm_90a", .sms = 132, .memory_mhz = 3201};

/// A record of the gemm with this m and 8 columns.
inline Record record(const std::string& m, double time_us) {
  return {.device = kDevice,
          .kernel_template = "gemm",
          .problem = {{"m", m}, {"n", "8"}},
          .config = {{"tile_m", "64"}},
          .time_us = time_us,
          .spread = 0.01,
          .linker = "13.0",
          .flags = "-O3",
          .resources = Resources{.registers = 40, .shared = 1024},
          .evaluations = 7};
}

/// The files of records in a folder.
inline std::vector<std::filesystem::path> files(const TemporaryFolder& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    if (entry.path().extension() == ".jsonl") found.push_back(entry.path());
  }
  return found;
}

}  // namespace ptxloom::record_test
