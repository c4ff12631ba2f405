// SPDX-License-Identifier: Apache-2.0
// Memory of the device, and copies. Device addresses are the executor's: the host cannot access them, so
// memory that both use (managed, mapped) does not exist here.
#include <cuda_runtime_api.h>

#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "foreign/cudart/device.hpp"
#include "foreign/cudart/errors.hpp"

using namespace ptxloom::foreign;

namespace {

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

bool on_device(const void* pointer) {
  for (const auto& each : Device::get().memory().allocations())
    if (address_of(pointer) >= each.address && address_of(pointer) <= each.address + each.bytes) return true;
  return false;
}

/// The host's bytes behind a pointer of either side.
std::byte* bytes_at(const void* pointer, std::size_t bytes) {
  if (on_device(pointer)) return Device::get().memory().at(address_of(pointer), bytes);
  return static_cast<std::byte*>(const_cast<void*>(pointer));
}

cudaError_t set_symbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset) {
  const Variable* const variable = Device::get().find_variable(symbol);
  if (variable == nullptr || offset + bytes > variable->bytes) return cudaErrorInvalidSymbol;
  Device::set_variable(*variable, {static_cast<const std::byte*>(from), bytes}, offset);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, std::size_t bytes) {
  return guarded(cudaErrorMemoryAllocation, [&] {
    *pointer = reinterpret_cast<void*>(Device::get().allocate(bytes));
    return cudaSuccess;
  });
}
cudaError_t cudaMallocAsync(void** pointer, std::size_t bytes, cudaStream_t) {
  return cudaMalloc(pointer, bytes);
}
cudaError_t cudaFree(void* pointer) {
  return guarded(cudaErrorInvalidValue, [&] {
    if (pointer != nullptr) Device::get().release(address_of(pointer));
    return cudaSuccess;
  });
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }
cudaError_t cudaMallocHost(void** pointer, std::size_t bytes) {
  *pointer = std::malloc(bytes);
  return *pointer == nullptr ? fail(cudaErrorMemoryAllocation) : cudaSuccess;
}
cudaError_t cudaFreeHost(void* pointer) {
  std::free(pointer);
  return cudaSuccess;
}
cudaError_t cudaMemGetInfo(std::size_t* available, std::size_t* all) {
  *available = *all = std::size_t{8} << 30;
  return cudaSuccess;
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind) {
  return guarded(cudaErrorInvalidValue, [&] {
    if (bytes != 0) std::memmove(bytes_at(to, bytes), bytes_at(from, bytes), bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t) {
  return cudaMemcpy(to, from, bytes, kind);
}
cudaError_t cudaMemset(void* to, int value, std::size_t bytes) {
  return guarded(cudaErrorInvalidValue, [&] {
    if (bytes != 0) std::memset(bytes_at(to, bytes), value, bytes);
    return cudaSuccess;
  });
}
cudaError_t cudaMemsetAsync(void* to, int value, std::size_t bytes, cudaStream_t) {
  return cudaMemset(to, value, bytes);
}
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset,
                               cudaMemcpyKind) {
  return guarded(cudaErrorInvalidSymbol, [&] { return set_symbol(symbol, from, bytes, offset); });
}
cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t bytes,
                                    std::size_t offset, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpyToSymbol(symbol, from, bytes, offset, kind);
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  *attributes = {};
  attributes->type = on_device(pointer) ? cudaMemoryTypeDevice : cudaMemoryTypeUnregistered;
  attributes->devicePointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

}  // extern "C"
