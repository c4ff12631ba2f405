// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/judge/data_flow.hpp"
#include "exec/judge/register_shadow.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// Bits of registers and shared memory that were never given a value. They may be moved and computed with; if
// they decide an address, a guard, what a barrier or a copy does, or a value stored to global memory, that is
// the fault "undefined-value".
//
// Moves, loads, stores, selections, logic, shifts, bit fields, permutations, integer conversions and matrix
// moves track them bit by bit; packed arithmetic and conversions to pairs, per half. Other results are
// undefined as a whole if any bit read is (which reports more than a machine shows: x * 0 with an undefined
// x); matrix products are tracked per element (matrix/undefined_elements.hpp). The result of an atomic
// operation on undefined memory stays undefined. To err on the side of silence, local and global memory,
// function arguments, and values of st.async count as defined.
namespace ptxloom::exec {

class Cluster;

class Undefined {
 public:
  explicit Undefined(Cluster& cluster) : cluster_(&cluster) {}
  void start();
  /// Before `lanes` execute an operation: the lanes of `group` that pass its guard.
  void executes(Warp& warp, const Operation& op, const DataFlow& flow, Mask group, Mask lanes);

  // Accesses of the current instruction.
  void read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void write_global(const Actor& actor);
  /// A copy has written it.
  void define(const SharedPlace& place, std::uint32_t bytes);
  /// A copy moves shared memory to other shared memory, or to global memory.
  void copy(const SharedPlace& to, const SharedPlace& from, std::uint32_t bytes);
  void copy_out(const Actor& actor, const SharedPlace& from, std::uint32_t bytes);
  /// These lanes store what the current instruction reads to global memory.
  void stores(Warp& warp, const Operation& op, Mask lanes);
  /// Each lane receives the value of another, which `executes` could not know yet.
  void shuffle(const Warp& warp, Mask lanes, const Slot& to, const Slot& from,
               const std::array<int, kLanes>& sources);

  RegisterShadow& registers_of(const Warp& warp);
  std::byte* bits_of(const SharedPlace& place);

 private:
  void call(Warp& warp, const Operation& op, Mask lanes);
  void carry(Warp& warp, const DataFlow& flow, Mask lanes);
  std::uint64_t result(Warp& warp, const DataFlow& flow, std::size_t out, int lane);
  void check(Warp& warp, const Operation& op, Mask lanes, const FlowPiece& piece, const char* what);
  std::byte stored_bits(const Actor& actor, std::uint32_t byte);
  void update(const Actor& actor, std::span<std::byte> undefined);

  Cluster* cluster_;
  const DataFlow* flow_ = nullptr;              // of the current instruction
  bool undefined_in_ = false;                   // it reads undefined bits
  std::vector<RegisterShadow> registers_;       // by thread block and warp
  std::vector<std::vector<std::byte>> shared_;  // by thread block; 1: undefined
};

}  // namespace ptxloom::exec
