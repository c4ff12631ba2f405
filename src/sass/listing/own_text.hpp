// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sass/listing/listing.hpp"

// Text of our own, completed by what the tables of operands and units ask for: modifiers that tell sizes and
// shapes, and where branches lead. The tables "bits", "operands", "constants" and "branches" of
// specs/sass/issue.json say which bits these are.
namespace ptxloom::sass {

/// Bits of an instruction, and what they stand for.
struct BitField {
  std::vector<std::pair<unsigned, unsigned>> parts{};  ///< first bit and number of bits, the upper ones first
  std::vector<std::pair<std::uint64_t, std::string>> values{};  ///< words by the value of the bits
  std::string before{};  ///< the word is this and a number instead: the bits, or
  unsigned factor = 0;   ///< if this is not 0, the bits and one, times this
};

/// What an instruction that only moves something gives its register.
struct Moved {
  bool constant = false;  ///< else what its source holds
  std::uint64_t value = 0;
};

class OwnText {
 public:
  explicit OwnText(int chip);

  /// Adds modifiers, operands, labels and branch targets to the texts of a function, which are Decoder's.
  void complete(ListedFunction& function) const;
  /// Nullopt: the instruction does more than to move a constant or a register.
  std::optional<Moved> moved(std::string_view opcode, const Word& word) const;

 private:
  static void add_operand(ListedInstruction& one, const std::string& operand);
  void add_target(ListedFunction& function, std::size_t index, const BitField& target) const;

  std::map<std::string, std::vector<BitField>, std::less<>> modifiers_, operands_, constants_, branches_;
};

}  // namespace ptxloom::sass
