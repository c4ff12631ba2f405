// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace ptxloom::api {

/// Milliseconds since construction, or since the last lap.
class Stopwatch {
 public:
  double lap() {
    const auto now = Clock::now();
    const double ms = std::chrono::duration<double, std::milli>(now - start_).count();
    start_ = now;
    return ms;
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace ptxloom::api
