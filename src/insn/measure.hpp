// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "insn/device.hpp"

// The measured figures of one row.
namespace ptxloom::insn {

struct Latency {
  std::string from;    ///< the operand that takes the result; empty: the instruction has none
  double cycles = 0;   ///< of one step of the chain
  std::string sass;    ///< opcodes of the instruction
  std::string bridge;  ///< opcodes between result and operand, whose latency is in `cycles`
  std::string state;   ///< as Proof::State
  bool guarded = false;
  double spread = 0;       ///< of the repeats, as a part of the figure
  double nanoseconds = 0;  ///< of a launch, which no warp can count cycles of
};

struct Throughput {
  int warps = 0;         ///< of an SM
  double per_cycle = 0;  ///< instructions of a warp, a cycle and SM
  double spread = 0;     ///< of the repeats, as a part of it
};

struct Measured {
  std::string form, opcode, essence;
  std::string data;                ///< "plain", "zero" or "random"
  std::vector<Latency> latencies;  ///< the first is that without a bridge
  std::vector<Throughput> throughputs;
  Latency stream;     ///< what the throughput kernel repeats
  double length = 0;  ///< machine instructions of an instruction
  int registers = 0;
  double clock_mhz = 0;  ///< cycles by events, in the longest launch
  std::string note;      ///< why there is nothing, or what went wrong

  double best() const;  ///< the largest throughput
};

/// Measures a row that was built. Throws Error(device_fault).
Measured measure(Device& device, const Row& row, const BuiltRow& built, Data data);

}  // namespace ptxloom::insn
