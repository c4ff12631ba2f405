// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "exec/machine/call.hpp"
#include "exec/machine/lanewise.hpp"
#include "exec/machine/poison.hpp"
#include "exec/memory/address.hpp"
#include "ir/naming.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint32_t kStackBytes = 16'384;  // per thread, if alloca is used

/// Bytes per lane of this type; 0 for a predicate.
std::uint8_t lane_bytes(const Type& type) {
  if (type.kind == TypeKind::predicate) return 0;
  return type.bits <= 32 ? 4 : static_cast<std::uint8_t>(type.bits / 8);
}

template <class From, class To>
Semantic extend() {
  return lanewise<From>([](From value) { return static_cast<To>(value); });
}

}  // namespace

Decoder::Decoder(const ir::Module& module, Code& code)
    : code_(code),
      module_(module),
      target_(module.specs->target(module.target).info()),
      symbols_(module, code) {
  code.shared_limit = static_cast<std::uint32_t>(target_.shared_per_block);
  code.cluster_limit = static_cast<std::uint32_t>(target_.cluster_blocks);
  code.sms = static_cast<std::uint64_t>(target_.sms);
  code.sm = {.threads = static_cast<std::uint64_t>(target_.threads_per_sm),
             .blocks = static_cast<std::uint64_t>(target_.blocks_per_sm),
             .shared = static_cast<std::uint64_t>(target_.shared_per_sm),
             .shared_reserved = static_cast<std::uint64_t>(target_.shared_reserved()),
             .registers = static_cast<std::uint64_t>(target_.registers_per_sm)};
}

void Decoder::decode_kernel() {
  sink_ = add_register(16);
  place_registers(code_.kernel);
  for (const Callee& callee : code_.callees) place_registers(callee.function);
  for (std::size_t i = 0; i < code_.callees.size(); ++i) place_interface(i);
  stack_used_ = std::ranges::any_of(code_.callees, &Callee::recurses);
  for (std::size_t i = 0; i < code_.callees.size(); ++i) {
    code_.callees[i].entry = static_cast<std::uint32_t>(code_.operations.size());
    decode_function(i + 1);
  }
  code_.entry = static_cast<std::uint32_t>(code_.operations.size());
  decode_function(0);
  for (const auto& [opcode, operations] : collectives_)
    if (operations.size() > 1) bring_together(operations);
  code_.stack_begin = code_.local_bytes = (code_.local_bytes + 15) / 16 * 16;
  if (stack_used_) code_.local_bytes += kStackBytes;
}

void Decoder::decode_function(std::size_t index) {
  index_ = index;
  function_ = index == 0 ? &code_.kernel : &code_.callees[index - 1].function;
  registers_ = code_.register_slots[index];
  labels_.assign(function_->labels.size(), 0);
  branches_.clear();
  lists_.clear();
  for (const ir::Statement& statement : function_->body) {
    if (statement.kind == ir::Statement::Kind::label) {
      labels_[statement.index] = static_cast<std::uint32_t>(code_.operations.size());
    } else if (statement.kind == ir::Statement::Kind::instruction) {
      decode(function_->instructions[statement.index]);
    } else if (statement.kind == ir::Statement::Kind::call) {
      decode(function_->calls[statement.index]);
    }
  }
  finish_branches();
  Operation end;  // running off the end is an exit, or a return
  end.run = in_kernel() ? [](Warp& warp, const Operation&, Mask mask) { warp.exit(mask); } : &run_return;
  end.function = static_cast<std::uint32_t>(index);
  code_.operations.push_back(end);
}

void Decoder::place_registers(const ir::Function& function) {
  std::vector<Slot>& registers = code_.register_slots.emplace_back();
  for (const ir::RegisterDecl& declared : function.registers)
    registers.push_back(add_register(lane_bytes(declared.type)));
}

Slot Decoder::add_register(std::size_t bytes) {
  const Slot slot{.offset = static_cast<std::uint32_t>(code_.registers.size()),
                  .bytes = static_cast<std::uint8_t>(bytes)};
  // A predicate takes one word for its mask, and eight bytes of the file to keep other registers aligned.
  code_.registers.resize(code_.registers.size() + (bytes == 0 ? 8 : bytes * kLanes),
                         static_cast<std::byte>(kPoison));
  return slot;
}

Slot Decoder::constant(std::uint64_t value, std::uint8_t bytes) {
  const auto [entry, added] = constants_.try_emplace({value, bytes});
  if (!added) return entry->second;
  const Slot slot = entry->second = add_register(bytes);
  std::byte* file = code_.registers.data();
  if (bytes == 0) {
    Lanes<bool>(file, slot).set(kAllLanes, value != 0 ? kAllLanes : 0);
  } else if (bytes == 4) {
    for_lanes(kAllLanes, [&](int lane) {
      Lanes<std::uint32_t>(file, slot).set(lane, static_cast<std::uint32_t>(value));
    });
  } else {
    for_lanes(kAllLanes, [&](int lane) { Lanes<std::uint64_t>(file, slot).set(lane, value); });
  }
  return slot;
}

