// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "ptxloom/tuner.hpp"

// The devices of a search: workers on the context's device or on several like it, or the user's measurer.
namespace ptxloom::api {

struct TuneDevices {
  std::vector<std::unique_ptr<tune::Measurer>> workers;
  std::vector<tune::Measurer*> measurers;
  std::vector<tune::Share> left_out;  ///< devices of another kind, or whose worker does not start
};

/// Throws what starting the first worker throws.
TuneDevices start_devices(const Context& context, const tune::Task& task, const TuneOptions& options);

}  // namespace ptxloom::api
