// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace ptxloom::exec {

/// Launches on several host threads that communicate through one memory take turns on it: what a launch does
/// in its turn is atomic to the others. Turns are granted in the order of requests, so a spinning launch lets
/// the one it waits for run. A thread may begin a turn within its own turn.
class Turns {
 public:
  void lock() {
    std::unique_lock lock(mutex_);
    if (depth_ != 0 && owner_ == std::this_thread::get_id()) {
      ++depth_;
      return;
    }
    const std::uint64_t number = next_++;
    ended_.wait(lock, [&] { return depth_ == 0 && current_ == number; });
    depth_ = 1;
    owner_ = std::this_thread::get_id();
  }
  void unlock() {
    const std::scoped_lock lock(mutex_);
    if (--depth_ != 0) return;
    ++current_;
    ended_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  std::uint64_t next_ = 0, current_ = 0;
  std::thread::id owner_;
  int depth_ = 0;
};

}  // namespace ptxloom::exec
