// SPDX-License-Identifier: Apache-2.0
#include <cub/device/device_partition.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_select.cuh>

#include <algorithm>

#include "common.hpp"

struct Odd {
  template <typename T>
  __host__ __device__ bool operator()(T a) const {
    return static_cast<int>(a) % 2 == 1;
  }
};

template <typename T>
void select(const char* type, std::size_t n) {
  const std::vector<T> in = random_values<T>(n, 100);
  const std::vector<char> flags = random_values<char>(n, 2);
  const DeviceArray<T> d_in(in), d_out(n);
  const DeviceArray<char> d_flags(flags);
  const DeviceArray<int> d_count(1);
  const int count = static_cast<int>(n);
  std::vector<T> wanted;
  std::copy_if(in.begin(), in.end(), std::back_inserter(wanted), Odd{});
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceSelect::If(work, bytes, d_in.get(), d_out.get(), d_count.get(), count, Odd{});
  });
  expect(std::string("Select If ") + type, d_out.host(), wanted);
  wanted.clear();
  for (std::size_t i = 0; i < n; ++i)
    if (flags[i] != 0) wanted.push_back(in[i]);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceSelect::Flagged(work, bytes, d_in.get(), d_flags.get(), d_out.get(), d_count.get(),
                                      count);
  });
  expect(std::string("Select Flagged ") + type, d_out.host(), wanted);
}

void partition(std::size_t n) {
  const std::vector<int> in = random_values<int>(n, 100);
  const DeviceArray<int> d_in(in), d_out(n), d_count(1);
  std::vector<int> wanted;
  std::copy_if(in.begin(), in.end(), std::back_inserter(wanted), Odd{});
  run([&](void* work, std::size_t& bytes) {
    return cub::DevicePartition::If(work, bytes, d_in.get(), d_out.get(), d_count.get(), static_cast<int>(n),
                                    Odd{});
  });
  expect("Partition If i32", d_out.host(), wanted);
}

void runs(std::size_t n) {
  const std::vector<int> in = random_values<int>(n, 2);
  std::vector<int> values, lengths, starts, long_lengths;
  for (std::size_t i = 0; i < n; ++i) {
    if (i == 0 || in[i] != in[i - 1]) values.push_back(in[i]), lengths.push_back(0);
    ++lengths.back();
  }
  int at = 0;
  for (const int length : lengths) {
    if (length > 1) starts.push_back(at), long_lengths.push_back(length);
    at += length;
  }
  const DeviceArray<int> d_in(in), d_values(n), d_lengths(n), d_count(1);
  const int count = static_cast<int>(n);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceRunLengthEncode::Encode(work, bytes, d_in.get(), d_values.get(), d_lengths.get(),
                                              d_count.get(), count);
  });
  expect("RunLengthEncode Encode", d_lengths.host(), lengths);
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceRunLengthEncode::NonTrivialRuns(work, bytes, d_in.get(), d_values.get(),
                                                      d_lengths.get(), d_count.get(), count);
  });
  expect("RunLengthEncode NonTrivialRuns", d_values.host(), starts);
  std::vector<int> unique = in;
  unique.erase(std::unique(unique.begin(), unique.end()), unique.end());
  run([&](void* work, std::size_t& bytes) {
    return cub::DeviceSelect::Unique(work, bytes, d_in.get(), d_values.get(), d_count.get(), count);
  });
  expect("Select Unique", d_values.host(), unique);
}

int main() {
  select<int>("i32", 20011);
  select<double>("f64", 7001);
  partition(15013);
  runs(12007);
  return failures;
}
