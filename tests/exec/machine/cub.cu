// SPDX-License-Identifier: Apache-2.0
// Kernels of the installed CUB headers: each block of 128 threads reduces, scans or sorts kItems items of
// each thread. cub_test.cpp compiles this with nvcc and runs it in the executor.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cuda/functional>

constexpr int kThreads = 128, kItems = 3, kTile = kThreads * kItems;

/// The items of a block, thread after thread.
template <class T>
struct Tile {
  using Load = cub::BlockLoad<T, kThreads, kItems, cub::BLOCK_LOAD_WARP_TRANSPOSE>;
  using Store = cub::BlockStore<T, kThreads, kItems, cub::BLOCK_STORE_TRANSPOSE>;

  static __device__ void load(const T* in, T (&items)[kItems]) {
    __shared__ typename Load::TempStorage shared;
    Load(shared).Load(in + blockIdx.x * kTile, items);
    __syncthreads();
  }
  static __device__ void store(T* out, T (&items)[kItems]) {
    __shared__ typename Store::TempStorage shared;
    __syncthreads();
    Store(shared).Store(out + blockIdx.x * kTile, items);
  }
};

/// Two results of each block: the sum and the largest item.
template <class T, cub::BlockReduceAlgorithm algorithm>
__device__ void reduce(const T* in, T* out) {
  using Reduce = cub::BlockReduce<T, kThreads, algorithm>;
  __shared__ typename Reduce::TempStorage shared;
  T items[kItems];
  Tile<T>::load(in, items);
  const T sum = Reduce(shared).Sum(items);
  __syncthreads();
  const T most = Reduce(shared).Reduce(items, cuda::maximum<>{});
  if (threadIdx.x == 0) {
    out[2 * blockIdx.x] = sum;
    out[2 * blockIdx.x + 1] = most;
  }
}

template <class T, cub::BlockScanAlgorithm algorithm, bool inclusive>
__device__ void scan(const T* in, T* out) {
  using Scan = cub::BlockScan<T, kThreads, algorithm>;
  __shared__ typename Scan::TempStorage shared;
  T items[kItems];
  Tile<T>::load(in, items);
  if constexpr (inclusive)
    Scan(shared).InclusiveSum(items, items);
  else
    Scan(shared).ExclusiveSum(items, items);
  Tile<T>::store(out, items);
}

template <class T, bool descending>
__device__ void sort(const T* in, T* out) {
  using Sort = cub::BlockRadixSort<T, kThreads, kItems>;
  __shared__ typename Sort::TempStorage shared;
  T items[kItems];
  Tile<T>::load(in, items);
  if constexpr (descending)
    Sort(shared).SortDescending(items);
  else
    Sort(shared).Sort(items);
  Tile<T>::store(out, items);
}

/// Where each key was among the block's, in the order of the keys: equal keys keep theirs.
template <class T>
__device__ void order(const T* in, unsigned* out) {
  using Sort = cub::BlockRadixSort<T, kThreads, kItems, unsigned>;
  __shared__ typename Sort::TempStorage shared;
  T items[kItems];
  unsigned places[kItems];
  Tile<T>::load(in, items);
  for (int i = 0; i < kItems; ++i) places[i] = threadIdx.x * kItems + i;
  Sort(shared).Sort(items, places);
  Tile<unsigned>::store(out, places);
}

#define KERNELS(T, name)                                                                     \
  extern "C" __global__ void reduce_warp_##name(const T* in, T* out) {                       \
    reduce<T, cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out);                                   \
  }                                                                                          \
  extern "C" __global__ void reduce_raking_##name(const T* in, T* out) {                     \
    reduce<T, cub::BLOCK_REDUCE_RAKING>(in, out);                                            \
  }                                                                                          \
  extern "C" __global__ void scan_warp_##name(const T* in, T* out) {                         \
    scan<T, cub::BLOCK_SCAN_WARP_SCANS, true>(in, out);                                      \
  }                                                                                          \
  extern "C" __global__ void scan_raking_##name(const T* in, T* out) {                       \
    scan<T, cub::BLOCK_SCAN_RAKING, false>(in, out);                                         \
  }                                                                                          \
  extern "C" __global__ void sort_##name(const T* in, T* out) { sort<T, false>(in, out); }   \
  extern "C" __global__ void descend_##name(const T* in, T* out) { sort<T, true>(in, out); } \
  extern "C" __global__ void order_##name(const T* in, unsigned* out) { order<T>(in, out); }

KERNELS(int, s32)
KERNELS(unsigned, u32)
KERNELS(unsigned long long, u64)
KERNELS(unsigned char, u8)
KERNELS(float, f32)
KERNELS(double, f64)
