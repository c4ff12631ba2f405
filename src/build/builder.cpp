// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/builder.hpp"

#include <algorithm>
#include <bit>

#include "ir/fit.hpp"
#include "ir/naming.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/tensor_map.hpp"

namespace ptxloom {
namespace {

bool is_identifier(std::string_view name) {
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
  };
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !name.empty() && (letter(name.front()) || name.front() == '%') &&
         std::all_of(name.begin() + 1, name.end(), [&](char c) { return letter(c) || digit(c); });
}

}  // namespace

Address Address::operator+(std::int64_t bytes) const {
  Address moved = *this;
  moved.operand.value += bytes;
  return moved;
}

Pointer::Element Pointer::operator[](Reg index) const {
  return {*this, {.kind = ir::Operand::Kind::reg, .index = index.id.id}, index.type};
}

Pointer::Element Pointer::operator[](std::int64_t index) const {
  return {*this, {.kind = ir::Operand::Kind::integer, .value = index}, s64};
}

Arg::Arg(float value)
    : operand_{.kind = ir::Operand::Kind::f32, .value = std::bit_cast<std::int32_t>(value)}, type_(f32) {}
Arg::Arg(double value)
    : operand_{.kind = ir::Operand::Kind::f64, .value = std::bit_cast<std::int64_t>(value)}, type_(f64) {}
Arg::Arg(Label label) : operand_{.kind = ir::Operand::Kind::label, .index = label.index} {}
Arg::Arg(Shared array) : operand_{.kind = ir::Operand::Kind::symbol, .index = array.symbol} {}

Arg Arg::sink() { return {}; }

Arg Arg::literal() {
  Arg arg;
  arg.operand_.kind = ir::Operand::Kind::literal;
  return arg;
}

Arg Arg::zero(Type type) {
  if (type == f32) return 0.0F;
  if (type == f64) return 0.0;
  return 0;
}

Arg Arg::negated(Reg predicate) {
  Arg arg(predicate);
  arg.operand_.negated = true;
  return arg;
}

KernelBuilder::KernelBuilder(std::shared_ptr<const Specs> specs, std::string name, Target target)
    : target_(target), version_(target.since()) {
  if (!is_identifier(name))
    throw Error(ErrorKind::usage, "bad-kernel-name", "'" + name + "' is no PTX identifier",
                "use letters, digits, _ and $, starting with a letter");
  module_.specs = std::move(specs);
  module_.target = target.name();
  ir::Kernel& made = module_.functions.emplace_back();
  made.name = std::move(name);
  // Room for a large unrolled kernel: growing while thousands of instructions arrive would cost more than
  // they do.
  made.instructions.reserve(8192);
  made.body.reserve(8192);
  made.operands.reserve(32768);
  made.registers.reserve(8192);
}

// ---- registers, parameters, shared memory
// ---------------------------------------------------------------------

// Declared by class: bits of its size, but for floats and predicates, so that any instruction type of that
// size fits. No instruction computes on 8 bits: such values live in 16.
Reg KernelBuilder::reg(Type type) {
  const std::size_t index = ir::register_class(type.bits < 16 && type != pred ? b16 : type);
  const auto id = static_cast<std::uint32_t>(kernel().registers.size());
  kernel().registers.push_back(
      {.type = ir::kRegisterClasses[index].type, .number = class_counts_[index]++, .name = {}});
  return {type, {id}};
}

std::vector<Reg> KernelBuilder::regs(Type type, int count) {
  std::vector<Reg> made;
  made.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) made.push_back(reg(type));
  return made;
}

Reg KernelBuilder::param(Type type, std::string name) {
  kernel().parameters.push_back({.name = name, .type = type});
  const Reg value = reg(type);
  emit(word({"ld.param.", type.name}), value,
       Address{{.kind = ir::Operand::Kind::address_symbol, .index = symbol(name, ir::Space::param)}});
  return value;
}

Pointer KernelBuilder::pointer(Type element, std::string name) {
  kernel().parameters.push_back({.name = name, .type = u64, .pointer = ir::Space::global});
  const Reg base = reg(u64);
  emit("ld.param.u64", base,
       Address{{.kind = ir::Operand::Kind::address_symbol, .index = symbol(name, ir::Space::param)}});
  return {base, element};
}

