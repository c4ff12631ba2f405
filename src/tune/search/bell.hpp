// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ptxloom::tune {

/// Threads ring it to wake the one that waits.
class Bell {
 public:
  void ring() {
    const std::scoped_lock lock(mutex_);
    rung_ = true;
    changed_.notify_one();
  }
  /// Waits until it rings, or returns at once if it rang since the last wait.
  void wait(std::chrono::milliseconds most) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, most, [&] { return rung_; });
    rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool rung_ = false;
};

}  // namespace ptxloom::tune
