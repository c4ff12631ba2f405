// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "insn/rows.hpp"

// A kernel that repeats one instruction in a loop. It comes in streams: in each, every instruction takes a
// result of the one before it as an operand, so that the assembler can neither fold nor hoist it. With one
// stream, one warp sees the latency from that operand to the result; with several streams and warps, the
// throughput. Operands come from memory; results go back there. Each warp stores the clock before and after
// the loop. The same kernel with twice as many copies gives the cost of the loop itself.
namespace ptxloom::insn {

/// How a stream is chained: the operand that takes the result, or none for an instruction without a result or
/// an operand that fits.
struct Chain {
  int operand = -1;
  std::string name = {};  ///< of the operand, "" without a chain
  /// Statements between result and operand are needed, since their types differ. Their latency is measured
  /// with it.
  bool bridged = false;
};

/// All chains of a row, those without a bridge first.
std::vector<Chain> chains(const Row& row);

struct KernelShape {
  Chain chain;
  int streams = 1;
  int copies = 16;       ///< of the instruction in each stream
  bool guarded = false;  ///< each instruction has a predicate that is true, which the assembler cannot know
};

/// A part of an operand in a register, and where its value lies in the operands of a lane.
struct LoadedField {
  int operand = 0, element = 0;
  Type type;       ///< of the register
  int bytes = 4;   ///< in memory
  int offset = 0;  ///< in the lane's operands
};

struct KernelText {
  std::string text;          ///< from `.visible .entry` to the closing brace
  int first_clock_line = 0;  ///< from 0, in the text: where the loop begins
  int last_clock_line = 0;   ///< where it has ended
  std::vector<int> instruction_lines;
  std::vector<int> bridge_lines;
};

/// What a kernel needs beside its text.
struct Frame {
  std::vector<LoadedField> fields;  ///< the operands that are loaded
  int lane_bytes = 0;               ///< of the operands of a lane, for one stream
  int slot_bytes = 16;              ///< of memory that a thread accesses
  bool addresses = false;  ///< the memory holds its own address, since loads are chained; else it is zero
  bool generic = false;    ///< these are generic addresses, or global ones
  int cluster = 1;         ///< thread blocks of a cluster
};
Frame frame_of(const Row& row);

KernelText kernel_text(const Row& row, const KernelShape& shape, const std::string& name);

/// The head of a module with such kernels.
std::string module_head(const Row& row, const Target& target);

inline constexpr int kLanes = 32;
inline constexpr int kSharedBytes = 32768;  ///< of a thread block
inline constexpr int kSharedMargin = 8192;  ///< behind it: matrices reach beyond the slots of their warp
inline constexpr int kOutBytes = 1 << 20;   ///< room for results
inline constexpr int kTimeBytes = 24;       ///< of a warp: start, end, SM

}  // namespace ptxloom::insn
