// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace ptxloom::cli {

/// What the tool exits with after Ctrl-C.
inline constexpr int kInterrupted = 130;

/// From now on the first Ctrl-C sets the flag, for work to end with what it has; the second ends the process.
const std::atomic<bool>& catch_interrupt();

}  // namespace ptxloom::cli
