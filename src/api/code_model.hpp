// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ptxloom/target.hpp"
#include "ptxloom/tune.hpp"

// The issue model for the tuner, which does not know machine code: how long the k-blocks of a candidate take,
// from the loop that matters most in its cubin; all else from the cost model.
namespace ptxloom::api {

/// `device`: what is tuned for; else a typical device of the target.
tune::CodeModel code_model(const Target& target, const std::optional<DeviceInfo>& device);

}  // namespace ptxloom::api
