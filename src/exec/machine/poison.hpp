// SPDX-License-Identifier: Apache-2.0
#pragma once

// The contents of memory and registers before anything is written to them: a value that no kernel produces by
// chance.
namespace ptxloom::exec {

inline constexpr int kPoison = 0xA5;

}  // namespace ptxloom::exec
