// SPDX-License-Identifier: Apache-2.0
#include "cli/common/ptx_file.hpp"

#include <fmt/format.h>

#include "jit/ptx_header.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::cli {

void refuse_cuda_source(const std::filesystem::path& file) {
  if (file.extension() != ".cu") return;
  throw Error(ErrorKind::usage, "cuda-source", fmt::format("{} is CUDA C++, not PTX", file.string()),
              fmt::format("compile it first, such as with nvcc -ptx -lineinfo -arch=sm_90a {} -o {}",
                          file.string(), std::filesystem::path(file).replace_extension(".ptx").string()));
}

std::string target_of_ptx(std::string_view content, const std::string& file, const std::string& given,
                          const char* hint) {
  if (!given.empty()) return given;
  if (auto named = jit::directive_argument(content, ".target")) return *std::move(named);
  throw Error(ErrorKind::usage, "no-target",
              content.empty() ? fmt::format("{} is empty", file)
                              : fmt::format("{} is no cubin, and has no .target as PTX has", file),
              hint);
}

}  // namespace ptxloom::cli
