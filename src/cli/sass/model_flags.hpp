// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "sass/issue/issue_model.hpp"

// Options of the issue model, which `sass --model` and `report` share.
namespace ptxloom::cli {

struct ModelFlags {
  int warps = 0;                ///< of an SM
  int threads = 0;              ///< of a thread block
  std::optional<int> shared{};  ///< bytes of dynamic shared memory of a thread block
  std::string loads;
  int conflicts = 1;

  bool given() const;
  /// Throws Error(usage, "bad-usage") if a thread block has more warps than the SM is to have.
  void check() const;
  int block_warps() const;  ///< 0: not given
  sass::ModelOptions options() const;
};

void add_model_flags(CLI::App& command, ModelFlags& flags);

/// That the figures of this chip were not measured.
std::string assumed_note(int chip);
/// What the user should know of a prediction, on stderr.
void print_model_notes(const sass::IssueModel& model);
/// That nothing says how much dynamic shared memory a thread block has, if it matters, on stderr.
void print_shared_note(const ModelFlags& flags);
/// That a cubin is not linked yet, if it is not, on stderr.
void print_object_note(const sass::Listing& listing);

}  // namespace ptxloom::cli
