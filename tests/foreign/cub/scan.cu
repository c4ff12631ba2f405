// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_scan.cuh>

#include <algorithm>
#include <numeric>

#include "common.hpp"

template <typename T>
void sums(const char* type, std::size_t n) {
  const std::vector<T> in = random_values<T>(n, 3);
  const DeviceArray<T> d_in(in), d_out(n);
  std::vector<T> wanted(n);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSum(work, bytes, d_in.get(), d_out.get(), n);
  });
  std::inclusive_scan(in.begin(), in.end(), wanted.begin());
  expect(std::string("InclusiveSum ") + type, d_out.host(), wanted);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceScan::ExclusiveSum(work, bytes, d_in.get(), d_out.get(), n);
  });
  std::exclusive_scan(in.begin(), in.end(), wanted.begin(), T(0));
  expect(std::string("ExclusiveSum ") + type, d_out.host(), wanted);
}

struct Larger {
  template <typename T>
  __host__ __device__ T operator()(T a, T b) const {
    return a < b ? b : a;
  }
};

void maxima(std::size_t n) {
  const std::vector<int> in = random_values<int>(n, 1 << 30);
  const DeviceArray<int> d_in(in), d_out(n);
  std::vector<int> wanted(n);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveScan(work, bytes, d_in.get(), d_out.get(), Larger{}, n);
  });
  std::inclusive_scan(in.begin(), in.end(), wanted.begin(), Larger{});
  expect("InclusiveScan max i32", d_out.host(), wanted);
}

void sums_by_key(std::size_t n) {
  std::vector<int> keys = random_values<int>(n, 40), wanted(n);
  std::sort(keys.begin(), keys.end());
  const std::vector<int> in = random_values<int>(n, 9);
  const DeviceArray<int> d_keys(keys), d_in(in), d_out(n);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceScan::InclusiveSumByKey(work, bytes, d_keys.get(), d_in.get(), d_out.get(),
                                              static_cast<int>(n));
  });
  for (std::size_t i = 0; i < n; ++i)
    wanted[i] = in[i] + (i > 0 && keys[i] == keys[i - 1] ? wanted[i - 1] : 0);
  expect("InclusiveSumByKey i32", d_out.host(), wanted);
}

int main() {
  sums<std::int8_t>("i8", 9001);
  sums<int>("i32", 12345);
  sums<long long>("i64", 7001);
  sums<float>("f32", 10007);
  sums<double>("f64", 5003);
  maxima(11003);
  sums_by_key(9001);
  return failures;
}
