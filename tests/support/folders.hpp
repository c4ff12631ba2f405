// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

// The location of this checkout. The paths are compiled into one object file, so that all others are the same
// in every checkout and a compiler cache can share them.
namespace ptxloom::test {

std::string source_folder();
std::string build_folder();  ///< CMake's: what ./dev and the build put there

}  // namespace ptxloom::test
