// SPDX-License-Identifier: Apache-2.0
#include "fake_cuda.hpp"

#include <cstdlib>
#include <cstring>

#pragma GCC visibility push(default)

#ifdef PTXLOOM_FAKE_OLD

extern "C" CUresult cuDriverGetVersion(int* version) {
  *version = 11080;
  return CUDA_SUCCESS;
}

#else

extern "C" FakeCuda* fake_cuda() {
  static FakeCuda fake;
  return &fake;
}

namespace {

FakeCuda& fake() { return *fake_cuda(); }

CUresult result_of(const char* function) {
  const auto found = fake().failures.find(function);
  return found == fake().failures.end() ? CUDA_SUCCESS : found->second;
}

/// A new object with an address of its own.
template <typename Handle>
CUresult make(const char* function, Handle* handle) {
  if (const CUresult result = result_of(function)) return result;
  *handle = reinterpret_cast<Handle>(std::malloc(1));
  ++fake().live_objects;
  return CUDA_SUCCESS;
}

template <typename Handle>
CUresult destroy(Handle handle) {
  std::free(handle);
  --fake().live_objects;
  return CUDA_SUCCESS;
}

/// What the functions below want of a driver that works: a current context.
CUresult in_context(const char* function) {
  return fake().contexts.empty() ? CUDA_ERROR_INVALID_CONTEXT : result_of(function);
}

}  // namespace

extern "C" {

CUresult cuInit(unsigned) { return result_of("cuInit"); }
CUresult cuDriverGetVersion(int* version) { return *version = fake().api_version, CUDA_SUCCESS; }
CUresult cuGetErrorName(CUresult, const char** name) { return *name = "CUDA_ERROR_FAKE", CUDA_SUCCESS; }
CUresult cuGetErrorString(CUresult, const char** text) { return *text = "as the test asked", CUDA_SUCCESS; }

CUresult cuDeviceGetCount(int* count) { return *count = fake().device_count, CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; }
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
  std::strncpy(name, "NVIDIA H200", static_cast<std::size_t>(size));
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) {
  return *bytes = std::size_t{139} << 30, CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char*, int, CUdevice) { return CUDA_ERROR_INVALID_DEVICE; }
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice) {
  switch (which) {
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      *value = 0;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 132;
      break;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE:
      *value = 1980000;
      break;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
      *value = 232448;
      break;
    default:
      *value = 1;
  }
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
  *context = reinterpret_cast<CUcontext>(fake_cuda());
  return ++fake().live_objects, CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return --fake().live_objects, CUDA_SUCCESS; }
