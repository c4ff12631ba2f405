// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"

/// \file
/// NVIDIA's libraries. They are opened at the first use and never linked, so that one program runs with a
/// GPU, with the toolkit alone, or with neither.
namespace [[gnu::visibility("default")]] ptxloom {
namespace cuda {
struct Driver;     // src/cuda/driver.hpp
struct NvJitLink;  // src/cuda/nvjitlink.hpp
struct Nvrtc;      // src/cuda/nvrtc.hpp
struct Nvml;       // src/cuda/nvml.hpp
struct CublasLt;   // src/cuda/cublaslt.hpp
}  // namespace cuda

/// Where libraries are looked for.
struct LibraryOptions {
  /// The first places to look. PTXLOOM_CUDA_PATH (folders, separated by colons) comes next, then what the
  /// system's loader finds, $CUDA_HOME and /usr/local/cuda.
  std::vector<std::filesystem::path> folders{};
  /// False: look only in `folders`.
  bool system = true;
};

/// What `ptxloom doctor` says about one library.
struct LibraryStatus {
  std::string name{};                   ///< "driver", "nvJitLink", "NVRTC", "NVML"
  std::string path{};                   ///< the file that was opened; empty if it is missing
  std::string version{};                ///< "13.0"; empty if it is missing
  std::optional<Diagnostic> problem{};  ///< why it cannot be used
};

/// A handle to the libraries: copies share those that are open, and they stay open as long as anything made
/// with them. Thread-safe.
class Libraries {
 public:
  /// Opens nothing yet.
  explicit Libraries(LibraryOptions options = {});
  const LibraryOptions& options() const;  ///< as given

  /// Each opens its library at the first call. If that fails it throws Error(missing): "no-driver",
  /// "no-device", "driver-too-old", "no-nvjitlink", "no-nvrtc", "no-nvml" or "no-cublaslt"; "no-cuda-support"
  /// in a build without CUDA. cuBLASLt is only for comparisons.
  ///@{
  const cuda::Driver& driver() const;
  const cuda::NvJitLink& nvjitlink() const;
  const cuda::Nvrtc& nvrtc() const;
  const cuda::Nvml& nvml() const;
  const cuda::CublasLt& cublaslt() const;
  ///@}

  bool has_driver() const noexcept;     ///< whether driver() would not throw
  bool has_nvjitlink() const noexcept;  ///< whether nvjitlink() would not throw

  /// Opens all libraries except cuBLASLt, which is large.
  std::vector<LibraryStatus> status() const;
  /// Folders with the toolkit's headers (cuda_fp16.h), for NVRTC; empty if there is no toolkit.
  std::vector<std::filesystem::path> include_folders() const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Whether a driver of this API version (13000, as cuDriverGetVersion returns it) can load what a linker of
/// this major CUDA version makes. If not, a diagnostic "driver-too-old" with both versions.
std::optional<Diagnostic> check_driver_version(int driver_api, int linker_major);

}  // namespace ptxloom
