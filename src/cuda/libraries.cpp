// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/libraries.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <sstream>
#include <utility>

#include "cuda/cublaslt.hpp"
#include "cuda/driver.hpp"
#include "cuda/nvjitlink.hpp"
#include "cuda/nvml.hpp"
#include "cuda/nvrtc.hpp"

namespace ptxloom {
namespace {

namespace fs = std::filesystem;

/// A value made by the first call that succeeds.
template <typename T>
class Lazy {
 public:
  template <typename Make>
  const T& get(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (!value_) value_.emplace(make());
    return *value_;
  }

 private:
  std::mutex mutex_;
  std::optional<T> value_;
};

std::vector<fs::path> environment_folders(const char* variable) {
  const char* text = std::getenv(variable);
  std::istringstream stream(text == nullptr ? "" : text);
  std::vector<fs::path> folders;
  for (std::string folder; std::getline(stream, folder, ':');) {
    if (!folder.empty()) folders.emplace_back(folder);
  }
  return folders;
}

std::vector<fs::path> toolkit_roots() {
  std::vector<fs::path> roots = environment_folders("CUDA_HOME");
  roots.emplace_back("/usr/local/cuda");
  return roots;
}

template <typename T>
void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

/// The folders to search for the libraries, in order; an empty path stands for the system's loader.
std::vector<fs::path> library_folders(const LibraryOptions& options) {
  std::vector<fs::path> folders = options.folders;
  if (!options.system) return folders;
  append(folders, environment_folders("PTXLOOM_CUDA_PATH"));
  folders.emplace_back();
  for (const fs::path& root : toolkit_roots()) append(folders, {root / "lib64", root / "lib"});
  return folders;
}

/// The error for a library that is not found.
struct Absence {
  const char* code;
  const char* message;
  const char* hint;
};

constexpr Absence kNoDriver = {
    "no-driver", "the NVIDIA driver (libcuda.so.1) was not found",
    "install the NVIDIA driver, or start the container with the GPU passed through (docker run --gpus all); "
    "without a GPU, kernels run in the CPU executor"};
constexpr Absence kNoNvJitLink = {"no-nvjitlink", "nvJitLink (libnvJitLink.so.13 or .12) was not found",
                                  "install the CUDA toolkit, or `pip install nvidia-nvjitlink` and name its "
                                  "lib folder in PTXLOOM_CUDA_PATH"};
constexpr Absence kNoNvrtc = {"no-nvrtc", "NVRTC (libnvrtc.so.13 or .12) was not found",
                              "install the CUDA toolkit, or `pip install nvidia-cuda-nvrtc` and name its lib "
                              "folder in PTXLOOM_CUDA_PATH"};
constexpr Absence kNoNvml = {
    "no-nvml", "NVML (libnvidia-ml.so.1) was not found",
    "it comes with the NVIDIA driver; without it clocks and throttling are not shown"};
constexpr Absence kNoCublasLt = {"no-cublaslt", "cuBLASLt (libcublasLt.so.13 or .12) was not found",
                                 "install the CUDA toolkit, or `pip install nvidia-cublas` and name its lib "
                                 "folder in PTXLOOM_CUDA_PATH; without it nothing is compared with cuBLASLt"};

}  // namespace

struct Libraries::State {
  LibraryOptions options;
  Lazy<cuda::Driver> driver;
  Lazy<bool> initialised;
  Lazy<cuda::NvJitLink> nvjitlink;
  Lazy<cuda::Nvrtc> nvrtc;
  Lazy<cuda::Nvml> nvml;
  Lazy<cuda::CublasLt> cublaslt;

  template <typename Table>
  Table load(const std::vector<std::string>& names, const Absence& absence) const {
    const auto library = cuda::DynamicLibrary::open_first(library_folders(options), names);
    if (!library) throw Error(ErrorKind::missing, absence.code, absence.message, absence.hint);
    return Table::load(*library);
  }

  /// The driver's table without initialising the driver, which takes long.
  const cuda::Driver& opened_driver() {
    return driver.get([&] { return load<cuda::Driver>({"libcuda.so.1"}, kNoDriver); });
  }