Slot Decoder::address_constant(const Place& place, std::int64_t displacement) {
  const std::uint64_t address = place.offset + static_cast<std::uint64_t>(displacement);
  if (place.in_frame) return frame_address(address);
  if (place.space == StateSpace::shared) {
    const auto [entry, added] = shared_addresses_.try_emplace(address);
    if (added) {
      entry->second = add_register(8);
      for_lanes(kAllLanes, [&](int lane) {
        Lanes<std::uint64_t>(code_.registers.data(), entry->second).set(lane, address);
      });
      code_.shared_addresses.push_back(entry->second);
    }
    return entry->second;
  }
  return constant(address, 8);
}

Slot Decoder::frame_address(std::uint64_t offset) {
  std::vector<FrameAddress>& addresses = code_.callees[index_ - 1].frame_addresses;
  const auto known = std::ranges::find(addresses, offset, &FrameAddress::offset);
  if (known != addresses.end()) return known->slot;
  return addresses.emplace_back(add_register(8), offset).slot;
}

void Decoder::decode(const ir::Instruction& instruction) {
  instruction_ = &instruction;
  const auto semantics = semantics_.find(variant().form());
  if (semantics == semantics_.end()) unsupported(lacking(variant().form()));
  const std::size_t first = code_.operations.size();
  semantics->second->decode(*this);
  code_.operations[first].begins = true;
}

std::optional<StateSpace> Decoder::space_of(std::string_view operand) const {
  const auto index = static_cast<std::size_t>(variant().operand_index(operand));
  const std::string& word = variant().operands()[index].space;
  if (!word.starts_with("param")) return find_space(word);
  const ir::Operand& address = function_->operands_of(*instruction_)[index];
  if (address.kind == ir::Operand::Kind::address_symbol) {
    const Place* place = symbols_.find(index_, function_->symbols[address.index].name);
    if (place != nullptr) return place->space;
  }
  const bool local = word == "param::func" || (word == "param" && !in_kernel());
  return local ? StateSpace::local : StateSpace::param;
}

std::string Decoder::selector(std::string_view operand) const {
  const auto index = static_cast<std::size_t>(variant().operand_index(operand));
  const ir::Operand& reg = function_->operands_of(*instruction_)[index];
  return reg.kind == ir::Operand::Kind::reg ? ir::selector_of(reg) : std::string();
}

std::shared_ptr<const std::vector<std::uint32_t>> Decoder::targets_of(std::string_view operand) {
  const auto index = static_cast<std::size_t>(variant().operand_index(operand));
  const std::uint32_t label = function_->operands_of(*instruction_)[index].index;
  const auto found = std::ranges::find(function_->targets, label, &ir::Targets::label);
  if (found == function_->targets.end()) unsupported("its list of labels is not declared");
  return lists_.emplace_back(std::make_shared<std::vector<std::uint32_t>>(found->names));
}

void Decoder::finish_branches() {
  for (const auto& list : lists_) {
    for (std::uint32_t& target : *list) target = labels_[target];
  }
  for (const std::size_t index : branches_) {
    Operation& operation = code_.operations[index];
    operation.target = labels_[operation.target];
    operation.branches = !operation.by_index;
  }
}

std::string_view Decoder::word(std::string_view slot) const {
  return variant().slot(slot).value_or(std::string_view());
}

void Decoder::unsupported(const std::string& why) const {
  Diagnostic diagnostic{.code = "exec-unsupported",
                        .message = fmt::format("the executor cannot run `{}` of kernel {}: {}",
                                               print(*function_, *instruction_), code_.kernel.name, why),
                        .hint = "run the kernel on a GPU"};
  diagnostic.line = static_cast<int>(instruction_->line);
  diagnostic.column = static_cast<int>(instruction_->column);
  throw Error(ErrorKind::refused, {std::move(diagnostic)});
}

void Decoder::guard(Operation& operation, const std::optional<ir::Guard>& guard) const {
  if (!guard) return;
  operation.guarded = true;
  operation.guard = registers_[guard->reg.id];
  operation.guard.negated = guard->negated;
}

Operation Decoder::operation(Semantic run) {
  Operation operation;
  operation.run = run;
  operation.function = static_cast<std::uint32_t>(index_);
  operation.instruction = static_cast<std::uint32_t>(instruction_ - function_->instructions.data());
  guard(operation, instruction_->guard);
  const auto operands = function_->operands_of(*instruction_);
  const auto specs = variant().operands();
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operation.first.at(i) = static_cast<std::uint8_t>(operation.slots.size());
    append(operation, specs[i], operands[i]);
  }
  return operation;
}

