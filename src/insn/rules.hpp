// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/specs.hpp"

// What specs/measure/forms.json says: which variants stand for others in a table of latencies and
// throughputs, and how instructions are repeated that cannot simply stand in a loop.
namespace ptxloom::insn {

/// Values of slots, all of which a variant must have.
using Slots = std::map<std::string, std::set<std::string, std::less<>>, std::less<>>;
bool has_all(const Variant& variant, const Slots& slots);

struct FormRule {
  std::string skip;    ///< why the form is not measured; empty if it is
  bool ready = false;  ///< the file has an entry, which replaces the form's `conform`
  Slots only;          ///< the variants that are measured
  std::optional<Slots>
      masked;  ///< variants that do not return what lies at their address, so that it is no address
  std::set<std::string, std::less<>> same;  ///< further modifiers that do not make another row
  std::map<std::string, std::string, std::less<>> operands;  ///< their text; empty: any value
  std::string before;                                        ///< statements before the loop
  std::string round;                                         ///< at the start of each iteration
  std::string then;                                          ///< after each instruction
  std::string end;                                           ///< at the end of each iteration
  std::set<std::string, std::less<>> chain;  ///< operands that may take the result; empty: all
  int slot = 0;                              ///< bytes of memory of a thread; 0: as its operands need
  int warps = 1;                             ///< that execute it together: 4 for a warpgroup
  int most_warps = 64;                       ///< of an SM
  bool random = false;                       ///< measured with zero and with random operands
};

class Rules {
 public:
  /// Throws Error(usage, "spec-measure") for text that is no such file.
  explicit Rules(std::string_view json);
  /// Those that are compiled in.
  static const Rules& compiled();

  const FormRule& of(std::string_view form) const;
  /// The opcode without the modifiers that do not make another row.
  std::string essence(std::string_view opcode, const FormRule& rule) const;

 private:
  std::set<std::string, std::less<>> same_;
  std::map<std::string, FormRule, std::less<>> forms_;
  FormRule none_;
};

}  // namespace ptxloom::insn
