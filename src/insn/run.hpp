// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "insn/record.hpp"
#include "ptxloom/context.hpp"

// Measures the chosen rows on a GPU. Threads link kernels while the device runs those that are ready.
namespace ptxloom::insn {

struct RunOptions {
  std::string selection;  ///< as rows() takes it
  std::filesystem::path records;
  unsigned jobs = 0;                        ///< threads that link; 0: one for each core
  bool again = false;                       ///< measure what is recorded too
  const std::atomic<bool>* stop = nullptr;  ///< once it is true, no new row is begun
  /// Called with the number of rows that are done, the number of all, and the opcode at hand.
  std::function<void(std::size_t, std::size_t, std::string_view)> progress = {};
};

struct RunResult {
  std::vector<std::string> records;  ///< of the chosen rows, of this run and earlier ones
  std::size_t measured = 0;          ///< rows of this run
  std::size_t known = 0;             ///< rows that were recorded before
  int skipped_lines = 0;             ///< of the file, which cannot be read
};

/// Throws Error(device_fault) after recording which row it was, so that the next run passes over it.
RunResult run(const Context& context, const RunOptions& options);

}  // namespace ptxloom::insn
