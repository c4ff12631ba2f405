// SPDX-License-Identifier: Apache-2.0
// A build without CUDA: every library is missing, and the error says why.
#include "ptxloom/libraries.hpp"

#include <utility>

namespace ptxloom {
namespace {

Diagnostic absence() {
  return {.code = "no-cuda-support",
          .message = "this ptxloom was built without CUDA",
          .hint = "build with -DPTXLOOM_CUDA=ON; without CUDA, kernels run in the CPU executor"};
}

[[noreturn]] void throw_absence() { throw Error(ErrorKind::missing, {absence()}); }

}  // namespace

struct Libraries::State {
  LibraryOptions options;
};

Libraries::Libraries(LibraryOptions options) : state_(std::make_shared<State>(State{std::move(options)})) {}
const LibraryOptions& Libraries::options() const { return state_->options; }
const cuda::Driver& Libraries::driver() const { throw_absence(); }
const cuda::NvJitLink& Libraries::nvjitlink() const { throw_absence(); }
const cuda::Nvrtc& Libraries::nvrtc() const { throw_absence(); }
const cuda::Nvml& Libraries::nvml() const { throw_absence(); }
const cuda::CublasLt& Libraries::cublaslt() const { throw_absence(); }
bool Libraries::has_driver() const noexcept { return false; }
bool Libraries::has_nvjitlink() const noexcept { return false; }

std::vector<LibraryStatus> Libraries::status() const {
  std::vector<LibraryStatus> all;
  for (const char* name : {"driver", "nvJitLink", "NVRTC", "NVML"}) {
    all.push_back({.name = name, .path = {}, .version = {}, .problem = absence()});
  }
  return all;
}

std::vector<std::filesystem::path> Libraries::include_folders() const { return {}; }
std::optional<Diagnostic> check_driver_version(int, int) { return absence(); }

}  // namespace ptxloom
