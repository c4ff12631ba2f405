// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

namespace ptxloom::cli {

/// The tool's exit code after Ctrl-C.
inline constexpr int kInterrupted = 130;

/// From now on the first Ctrl-C sets the flag, so that work can end with what it has; the second ends the
/// process.
const std::atomic<bool>& catch_interrupt();

}  // namespace ptxloom::cli
