// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sass/instruction/control_code.hpp"

// What an instruction is, without nvdisasm: its opcode without modifiers, the predicate that guards it, and
// its registers in the order in which they are written. specs/sass/encodings.json says which bits these are.
namespace ptxloom::sass {

/// Kinds of registers, in the spelling of nvdisasm: "R", "UR" (uniform), "P", "UP", "B" (convergence
/// barrier), "SB".
struct Register {
  std::string_view kind;
  unsigned number = 0;
  friend bool operator==(const Register&, const Register&) = default;
};
std::string to_string(const Register& value);

struct Decoded {
  std::string_view opcode;  ///< "LDG"; empty if the data does not know it
  Register guard{"P", 7};   ///< P7 and UP7 are always true
  bool negated = false;     ///< the guard must be false
  /// Whether the control code's reuse bits mean reuse; some instructions keep other things there.
  bool reuse = true;
  /// Those that read as zero or always true are left out.
  std::vector<Register> registers;
};
/// "@!P0 LDG R0, UR4, R2"
std::string to_string(const Decoded& decoded);

/// The data for one chip. It refers to the text that is compiled in.
class Decoder {
 public:
  explicit Decoder(int chip);
  Decoded decode(const Word& word) const;

 private:
  struct Place {
    std::string_view kind;
    bool has_zero = true;  ///< all bits set: reads as zero, or is true; barriers and scoreboards have none
    std::uint8_t at = 0, count = 0;
  };
  struct Row {
    Word mask, value;  ///< of bits that must be as they are
    std::string_view name, guard;
    bool reuse = true;
    std::vector<Place> places;
  };
  struct Parsed {
    unsigned opcode = 0;
    Row row;
  };
  static Parsed parse(std::string_view line, int chip, bool& serves);

  static constexpr unsigned kOpcodeBits = 12;
  std::vector<std::vector<Row>> rows_;  ///< by opcode
};

}  // namespace ptxloom::sass
