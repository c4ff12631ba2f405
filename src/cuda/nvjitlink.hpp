// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nvJitLink.h>

#include <string>

#include "cuda/symbols.hpp"

// libnvJitLink.so: PTX to cubin. Needs no driver.
// clang-format off
#define PTXLOOM_NVJITLINK_SYMBOLS(X)                                                                    \
  X(nvJitLinkVersion) X(nvJitLinkCreate) X(nvJitLinkDestroy) X(nvJitLinkAddData) X(nvJitLinkComplete)   \
  X(nvJitLinkGetErrorLogSize) X(nvJitLinkGetErrorLog) X(nvJitLinkGetInfoLogSize) X(nvJitLinkGetInfoLog) \
  X(nvJitLinkGetLinkedCubinSize) X(nvJitLinkGetLinkedCubin)
// clang-format on

namespace ptxloom::cuda {

struct NvJitLink {
  PTXLOOM_NVJITLINK_SYMBOLS(PTXLOOM_SYMBOL_MEMBER)

  unsigned major = 0;
  unsigned minor = 0;
  /// Distinguishes builds of one version, for the cache: version, size and time of the file.
  std::string identity;
  DynamicLibrary library;

  static NvJitLink load(const DynamicLibrary& library);
};

}  // namespace ptxloom::cuda
