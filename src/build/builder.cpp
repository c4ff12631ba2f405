// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/builder.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "build/operation.hpp"
#include "ir/fit.hpp"
#include "ir/naming.hpp"
#include "ptxloom/check.hpp"

namespace ptxloom {
namespace {

// The number of a builder. Registers remember it, longer than their builder may live: its address could be
// that of the next one, so nothing less than a count for the whole process tells the two apart.
std::uint32_t next_number() {
  static std::atomic<std::uint32_t> last{0};
  std::uint32_t number = 0;
  while (number == 0) number = ++last;  // 0 is no builder's
  return number;
}

}  // namespace

Address Address::operator+(std::int64_t bytes) const {
  Address moved = *this;
  moved.operand.value += bytes;
  return moved;
}

Pointer::Element Pointer::operator[](Reg index) const {
  return {*this, {.kind = ir::Operand::Kind::reg, .index = index.id.id}, index.type, index.builder};
}

Pointer::Element Pointer::operator[](std::int64_t index) const {
  return {*this, {.kind = ir::Operand::Kind::integer, .value = index}, s64};
}

Arg::Arg(float value)
    : operand_{.kind = ir::Operand::Kind::f32, .value = std::bit_cast<std::int32_t>(value)}, type_(f32) {}
Arg::Arg(double value)
    : operand_{.kind = ir::Operand::Kind::f64, .value = std::bit_cast<std::int64_t>(value)}, type_(f64) {}
Arg::Arg(Label label)
    : operand_{.kind = ir::Operand::Kind::label, .index = label.index}, builder_(label.builder) {}
Arg::Arg(Shared array)
    : operand_{.kind = ir::Operand::Kind::symbol, .index = array.symbol}, builder_(array.builder) {}

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
    : target_(target), name_(std::move(name)), number_(next_number()), version_(target.since()) {
  if (!ir::is_identifier(name_))
    throw Error(ErrorKind::usage, "bad-kernel-name", "'" + name_ + "' is no PTX identifier",
                "use letters, digits, _ and $, starting with a letter");
  module_.specs = std::move(specs);
  module_.target = target.name();
  ir::Kernel& made = module_.functions.emplace_back();
  made.name = name_;
  // Room for a large unrolled kernel: growing while thousands of instructions arrive would cost more than
  // they do.
  made.instructions.reserve(8192);
  made.body.reserve(8192);
  made.operands.reserve(32768);
  made.registers.reserve(8192);
}

ir::Kernel& KernelBuilder::kernel(Caller at) {
  if (finished_)
    throw Error(ErrorKind::usage, "builder-finished",
                "kernel " + name_ + ": the builder is used after finish()" + called_at(at),
                "make a KernelBuilder for each kernel, and finish it last");
  return module_.functions.front();
}

// The first that fits. Forms are asked one after the other, so that those behind the one that has it need not
// be compiled.
KernelBuilder::Legal KernelBuilder::find_legal(std::string_view text, std::span<const ir::Operand> operands,
                                               std::size_t pool_start, Caller at) {
  const ir::Kernel& k = kernel(at);
  for (std::size_t form = 0;; ++form) {
    const std::span<const Variant> candidates = specs().match_form(text, form);
    if (candidates.empty()) break;
    for (const Variant candidate : candidates) {
      if (candidate.undocumented() || !ir::operands_fit(k, candidate.operands(), operands)) continue;
      const std::optional<Version> since = candidate.since(target_);
      if (since) return {.variant = candidate, .places = candidate.operands(), .since = *since};
    }
  }
  const std::span<const Variant> all = specs().match(text);
  if (all.empty()) refuse(text, specs().explain(text, target_), pool_start, at);
  Resolution resolution = resolve(k, all, operands, target_, &specs());
  if (resolution.diagnostic) refuse(text, std::move(*resolution.diagnostic), pool_start, at);
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

void KernelBuilder::own(std::string_view text, std::size_t operand, std::uint32_t builder, Caller at) const {
  if (builder != number_)
    Operation{text, name_, number_, at}.require_own(std::to_string(operand + 1), builder);
}

// Operands of one instruction stand together in the pool; the elements of its vectors before them.
std::span<const ir::Operand> KernelBuilder::push_operands(std::string_view text, std::span<const Arg> args,
                                                          Caller at) {
  using Kind = ir::Operand::Kind;
  std::vector<ir::Operand>& pool = kernel(at).operands;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Kind kind = args[i].operand().kind;
    const bool refers = kind == Kind::reg || kind == Kind::address || kind == Kind::address_symbol ||
                        kind == Kind::symbol || kind == Kind::label;
    if (refers) own(text, i, args[i].builder(), at);
    for (const Reg& element : args[i].elements()) own(text, i, element.builder, at);
  }
  auto elements = static_cast<std::uint32_t>(pool.size());
  for (const Arg& arg : args)
    for (const Reg& element : arg.elements()) pool.push_back({.kind = Kind::reg, .index = element.id.id});
  for (const Arg& arg : args) {
    pool.push_back(arg.operand());
    if (arg.operand().kind == Kind::label) labels_[arg.operand().index].branch = at;
    if (arg.operand().kind != Kind::vector) continue;
    pool.back().index = elements;
    elements += pool.back().count;
  }
  return std::span<const ir::Operand>(pool).last(args.size());
}

// An instruction of the operands that were pushed last.
void KernelBuilder::append(const Legal& legal, std::size_t operand_count) {
  ir::Kernel& k = module_.functions.front();
  version_ = std::max(version_, legal.since);
  k.body.push_back({ir::Statement::Kind::instruction, static_cast<std::uint32_t>(k.instructions.size())});
  k.instructions.push_back({.variant = legal.variant,
                            .first_operand = static_cast<std::uint32_t>(k.operands.size() - operand_count),
                            .operand_count = static_cast<std::uint32_t>(operand_count),
                            .guard = guard_});
}

void KernelBuilder::refuse(std::string_view text, Diagnostic diagnostic, std::size_t first_operand,
                           Caller at) {
  kernel(at).operands.resize(first_operand);
  diagnostic.message =
      "kernel " + name_ + ": " + std::string(text) + ": " + diagnostic.message + called_at(at);
  throw Error(ErrorKind::illegal_ptx, {std::move(diagnostic)});
}

void KernelBuilder::emit(const Opcode& opcode, std::initializer_list<Arg> args) {
  if (opcode.variant()) {
    emit_variant(opcode.variant(), args, opcode.at());
  } else {
    emit_text(opcode.text(), args, opcode.at());
  }
}

void KernelBuilder::emit_text(std::string_view text, std::span<const Arg> args, Caller at) {
  const std::size_t pool_start = kernel(at).operands.size();
  const std::span<const ir::Operand> operands = push_operands(text, args, at);
  auto last = opcodes_.find(text);
  if (last == opcodes_.end()) {
    last = opcodes_.emplace(text, find_legal(text, operands, pool_start, at)).first;
  } else if (!ir::operands_fit(module_.functions.front(), last->second.places, operands)) {
    last->second = find_legal(text, operands, pool_start, at);
  }
  append(last->second, args.size());
}

void KernelBuilder::emit_variant(Variant variant, std::span<const Arg> args, Caller at) {
  const std::size_t pool_start = kernel(at).operands.size();
  const Legal& legal = legal_.of(variant, [&](Variant asked) {
    const std::optional<Version> since = asked.since(target_);
    if (!since || asked.undocumented())
      refuse(asked.opcode(), specs().explain(asked.opcode(), target_), pool_start, at);
    return Legal{.variant = asked, .places = asked.operands(), .since = *since};
  });
  const std::span<const ir::Operand> operands = push_operands(variant.opcode(), args, at);
  if (!ir::operands_fit(module_.functions.front(), legal.places, operands))
    refuse(variant.opcode(), *check_operands(module_.functions.front(), variant, operands), pool_start, at);
  append(legal, args.size());
}

// ---- how it reads and launches
// ------------------------------------------------------------------------------------

void KernelBuilder::comment(std::string text, Caller at) {
  ir::Kernel& k = kernel(at);
  k.body.push_back({ir::Statement::Kind::comment, static_cast<std::uint32_t>(k.comments.size())});
  k.comments.push_back(std::move(text));
}

void KernelBuilder::pragma(std::string text, Caller at) {
  ir::Kernel& k = kernel(at);
  k.body.push_back({ir::Statement::Kind::pragma, static_cast<std::uint32_t>(k.pragmas.size())});
  k.pragmas.push_back(std::move(text));
}

void KernelBuilder::section(std::string_view title, Caller at) {
  comment("---- " + std::string(title) + " ----", at);
}

void KernelBuilder::header(std::string line, Caller at) {
  kernel(at);
  module_.header.push_back(std::move(line));
}

void KernelBuilder::require_block(std::uint32_t x, std::uint32_t y, std::uint32_t z, Caller at) {
  kernel(at).reqntid = {x, y, z};
}

void KernelBuilder::min_blocks_per_sm(std::uint32_t blocks, Caller at) { kernel(at).minnctapersm = blocks; }

ir::Module KernelBuilder::finish(Caller at) {
  const ir::Kernel& k = kernel(at);
  if (guard_)
    Operation{"finish", name_, number_, at}.refuse("nested-guard", "it is called inside guarded()",
                                                   "finish the kernel after it");
  check_labels(at);
  const bool returns = !k.body.empty() && k.body.back().kind == ir::Statement::Kind::instruction &&
                       !k.instructions.back().guard && k.instructions.back().variant.opcode() == "ret";
  if (!returns) ret(at);
  finished_ = true;
  module_.version = version_;
  ir::Module made = std::move(module_);
  module_ = {};
  module_.specs = made.specs;  // which the builder still answers for
  return made;
}

}  // namespace ptxloom
