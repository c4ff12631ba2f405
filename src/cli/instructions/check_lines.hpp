// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ptxloom/specs.hpp"

namespace ptxloom::cli {

struct CheckLines {
  std::filesystem::path file;  ///< "-" is stdin
  std::string target;          ///< for lines that name none
};
/// `check --jsonl`: an object of statements on each line in, an object with their verdict on each line out.
/// Returns the exit code.
int check_lines(const std::shared_ptr<const Specs>& specs, const CheckLines& options);

}  // namespace ptxloom::cli
