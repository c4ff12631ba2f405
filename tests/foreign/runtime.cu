// SPDX-License-Identifier: Apache-2.0
// What runtime_test.py compiles: each argument is a case, and the exit code says whether it went as it
// should.
#include <cooperative_groups.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <vector>

__constant__ int factor;

template <bool kBarrier>
__global__ void reverse(const int* in, int* out) {
  __shared__ int tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  if (kBarrier) __syncthreads();
  out[threadIdx.x] = factor * tile[63 - threadIdx.x];
}

/// Each thread block of a cluster takes the other one's value.
__global__ void exchange(int* out) {
  const auto cluster = cooperative_groups::this_cluster();
  __shared__ int mine;
  if (threadIdx.x == 0) mine = 10 + static_cast<int>(cluster.block_rank());
  cluster.sync();
  if (threadIdx.x == 0) out[blockIdx.x] = *cluster.map_shared_rank(&mine, cluster.block_rank() ^ 1);
  cluster.sync();
}

/// All thread blocks wait for each other.
__global__ void cooperate(int* sums, int* out) {
  if (threadIdx.x == 0) sums[blockIdx.x] = static_cast<int>(blockIdx.x) + 1;
  cooperative_groups::this_grid().sync();
  if (threadIdx.x == 0) out[blockIdx.x] = sums[(blockIdx.x + 1) % gridDim.x];
}

static int* device_ints(int count) {
  int* data = nullptr;
  if (cudaMalloc(&data, count * sizeof(int)) != cudaSuccess) std::exit(3);
  return data;
}

static bool holds(const int* device, const std::vector<int>& wanted) {
  std::vector<int> got(wanted.size());
  const cudaError_t error = cudaMemcpy(got.data(), device, 4 * got.size(), cudaMemcpyDeviceToHost);
  return error == cudaSuccess && got == wanted;
}

template <bool kBarrier>
static bool reversed() {
  std::vector<int> in(64), wanted(64);
  std::iota(in.begin(), in.end(), 5);
  for (int i = 0; i < 64; ++i) wanted[i] = 3 * in[63 - i];
  const int three = 3;
  int *const d_in = device_ints(64), *const d_out = device_ints(64);
  cudaMemcpy(d_in, in.data(), 256, cudaMemcpyHostToDevice);
  cudaMemcpyToSymbol(factor, &three, sizeof three);
  reverse<kBarrier><<<1, 64>>>(d_in, d_out);
  return cudaDeviceSynchronize() == cudaSuccess && (!kBarrier || holds(d_out, wanted));
}

static bool exchanged() {
  int* const out = device_ints(4);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {2, 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 32;
  config.attrs = &cluster;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, exchange, out) == cudaSuccess && holds(out, {11, 10, 11, 10});
}

static bool cooperated() {
  int *sums = device_ints(3), *out = device_ints(3);
  void* arguments[] = {&sums, &out};
  return cudaLaunchCooperativeKernel(cooperate, 3, 32, arguments, 0, nullptr) == cudaSuccess &&
         holds(out, {2, 3, 1});
}

/// Errors that a GPU's runtime library reports, too.
static bool refused() {
  int* const data = device_ints(4);
  int host[8] = {};
  const bool copy = cudaMemcpy(data, host, sizeof host, cudaMemcpyHostToDevice) != cudaSuccess;
  const bool seen = cudaGetLastError() != cudaSuccess && cudaGetLastError() == cudaSuccess;
  reverse<true><<<1, 2048>>>(data, data);  // too many threads
  return copy && seen && cudaDeviceSynchronize() != cudaSuccess;
}

int main(int, char** words) {
  const char* const name = words[1];
  const auto is = [&](const char* other) { return std::strcmp(name, other) == 0; };
  const bool good = is("barrier")       ? reversed<true>()
                    : is("no-barrier")  ? reversed<false>()
                    : is("cluster")     ? exchanged()
                    : is("cooperative") ? cooperated()
                    : is("refused")     ? refused()
                                        : false;
  std::printf("%s: %s\n", name, good ? "right" : "WRONG");
  return good ? 0 : 1;
}