Reg KernelBuilder::tensor_map(std::string name) {
  kernel().parameters.push_back(
      {.name = name, .type = b8, .count = sizeof(EncodedTensorMap), .alignment = alignof(EncodedTensorMap)});
  const Reg address = reg(u64);
  emit("mov.u64", address, Shared{symbol(name, ir::Space::param), b8});
  emit("cvta.param.u64", address, address);
  return address;
}

Reg KernelBuilder::special(std::string_view name) {
  for (const Type type : {u32, u64, pred, b32}) {
    if (const auto found = specs().find("mov.special", {{"register", name}, {"type", type.name}}, target_)) {
      const Reg value = reg(type);
      emit(*found, value, Arg::literal());
      return value;
    }
  }
  throw Error(ErrorKind::refused, "unknown-special-register",
              "no special register %" + std::string(name) + " on " + std::string(target_.name()),
              "`ptxloom show mov` lists them");
}

Shared KernelBuilder::shared(Type type, std::uint64_t count, std::string name, std::uint32_t alignment) {
  kernel().variables.push_back({.name = name, .type = type, .count = count, .alignment = alignment});
  return {symbol(std::move(name)), type};
}

Shared KernelBuilder::dynamic_shared(std::string name, std::uint32_t alignment) {
  module_.variables.push_back(
      {.name = name, .type = b8, .count = 0, .alignment = alignment, .linkage = ir::Linkage::external});
  return {symbol(std::move(name)), b8};
}

Reg KernelBuilder::address_of(Shared array) { return mov(u32, array); }

Address KernelBuilder::at(Reg base, std::int64_t offset) {
  return {{.kind = ir::Operand::Kind::address, .index = base.id.id, .value = offset}};
}

Address KernelBuilder::at(Shared array, std::int64_t offset) {
  return {{.kind = ir::Operand::Kind::address_symbol, .index = array.symbol, .value = offset}};
}

std::uint32_t KernelBuilder::symbol(std::string name, ir::Space space) {
  kernel().symbols.push_back({std::move(name), space});
  return static_cast<std::uint32_t>(kernel().symbols.size() - 1);
}

// ---- appending, checked
// -----------------------------------------------------------------------------------------

// The first that fits. Forms are asked one after the other, so that those behind the one that has it need not
// be compiled.
KernelBuilder::Legal KernelBuilder::find_legal(std::string_view text, std::span<const ir::Operand> operands,
                                               std::size_t pool_start) {
  for (std::size_t form = 0;; ++form) {
    const std::span<const Variant> candidates = specs().match_form(text, form);
    if (candidates.empty()) break;
    for (const Variant candidate : candidates) {
      if (candidate.undocumented() || !ir::operands_fit(kernel(), candidate.operands(), operands)) continue;
      const std::optional<Version> since = candidate.since(target_);
      if (since) return {.variant = candidate, .places = candidate.operands(), .since = *since};
    }
  }
  const std::span<const Variant> all = specs().match(text);
  if (all.empty()) refuse(text, specs().explain(text, target_), pool_start);
  Resolution resolution = resolve(kernel(), all, operands, target_, &specs());
  if (resolution.diagnostic) refuse(text, std::move(*resolution.diagnostic), pool_start);
  const Variant variant = resolution.variant;
  return {.variant = variant, .places = variant.operands(), .since = *variant.since(target_)};
}

bool KernelBuilder::has(std::string_view text) {
  if (const auto known = has_.find(text); known != has_.end()) return known->second;
  const auto on_target = [&](Variant variant) { return variant.since(target_).has_value(); };
  const auto remember = [&](bool answer) { return has_.emplace(text, answer).first->second; };
  for (std::size_t form = 0;; ++form) {
    const std::span<const Variant> candidates = specs().match_form(text, form);
    if (candidates.empty()) break;
    if (std::ranges::any_of(candidates, on_target)) return remember(true);
  }
  return remember(std::ranges::any_of(specs().match(text), on_target));
}

