// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

// What the programs of this folder share: memory, random data, and the comparison with the host's result.
inline std::mt19937_64& generator() {
  static std::mt19937_64 random(std::getenv("SEED") == nullptr
                                    ? std::random_device{}()
                                    : std::strtoull(std::getenv("SEED"), nullptr, 0));
  return random;
}

inline void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(error));
  std::exit(1);
}

/// Whole numbers below `below`: their sums are exact in every type used here.
template <typename T>
std::vector<T> random_values(std::size_t count, int below) {
  std::vector<T> values(count);
  for (T& each : values)
    each = static_cast<T>(static_cast<int>(generator()() % static_cast<unsigned>(below)));
  return values;
}

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(std::size_t count) : count_(count) {
    check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "cudaMalloc");
  }
  explicit DeviceArray(const std::vector<T>& values) : DeviceArray(values.size()) {
    check(cudaMemcpy(data_, values.data(), count_ * sizeof(T), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  ~DeviceArray() { cudaFree(data_); }
  DeviceArray(const DeviceArray&) = delete;
  DeviceArray& operator=(const DeviceArray&) = delete;

  T* get() const { return data_; }
  std::vector<T> host() const {
    std::vector<T> values(count_);
    check(cudaMemcpy(values.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return values;
  }

 private:
  std::size_t count_;
  T* data_ = nullptr;
};

/// Calls a device algorithm of CUB twice: for the size of its workspace, and to run.
template <typename Algorithm>
void run(Algorithm algorithm) {
  std::size_t bytes = 0;
  check(algorithm(static_cast<void*>(nullptr), bytes), "size of the workspace");
  const DeviceArray<unsigned char> workspace(bytes);
  check(algorithm(static_cast<void*>(workspace.get()), bytes), "algorithm");
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
}

inline int failures = 0;

template <typename T>
void expect(const std::string& what, const std::vector<T>& got, const std::vector<T>& wanted) {
  const bool equal = got.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), got.begin());
  std::printf("%s: %s\n", what.c_str(), equal ? "right" : "WRONG");
  if (!equal) ++failures;
}
