// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "tune/worker/bench.hpp"

// How a worker handles a candidate, on any device: it is first verified on poisoned outputs and, only if
// correct, timed in alternation with the rival.
namespace ptxloom::tune {

class Session {
 public:
  Session(Bench& bench, const Task& task) : bench_(bench), task_(task) {}

  /// Throws Error if the candidate cannot be loaded.
  void set_rival(const Candidate* rival);
  /// Failures are reported in the reading. `lost`: the device is no longer usable.
  Reading measure(const Candidate& candidate, bool verify, int samples, bool& lost);
  /// The same for the vendor's library on the task's product; the library is loaded and verified by the first
  /// call.
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
  // Reused: allocating for each candidate would take longer than comparing.
  std::vector<HostTensor> outputs_;
};

}  // namespace ptxloom::tune
