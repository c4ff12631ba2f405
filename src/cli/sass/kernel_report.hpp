// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "cli/sass/launch_model.hpp"
#include "cli/sass/ncu_stalls.hpp"
#include "ptxloom/plan.hpp"
#include "target/rates.hpp"

// What `ptxloom report` tells of a kernel: docs/json/report.json.
namespace ptxloom::cli {

/// What is known of the work, beside the machine code.
struct ReportWork {
  std::string title{};
  Settings problem{}, config{};  ///< of a template
  double operations = 0;         ///< 0: not known
  double bytes = 0;              ///< of its tensors; 0: not known
  std::string unit{};  ///< the rate of specs/targets.json that bounds the operations; empty: not known
  std::vector<ModelLaunch> launches{};
};

struct ReportInput {
  const sass::Listing& listing;
  int chip = 0;
  sass::ModelOptions how{};
  ReportWork work{};
  std::optional<target::Product> gpu{};                 ///< none is known of some chips
  std::vector<std::filesystem::path> records = {};      ///< of `bench insn`
  std::map<std::string, MeasuredStalls> measured = {};  ///< by kernel
  std::string unmeasured = {};                          ///< why nothing is
};

nlohmann::ordered_json kernel_report(const ReportInput& input);
/// The same for people who read it in a terminal.
std::string kernel_report_text(const nlohmann::ordered_json& report);

}  // namespace ptxloom::cli
