// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace ptxloom::cli {

/// Throws Error(usage, "cuda-source") for a file of CUDA C++, by its name, and says how to make PTX of it.
void refuse_cuda_source(const std::filesystem::path& file);

/// The target of a file that is no cubin: the given one or, if that is empty, what the PTX says. Throws
/// Error(usage, "no-target") for a file that is no PTX either, with the hint.
std::string target_of_ptx(std::string_view content, const std::string& file, const std::string& given,
                          const char* hint);

}  // namespace ptxloom::cli
