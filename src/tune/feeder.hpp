// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ptxloom/tune.hpp"

// Linking takes longer than measuring, and the device must not wait for it: threads make and link candidates
// ahead of the one that measures, which takes them in order. How far ahead is bounded, for a search may end
// early.
namespace ptxloom::tune {

/// A candidate with its machine code, or why there is none.
struct Linked {
  Candidate candidate;
  Resources resources;
  std::optional<Diagnostic> problem;
};

class Feeder {
 public:
  Feeder(const Linker& linker, const Source& source, std::string target, unsigned jobs);
  ~Feeder();
  Feeder(const Feeder&) = delete;
  Feeder& operator=(const Feeder&) = delete;

  /// The next in order, waiting for it; nullopt behind the last.
  std::optional<Linked> next();

 private:
  void work();
  std::optional<Linked> make(std::size_t index) const;

  const Linker& linker_;
  const Source& source_;
  std::string target_;
  std::size_t ahead_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::size_t claimed_ = 0;
  std::size_t taken_ = 0;
  std::size_t end_ = std::numeric_limits<std::size_t>::max();
  std::map<std::size_t, Linked> ready_;
  std::vector<std::thread> threads_;
};

}  // namespace ptxloom::tune
