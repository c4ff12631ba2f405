// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "text/scopes.hpp"
#include "text/token_stream.hpp"

// Reads the operand part of an instruction as a variant: the pieces of its text in order, with operands in
// between. Operands need not fit; src/ir/fit detects a scalar in place of a vector, for example. An opcode
// may have dozens of variants (`mov` has one for every special register), so a mismatch must not cost an
// allocation.
namespace ptxloom::text {

class OperandReader {
 public:
  OperandReader(ir::Function& function, Scopes& scopes, TokenStream& in)
      : function_(function), scopes_(scopes), in_(in) {}

  /// Starts an instruction: `in` is positioned after its opcode.
  void start();
  /// Reads the tokens up to the `;` as this variant, and appends the operands to the function's pool,
  /// elements of vectors first. False if the text does not match; throws SyntaxError for an invalid constant.
  bool read(Variant variant);
  /// The operands of the last read.
  std::span<const ir::Operand> operands() const;
  /// Removes what the last read appended.
  void undo();

  /// Throws SyntaxError at the furthest position that any variant reached.
  [[noreturn]] void fail_at_furthest() const;

 private:
  bool match(std::string_view text);
  bool is_element(const ir::Operand& operand) const;
  bool at_element(Variant variant, const OperandPiece& piece) const;
  bool read_operand(const OperandSpec& place, ir::Operand& out);
  bool read_scalar(const OperandSpec& place, ir::Operand& out);
  bool read_vector(const OperandSpec& place, ir::Operand& out);
  bool read_address(ir::Operand& out);
  bool read_bare_element(ir::Operand& out);
  bool read_element(ir::Operand& out);
  bool read_offset(ir::Operand& out);
  bool read_selected(ir::Operand& out);
  bool read_name(ir::Operand& out);
  ir::Operand elements(const Name& vector);
  bool expected(std::string_view what);
  void fail_behind_register() const;
  std::string_view word();
  void skip_word();

  ir::Function& function_;
  Scopes& scopes_;
  TokenStream& in_;
  std::size_t start_ = 0, pool_start_ = 0;
  std::vector<ir::Operand> operands_;
  std::size_t furthest_ = 0;
  std::string_view expected_;
  std::string joined_;  // two words joined
};

}  // namespace ptxloom::text
