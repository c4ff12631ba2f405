// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_adjacent_difference.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_memcpy.cuh>
#include <cub/device/device_merge.cuh>
#include <cub/device/device_transform.cuh>

#include <algorithm>
#include <numeric>

#include "common.hpp"

void one_channel(std::size_t n) {
  const std::vector<std::uint8_t> in = random_values<std::uint8_t>(n, 256);
  std::vector<int> wanted(64);
  for (const std::uint8_t each : in) ++wanted[each / 4];
  const DeviceArray<std::uint8_t> d_in(in);
  const DeviceArray<int> d_out(wanted.size());
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceHistogram::HistogramEven(work, bytes, d_in.get(), d_out.get(), 65, 0, 256,
                                               static_cast<int>(n));
  });
  expect("HistogramEven u8", d_out.host(), wanted);
}

void three_of_four_channels(std::size_t n) {
  const std::vector<float> in = random_values<float>(4 * n, 100);
  std::vector<std::vector<int>> wanted(3, std::vector<int>(10));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t c = 0; c < 3; ++c) ++wanted[c][static_cast<std::size_t>(in[4 * i + c]) / 10];
  const DeviceArray<float> d_in(in);
  const DeviceArray<int> r(10), g(10), b(10);
  cuda::std::array<int*, 3> histograms{r.get(), g.get(), b.get()};
  const cuda::std::array<int, 3> levels{11, 11, 11};
  const cuda::std::array<float, 3> lower{0, 0, 0}, upper{100, 100, 100};
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceHistogram::MultiHistogramEven<4, 3>(work, bytes, d_in.get(), histograms, levels, lower,
                                                          upper, static_cast<int>(n));
  });
  expect("MultiHistogramEven f32", g.host(), wanted[1]);
}

struct Twice {
  __host__ __device__ int operator()(int a) const { return 2 * a; }
};
struct Add {
  __host__ __device__ int operator()(int a, int b) const { return a + b; }
};
struct Increment {
  __device__ void operator()(int& a) const { ++a; }
};

void element_by_element(std::size_t n) {
  const std::vector<int> in = random_values<int>(n, 1000), more = random_values<int>(n, 1000);
  const DeviceArray<int> d_in(in), d_more(more), d_out(n);
  std::vector<int> wanted(n);
  const int count = static_cast<int>(n);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceAdjacentDifference::SubtractLeftCopy(work, bytes, d_in.get(), d_out.get(), count);
  });
  std::adjacent_difference(in.begin(), in.end(), wanted.begin());
  expect("AdjacentDifference SubtractLeftCopy", d_out.host(), wanted);
  check(cub::DeviceTransform::Transform(cuda::std::make_tuple(d_in.get(), d_more.get()), d_out.get(), count,
                                        Add{}),
        "Transform");
  std::transform(in.begin(), in.end(), more.begin(), wanted.begin(), Add{});
  expect("Transform of two", d_out.host(), wanted);
  check(cub::DeviceTransform::Transform(d_in.get(), d_out.get(), count, Twice{}), "Transform");
  std::transform(in.begin(), in.end(), wanted.begin(), Twice{});
  expect("Transform of one", d_out.host(), wanted);
  check(cub::DeviceFor::ForEachN(d_out.get(), count, Increment{}), "ForEachN");
  for (int& each : wanted) ++each;
  expect("ForEachN", d_out.host(), wanted);
}

void merge(std::size_t n) {
  std::vector<int> a = random_values<int>(n, 1000), b = random_values<int>(n / 3, 1000), wanted(n + n / 3);
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  std::merge(a.begin(), a.end(), b.begin(), b.end(), wanted.begin());
  const DeviceArray<int> d_a(a), d_b(b), d_out(wanted.size());
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceMerge::MergeKeys(work, bytes, d_a.get(), static_cast<int>(n), d_b.get(),
                                       static_cast<int>(n / 3), d_out.get());
  });
  expect("MergeKeys i32", d_out.host(), wanted);
}

/// Copies of a byte to some thousands: each range of sizes has a path of its own.
void copies() {
  const std::vector<int> sizes{1, 3, 17, 128, 1000, 20001, 64, 5};
  std::vector<int> offsets{0};
  for (const int size : sizes) offsets.push_back(offsets.back() + size);
  const std::vector<std::uint8_t> in =
      random_values<std::uint8_t>(static_cast<std::size_t>(offsets.back()), 256);
  const DeviceArray<std::uint8_t> d_in(in), d_out(in.size());
  std::vector<void*> from, to;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    from.push_back(d_in.get() + offsets[i]), to.push_back(d_out.get() + offsets[i]);
  const DeviceArray<void*> d_from(from), d_to(to);
  const DeviceArray<int> d_sizes(sizes);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceMemcpy::Batched(work, bytes, d_from.get(), d_to.get(), d_sizes.get(),
                                      static_cast<unsigned>(sizes.size()));
  });
  expect("Memcpy Batched", d_out.host(), in);
}

int main() {
  one_channel(30011);
  three_of_four_channels(5003);
  element_by_element(12007);
  merge(9001);
  copies();
  return failures;
}
