// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"

// The table of fallbacks. A row names a form of specs/ and the values of its modifiers for which it holds, in
// the words of the specs; each family has its rows and their emitters in a file of its own.
namespace ptxloom::lower {

/// Appends instructions of a fallback; errors name the line that asked for it.
class Emitter {
 public:
  Emitter(KernelBuilder& k, Caller at) : k_(k), at_(at) {}

  Reg operator()(std::string_view opcode, const std::convertible_to<Arg> auto&... args) {
    return k_.op(Opcode(opcode, at_), {Arg(args)...});
  }
  /// With a destination of this type, where the opcode allows several.
  Reg into(Type type, std::string_view opcode, Arg arg) {
    const Reg result = k_.reg(type, at_);
    k_.emit(Opcode(opcode, at_), {Arg(result), arg});
    return result;
  }
  Reg bits_of(Reg value) { return k_.bit_cast(u32, value, at_); }
  std::vector<Reg> halves_of(Reg pair) { return k_.unpack(b16, pair, at_); }

 private:
  KernelBuilder& k_;
  Caller at_;
};

struct Fallback {
  /// A modifier, and the values that it may have, separated by spaces; "-": it may be absent.
  struct Condition {
    std::string_view slot;
    std::string_view values;
  };

  std::string_view form;
  std::array<Condition, 6> conditions;  // on every modifier that the form has a choice of
  Reg (*emit)(Emitter& emit, const Variant& variant, std::span<const Reg> operands);
};

/// The families.
///@{
std::span<const Fallback> fallbacks_to_narrow();
std::span<const Fallback> fallbacks_from_narrow();
///@}

}  // namespace ptxloom::lower