CUresult cuCtxPushCurrent(CUcontext context) { return fake().contexts.push_back(context), CUDA_SUCCESS; }
CUresult cuCtxPopCurrent(CUcontext* context) {
  if (fake().contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
  *context = fake().contexts.back();
  return fake().contexts.pop_back(), CUDA_SUCCESS;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  return *context = fake().contexts.empty() ? nullptr : fake().contexts.back(), CUDA_SUCCESS;
}
CUresult cuCtxSynchronize() { return in_context("cuCtxSynchronize"); }

CUresult cuModuleLoadData(CUmodule* module, const void*) { return make("cuModuleLoadData", module); }
CUresult cuModuleUnload(CUmodule module) { return destroy(module); }
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (fake().kernel != name) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(module);
  return in_context("cuModuleGetFunction");
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule) { return *count = 1, CUDA_SUCCESS; }
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned, CUmodule module) {
  return functions[0] = reinterpret_cast<CUfunction>(module), CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction) { return *name = fake().kernel.c_str(), CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 512
           : which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES   ? fake().static_shared
                                                            : 1;
  return CUDA_SUCCESS;
}
CUresult cuFuncSetAttribute(CUfunction, CUfunction_attribute which, int value) {
  return fake().function_attributes[which] = value, in_context("cuFuncSetAttribute");
}
CUresult cuFuncGetParamInfo(CUfunction, std::size_t index, std::size_t* offset, std::size_t* size) {
  if (index >= fake().parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = fake().parameters[index].first;
  *size = fake().parameters[index].second;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction, void** single, void** extra) {
  if (const CUresult result = in_context("cuLaunchKernelEx")) return result;
  FakeCuda::Launch launch{*config, {config->attrs, config->attrs + config->numAttrs}, {}};
  if (extra != nullptr) {
    const auto* bytes = static_cast<const std::byte*>(extra[1]);
    launch.parameters.assign(bytes, bytes + *static_cast<const std::size_t*>(extra[3]));
  }
  for (std::size_t i = 0; single != nullptr && i < fake().parameters.size(); ++i) {
    const auto [offset, size] = fake().parameters[i];
    launch.parameters.resize(offset + size);
    std::memcpy(launch.parameters.data() + offset, single[i], size);
  }
  return fake().launches.push_back(launch), CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, std::size_t) {
  return *blocks = 2048 / threads, CUDA_SUCCESS;
}
CUresult cuOccupancyMaxActiveClusters(int* clusters, CUfunction, const CUlaunchConfig* config) {
  return *clusters = static_cast<int>(config->numAttrs), CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* stream, unsigned) { return make("cuStreamCreate", stream); }
CUresult cuStreamDestroy(CUstream stream) { return destroy(stream); }
CUresult cuStreamSynchronize(CUstream) { return in_context("cuStreamSynchronize"); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return in_context("cuStreamWaitEvent"); }
CUresult cuStreamBeginCapture(CUstream, CUstreamCaptureMode) { return in_context("cuStreamBeginCapture"); }
CUresult cuStreamEndCapture(CUstream, CUgraph* graph) { return make("cuStreamEndCapture", graph); }

CUresult cuEventCreate(CUevent* event, unsigned) { return make("cuEventCreate", event); }
CUresult cuEventDestroy(CUevent event) { return destroy(event); }
CUresult cuEventRecord(CUevent, CUstream) { return in_context("cuEventRecord"); }
CUresult cuEventSynchronize(CUevent) { return in_context("cuEventSynchronize"); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  return *milliseconds = 2.5F, CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* graph, CUgraph, unsigned long long) {
  return make("cuGraphInstantiate", graph);
}
CUresult cuGraphLaunch(CUgraphExec, CUstream) { return in_context("cuGraphLaunch"); }
CUresult cuGraphExecDestroy(CUgraphExec graph) { return destroy(graph); }
CUresult cuGraphDestroy(CUgraph graph) { return destroy(graph); }
CUresult cuGraphGetNodes(CUgraph, CUgraphNode* nodes, std::size_t* count) {
  if (nodes != nullptr) nodes[0] = nullptr;
  return *count = 1, CUDA_SUCCESS;
}
CUresult cuGraphNodeGetType(CUgraphNode, CUgraphNodeType* type) {
  return *type = CU_GRAPH_NODE_TYPE_KERNEL, CUDA_SUCCESS;
}
CUresult cuGraphKernelNodeGetParams(CUgraphNode, CUDA_KERNEL_NODE_PARAMS* parameters) {
  return parameters->func = reinterpret_cast<CUfunction>(fake_cuda()), CUDA_SUCCESS;
}

CUresult cuMemAlloc(CUdeviceptr* address, std::size_t bytes) {
  if (const CUresult result = in_context("cuMemAlloc")) return result;
  *address = reinterpret_cast<CUdeviceptr>(std::malloc(bytes));
  return ++fake().live_objects, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) { return destroy(reinterpret_cast<void*>(address)); }
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) { return *free = 1, *total = 2, CUDA_SUCCESS; }
// What was asked for lies where a test finds it.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave, CUtensorMapSwizzle swizzle,
                                CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
  cuuint64_t* out = map->opaque;
  out[0] = type;
  out[1] = rank;
  out[2] = reinterpret_cast<cuuint64_t>(address);
  out[3] = dims[rank - 1];
  out[4] = rank > 1 ? strides[rank - 2] : 0;
  out[5] = box[rank - 1];
  out[6] = steps[rank - 1];
  out[7] = swizzle;
  out[8] = l2;
  out[9] = fill;
  return in_context("cuTensorMapEncodeTiled");
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType, cuuint32_t rank, void*,
                                 const cuuint64_t*, const cuuint64_t*, const int* lower, const int* upper,
                                 cuuint32_t channels, cuuint32_t pixels, const cuuint32_t*,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill) {
  cuuint64_t* out = map->opaque;
  out[0] = static_cast<cuuint64_t>(lower[rank - 3]);
  out[1] = static_cast<cuuint64_t>(upper[rank - 3]);
  out[2] = channels;
  out[3] = pixels;
  return in_context("cuTensorMapEncodeIm2col");
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t bytes) {
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), in_context("cuMemcpyHtoD");
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t bytes) {
  return std::memcpy(to, reinterpret_cast<const void*>(from), bytes), in_context("cuMemcpyDtoH");
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes);
  return in_context("cuMemcpyDtoDAsync");
}
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream) {
  return std::memset(reinterpret_cast<void*>(to), value, bytes), in_context("cuMemsetD8Async");
}

}  // extern "C"

#endif
