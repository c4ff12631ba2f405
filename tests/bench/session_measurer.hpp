// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>

#include "tune/worker/session.hpp"

// A search's measurer in this process: starting a worker would take as long as a short search does. A kernel
// that faults ends the search, and the process is of no more use. Each candidate is first looked at; only one
// that may win is verified and timed well, for reading a large D back takes longer than making it.
namespace ptxloom::bench {

class SessionMeasurer : public tune::Measurer {
 public:
  SessionMeasurer(tune::Bench& bench, const tune::Task& task) : session_(bench, task) {}

  std::string name() const override { return "this process"; }
  Code code() const override { return Code::cubin; }

  void set_rival(const tune::Trial* rival) override {
    session_.set_rival(rival == nullptr ? nullptr : &rival->candidate);
    has_rival_ = rival != nullptr;
  }

  tune::Reading measure(const tune::Trial& trial) override {
    if (!trial.verify) return taken(trial.candidate, false, trial.samples);
    if (has_rival_) {
      tune::Reading look = taken(trial.candidate, false, 1);
      if (look.problem || look.us.front() > kBehind * look.rival_us.front()) return look;
    }
    return taken(trial.candidate, true, std::min(trial.samples, kSamples));
  }

 private:
  static constexpr double kBehind = 1.15;  // times the rival: more than finalists may be
  static constexpr int kSamples = 3;

  tune::Reading taken(const tune::Candidate& candidate, bool verify, int samples) {
    bool lost = false;
    tune::Reading reading = session_.measure(candidate, verify, samples, lost);
    if (lost) throw Error(ErrorKind::refused, {*reading.problem});
    return reading;
  }

  tune::Session session_;
  bool has_rival_ = false;
};

}  // namespace ptxloom::bench
