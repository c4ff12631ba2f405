// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"

// NVIDIA's libraries, opened at first use and never linked: one program runs with a GPU, with the toolkit
// alone, or with neither. A Libraries is a handle: copies share the opened libraries, which stay open as long
// as anything made with them. Thread-safe.
namespace [[gnu::visibility("default")]] ptxloom {
namespace cuda {
struct Driver;     // src/cuda/driver.hpp
struct NvJitLink;  // src/cuda/nvjitlink.hpp
struct Nvrtc;      // src/cuda/nvrtc.hpp
struct Nvml;       // src/cuda/nvml.hpp
struct CublasLt;   // src/cuda/cublaslt.hpp
}  // namespace cuda

struct LibraryOptions {
  /// Looked into before anything else. PTXLOOM_CUDA_PATH, folders separated by colons, comes next, then what
  /// the system's loader finds, $CUDA_HOME and /usr/local/cuda.
  std::vector<std::filesystem::path> folders{};
  /// False: nowhere but in `folders`.
  bool system = true;
};

/// What `doctor` says about one library.
struct LibraryStatus {
  std::string name{};     ///< "driver", "nvJitLink", "NVRTC", "NVML"
  std::string path{};     ///< the file it was opened from; empty where it is missing
  std::string version{};  ///< "13.0"; empty where it is missing
  std::optional<Diagnostic> problem{};
};

class Libraries {
 public:
  explicit Libraries(LibraryOptions options = {});
  const LibraryOptions& options() const;

  /// Each opens its library at the first call and throws Error(missing) where that fails: "no-driver",
  /// "no-device", "driver-too-old", "no-nvjitlink", "no-nvrtc", "no-nvml", "no-cublaslt".
  const cuda::Driver& driver() const;
  const cuda::NvJitLink& nvjitlink() const;
  const cuda::Nvrtc& nvrtc() const;
  const cuda::Nvml& nvml() const;
  /// For comparisons only; status() does not open it, for it is large.
  const cuda::CublasLt& cublaslt() const;

  bool has_driver() const noexcept;
  bool has_nvjitlink() const noexcept;

  std::vector<LibraryStatus> status() const;
  /// Folders holding cuda_fp16.h and its neighbours, for NVRTC; empty where there is no toolkit.
  std::vector<std::filesystem::path> include_folders() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Can a driver of this API version (as cuDriverGetVersion gives it: 13000) load what a linker of this CUDA
/// major makes? "driver-too-old" with both versions where it cannot.
std::optional<Diagnostic> check_driver_version(int driver_api, int linker_major);

}  // namespace ptxloom
