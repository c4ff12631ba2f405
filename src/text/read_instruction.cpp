// SPDX-License-Identifier: Apache-2.0
#include "text/read_instruction.hpp"

#include <algorithm>
#include <string>
#include <tuple>

#include "ir/fit.hpp"
#include "spec/database.hpp"
#include "spec/mode.hpp"

namespace ptxloom::text {

std::optional<ir::Guard> read_guard(TokenStream& in, Scopes& scopes) {
  if (!in.accept("@")) return std::nullopt;
  const bool negated = in.accept("!");
  const Token& token = in.expect_word("a predicate");
  const std::optional<Name> name = scopes.find(token.text);
  if (!name || name->kind != Name::Kind::reg)
    fail(token, "undefined-name", "there is no predicate " + std::string(token.text),
         "declare it: .reg .pred " + std::string(token.text) + ";");
  return ir::Guard{.reg = {name->index}, .negated = negated};
}

std::span<const Opcodes::Candidate> Opcodes::find(std::string_view opcode) {
  const auto [entry, added] = known_.try_emplace(opcode);
  if (!added) return entry->second;
  for (const Variant& variant : specs_.database().match(opcode))
    entry->second.push_back(
        {.variant = variant,
         .on_target = (!target_ || variant.since(*target_)) && spec::in_mode(variant, modes_),
         .documented = !variant.undocumented()});
  return entry->second;
}

void InstructionReader::read(const Token& start, std::optional<ir::Guard> guard) {
  Token opcode = in_.expect_word("an instruction");
  if (in_.peek().is_directive()) opcode.text = joined(opcode);
  const std::span<const Opcodes::Candidate> candidates = opcodes_.find(opcode.text);
  if (candidates.empty()) fail_unknown(opcode);
  const auto [variant, count] = choose(candidates);
  in_.expect(";");
  function_.body.push_back(
      {ir::Statement::Kind::instruction, static_cast<std::uint32_t>(function_.instructions.size())});
  function_.instructions.push_back(
      {.variant = variant,
       .first_operand = static_cast<std::uint32_t>(function_.operands.size()) - count,
       .operand_count = count,
       .guard = guard,
       .line = static_cast<std::uint32_t>(start.line),
       .column = static_cast<std::uint32_t>(start.column)});
}

// `ld .global .u32` means ld.global.u32.
std::string_view InstructionReader::joined(const Token& opcode) {
  std::string text(opcode.text);
  while (in_.peek().is_directive()) text += in_.next().text;
  return opcodes_.keep(std::move(text));
}

void InstructionReader::fail_unknown(const Token& opcode) const {
  if (!opcodes_.target()) fail(opcode, "unknown-opcode", "there is no opcode " + std::string(opcode.text));
  Diagnostic diagnostic = opcodes_.specs().explain(opcode.text, *opcodes_.target());
  diagnostic.line = opcode.line;
  diagnostic.column = opcode.column + std::max(diagnostic.column - 1, 0);  // of the wrong word
  throw SyntaxError{std::move(diagnostic)};
}

// The variant that matches the operands best: they fit, it is on the target, it is documented; else the one
// whose operands fit furthest, so that check() can explain.
InstructionReader::Chosen InstructionReader::choose(std::span<const Opcodes::Candidate> candidates) {
  using Rank = std::tuple<bool, bool, bool, std::uint32_t>;
  operands_.start();
  Rank best{};
  Variant chosen, in_place;  // the operands of `in_place` are in the pool
  for (const auto& [variant, on_target, documented] : candidates) {
    in_place = operands_.read(variant) ? variant : Variant();
    if (!in_place) continue;
    const ir::Mismatch mismatch = ir::find_mismatch(function_, variant.operands(), operands_.operands());
    const bool promised = documented && mismatch.why != ir::Misfit::undocumented;
    const Rank rank{!mismatch, on_target, promised, mismatch.operand};
    if (!chosen || rank > best) {
      chosen = variant;
      best = rank;
    }
    if (rank == Rank{true, true, true, 0}) break;
  }
  if (!chosen) operands_.fail_at_furthest();
  if (chosen != in_place) operands_.read(chosen);
  return {chosen, static_cast<std::uint32_t>(operands_.operands().size())};
}

}  // namespace ptxloom::text
