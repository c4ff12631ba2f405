// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstdio>
#include <exception>

namespace ptxloom::foreign {

/// What cudaGetLastError returns.
inline thread_local cudaError_t last_error = cudaSuccess;

inline cudaError_t fail(cudaError_t error) { return last_error = error; }

/// The result of a function of the runtime library: a C program cannot take exceptions.
template <typename Body>
cudaError_t guarded(cudaError_t failure, Body body) {
  try {
    const cudaError_t result = body();
    return result == cudaSuccess ? result : fail(result);
  } catch (const std::exception& error) {
    fmt::print(stderr, "ptxloom: {}\n", error.what());
    return fail(failure);
  }
}

}  // namespace ptxloom::foreign
