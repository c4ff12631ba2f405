// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "ptxloom/tune.hpp"
#include "tune/search/bell.hpp"
#include "tune/search/strategy.hpp"

// Linking takes longer than measuring, and the device must not wait for it: threads make and link candidates
// ahead of the measurements. The linker cannot be interrupted, so a thread that takes too long is abandoned
// and replaced. Kernels with the same text and options are linked once.
namespace ptxloom::tune {

/// A candidate with its machine code, or the reason why there is none.
struct Made {
  Pick pick;
  Settings config;
  Candidate candidate;
  std::optional<Resources> resources;
  double link_ms = 0;
  double code_us = 0;        ///< predicted from its machine code; 0: nothing
  std::uint64_t number = 0;  ///< in the order of put()
  std::optional<Diagnostic> problem;
};

class Feeder {
 public:
  struct Options {
    Measurer::Code code = Measurer::Code::cubin;
    std::string target;
    unsigned jobs = 0;
    std::chrono::duration<double> limit{30};
    std::shared_ptr<Bell> bell = std::make_shared<Bell>();  ///< rings when one is done
    /// Predicts microseconds from machine code. Called by the threads that link.
    std::function<std::optional<double>(const Candidate&, const Pick&)> predict = {};
  };
  /// `linker` may be null unless machine code is wanted.
  Feeder(Maker make, const Linker* linker, Options options);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  /// How many may be in flight to keep the threads busy, and no more.
  std::size_t capacity() const;
  /// Those put in and not taken out yet.
  std::size_t under_way() const { return under_way_; }
  void put(const Pick& pick, Settings config);
  /// The finished candidate that was put in first; nullopt if there is none at the moment. The very first is
  /// the most promising, and a short search might measure nothing else, so the others wait for it.
  std::optional<Made> take();

 private:
  struct State;  // shared with the threads, which may outlive the feeder
  void start_thread();
  std::optional<Made> overdue();

  std::shared_ptr<State> state_;
  std::size_t under_way_ = 0;
  std::uint64_t put_ = 0, taken_ = 0;
};

}  // namespace ptxloom::tune