void Decoder::append(Operation& operation, const OperandSpec& spec, const ir::Operand& operand) {
  using Kind = ir::Operand::Kind;
  switch (operand.kind) {
    case Kind::vector:
      for (const ir::Operand& element : function_->elements_of(operand)) append(operation, spec, element);
      return;
    case Kind::label:
      operation.target = operand.index;
      return;
    case Kind::literal:
      return;
    case Kind::sink: {
      Slot slot = sink_;
      slot.bytes = lane_bytes(spec.type);
      operation.slots.push_back(slot);
      return;
    }
    case Kind::reg:
    case Kind::address: {
      Slot slot = registers_[operand.index];
      slot.negated = operand.negated;
      slot.displacement = operand.kind == Kind::address ? operand.value : 0;
      operation.slots.push_back(slot);
      return;
    }
    default:
      operation.slots.push_back(literal(spec, operand));
  }
}

// A constant: a number of the variant's type, or an address.
Slot Decoder::literal(const OperandSpec& spec, const ir::Operand& operand) {
  using Kind = ir::Operand::Kind;
  const auto bits = static_cast<std::uint64_t>(operand.value);
  switch (operand.kind) {
    case Kind::f32:
      if (spec.type.bits != 64 || !spec.type.is_float()) break;
      return constant(std::bit_cast<std::uint64_t>(
                          static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)))),
                      8);
    case Kind::f64:
      if (spec.type.bits != 32 || !spec.type.is_float()) break;
      return constant(std::bit_cast<std::uint32_t>(static_cast<float>(std::bit_cast<double>(bits))), 4);
    case Kind::address_absolute:
      return constant(bits, 8);
    case Kind::symbol:
    case Kind::address_symbol: {
      const std::string& name = function_->symbols[operand.index].name;
      if (function_->symbols[operand.index].space == ir::Space::code) {
        // The address of a kernel: nothing can be called there.
        return constant(function_address(find_callee(code_.callees, name).value_or(code_.callees.size())), 8);
      }
      const Place* place = symbols_.find(index_, name);
      if (place == nullptr) unsupported(fmt::format("{} is neither a parameter nor a variable", name));
      return address_constant(*place, operand.value);
    }
    default:
      break;
  }
  return constant(bits, lane_bytes(spec.type));
}

void Decoder::emit(Operation operation) {
  if (operation.run == nullptr) unsupported("it has no semantics for this variant");
  const auto specs = variant().operands();
  for (const OperandSpec& spec : specs) {
    if (spec.kind == OperandSpec::Kind::label) branches_.push_back(code_.operations.size());
  }
  code_.operations.push_back(std::move(operation));
}

void Decoder::emit(Semantic run, std::shared_ptr<const void> plan) {
  Operation op = operation(run);
  op.plan = std::move(plan);
  struct Widened {
    Type type;
    Slot from, to;
  };
  std::vector<Widened> widened;
  const auto specs = variant().operands();
  for (std::size_t i = 0; i < specs.size(); ++i) {
    const std::uint8_t wanted = lane_bytes(specs[i].type);
    if (specs[i].kind != OperandSpec::Kind::value || specs[i].count != 0 || wanted == 0) continue;
    Slot& slot = op.slots[op.first[i]];
    if (slot.bytes <= wanted) continue;
    if (specs[i].direction == OperandSpec::Direction::in) {
      narrow(op, i);
    } else {
      const Slot to = std::exchange(slot, temporary(wanted));
      widened.push_back({.type = specs[i].type, .from = slot, .to = to});
    }
  }
  emit(std::move(op));
  for (const Widened& w : widened) widen(w.type, w.from, w.to);
}

void Decoder::emit_collective(Semantic run, std::shared_ptr<const void> plan) {
  const std::size_t first = code_.operations.size();
  emit(run, std::move(plan));
  const auto begin = code_.operations.begin();
  const auto operation = std::find_if(begin + static_cast<std::ptrdiff_t>(first), code_.operations.end(),
                                      [&](const Operation& each) { return each.run == run; });
  collectives_[variant().opcode()].push_back(static_cast<std::size_t>(operation - begin));
}

// One more operation, with registers of its own, that no thread comes to. It has all results that any of them
// has.
void Decoder::bring_together(const std::vector<std::size_t>& alike) {
  Operation together = code_.operations[*std::ranges::max_element(
      alike, {}, [&](std::size_t each) { return code_.operations[each].slots.size(); })];
  together.guarded = false;
  for (Slot& slot : together.slots) slot = add_register(slot.bytes);
  for (const std::size_t each : alike)
    code_.operations[each].together = static_cast<std::uint32_t>(code_.operations.size());
  code_.operations.push_back(std::move(together));
}

// First copies the low half of a wider register into one of the operand's size.
void Decoder::narrow(Operation& op, std::size_t operand) {
  Slot& slot = op.slots[op.first[operand]];
  Operation low = operation(extend<std::uint64_t, std::uint32_t>());
  low.slots = {temporary(4), slot};
  slot = low.slots[0];
  code_.operations.push_back(std::move(low));
}

void Decoder::widen(const Type& type, const Slot& from, const Slot& to) {
  Operation extension = operation(type.is_signed() ? extend<std::int32_t, std::int64_t>()
                                                   : extend<std::uint32_t, std::uint64_t>());
  extension.slots = {to, from};
  code_.operations.push_back(std::move(extension));
}

}  // namespace ptxloom::exec
