// SPDX-License-Identifier: Apache-2.0
// Fat binaries, kernels and launches: what the compiler's code calls, and the functions that launch.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "foreign/cudart/device.hpp"
#include "foreign/cudart/errors.hpp"
#include "foreign/cudart/fat_binary.hpp"

using namespace ptxloom::foreign;

namespace {

struct Configuration {
  dim3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};
thread_local std::vector<Configuration> configurations;

std::array<std::uint32_t, 3> extent(dim3 of) { return {of.x, of.y, of.z}; }

cudaError_t launch(const void* function, const LaunchShape& shape, void** arguments) {
  return guarded(cudaErrorLaunchFailure, [&] {
    Kernel* const kernel = Device::get().find_kernel(function);
    if (kernel == nullptr) throw std::runtime_error("the launched function is no kernel of this program");
    return Device::get().launch(*kernel, shape, arguments) ? cudaSuccess : cudaErrorLaunchFailure;
  });
}

Module* module_of(void** handle) { return reinterpret_cast<Module*>(handle); }

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) {
  Module* module = nullptr;
  const cudaError_t error = guarded(cudaErrorInvalidKernelImage, [&] {
    module = Device::get().add_module(ptx_of_fat_binary(wrapper));
    return cudaSuccess;
  });
  if (error != cudaSuccess) std::exit(2);  // nothing of the program can run
  return reinterpret_cast<void**>(module);
}
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 0; }

void __cudaRegisterFunction(void** handle, const char* host, char*, const char* name, int, uint3*, uint3*,
                            dim3*, dim3*, int*) {
  Device::get().add_kernel(module_of(handle), host, name);
}
void __cudaRegisterVar(void** handle, char* host, char*, const char* name, int, std::size_t bytes, int, int) {
  Device::get().add_variable(module_of(handle), host, name, bytes);
}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared_bytes, CUstream_st* stream) {
  configurations.push_back({grid, block, shared_bytes, stream});
  return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared_bytes, void* stream) {
  if (configurations.empty()) return fail(cudaErrorInvalidConfiguration);
  const Configuration top = configurations.back();
  configurations.pop_back();
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

/// A kernel's handle is the address of its function on the host.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t shared_bytes, cudaStream_t) {
  return launch(function,
                {.grid = extent(grid),
                 .block = extent(block),
                 .shared_bytes = static_cast<std::uint32_t>(shared_bytes)},
                arguments);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared_bytes, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                                        std::size_t shared_bytes, cudaStream_t) {
  return launch(function,
                {.grid = extent(grid),
                 .block = extent(block),
                 .shared_bytes = static_cast<std::uint32_t>(shared_bytes),
                 .cooperative = true},
                arguments);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function, void** arguments) {
  LaunchShape shape{.grid = extent(config->gridDim),
                    .block = extent(config->blockDim),
                    .shared_bytes = static_cast<std::uint32_t>(config->dynamicSmemBytes)};
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeClusterDimension)
      shape.cluster = {attribute.val.clusterDim.x, attribute.val.clusterDim.y, attribute.val.clusterDim.z};
    if (attribute.id == cudaLaunchAttributeCooperative) shape.cooperative = attribute.val.cooperative != 0;
  }
  return launch(function, shape, arguments);
}

}  // extern "C"
