// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/read_operands.hpp"
#include "text/scopes.hpp"
#include "text/token_stream.hpp"

namespace ptxloom::text {

/// `@p`, `@!p`, or nothing.
std::optional<ir::Guard> read_guard(TokenStream& in, Scopes& scopes);

/// The readings of opcodes, cached while a module is read: the variants, and the rank of each.
class Opcodes {
 public:
  struct Candidate {
    Variant variant;
    bool on_target = true;  ///< on the target in the modes of .target
    bool documented = true;
  };

  Opcodes(const Specs& specs, const std::optional<Target>& target, std::vector<std::string> modes)
      : specs_(specs), target_(target), modes_(std::move(modes)) {}

  /// The opcode must outlive this object: it is in the text, or kept here.
  std::span<const Candidate> find(std::string_view opcode);
  std::string_view keep(std::string opcode) { return kept_.emplace_back(std::move(opcode)); }
  const Specs& specs() const { return specs_; }
  const std::optional<Target>& target() const { return target_; }

 private:
  const Specs& specs_;
  std::optional<Target> target_;  // none if the module's target is unknown
  std::vector<std::string> modes_;
  std::unordered_map<std::string_view, std::vector<Candidate>> known_;
  std::deque<std::string> kept_;
};

/// Appends instructions to a function: among the variants of an opcode, the one that matches the operands.
class InstructionReader {
 public:
  InstructionReader(TokenStream& in, Opcodes& opcodes, ir::Function& function, Scopes& scopes)
      : in_(in), opcodes_(opcodes), function_(function), operands_(function, scopes, in) {}

  /// `in` is positioned before the opcode; `start` is the first token of the statement.
  void read(const Token& start, std::optional<ir::Guard> guard);

 private:
  struct Chosen {
    Variant variant;
    std::uint32_t operand_count = 0;
  };
  Chosen choose(std::span<const Opcodes::Candidate> candidates);
  std::string_view joined(const Token& opcode);
  [[noreturn]] void fail_unknown(const Token& opcode) const;

  TokenStream& in_;
  Opcodes& opcodes_;
  ir::Function& function_;
  OperandReader operands_;
};

}  // namespace ptxloom::text
