// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_segmented_sort.cuh>

#include <algorithm>
#include <functional>
#include <numeric>

#include "common.hpp"

template <typename T>
void radix(const char* type, std::size_t n, int below) {
  const std::vector<T> in = random_values<T>(n, below);
  std::vector<int> places(n);
  std::iota(places.begin(), places.end(), 0);
  const DeviceArray<T> d_in(in), d_out(n);
  const DeviceArray<int> d_places(places), d_sorted(n);
  const int count = static_cast<int>(n);
  std::vector<T> wanted = in;
  std::stable_sort(wanted.begin(), wanted.end(), std::greater<T>());
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortKeysDescending(work, bytes, d_in.get(), d_out.get(), count);
  });
  expect(std::string("RadixSort SortKeysDescending ") + type, d_out.host(), wanted);
  std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return in[a] < in[b]; });
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(work, bytes, d_in.get(), d_out.get(), d_places.get(),
                                           d_sorted.get(), count);
  });
  expect(std::string("RadixSort SortPairs ") + type, d_sorted.host(), places);
}

struct Smaller {
  __host__ __device__ bool operator()(int a, int b) const { return a < b; }
};

void merge(std::size_t n) {
  const std::vector<int> in = random_values<int>(n, 1 << 30);
  const DeviceArray<int> d_in(in);
  std::vector<int> wanted = in;
  std::sort(wanted.begin(), wanted.end());
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceMergeSort::SortKeys(work, bytes, d_in.get(), n, Smaller{});
  });
  expect("MergeSort SortKeys i32", d_in.host(), wanted);
}

/// Lengths from none to some thousands: each range of them has a kernel of its own.
void segments() {
  std::vector<int> offsets{0};
  for (const int length : {0, 3, 17, 40, 120, 600, 2500, 9, 0, 7000})
    offsets.push_back(offsets.back() + length);
  const std::vector<int> in = random_values<int>(static_cast<std::size_t>(offsets.back()), 1 << 30);
  std::vector<int> wanted = in;
  for (std::size_t i = 0; i + 1 < offsets.size(); ++i)
    std::sort(&wanted[0] + offsets[i], &wanted[0] + offsets[i + 1]);
  const DeviceArray<int> d_in(in), d_out(in.size()), d_offsets(offsets);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceSegmentedSort::SortKeys(work, bytes, d_in.get(), d_out.get(), offsets.back(),
                                              static_cast<int>(offsets.size()) - 1, d_offsets.get(),
                                              d_offsets.get() + 1);
  });
  expect("SegmentedSort SortKeys i32", d_out.host(), wanted);
}

int main() {
  radix<std::uint8_t>("u8", 3001, 256);
  radix<int>("i32", 40009, 1 << 30);
  radix<unsigned long long>("u64", 9001, 1 << 30);
  radix<float>("f32", 9001, 1 << 20);
  merge(9001);
  segments();
  return failures;
}
