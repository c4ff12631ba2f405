// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "conform/compare.hpp"
#include "conform/subject.hpp"
#include "ptxloom/exec.hpp"
#include "ptxloom/launch.hpp"

// Runs a conformance kernel on either side, on the same operands.
namespace ptxloom::conform_kernels {

/// The inputs of the threads.
struct Given {
  std::size_t threads = 0;
  std::vector<std::byte> in, slots, data;
  std::vector<TensorMap> maps;  ///< one per warp; their addresses are offsets in the slots
};
Given given_to(const Subject& subject, std::size_t threads, std::uint64_t seed);

/// `judge`: misuse that may give right results by luck counts as an error too.
Outcome run_executor(const exec::Program& program, const std::string& entry, const Subject& subject,
                     Given given, bool judge);
Outcome run_device(const DeviceContext& device, const DeviceModule& module, const std::string& entry,
                   const Subject& subject, const Given& given);

}  // namespace ptxloom::conform_kernels
