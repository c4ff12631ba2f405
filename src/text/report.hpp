// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ptxloom/error.hpp"

namespace ptxloom::text {

/// Collects diagnostics; stops the reading after too many, and says so.
class Report {
 public:
  void add(Diagnostic diagnostic) {
    if (full()) return;
    diagnostics_.push_back(std::move(diagnostic));
    if (!full()) return;
    Diagnostic last = diagnostics_.back();  // for its place
    last.code = "too-many-errors";
    last.message = "reading stops after " + std::to_string(kMost) + " errors: what follows is not judged";
    last.hint = "correct these first";
    diagnostics_.push_back(std::move(last));
  }
  bool full() const { return diagnostics_.size() >= kMost; }
  std::vector<Diagnostic> take() { return std::move(diagnostics_); }

 private:
  static constexpr std::size_t kMost = 200;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace ptxloom::text
