// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvrtc.h>

#include <string>

#include "cuda/symbols.hpp"

// libnvrtc.so: CUDA C++ to PTX or cubin. Needs no driver.
// clang-format off
#define PTXLOOM_NVRTC_SYMBOLS(X)                                                                             \
  X(nvrtcVersion) X(nvrtcGetErrorString) X(nvrtcCreateProgram) X(nvrtcDestroyProgram) X(nvrtcCompileProgram) \
  X(nvrtcGetProgramLogSize) X(nvrtcGetProgramLog) X(nvrtcAddNameExpression) X(nvrtcGetLoweredName)           \
  X(nvrtcGetPTXSize) X(nvrtcGetPTX) X(nvrtcGetCUBINSize) X(nvrtcGetCUBIN)                                    \
  X(nvrtcGetNumSupportedArchs) X(nvrtcGetSupportedArchs)
// clang-format on

namespace ptxloom::cuda {

struct Nvrtc {
  PTXLOOM_NVRTC_SYMBOLS(PTXLOOM_SYMBOL_MEMBER)

  int major = 0;
  int minor = 0;
  DynamicLibrary library;

  static Nvrtc load(const DynamicLibrary& library);
};

}  // namespace ptxloom::cuda
