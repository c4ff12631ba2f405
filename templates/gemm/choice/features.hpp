// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>

#include "gemm/config/config.hpp"
#include "ptxloom/tuning_space.hpp"

// What the correction of the cost model (correction.hpp) sees of a configuration: numbers with names, which
// its data refer to.
namespace ptxloom::gemm_kernel {

struct Candidate {
  const Problem& problem;  ///< that the configuration sees (seen_by)
  const Config& config;
  const tune::Demand& demand;
  int resident = 1;  ///< thread blocks that an SM holds at once
  int sms = 1;       ///< of the device
  double us = 0;     ///< by the cost model
};

struct Feature {
  std::string_view name;
  double (*value)(const Candidate&);
};

std::span<const Feature> features();

}  // namespace ptxloom::gemm_kernel
