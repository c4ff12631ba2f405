// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ptxloom/schedule.hpp"

/// \file
/// What the executor's judge finds in a launch that does not stop at the first fault.
namespace [[gnu::visibility("default")]] ptxloom {
namespace exec {

/// One side of a finding: an instruction, and the thread that executes it.
struct Site {
  std::string text;                      ///< the instruction
  int line = 0;                          ///< in the PTX, from 1; 0 if it was built
  int column = 0;                        ///< in that line, from 1
  std::string file = {};                 ///< the source file that `.loc` names; empty: there is none
  int file_line = 0;                     ///< in that file, from 1
  std::string call_file = {};            ///< where a function that was inlined is called; empty: it was not
  int call_line = 0;                     ///< in that file, from 1
  std::array<std::uint32_t, 3> block{};  ///< thread block: "%ctaid"
  std::uint32_t warp = 0;                ///< in the thread block
  int lane = 0;                          ///< in the warp; -1: several lanes, or an asynchronous copy
};

/// A misuse, at one pair of instructions.
struct Finding {
  std::string code;           ///< stable: docs/findings.md explains each
  std::string what;           ///< what is wrong
  std::string hint;           ///< what to add or change
  std::string kernel;         ///< name of the entry
  Site at;                    ///< the instruction at which it shows
  std::optional<Site> other;  ///< the instruction that it conflicts with, or where the value comes from
  /// The last barriers, fences and waits of both warps after the earlier access, in the order of this run; no
  /// lanes are named. Empty if there were none, or if `other` is not of the same cluster.
  std::vector<Site> between;
  std::string address;      ///< "shared + 0x40" or "buffer 2 + 0x40"; empty if it is not about memory
  std::uint64_t count = 1;  ///< how often the pair shows
  bool fatal = false;       ///< the thread block could not go on
  Schedule schedule = {};   ///< Launch::schedule of the run that `at` and `other` are from
};

/// The findings of one or more launches, one for each code and pair of instructions. Thread-safe.
class Findings {
 public:
  /// Identifies a pair of instructions: the kernel, the code, and the two as the executor numbers them.
  using Key = std::tuple<std::string, std::string, std::uint32_t, std::uint32_t>;

  /// Counts one more of this pair. True if `add` is wanted: it is the first, or comes from an earlier thread
  /// block (`order`) than the one that is kept, so that the result does not depend on the host's threads.
  bool count(const Key& key, std::uint64_t order);
  /// Counts so many more of a pair that has been counted.
  void count_again(const Key& key, std::uint64_t times);
  /// Sets the text of a counted pair.
  void add(const Key& key, Finding finding);
  /// Those of another list, of the same launches or of others.
  void add_all(const Findings& others);
  /// All of them, by kernel and line. Undefined values that come of a race or of a copy that nobody awaited
  /// are left out.
  std::vector<Finding> all() const;

 private:
  struct Entry {
    Finding finding;
    std::uint64_t order = 0, count = 0;
  };
  mutable std::mutex mutex_;
  std::map<Key, Entry> entries_;
};

}  // namespace exec
}  // namespace ptxloom
