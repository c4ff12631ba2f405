// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "ptxloom/exec.hpp"

// What threads print. It appears in the order of clusters, whatever the number of host threads: what a later
// cluster prints waits until those before it have ended.
namespace ptxloom::exec {

class Printer {
 public:
  /// `at_once`: one host thread runs all clusters, and nothing has to wait.
  Printer(const Print& print, bool at_once) : print_(print), at_once_(at_once) {}
  void add(std::uint64_t cluster, Printed text);
  void ended(std::uint64_t cluster);
  /// The launch is over, or fails: all that waits appears.
  void flush();

 private:
  struct Waiting {
    bool ended = false;
    std::vector<Printed> texts;
  };
  void write(const Printed& text) const;
  void write_all(Waiting& waiting) const;

  const Print& print_;
  const bool at_once_;
  std::mutex mutex_;
  std::uint64_t first_ = 0;  // the first cluster that has not ended
  std::map<std::uint64_t, Waiting> waiting_;
};

}  // namespace ptxloom::exec
