// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

#include "exec/machine/lanes.hpp"
#include "exec/machine/operation.hpp"

// What is counted while a kernel runs: how often each operation is executed, for how many threads, and the
// cost of its accesses. ptxloom/exec.hpp defines requests, passes and sectors. Lanes access memory one by
// one; all accesses of one execution form a request.
namespace ptxloom::exec {

struct Count {
  struct Memory {
    std::uint64_t requests = 0;
    std::uint64_t units = 0;   ///< passes over the banks, or sectors
    std::uint64_t needed = 0;  ///< the minimum possible
    void operator+=(const Memory& other) {
      requests += other.requests;
      units += other.units;
      needed += other.needed;
    }
  };
  std::uint64_t executed = 0, lanes = 0;
  Memory shared, global;

  void add_traffic(const Count& other) {
    shared += other.shared;
    global += other.global;
  }
  void operator+=(const Count& other) {
    executed += other.executed;
    lanes += other.lanes;
    add_traffic(other);
  }
};
using Counts = std::vector<Count>;  // by operation

class Traffic {
 public:
  enum class Kind : std::uint8_t { shared, global };

  explicit Traffic(Counts& counts) : counts_(&counts) {}
  void executes(const Warp& warp, const Operation& op, Mask lanes);
  /// An access of one lane: bytes [address, address + bytes), for shared memory counted from its start.
  void access(Kind kind, std::uint64_t address, std::uint32_t bytes);
  /// Closes the current request.
  void flush();

 private:
  struct Access {
    std::uint64_t address;
    std::uint32_t bytes;
  };
  static Count::Memory passes(const std::vector<Access>& accesses);
  static Count::Memory sectors(const std::vector<Access>& accesses);

  Counts* counts_;
  std::size_t current_ = 0;              // the current operation
  std::vector<Access> shared_, global_;  // of its request
};

}  // namespace ptxloom::exec
