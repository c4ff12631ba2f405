// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace ptxloom::foreign {

/// The PTX in what nvcc passes to __cudaRegisterFatBinary: the first PTX image that is not compressed. Throws
/// std::runtime_error, with what to compile with, if there is none.
std::string ptx_of_fat_binary(const void* wrapper);

}  // namespace ptxloom::foreign