  /// A CUDA 12 driver cannot load the output of a CUDA 13 linker, nor serve other libraries of CUDA 13.
  std::vector<std::string> names_for_driver(const std::string& name) {
    std::vector<std::string> names = {name + ".so.13", name + ".so.12"};
    try {
      if (check_driver_version(opened_driver().api_version, 13)) std::swap(names[0], names[1]);
    } catch (const Error&) {
      // No driver: the newest linker supports the most targets.
    }
    return names;
  }
};

Libraries::Libraries(LibraryOptions options) : state_(std::make_shared<State>()) {
  state_->options = std::move(options);
}

const LibraryOptions& Libraries::options() const { return state_->options; }

const cuda::Driver& Libraries::driver() const {
  const cuda::Driver& driver = state_->opened_driver();
  state_->initialised.get([&] {
    driver.initialise();
    return true;
  });
  return driver;
}

const cuda::NvJitLink& Libraries::nvjitlink() const {
  return state_->nvjitlink.get(
      [&] { return state_->load<cuda::NvJitLink>(state_->names_for_driver("libnvJitLink"), kNoNvJitLink); });
}

const cuda::Nvrtc& Libraries::nvrtc() const {
  return state_->nvrtc.get(
      [&] { return state_->load<cuda::Nvrtc>({"libnvrtc.so.13", "libnvrtc.so.12"}, kNoNvrtc); });
}

const cuda::Nvml& Libraries::nvml() const {
  return state_->nvml.get([&] { return state_->load<cuda::Nvml>({"libnvidia-ml.so.1"}, kNoNvml); });
}

const cuda::CublasLt& Libraries::cublaslt() const {
  return state_->cublaslt.get(
      [&] { return state_->load<cuda::CublasLt>(state_->names_for_driver("libcublasLt"), kNoCublasLt); });
}

bool Libraries::has_driver() const noexcept try {
  driver();
  return true;
} catch (...) {
  return false;
}

bool Libraries::has_nvjitlink() const noexcept try {
  nvjitlink();
  return true;
} catch (...) {
  return false;
}

std::vector<LibraryStatus> Libraries::status() const {
  std::vector<LibraryStatus> all;
  const auto add = [&](const char* name, const auto& get, const auto& version) {
    LibraryStatus& status =
        all.emplace_back(LibraryStatus{.name = name, .path = {}, .version = {}, .problem = {}});
    try {
      const auto& table = get();
      status.path = table.library.path();
      status.version = version(table);
    } catch (const Error& error) {
      status.problem = error.diagnostics().front();
    }
  };
  const auto major_minor = [](const auto& table) { return fmt::format("{}.{}", table.major, table.minor); };
  add(
      "driver", [&]() -> auto& { return driver(); },
      [](const auto& table) { return cuda::api_version_text(table.api_version); });
  add("nvJitLink", [&]() -> auto& { return nvjitlink(); }, major_minor);
  add("NVRTC", [&]() -> auto& { return nvrtc(); }, major_minor);
  add("NVML", [&]() -> auto& { return nvml(); }, [](const auto& table) { return table.driver_version; });
  return all;
}

std::vector<fs::path> Libraries::include_folders() const {
  std::vector<fs::path> candidates;
  // A pip package has its headers next to its lib folder, like a toolkit.
  for (const fs::path& folder : library_folders(state_->options)) {
    if (!folder.empty()) candidates.push_back(folder.parent_path() / "include");
  }
  std::vector<fs::path> folders;
  for (const fs::path& folder : candidates) {
    std::error_code ignored;
    if (fs::exists(folder / "cuda_fp16.h", ignored)) folders.push_back(folder);
  }
  return folders;
}

std::optional<Diagnostic> check_driver_version(int driver_api, int linker_major) {
  if (driver_api / 1000 >= linker_major) return std::nullopt;
  return Diagnostic{
      .code = "driver-too-old",
      .message =
          fmt::format("the NVIDIA driver supports CUDA {} and cannot load what nvJitLink of CUDA {} makes",
                      cuda::api_version_text(driver_api), linker_major),
      .hint =
          fmt::format("update the driver to one for CUDA {0} or later, or install nvJitLink {1} "
                      "(`pip install 'nvidia-nvjitlink-cu{1}'`) and name its lib folder in PTXLOOM_CUDA_PATH",
                      linker_major, driver_api / 1000)};
}

}  // namespace ptxloom
