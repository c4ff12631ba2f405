// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "tune/bench.hpp"

// What a worker does with a candidate, whatever it runs on: it is verified on poisoned outputs first, and
// timed only if it is right, in turns with the rival.
namespace ptxloom::tune {

class Session {
 public:
  Session(Bench& bench, const Task& task) : bench_(bench), task_(task) {}

  /// Throws Error for what cannot be loaded.
  void set_rival(const Candidate* rival);
  /// What is wrong is told in the reading. `lost`: the device is of no use any more.
  Reading measure(const Candidate& candidate, bool verify, int samples, bool& lost);
  /// The same of the vendor's library at the task's product; it is opened and verified at the first call.
  Reading measure_vendor(int samples, bool& lost);

 private:
  Reading attempt(const std::function<void(Reading&)>& take, bool& lost);
  std::optional<Diagnostic> check(Bench::Loaded& loaded);
  std::optional<Diagnostic> check_once(Bench::Loaded& loaded);
  void time(Bench::Loaded& loaded, int samples, Reading& reading);
  void look_at_health(Reading& reading);

  Bench& bench_;
  const Task& task_;
  std::unique_ptr<Bench::Loaded> rival_;
  double rival_us_ = 0;
  Bench::Vendor vendor_;
  std::optional<std::chrono::steady_clock::time_point> looked_;
  HostTensor output_;  // new memory for each candidate would take longer than comparing
};

}  // namespace ptxloom::tune
