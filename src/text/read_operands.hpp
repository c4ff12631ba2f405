// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// The operand part of an instruction against a variant: the pieces of its text in order, and an operand
// between them. What is read need not fit: that a scalar stands where a vector should is for src/ir/fit to
// say. An opcode may have dozens of variants (every special register is one of `mov`), so failing costs no
// allocation.
namespace ptxloom::text {

class OperandReader {
 public:
  /// `in` stands after the opcode.
  OperandReader(ir::Kernel& kernel, Scopes& scopes, TokenStream& in)
      : kernel_(kernel),
        scopes_(scopes),
        in_(in),
        start_(in.position()),
        pool_start_(kernel.operands.size()) {}

  /// Reads the tokens up to the `;` as this variant does, and appends the operands to the kernel's pool,
  /// elements of vectors first. False where the text is another; throws SyntaxError for a constant that is
  /// none.
  bool read(Variant variant);
  /// The operands of the last read.
  std::span<const ir::Operand> operands() const;
  /// Takes back what the last read appended.
  void undo();

  /// Throws SyntaxError for the place where the variants that could not be read came furthest.
  [[noreturn]] void fail_at_furthest() const;

 private:
  bool match(std::string_view text);
  bool read_operand(const OperandSpec& place, ir::Operand& out);
  bool read_scalar(const OperandSpec& place, ir::Operand& out);
  bool read_vector(const OperandSpec& place, ir::Operand& out);
  bool read_address(ir::Operand& out);
  bool read_name(ir::Operand& out);
  bool expected(std::string_view what);

  ir::Kernel& kernel_;
  Scopes& scopes_;
  TokenStream& in_;
  std::size_t start_, pool_start_;
  std::vector<ir::Operand> operands_;
  std::size_t furthest_ = 0;
  std::string_view expected_;
};

}  // namespace ptxloom::text
