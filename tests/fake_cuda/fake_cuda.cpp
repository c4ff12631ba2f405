// SPDX-License-Identifier: Apache-2.0
#include "fake_cuda.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <utility>

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

/// What a tensor map is encoded as: 1, 2, ... 16.
void number_words(CUtensorMap& map) {
  for (std::size_t i = 0; i < std::size(map.opaque); ++i) map.opaque[i] = i + 1;
}

// What the calling thread has asked for by cuThreadExchangeStreamCaptureMode.
thread_local CUstreamCaptureMode thread_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

/// A call that no stream sees, such as an allocation: whom it disturbs.
CUresult outside_streams(const char* function) {
  if (const CUresult result = in_context(function)) return result;
  CUresult result = CUDA_SUCCESS;
  for (auto& [stream, capture] : fake().captures) {
    const bool own = capture.thread == std::this_thread::get_id();
    const bool allowed =
        thread_mode == CU_STREAM_CAPTURE_MODE_RELAXED || capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED ||
        (!own &&
         (thread_mode != CU_STREAM_CAPTURE_MODE_GLOBAL || capture.mode != CU_STREAM_CAPTURE_MODE_GLOBAL));
    if (allowed) continue;
    capture.valid = false;
    result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  }
  return result;
}

bool is_default(CUstream stream) { return stream == nullptr || stream == CU_STREAM_LEGACY; }

/// A stream that the default one waits for is being captured.
bool blocks_default() {
  for (const auto& [stream, capture] : fake().captures)
    if ((fake().streams[stream].flags & CU_STREAM_NON_BLOCKING) == 0) return true;
  return false;
}

/// Work for a stream.
CUresult queue(const char* function, CUstream stream) {
  if (const CUresult result = in_context(function)) return result;
  if (!is_default(stream) || !blocks_default()) return CUDA_SUCCESS;
  for (auto& [captured, capture] : fake().captures) capture.valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
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
  if (const auto given = fake().attributes.find(which); given != fake().attributes.end())
    return *value = given->second, CUDA_SUCCESS;
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

CUresult cuModuleLoadData(CUmodule* module, const void*) {
  if (const CUresult result = outside_streams("cuModuleLoadData")) return result;
  return make("cuModuleLoadData", module);
}
CUresult cuModuleUnload(CUmodule module) {
  if (const CUresult result = outside_streams("cuModuleUnload")) return result;
  return destroy(module);
}
CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  if (fake().kernel != name) return CUDA_ERROR_NOT_FOUND;
  *function = reinterpret_cast<CUfunction>(module);
  return in_context("cuModuleGetFunction");
}
CUresult cuModuleGetGlobal(CUdeviceptr* address, std::size_t* bytes, CUmodule, const char* name) {
  const auto found = fake().variables.find(name);
  if (found == fake().variables.end()) return CUDA_ERROR_NOT_FOUND;
  *address = reinterpret_cast<CUdeviceptr>(found->second.data());
  *bytes = found->second.size();
  return in_context("cuModuleGetGlobal");
}
CUresult cuModuleGetFunctionCount(unsigned* count, CUmodule) { return *count = 1, CUDA_SUCCESS; }
CUresult cuModuleEnumerateFunctions(CUfunction* functions, unsigned, CUmodule module) {
  return functions[0] = reinterpret_cast<CUfunction>(module), CUDA_SUCCESS;
}
CUresult cuFuncGetName(const char** name, CUfunction) { return *name = fake().kernel.c_str(), CUDA_SUCCESS; }
CUresult cuFuncGetAttribute(int* value, CUfunction_attribute which, CUfunction) {
  *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK     ? 512
           : which == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES       ? fake().static_shared
           : which == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH  ? fake().required_cluster[0]
           : which == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT ? fake().required_cluster[1]
           : which == CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH  ? fake().required_cluster[2]
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
  if (const CUresult result = queue("cuLaunchKernelEx", config->hStream)) return result;
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

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  if (const CUresult result = result_of("cuStreamCreate")) return result;
  std::uintptr_t handle = 0x1000;  // the lowest that is free
  while (fake().streams.contains(reinterpret_cast<CUstream>(handle))) ++handle;
  *stream = reinterpret_cast<CUstream>(handle);
  fake().streams[*stream] = {++fake().last_stream_id, flags};
  return ++fake().live_objects, CUDA_SUCCESS;
}
CUresult cuStreamDestroy(CUstream stream) {
  if (fake().streams.erase(stream) == 0) return CUDA_ERROR_INVALID_HANDLE;
  return --fake().live_objects, CUDA_SUCCESS;
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  if (is_default(stream)) return *id = 1, in_context("cuStreamGetId");
  if (stream == CU_STREAM_PER_THREAD) return *id = 2, in_context("cuStreamGetId");
  const auto found = fake().streams.find(stream);
  if (found == fake().streams.end()) return CUDA_ERROR_INVALID_HANDLE;
  return *id = found->second.id, in_context("cuStreamGetId");
}
CUresult cuStreamSynchronize(CUstream) { return in_context("cuStreamSynchronize"); }
CUresult cuStreamWaitEvent(CUstream, CUevent, unsigned) { return in_context("cuStreamWaitEvent"); }
CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  if (is_default(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  fake().captures[stream] = {mode, std::this_thread::get_id()};
  return in_context("cuStreamBeginCapture");
}
CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  const auto found = fake().captures.find(stream);
  const bool valid = found != fake().captures.end() && found->second.valid;
  fake().captures.erase(stream);
  return valid ? make("cuStreamEndCapture", graph) : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
}
CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  if (is_default(stream) && blocks_default()) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  const auto found = fake().captures.find(stream);
  *status = found == fake().captures.end() ? CU_STREAM_CAPTURE_STATUS_NONE
            : found->second.valid          ? CU_STREAM_CAPTURE_STATUS_ACTIVE
                                           : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
  return in_context("cuStreamIsCapturing");
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return std::swap(*mode, thread_mode), CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned) { return make("cuEventCreate", event); }
CUresult cuEventDestroy(CUevent event) { return destroy(event); }
CUresult cuEventRecord(CUevent, CUstream) { return in_context("cuEventRecord"); }
CUresult cuEventSynchronize(CUevent) { return in_context("cuEventSynchronize"); }
CUresult cuEventQuery(CUevent) { return in_context("cuEventQuery"); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent, CUevent) {
  return *milliseconds = 2.5F, CUDA_SUCCESS;
}

