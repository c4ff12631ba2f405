// SPDX-License-Identifier: Apache-2.0
#include <cub/cub.cuh>
#include <thrust/device_ptr.h>
#include <thrust/execution_policy.h>
#include <thrust/sort.h>
#include <thrust/transform_reduce.h>
struct Pair { int key; double weight; };
struct Less { __host__ __device__ bool operator()(const Pair& a, const Pair& b) const { return a.key < b.key; } };
struct Even { __host__ __device__ bool operator()(int x) const { return (x & 1) == 0; } };
void use(void* t, size_t& s, int* a, int* b, float* f, float* g, double* d, Pair* p, int n) {
  cub::DeviceReduce::Sum(t, s, a, b, n);
  cub::DeviceReduce::Max(t, s, d, d, n);
  cub::DeviceScan::ExclusiveSum(t, s, f, g, n);
  cub::DeviceRadixSort::SortPairs(t, s, a, b, f, g, n);
  cub::DeviceSelect::If(t, s, a, b, b, n, Even{});
  cub::DeviceHistogram::HistogramEven(t, s, f, b, 257, 0.0f, 1.0f, n);
  cub::DeviceMergeSort::SortKeys(t, s, p, n, Less{});
  cub::DeviceRunLengthEncode::Encode(t, s, a, b, b, b, n);
  cub::DeviceSegmentedReduce::Sum(t, s, f, g, n, a, b);
  thrust::sort(thrust::device, p, p + n, Less{});
}
