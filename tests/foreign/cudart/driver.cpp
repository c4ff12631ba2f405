// SPDX-License-Identifier: Apache-2.0
// What programs call of the driver's library besides the runtime.
#include <cuda.h>

#include <cstring>

#include "foreign/cudart/device.hpp"
#include "foreign/cudart/errors.hpp"

using namespace ptxloom::foreign;

extern "C" {

CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, std::size_t words, CUstream) {
  const cudaError_t error = guarded(cudaErrorInvalidValue, [&] {
    std::byte* const bytes = Device::get().memory().at(to, words * sizeof value);
    for (std::size_t i = 0; i < words; ++i) std::memcpy(bytes + i * sizeof value, &value, sizeof value);
    return cudaSuccess;
  });
  return error == cudaSuccess ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char** text) {
  *text = error == CUDA_SUCCESS ? "no error" : "an error";
  return CUDA_SUCCESS;
}

}  // extern "C"
