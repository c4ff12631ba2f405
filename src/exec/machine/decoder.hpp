// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "exec/machine/code.hpp"
#include "exec/machine/symbols.hpp"
#include "ptxloom/by_variant.hpp"

// Translates a kernel and the functions it calls into operations: lays out every register, constant and
// variable, and passes each instruction to the family that knows its form.
namespace ptxloom::exec {

class Decoder {
 public:
  Decoder(const ir::Module& module, Code& code);
  void decode_kernel();

  // Queries of a family about the current instruction.
  const Variant& variant() const { return instruction_->variant; }
  /// The modifier in a slot of the form; "" if it is absent.
  std::string_view word(std::string_view slot) const;
  bool has(std::string_view slot) const { return !word(slot).empty(); }
  int operand(std::string_view name) const { return variant().operand_index(name); }
  const TargetInfo& target() const { return target_; }
  /// False in a function that the kernel calls.
  bool in_kernel() const { return index_ == 0; }
  /// The state space of an address operand; what functions pass each other is in local memory.
  std::optional<StateSpace> space_of(std::string_view operand) const;
  /// The selector after the dot of a register operand: "b0"; "" if there is none.
  std::string selector(std::string_view operand) const;
  /// The operations at the labels of the list that an operand names; known once everything is decoded.
  std::shared_ptr<const std::vector<std::uint32_t>> targets_of(std::string_view operand);
  /// The kernel needs memory for alloca.
  void use_stack() { stack_used_ = true; }

  /// An operation with the instruction's guard and operands.
  Operation operation(Semantic run);
  void emit(Operation operation);
  /// The same, for a `run` that accesses every operand at the variant's type: wider registers are narrowed
  /// before it and extended after it. Null means that the family does not support this variant.
  void emit(Semantic run, std::shared_ptr<const void> plan = nullptr);
  /// The same, for a `run` that waits for the lanes of a member mask (rendezvous.hpp).
  void emit_collective(Semantic run, std::shared_ptr<const void> plan = nullptr);
  /// Data shared by all instructions of a variant and made once: fragment maps.
  template <class Plan, class Make>
  std::shared_ptr<const Plan> plan_of_variant(Make make) {
    return std::static_pointer_cast<const Plan>(plans_.of(variant(), [&](Variant) { return make(); }));
  }
  Slot temporary(std::uint8_t bytes) { return add_register(bytes); }
  /// Whether the operand is `_`.
  bool is_sink(const Slot& slot) const { return slot.offset == sink_.offset; }
  /// The kernel has an instruction by which thread blocks communicate through global memory.
  void mark_communicating() { code_.communicates = true; }
  /// The kernel has a fence that is not fence.sc.gpu or .sys.
  void mark_weak_fence() { code_.has_weak_fence = true; }
  void mark_discarding() { code_.discards = true; }
  void mark_reserved_shared() { code_.uses_reserved_shared = true; }
  void mark_workspace() { code_.uses_workspace = true; }
  /// The operation that was emitted last waits for the grids before this one.
  void mark_grid_wait() {
    if (!code_.grid_wait) code_.grid_wait = static_cast<std::uint32_t>(code_.operations.size() - 1);
  }
  void mark_canceling() { code_.communicates = code_.cancels = true; }
  /// Throws Error(refused, "exec-unsupported") that names the instruction.
  [[noreturn]] void unsupported(const std::string& why) const;

 private:
  void place_registers(const ir::Function& function);
  void place_interface(std::size_t index);
  void decode_function(std::size_t index);
  void decode(const ir::Instruction& instruction);
  void decode(const ir::Call& call);
  Operation operation(const ir::Call& call, Semantic run);
  Location location(const ir::Operand& operand, const ir::Parameter& parameter);
  std::vector<Location> locations(std::span<const ir::Operand> operands,
                                  const std::vector<ir::Parameter>& parameters);
  const ir::Interface& interface_of(const ir::Call& call) const;
  void check_system_function(const ir::Call& call, const Callee& callee) const;
  [[noreturn]] void refuse(const ir::Call& call, const std::string& why) const;
  void guard(Operation& operation, const std::optional<ir::Guard>& guard) const;
  void finish_branches();
  void bring_together(const std::vector<std::size_t>& alike);
  Slot add_register(std::size_t bytes);
  Slot constant(std::uint64_t value, std::uint8_t bytes);
  Slot address_constant(const Place& place, std::int64_t displacement);
  Slot frame_address(std::uint64_t offset);
  void append(Operation& operation, const OperandSpec& spec, const ir::Operand& operand);
  Slot literal(const OperandSpec& spec, const ir::Operand& operand);
  void narrow(Operation& operation, std::size_t operand);
  void widen(const Type& type, const Slot& from, const Slot& to);

  Code& code_;
  const ir::Module& module_;
  TargetInfo target_;
  Symbols symbols_;
  std::map<std::pair<std::uint64_t, std::uint8_t>, Slot> constants_;
  std::map<std::uint64_t, Slot> shared_addresses_;
  std::map<std::string_view, const Semantics*> semantics_ = semantics_by_form();
  ByVariant<std::shared_ptr<const void>> plans_;
  std::map<std::string_view, std::vector<std::size_t>> collectives_;  // operations, by opcode and qualifiers
  Slot sink_;
  bool stack_used_ = false;

  // State of the current function:
  std::size_t index_ = 0;
  const ir::Function* function_ = nullptr;
  std::vector<Slot> registers_;
  std::vector<std::uint32_t> labels_;  // the operation that each label precedes
  std::vector<std::size_t> branches_;  // operations whose target is still a label
  std::vector<std::shared_ptr<std::vector<std::uint32_t>>> lists_;  // of brx.idx, still labels
  const ir::Instruction* instruction_ = nullptr;
};

}  // namespace ptxloom::exec
