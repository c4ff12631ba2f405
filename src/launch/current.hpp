// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "ptxloom/launch.hpp"

namespace ptxloom {

/// For another library's work on a device: its context is current during `work`, and the previous one is
/// restored afterwards.
void with_current(const DeviceContext& device, const std::function<void()>& work);

}  // namespace ptxloom
