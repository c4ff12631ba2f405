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

// Bits that nobody gave a value, of registers and of shared memory. They may be moved about and calculated
// with; where they decide an address, a guard, or what is stored to global memory, they are the fault
// "undefined-value".
//
// Moves, loads, stores, selections, logic, prmt and what moves matrices carry them bit by bit; of other
// calculations the result is undefined as a whole if any bit read is (which reports more than a machine
// shows: x * 0 of an undefined x), of products of matrices each element by itself
// (matrix/undefined_elements.hpp). What an atomic operation makes of undefined memory stays undefined. To err
// on the side of silence: local and global memory are defined, and so is what a function is passed and what
// st.async sends.
namespace ptxloom::exec {

class Cluster;

class Undefined {
 public:
  explicit Undefined(Cluster& cluster) : cluster_(&cluster) {}
  void start();
  /// Before an operation is done by `lanes`, of `group` those that its guard lets through.
  void executes(Warp& warp, const Operation& op, const DataFlow& flow, Mask group, Mask lanes);

  // The accesses of the instruction at hand.
  void read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void write_global(const Actor& actor);
  /// A copy has written it.
  void define(const SharedPlace& place, std::uint32_t bytes);
  /// A copy takes shared memory to other shared memory, or out of it.
  void copy(const SharedPlace& to, const SharedPlace& from, std::uint32_t bytes);
  void copy_out(const Actor& actor, const SharedPlace& from, std::uint32_t bytes);
  /// These lanes store what the instruction at hand reads, to global memory.
  void stores(Warp& warp, const Operation& op, Mask lanes);
  /// The lanes take each the value of another, as `executes` could not know yet.
  void shuffle(const Warp& warp, Mask lanes, const Slot& to, const Slot& from,
               const std::array<int, kLanes>& sources);

  RegisterShadow& registers_of(const Warp& warp);
  std::byte* bits_of(const SharedPlace& place);

 private:
  void call(Warp& warp, const Operation& op, Mask lanes);
  void carry(Warp& warp, const DataFlow& flow, Mask lanes);
  std::uint64_t result(Warp& warp, const DataFlow& flow, std::size_t out, int lane);
  std::uint64_t logic(Warp& warp, const DataFlow& flow, int lane);
  void check(Warp& warp, const Operation& op, Mask lanes, const FlowPiece& piece, const char* what);
  std::byte stored_bits(const Actor& actor, std::uint32_t byte);
  void update(const Actor& actor, std::span<std::byte> undefined);

  Cluster* cluster_;
  const DataFlow* flow_ = nullptr;              // of the instruction at hand
  bool undefined_in_ = false;                   // some of what it reads is
  std::vector<RegisterShadow> registers_;       // by block and warp
  std::vector<std::vector<std::byte>> shared_;  // by block; 1: undefined
};

}  // namespace ptxloom::exec
