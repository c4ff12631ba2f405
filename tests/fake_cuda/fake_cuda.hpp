// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <thread>
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
  std::map<CUdevice_attribute, int> attributes;  ///< of the device, before those of an H200
  std::array<int, 3> required_cluster{};
  std::map<std::string, std::vector<std::byte>> variables;  ///< of a module, by name

  std::vector<CUcontext> contexts;  ///< the stack of current ones
  int live_objects = 0;             ///< what was made and not destroyed
  std::map<int, int> function_attributes;
  struct Launch {
    CUlaunchConfig config;
    std::vector<CUlaunchAttribute> attributes;
    std::vector<std::byte> parameters;
  };
  std::vector<Launch> launches;
  /// What the last tensor map was encoded from, in the order of the driver's parameters.
  struct TensorMapCall {
    std::uint64_t type = 0, rank = 0, address = 0;
    std::vector<std::uint64_t> dims, strides, box, element_strides;
    std::vector<int> lower, upper;           ///< of an image
    std::uint64_t channels = 0, pixels = 0;  ///< of an image
    std::uint64_t interleave = 0, swizzle = 0, l2 = 0, fill = 0;
  } tensor_map;

  struct Stream {
    unsigned long long id;
    unsigned flags;
  };
  std::map<CUstream, Stream> streams;  ///< a handle comes again once its stream is destroyed, an id never
  unsigned long long last_stream_id = 2;
  /// The state of a stream from cuStreamBeginCapture to cuStreamEndCapture. What CUDA forbids meanwhile
  /// invalidates it.
  struct Capture {
    CUstreamCaptureMode mode;
    std::thread::id thread;
    bool valid = true;
  };
  std::map<CUstream, Capture> captures;

  int allocations = 0;  ///< calls of cuMemAlloc that succeeded
  struct Fill {
    CUdeviceptr to;
    unsigned char value;
    std::size_t bytes;
    CUstream stream;
    std::size_t launches;  ///< there were before it
  };
  std::vector<Fill> fills;
};

extern "C" FakeCuda* fake_cuda();