// Operands of one instruction stand together in the pool; the elements of its vectors before them.
std::span<const ir::Operand> KernelBuilder::push_operands(std::span<const Arg> args) {
  std::vector<ir::Operand>& pool = kernel().operands;
  auto elements = static_cast<std::uint32_t>(pool.size());
  for (const Arg& arg : args)
    for (const Reg& element : arg.elements())
      pool.push_back({.kind = ir::Operand::Kind::reg, .index = element.id.id});
  for (const Arg& arg : args) {
    pool.push_back(arg.operand());
    if (arg.operand().kind != ir::Operand::Kind::vector) continue;
    pool.back().index = elements;
    elements += pool.back().count;
  }
  return std::span<const ir::Operand>(pool).last(args.size());
}

// An instruction of the operands that were pushed last.
void KernelBuilder::append(const Legal& legal, std::size_t operand_count) {
  ir::Kernel& k = kernel();
  version_ = std::max(version_, legal.since);
  k.body.push_back({ir::Statement::Kind::instruction, static_cast<std::uint32_t>(k.instructions.size())});
  k.instructions.push_back({.variant = legal.variant,
                            .first_operand = static_cast<std::uint32_t>(k.operands.size() - operand_count),
                            .operand_count = static_cast<std::uint32_t>(operand_count),
                            .guard = guard_});
}

void KernelBuilder::refuse(std::string_view text, Diagnostic diagnostic, std::size_t first_operand) {
  kernel().operands.resize(first_operand);
  diagnostic.message = "kernel " + kernel().name + ": " + std::string(text) + ": " + diagnostic.message;
  throw Error(ErrorKind::refused, {std::move(diagnostic)});
}

void KernelBuilder::emit(std::string_view text, std::initializer_list<Arg> args) {
  const std::size_t pool_start = kernel().operands.size();
  const std::span<const ir::Operand> operands = push_operands(args);
  auto last = opcodes_.find(text);
  if (last == opcodes_.end()) {
    last = opcodes_.emplace(text, find_legal(text, operands, pool_start)).first;
  } else if (!ir::operands_fit(kernel(), last->second.places, operands)) {
    last->second = find_legal(text, operands, pool_start);
  }
  append(last->second, args.size());
}

void KernelBuilder::emit(Variant variant, std::initializer_list<Arg> args) {
  const std::size_t pool_start = kernel().operands.size();
  const Legal& legal = legal_.of(variant, [&](Variant asked) {
    const std::optional<Version> since = asked.since(target_);
    if (!since || asked.undocumented())
      refuse(asked.opcode(), specs().explain(asked.opcode(), target_), pool_start);
    return Legal{.variant = asked, .places = asked.operands(), .since = *since};
  });
  const std::span<const ir::Operand> operands = push_operands(args);
  if (!ir::operands_fit(kernel(), legal.places, operands))
    refuse(variant.opcode(), *check_operands(kernel(), variant, operands), pool_start);
  append(legal, args.size());
}

// ---- how it reads and launches
// ------------------------------------------------------------------------------------

void KernelBuilder::comment(std::string text) {
  ir::Kernel& k = kernel();
  k.body.push_back({ir::Statement::Kind::comment, static_cast<std::uint32_t>(k.comments.size())});
  k.comments.push_back(std::move(text));
}

void KernelBuilder::pragma(std::string text) {
  ir::Kernel& k = kernel();
  k.body.push_back({ir::Statement::Kind::pragma, static_cast<std::uint32_t>(k.pragmas.size())});
  k.pragmas.push_back(std::move(text));
}

void KernelBuilder::section(std::string_view title) { comment("---- " + std::string(title) + " ----"); }

void KernelBuilder::header(std::string line) { module_.header.push_back(std::move(line)); }

void KernelBuilder::require_block(std::uint32_t x, std::uint32_t y, std::uint32_t z) {
  kernel().reqntid = {x, y, z};
}

void KernelBuilder::min_blocks_per_sm(std::uint32_t blocks) { kernel().minnctapersm = blocks; }

ir::Module KernelBuilder::finish() {
  const ir::Kernel& k = kernel();
  if (k.body.empty() || k.body.back().kind != ir::Statement::Kind::instruction ||
      k.instructions.back().variant.opcode() != "ret")
    ret();
  module_.version = version_;
  return std::move(module_);
}

}  // namespace ptxloom
