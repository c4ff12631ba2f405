// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

struct CUstream_st;

// The order of launches in the executor when several host threads launch: those on one stream run one after
// another, and one on the default stream runs alone, as it does next to a GPU's blocking streams.
namespace ptxloom::api {

class StreamOrder {
  struct Running {
    CUstream_st* stream;
    std::thread::id thread;
    friend bool operator==(const Running&, const Running&) = default;
  };

 public:
  /// Waits until the stream is free, and holds it. A thread does not wait for itself, because an observer of
  /// a launch may launch too.
  class Turn {
   public:
    Turn(StreamOrder& order, CUstream_st* stream)
        : order_(order), running_{.stream = stream, .thread = std::this_thread::get_id()} {
      std::unique_lock lock(order_.mutex_);
      order_.ended_.wait(lock, [&] { return !order_.is_blocked(running_); });
      order_.running_.push_back(running_);
    }
    ~Turn() {
      const std::scoped_lock lock(order_.mutex_);
      order_.running_.erase(std::ranges::find(order_.running_, running_));
      order_.ended_.notify_all();
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;

   private:
    StreamOrder& order_;
    Running running_;
  };

 private:
  bool is_blocked(const Running& next) const {
    return std::ranges::any_of(running_, [&](const Running& running) {
      const bool ordered =
          running.stream == next.stream || running.stream == nullptr || next.stream == nullptr;
      return ordered && running.thread != next.thread;
    });
  }

  std::mutex mutex_;
  std::condition_variable ended_;
  std::vector<Running> running_;
};

}  // namespace ptxloom::api
