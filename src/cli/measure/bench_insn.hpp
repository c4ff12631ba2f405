// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/command.hpp"

namespace ptxloom::cli {

/// The options of `ptxloom bench insn`.
struct InsnFlags {
  std::string selection;
  bool all = false;
  bool dry_run = false;
  bool again = false;
  std::string device = "gpu";
  std::string target = "sm_90a";
  std::string format = "text";
  std::filesystem::path records;
  std::vector<std::filesystem::path> from;
  std::vector<std::filesystem::path> against;
};

int run_bench_insn(const Tool& tool, const InsnFlags& options);

}  // namespace ptxloom::cli
