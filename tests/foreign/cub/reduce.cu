// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>

#include <algorithm>
#include <numeric>

#include "common.hpp"

template <typename T>
void all_of_them(const char* type, std::size_t n) {
  const std::vector<T> in = random_values<T>(n, 100);
  const DeviceArray<T> d_in(in), d_out(1);
  const int count = static_cast<int>(n);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceReduce::Sum(work, bytes, d_in.get(), d_out.get(), count);
  });
  expect(std::string("Sum ") + type, d_out.host(), {std::accumulate(in.begin(), in.end(), T(0))});
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceReduce::Min(work, bytes, d_in.get(), d_out.get(), count);
  });
  expect(std::string("Min ") + type, d_out.host(), {*std::min_element(in.begin(), in.end())});
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceReduce::Max(work, bytes, d_in.get(), d_out.get(), count);
  });
  expect(std::string("Max ") + type, d_out.host(), {*std::max_element(in.begin(), in.end())});
}

void place_of_the_largest(std::size_t n) {
  const std::vector<float> in = random_values<float>(n, 1 << 20);
  const DeviceArray<float> d_in(in), d_value(1);
  const DeviceArray<long long> d_place(1);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceReduce::ArgMax(work, bytes, d_in.get(), d_value.get(), d_place.get(),
                                     static_cast<long long>(n));
  });
  expect<long long>("ArgMax f32", d_place.host(), {std::max_element(in.begin(), in.end()) - in.begin()});
}

void by_key(std::size_t n) {
  std::vector<int> keys = random_values<int>(n, 60);
  std::sort(keys.begin(), keys.end());
  const std::vector<int> in = random_values<int>(n, 9);
  std::vector<int> wanted_keys, wanted;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || keys[i] != keys[i - 1]) wanted_keys.push_back(keys[i]), wanted.push_back(0);
    wanted.back() += in[i];
  }
  const DeviceArray<int> d_keys(keys), d_in(in), d_unique(n), d_out(n), d_runs(1);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceReduce::ReduceByKey(work, bytes, d_keys.get(), d_unique.get(), d_in.get(), d_out.get(),
                                          d_runs.get(), cuda::std::plus<>{}, static_cast<int>(n));
  });
  expect("ReduceByKey keys", d_unique.host(), wanted_keys);
  expect("ReduceByKey sums", d_out.host(), wanted);
}

void segments(int count, int length) {
  const std::vector<int> in = random_values<int>(static_cast<std::size_t>(count * length), 9);
  std::vector<int> offsets, wanted;
  for (int i = 0; i <= count; ++i) offsets.push_back(i * length);
  for (int i = 0; i < count; ++i)
    wanted.push_back(std::accumulate(&in[offsets[i]], &in[offsets[i]] + length, 0));
  const DeviceArray<int> d_in(in), d_offsets(offsets), d_out(wanted.size());
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceSegmentedReduce::Sum(work, bytes, d_in.get(), d_out.get(), count, d_offsets.get(),
                                           d_offsets.get() + 1);
  });
  expect("SegmentedReduce Sum i32", d_out.host(), wanted);
}

int main() {
  all_of_them<int>("i32", 50021);
  all_of_them<double>("f64", 20011);
  all_of_them<std::uint8_t>("u8", 777);
  place_of_the_largest(30011);
  by_key(9001);
  segments(37, 301);
  return failures;
}
