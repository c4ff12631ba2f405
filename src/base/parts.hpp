// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <thread>
#include <vector>

// Loops over many elements, on several threads.
namespace ptxloom::base {

struct Part {
  std::size_t begin = 0, end = 0;
  std::size_t number = 0;
};

/// The number of parts of `count` elements, such that each has `enough` for a thread of its own.
inline std::size_t count_parts(std::size_t count, std::size_t enough) {
  return std::clamp<std::size_t>(count / enough, 1, std::max(1U, std::thread::hardware_concurrency()));
}

/// Calls f(Part) for each part of [0, count), all concurrently.
template <class F>
void in_parts(std::size_t count, std::size_t enough, F f) {
  const std::size_t parts = count_parts(count, enough);
  const auto run = [&](std::size_t number) {
    f(Part{.begin = count * number / parts, .end = count * (number + 1) / parts, .number = number});
  };
  std::vector<std::jthread> threads;
  for (std::size_t number = 1; number < parts; ++number) threads.emplace_back(run, number);
  run(0);
}

}  // namespace ptxloom::base
