// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>

#include "insn/kernel.hpp"
#include "sass/listing/listing.hpp"

// What the assembler made of the instructions in a loop. Line tables tell which machine instructions belong
// to which line of PTX, and the clocks are read where the loop begins and ends.
namespace ptxloom::insn {

struct Proof {
  enum class State : std::uint8_t {
    one,       ///< a machine instruction each
    expanded,  ///< several
    fused,     ///< fewer machine instructions than there are instructions
    hoisted,   ///< they stand before or behind the loop
    folded,    ///< nothing is left
  };
  State state = State::folded;
  int instructions = 0;  ///< of PTX in the loop
  /// Machine instructions in the loop by opcode: those that the instructions became, those between a result
  /// and the next operand, and the rest of the loop.
  std::map<std::string, int> of_instructions, of_bridges, of_loop;
  int outside = 0;  ///< machine instructions of the instructions that are not in the loop
  int registers = 0;

  /// Machine instructions for each instruction.
  double length() const;
  /// The same with those between a result and the next operand.
  double step_length() const;
  /// "FADD", "IMAD.WIDE + 2 IADD3": for one instruction.
  std::string opcodes() const { return opcodes(of_instructions); }
  std::string bridge() const { return opcodes(of_bridges); }
  bool calls() const { return of_instructions.contains("CALL"); }  ///< what is called is not counted
  /// Whether the loop is worth measuring: it holds at least one machine instruction for each instruction.
  bool usable() const;

 private:
  std::string opcodes(const std::map<std::string, int>& counts) const;
};

std::string_view to_string(Proof::State state);

/// What the copies became that only the second kernel of a pair has: what stands once in the loop cancels
/// out.
Proof difference(const Proof& few, const Proof& many);

/// `first_line`: of the kernel in the module, from 1.
Proof prove(const sass::ListedFunction& function, const KernelText& kernel, int first_line);

}  // namespace ptxloom::insn
