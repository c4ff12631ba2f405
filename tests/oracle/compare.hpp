// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <filesystem>
#include <memory>

#include "oracle/forms.hpp"

// Two assemblers against each other: what one takes and the other refuses of the variants of every form and
// of what stands next to them. Our own verdict plays no part, so this shows what a release of CUDA changed
// before the specs say anything about it.
namespace ptxloom::oracle {

struct Assembler {
  std::filesystem::path program;
  Version release;                  // of CUDA
  const ToolkitInfo* toolkit;       // as specs/targets.json knows it
  const Verdicts* known = nullptr;  // from memory
};

struct CompareOptions {
  FormsOptions forms;                   // which of them, how many at a time, and what is printed
  std::array<Assembler, 2> assemblers;  // the older first
};

/// Prints what differs by form and target, first in the newest PTX version that both read, then what the
/// newer one takes in its own PTX versions; of a target that only it has, what no other target takes. Returns
/// the number of lines that differ.
std::size_t compare_assemblers(const std::shared_ptr<const Specs>& specs, const CompareOptions& options);

}  // namespace ptxloom::oracle
