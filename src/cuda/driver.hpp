// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <string>
#include <string_view>

#include "cuda/symbols.hpp"
#include "ptxloom/libraries.hpp"

// libcuda.so.1: what loads and runs kernels.
// clang-format off
#define PTXLOOM_DRIVER_SYMBOLS(X)                                                                        \
  X(cuInit) X(cuDriverGetVersion) X(cuGetErrorName) X(cuGetErrorString)                                  \
  X(cuDeviceGetCount) X(cuDeviceGet) X(cuDeviceGetName) X(cuDeviceGetAttribute) X(cuDeviceTotalMem)      \
  X(cuDeviceGetPCIBusId)                                                                                 \
  X(cuDevicePrimaryCtxRetain) X(cuDevicePrimaryCtxRelease) X(cuCtxPushCurrent) X(cuCtxPopCurrent)        \
  X(cuCtxGetCurrent) X(cuCtxSynchronize)                                                                 \
  X(cuModuleLoadData) X(cuModuleUnload) X(cuModuleGetFunction) X(cuModuleGetFunctionCount)               \
  X(cuModuleEnumerateFunctions) X(cuModuleGetGlobal)                                                     \
  X(cuFuncGetAttribute) X(cuFuncSetAttribute) X(cuFuncGetName) X(cuFuncGetParamInfo) X(cuLaunchKernelEx) \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor) X(cuOccupancyMaxActiveClusters)                         \
  X(cuStreamCreate) X(cuStreamDestroy) X(cuStreamSynchronize) X(cuStreamWaitEvent)                       \
  X(cuStreamBeginCapture) X(cuStreamEndCapture) X(cuStreamIsCapturing) X(cuStreamGetId)                  \
  X(cuThreadExchangeStreamCaptureMode)                                                                   \
  X(cuEventCreate) X(cuEventDestroy) X(cuEventRecord) X(cuEventSynchronize)                              \
  X(cuEventQuery) X(cuEventElapsedTime)                                                                  \
  X(cuGraphInstantiate) X(cuGraphUpload) X(cuGraphLaunch) X(cuGraphExecDestroy) X(cuGraphDestroy)        \
  X(cuGraphGetNodes) X(cuGraphNodeGetType) X(cuGraphKernelNodeGetParams)                                 \
  X(cuMemAlloc) X(cuMemFree) X(cuMemGetInfo)                                                             \
  X(cuTensorMapEncodeTiled) X(cuTensorMapEncodeIm2col)                                                   \
  X(cuMemcpyHtoD) X(cuMemcpyDtoH) X(cuMemcpyDtoDAsync) X(cuMemsetD8Async)
// clang-format on

namespace ptxloom::cuda {

struct Driver {
  PTXLOOM_DRIVER_SYMBOLS(PTXLOOM_SYMBOL_MEMBER)

  int api_version = 0;  ///< 13000
  DynamicLibrary library;

  /// Throws Error(missing, "driver-too-old") where entry points are missing. Does not initialise the driver.
  static Driver load(const DynamicLibrary& library);
  /// cuInit; throws Error(missing, "no-device" or "no-driver").
  void initialise() const;

  /// "CUDA_ERROR_INVALID_VALUE: invalid argument".
  std::string describe(CUresult result) const;
  /// Throws Error(refused, "cuda-error") for anything but success; `doing` completes "while ...".
  void check(CUresult result, std::string_view doing) const {
    if (result != CUDA_SUCCESS) fail(result, doing);
  }
  [[noreturn]] void fail(CUresult result, std::string_view doing) const;
};

/// Makes a context current and, at its end, puts back what was current before.
class CurrentContext {
 public:
  CurrentContext(const Driver& driver, CUcontext context) : driver_(driver) {
    CUcontext now = nullptr;
    if (driver_.cuCtxGetCurrent(&now) == CUDA_SUCCESS && now == context) return;
    driver_.check(driver_.cuCtxPushCurrent(context), "making the context current");
    pushed_ = true;
  }
  ~CurrentContext() {
    if (!pushed_) return;
    CUcontext popped = nullptr;
    driver_.cuCtxPopCurrent(&popped);
  }
  CurrentContext(const CurrentContext&) = delete;
  CurrentContext& operator=(const CurrentContext&) = delete;

 private:
  const Driver& driver_;
  bool pushed_ = false;  // or it was current before
};

/// While it lives this thread may allocate, free, load and unload, though a graph is being captured: where
/// the capture is global, cuMemAlloc and cuModuleLoadData of any thread would fail otherwise, and break the
/// capture.
class DuringCapture {
 public:
  explicit DuringCapture(const Driver& driver) : driver_(driver) { exchange(); }
  ~DuringCapture() { exchange(); }
  DuringCapture(const DuringCapture&) = delete;
  DuringCapture& operator=(const DuringCapture&) = delete;

 private:
  void exchange() { driver_.cuThreadExchangeStreamCaptureMode(&mode_); }

  const Driver& driver_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
};

/// "13.0" of 13000.
std::string api_version_text(int api_version);

}  // namespace ptxloom::cuda
