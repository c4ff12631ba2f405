// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "exec/judge/data_flow.hpp"
#include "exec/judge/memory_shadow.hpp"
#include "exec/judge/origins.hpp"
#include "exec/judge/register_shadow.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"

// Bits of registers and memory that were never given a value. They may be moved and computed with; if they
// decide an address, a guard, what a barrier or a copy does, what is printed, or a value stored to global
// memory, that is the fault "undefined-value", which says where they come from.
//
// Moves, loads, stores, selections, logic, shifts, bit fields, permutations, integer conversions and matrix
// moves track them bit by bit; packed arithmetic and conversions to pairs, per half. Other results are
// undefined as a whole if any bit read is (which reports more than a machine shows: x * 0 with an undefined
// x); matrix products are tracked per element (matrix/undefined_elements.hpp). The result of an atomic
// operation on undefined memory stays undefined. Global memory is tracked if findings are collected: until
// the host or a kernel writes it. Padding of a struct (judge/memory_shadow.hpp) may be moved to global
// memory, too. To err on the side of silence, values of st.async count as defined.
namespace ptxloom::exec {

class Cluster;

class Undefined {
 public:
  explicit Undefined(Cluster& cluster) : cluster_(&cluster) {}
  void start();
  /// Whether a value that was used turned out to be undefined.
  bool found() const { return found_; }
  /// Before `lanes` execute an operation: the lanes of `group` that pass its guard. Returns those that can
  /// execute it: when findings are collected, lanes do not access memory at undefined addresses.
  Mask executes(Warp& warp, const Operation& op, const DataFlow& flow, Mask group, Mask lanes);

  // Accesses of the current instruction.
  void read(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);
  void read_local(const Actor& actor, std::uint64_t offset, std::uint32_t bytes);
  void write_local(const Actor& actor, std::uint64_t offset, std::uint32_t bytes);
  void read_global(const Actor& actor, const std::byte* memory, std::uint32_t bytes);
  void write_global(const Actor& actor, const std::byte* memory, const Reach& reach);
  /// A system call uses these bytes.
  void take(const Actor& actor, const std::byte* memory, std::uint32_t bytes);
  /// A copy has written it.
  void define(const SharedPlace& place, std::uint32_t bytes);
  /// A copy moves shared memory to other shared memory, or to global memory.
  void copy(const SharedPlace& to, const SharedPlace& from, std::uint32_t bytes);
  void copy_out(const Actor& actor, const SharedPlace& from, std::uint32_t bytes);
  void copy_in(const Actor& actor, const SharedPlace& to, const std::byte* from, std::uint32_t bytes);
  void define_global(const std::byte* memory, std::uint32_t bytes);
  /// These lanes store what the current instruction reads to global memory.
  void stores(Warp& warp, const Operation& op, Mask lanes);
  /// What is undefined in these registers comes from memory that the instruction loaded.
  void loads(const Warp& warp, const Operation& op, std::span<const Slot> registers, const std::byte* global);
  /// Each lane receives the value of another, which `executes` could not know yet.
  void shuffle(const Warp& warp, const Operation& op, Mask lanes, const Slot& to, const Slot& from,
               const std::array<int, kLanes>& sources);

  RegisterShadow& registers_of(const Warp& warp);
  std::byte* bits_of(const SharedPlace& place);
  MemoryShadow& local_of(const Warp& warp);
  /// Where a thread's local memory is in that of its warp.
  std::size_t local_offset(int lane, std::uint64_t offset) const;

 private:
  void carry(Warp& warp, const DataFlow& flow, Mask lanes);
  std::uint64_t result(Warp& warp, const DataFlow& flow, std::size_t out, int lane);
  Mask moves_padding(const Warp& warp, const DataFlow& flow, Mask lanes);
  /// Reports undefined bits of the piece, and returns the lanes that have some. `goes_on`: these bits then
  /// count as defined, else the kernel stops.
  Mask check(Warp& warp, const Operation& op, Mask lanes, const FlowPiece& piece, const char* what,
             bool goes_on);
  void check_call(Warp& warp, const Operation& op, Mask lanes);
  void carry_address_origin(const Warp& warp, const DataFlow& flow);
  void carry_matrix_origin(const Warp& warp, const DataFlow& flow);
  Mask check_addresses(Warp& warp, const Operation& op, const DataFlow& flow, Mask lanes);

  using Origin = Origins::Id;
  Origin origin_of(const Warp& warp, const Slot& slot) const;
  void set_origin(const Warp& warp, const Slot& slot, Origin origin);
  Origin origin_of_inputs(const Warp& warp, const DataFlow& flow);
  std::string describe(const Warp& warp, Origin origin) const;
  // A load takes undefined bits; origin(i): where those of byte i come from.
  template <class F, class P>
  void load(const Actor& actor, std::span<const std::byte> undefined, F origin, P is_padding);
  template <class F>
  void load(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes, F unwritten);
  void store(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes);
  void store_padding(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes);
  std::byte stored_bits(const Actor& actor, std::uint32_t byte);
  void update(const Actor& actor, MemoryShadow& shadow, std::size_t offset, std::uint32_t bytes);
  Origin unwritten_shared(const Operation& op);
  Origin updates_unwritten(const Operation& op);
  Origin unwritten_local(const Actor& actor, std::uint64_t offset);
  Origin unwritten_global(const Operation& op, const std::byte* memory);
  Origin lane_apart(const Warp& warp, const Operation& op, int lane);
  std::uint32_t number_of(const Operation& op) const;
  std::string local_name(Warp& warp, int lane, std::uint64_t offset) const;
  std::string global_name(const std::byte* memory) const;
  // Reports undefined bytes that an instruction uses other than through registers.
  void report_bytes(const Actor& actor, Origin origin, const std::string& what);

  Cluster* cluster_;
  bool found_ = false;
  const DataFlow* flow_ = nullptr;         // of the current instruction
  bool undefined_in_ = false;              // it reads undefined bits
  std::vector<RegisterShadow> registers_;  // by thread block and warp
  std::vector<MemoryShadow> shared_;       // by thread block
  std::vector<MemoryShadow> local_;        // by thread block and warp
  Origins origins_;
  bool origins_set_ = false;
  std::vector<std::vector<Origin>> register_origins_;  // by thread block and warp, and register
};

}  // namespace ptxloom::exec
