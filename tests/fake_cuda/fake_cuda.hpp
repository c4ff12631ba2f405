// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

// A CUDA driver for tests on machines without a GPU: it keeps the state that callers can see (the stack of
// contexts, memory, attributes), records what it is asked to launch, and fails where it is told to. Build
// folder fake_cuda/ holds it as libcuda.so.1. Its one device calls itself an H200.
struct FakeCuda {
  int api_version = 13000;
  int device_count = 1;
  std::map<std::string, CUresult> failures;                     ///< by function, until taken out
  std::vector<std::pair<std::size_t, std::size_t>> parameters;  ///< {offset, size} of the kernel's parameters
  std::string kernel = "kernel";                                ///< the one name that a module has
  int static_shared = 0;

  std::vector<CUcontext> contexts;  ///< the stack of current ones
  int live_objects = 0;             ///< what was made and not destroyed
  std::map<int, int> function_attributes;
  struct Launch {
    CUlaunchConfig config;
    std::vector<CUlaunchAttribute> attributes;
    std::vector<std::byte> parameters;
  };
  std::vector<Launch> launches;
};

extern "C" FakeCuda* fake_cuda();
