// SPDX-License-Identifier: Apache-2.0
#include "cuda/driver.hpp"

#include <fmt/format.h>

namespace ptxloom::cuda {

std::string api_version_text(int api_version) {
  return fmt::format("{}.{}", api_version / 1000, api_version % 1000 / 10);
}

Driver Driver::load(const DynamicLibrary& library) {
  Driver table;
  std::string missing;
  PTXLOOM_DRIVER_SYMBOLS(PTXLOOM_SYMBOL_LOAD)
  table.library = library;
  if (table.cuDriverGetVersion != nullptr) table.cuDriverGetVersion(&table.api_version);
  if (!missing.empty()) {
    throw Error(ErrorKind::missing, "driver-too-old",
                fmt::format("the NVIDIA driver {} supports CUDA {} and lacks {}", library.path(),
                            api_version_text(table.api_version), missing),
                fmt::format("update the driver to one for CUDA {} or later",
                            CUDA_VERSION / 1000 == 12 ? "12.4" : "12.8"));
  }
  return table;
}

void Driver::initialise() const {
  const CUresult result = cuInit(0);
  int count = 0;
  if (result == CUDA_SUCCESS) check(cuDeviceGetCount(&count), "counting the devices");
  if (result == CUDA_ERROR_NO_DEVICE || (result == CUDA_SUCCESS && count == 0)) {
    throw Error(ErrorKind::missing, "no-device", "the NVIDIA driver finds no GPU",
                "check nvidia-smi and CUDA_VISIBLE_DEVICES; without a GPU, kernels run in the CPU executor");
  }
  if (result != CUDA_SUCCESS) {
    throw Error(
        ErrorKind::missing, "no-driver", "the NVIDIA driver does not start: " + describe(result),
        "check that nvidia-smi works, and that the driver's library and kernel module have the same version");
  }
}

std::string Driver::describe(CUresult result) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (cuGetErrorName(result, &name) != CUDA_SUCCESS || cuGetErrorString(result, &text) != CUDA_SUCCESS) {
    return fmt::format("CUDA error {}", static_cast<int>(result));
  }
  return fmt::format("{}: {}", name, text);
}

void Driver::fail(CUresult result, std::string_view doing) const {
  throw Error(ErrorKind::refused, "cuda-error", fmt::format("{} while {}", describe(result), doing))
      .with_cuda_result(result);
}

}  // namespace ptxloom::cuda
