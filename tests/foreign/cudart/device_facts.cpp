// SPDX-License-Identifier: Apache-2.0
// What the program is told of the device and of its kernels: a chip of the target that it was compiled for,
// with few multiprocessors (PTXLOOM_SMS, default 4), so that grids are small.
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "foreign/cudart/device.hpp"
#include "foreign/cudart/errors.hpp"

using namespace ptxloom::foreign;
using ptxloom::TargetInfo;

namespace {

constexpr int kRegistersPerThread = 64;  // ptxas decides; this is what occupancies are computed from

int multiprocessors() {
  const char* const text = std::getenv("PTXLOOM_SMS");
  return text == nullptr ? 4 : std::atoi(text);
}

/// Null: nothing is known of the attribute.
const int* find_attribute(const TargetInfo& target, cudaDeviceAttr attribute) {
  thread_local int value;
  switch (attribute) {
    case cudaDevAttrComputeCapabilityMajor:
      value = target.number / 10;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      value = target.number % 10;
      break;
    case cudaDevAttrMultiProcessorCount:
      value = multiprocessors();
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      value = target.shared_per_block;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      value = target.shared_static;
      break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
      value = target.shared_per_sm;
      break;
    case cudaDevAttrReservedSharedMemoryPerBlock:
      value = 1024;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      value = target.threads_per_sm;
      break;
    case cudaDevAttrMaxThreadsPerBlock:
      value = 1024;
      break;
    case cudaDevAttrWarpSize:
      value = 32;
      break;
    case cudaDevAttrMaxGridDimX:
      value = 0x7fffffff;
      break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ:
      value = 65535;
      break;
    case cudaDevAttrCooperativeLaunch:
    case cudaDevAttrClusterLaunch:
      value = 1;
      break;
    case cudaDevAttrL2CacheSize:
      value = 50 << 20;
      break;
    default:
      return nullptr;
  }
  return &value;
}

int resident_blocks(int threads, std::size_t shared_bytes) {
  const ptxloom::Target target = Device::get().target();
  const int by_threads = target.info().resident_blocks(threads, kRegistersPerThread);
  const auto per_sm = static_cast<std::size_t>(target.info().shared_per_sm);
  return std::min(by_threads, static_cast<int>(per_sm / (shared_bytes + 1024)));
}

}  // namespace

extern "C" {

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) { return device == 0 ? cudaSuccess : fail(cudaErrorInvalidDevice); }

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  return guarded(cudaErrorInvalidValue, [&] {
    const int* const found = find_attribute(Device::get().target().info(), attribute);
    if (found != nullptr) *value = *found;
    if (found == nullptr)
      fmt::print(stderr, "ptxloom: the device's attribute {} is not known\n", static_cast<int>(attribute));
    return found == nullptr ? cudaErrorInvalidValue : cudaSuccess;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  return guarded(cudaErrorInvalidDevice, [&] {
    const TargetInfo& target = Device::get().target().info();
    *properties = {};
    std::strncpy(properties->name, "ptxloom executor", sizeof properties->name - 1);
    properties->major = target.number / 10;
    properties->minor = target.number % 10;
    properties->multiProcessorCount = multiprocessors();
    properties->sharedMemPerBlock = static_cast<std::size_t>(target.shared_static);
    properties->sharedMemPerBlockOptin = static_cast<std::size_t>(target.shared_per_block);
    properties->sharedMemPerMultiprocessor = static_cast<std::size_t>(target.shared_per_sm);
    properties->maxThreadsPerMultiProcessor = target.threads_per_sm;
    properties->maxThreadsPerBlock = 1024;
    properties->warpSize = 32;
    properties->totalGlobalMem = std::size_t{8} << 30;
    properties->regsPerMultiprocessor = target.registers_per_sm;
    return cudaSuccess;
  });
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  return guarded(cudaErrorInvalidDeviceFunction, [&] {
    if (Device::get().find_kernel(function) == nullptr) return cudaErrorInvalidDeviceFunction;
    const ptxloom::Target target = Device::get().target();
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = kRegistersPerThread;
    attributes->ptxVersion = attributes->binaryVersion = target.number();
    attributes->maxDynamicSharedSizeBytes = target.info().shared_per_block;
    return cudaSuccess;
  });
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  const bool too_much = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
                        value > Device::get().target().info().shared_per_block;
  return too_much ? fail(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*, int threads,
                                                                   std::size_t shared_bytes, unsigned) {
  return guarded(cudaErrorInvalidValue, [&] {
    *blocks = resident_blocks(threads, shared_bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function, int threads,
                                                          std::size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, shared_bytes, 0);
}
cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t* config) {
  unsigned size = 1;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const auto& [x, y, z] = config->attrs[i].val.clusterDim;
    if (config->attrs[i].id == cudaLaunchAttributeClusterDimension) size = x * y * z;
  }
  *clusters = std::max(1, multiprocessors() / static_cast<int>(size));
  return cudaSuccess;
}

}  // extern "C"
