// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "ptxloom/specs.hpp"

// PTX that others wrote is read, checked and printed, and ptxas must make the same machine code of what was
// printed as of what was read.
namespace ptxloom::oracle {

struct Toolchain {
  std::string nvcc, ptxas;
};

/// What came of one text. Everything but `facts` is something wrong.
struct Verdict {
  std::string facts;        ///< "1177519 bytes, 39 functions"
  std::string complaints;   ///< of the reader and the checker
  std::string failure;      ///< no tool made anything of it, or the text is not stable, or ptxas refuses it
  std::string differences;  ///< sections of the two cubins that are not the same
  bool ok() const { return complaints.empty() && failure.empty() && differences.empty(); }
};

/// `folder` takes what is made on the way. The target is the one that the text names.
Verdict round_trip(const Toolchain& tools, const std::filesystem::path& ptx,
                   const std::filesystem::path& folder, const std::shared_ptr<const Specs>& specs);

}  // namespace ptxloom::oracle
