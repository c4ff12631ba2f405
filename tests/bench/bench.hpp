// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/gemm.hpp"
#include "ptxloom/ptx.hpp"

// What the benchmark programs share. Each prints the ratio that it is there for.
namespace ptxloom::bench {

inline double milliseconds_of(const auto& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

/// Of the process, all threads: what a busy machine does not change.
inline double cpu_milliseconds_of(const auto& work) {
  const std::clock_t begin = std::clock();
  work();
  return 1000.0 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

inline double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values.at(values.size() / 2);
}

/// Calls `use` with each line of a file of JSON objects. Empty lines are passed over.
inline void read_lines(const std::string& file, const auto& use) {
  std::ifstream in(file);
  if (!in) throw Error(ErrorKind::usage, "unreadable-file", "cannot read " + file, "");
  int number = 0;
  for (std::string text; std::getline(in, text);) {
    ++number;
    if (text.find_first_not_of(" \t\r") == std::string::npos) continue;
    try {
      use(nlohmann::json::parse(text));
    } catch (const nlohmann::json::exception& error) {
      throw Error(ErrorKind::usage, "bad-record",
                  file + ", line " + std::to_string(number) + " is not a measurement: " + error.what(),
                  "each line holds one JSON object, as `measure` writes it");
    }
  }
}

struct LargestKernel {
  Settings problem, config;
  std::size_t instructions = 0;
};

/// The configuration of a problem whose kernel has the most instructions.
inline LargestKernel largest(const std::shared_ptr<const Specs>& specs, const Target& target,
                             const Settings& words) {
  const Template& gemm = gemm_template();
  LargestKernel most{.problem = gemm.problem(words)};
  for (const Settings& config : gemm.candidates(*specs, target, most.problem, {})) {
    const std::size_t size =
        gemm.emit(specs, target, most.problem, config).module.functions[0].instructions.size();
    if (size > most.instructions) {
      most.instructions = size;
      most.config = config;
    }
  }
  return most;
}

}  // namespace ptxloom::bench
