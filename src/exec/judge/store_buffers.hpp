// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "exec/judge/horizon.hpp"
#include "exec/judge/scope.hpp"

// Two threads each write a word and then read the word of the other. Both may miss the other's write unless
// each has a fence.sc between the two accesses: fence.acq_rel does not order a write before a read (PTX
// ISA 8.9, Fence-SC). The run shows one order of the two, in which the later thread sees the write. Found are
// threads that have fences there, of which one is too weak, and of which the earlier thread does not read the
// other's word again: one that polls it sees the write in the end. Without fences nothing tells that a kernel
// relies on it.
namespace ptxloom::exec {

class StoreBuffers {
 public:
  struct Thread {
    std::uint64_t cluster = 0;
    std::uint32_t block = 0;  // of the cluster
    Party party = 0;
    std::uint8_t lane = 0;
    auto operator<=>(const Thread&) const = default;
  };
  /// What a thread did.
  struct Side {
    Thread thread;
    std::uint32_t reads = 0;  ///< the operation
  };

  void fence(const Thread& thread, Scope scope, bool sc);
  void write(const Thread& thread, const void* word);
  /// Returns the side of the earlier thread if this completes a pair, and that thread has exited.
  std::optional<Side> read(const Thread& thread, const void* word, std::uint32_t operation);
  /// The sides of a pair.
  struct Pair {
    Side earlier, later;
  };
  /// Returns a pair of which the thread is the earlier one.
  std::optional<Pair> exit(const Thread& thread);

 private:
  static constexpr std::size_t kMostKept = 8, kMostMissed = 64;

  struct Written {
    const void* word;
    bool fenced = false;           // since then
    std::optional<Scope> sc = {};  // the largest of a fence.sc since then
  };
  struct Own {
    std::vector<Written> written;  // the last words
    bool exited = false;
  };
  /// A thread has read a word after a write of its own and a fence.
  struct Look {
    Side side;
    Written written;
  };
  struct Word {
    Thread writer;            // the last
    std::vector<Look> looks;  // since its write
  };
  /// Another thread has written the word after that.
  struct Missed {
    Look look;
    const void* word;
    Thread by;
    std::optional<Side> later = {};  // it has read the other word
  };

  /// Whether the fences are too weak for the two threads.
  bool is_pair(const Missed& missed, const Thread& later, const void* word);

  std::map<Thread, Own> threads_;
  std::map<const void*, Word> words_;
  std::vector<Missed> missed_;
};

}  // namespace ptxloom::exec