CUresult cuGraphInstantiate(CUgraphExec* graph, CUgraph, unsigned long long) {
  return make("cuGraphInstantiate", graph);
}
CUresult cuGraphUpload(CUgraphExec, CUstream) { return in_context("cuGraphUpload"); }
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
  if (const CUresult result = outside_streams("cuMemAlloc")) return result;
  *address = reinterpret_cast<CUdeviceptr>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return ++fake().allocations, ++fake().live_objects, CUDA_SUCCESS;
}
CUresult cuMemFree(CUdeviceptr address) {
  if (const CUresult result = outside_streams("cuMemFree")) return result;
  return destroy(reinterpret_cast<void*>(address));
}
CUresult cuMemGetInfo(std::size_t* free, std::size_t* total) { return *free = 1, *total = 2, CUDA_SUCCESS; }
// What was asked for lies where a test finds it.
CUresult cuTensorMapEncodeTiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                const cuuint64_t* dims, const cuuint64_t* strides, const cuuint32_t* box,
                                const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                CUtensorMapFloatOOBfill fill) {
  fake().tensor_map = {.type = type,
                       .rank = rank,
                       .address = reinterpret_cast<std::uint64_t>(address),
                       .dims = {dims, dims + rank},
                       .strides = {strides, strides + rank - 1},
                       .box = {box, box + rank},
                       .element_strides = {steps, steps + rank},
                       .interleave = interleave,
                       .swizzle = swizzle,
                       .l2 = l2,
                       .fill = fill};
  number_words(*map);
  return in_context("cuTensorMapEncodeTiled");
}
CUresult cuTensorMapEncodeIm2col(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                                 const cuuint64_t* dims, const cuuint64_t* strides, const int* lower,
                                 const int* upper, cuuint32_t channels, cuuint32_t pixels,
                                 const cuuint32_t* steps, CUtensorMapInterleave interleave,
                                 CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2,
                                 CUtensorMapFloatOOBfill fill) {
  fake().tensor_map = {.type = type,
                       .rank = rank,
                       .address = reinterpret_cast<std::uint64_t>(address),
                       .dims = {dims, dims + rank},
                       .strides = {strides, strides + rank - 1},
                       .element_strides = {steps, steps + rank},
                       .lower = {lower, lower + rank - 2},
                       .upper = {upper, upper + rank - 2},
                       .channels = channels,
                       .pixels = pixels,
                       .interleave = interleave,
                       .swizzle = swizzle,
                       .l2 = l2,
                       .fill = fill};
  number_words(*map);
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
CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t bytes, CUstream stream) {
  if (const CUresult result = queue("cuMemsetD8Async", stream)) return result;
  fake().fills.push_back({to, value, bytes, stream, fake().launches.size()});
  return std::memset(reinterpret_cast<void*>(to), value, bytes), CUDA_SUCCESS;
}

}  // extern "C"

#endif
