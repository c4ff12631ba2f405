// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"
#include "ptxloom/lower.hpp"

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
  Reg into(Type type, std::string_view opcode, const std::convertible_to<Arg> auto&... args) {
    const Reg result = k_.reg(type, at_);
    k_.emit(Opcode(opcode, at_), {Arg(result), Arg(args)...});
    return result;
  }
  /// The instruction, or its fallback.
  Reg lowered(std::string_view opcode, const std::convertible_to<Arg> auto&... args) {
    return lower::op(k_, Opcode(opcode, at_), {Arg(args)...});
  }
  /// All result registers.
  std::vector<Reg> several(std::string_view opcode, const std::convertible_to<Arg> auto&... args) {
    return k_.ops(Opcode(opcode, at_), {Arg(args)...});
  }
  /// The instruction, or its fallback, with all of its operands.
  void append(std::string_view opcode, const std::convertible_to<Arg> auto&... args) {
    lower::emit(k_, Opcode(opcode, at_), {Arg(args)...});
  }
  /// The value of another lane; all lanes of the warp take part.
  Reg from_lane(Reg value, Reg lane) {
    return into(value.type, "shfl.sync.idx.b32", value, lane, 31, KernelBuilder::kAllLanes);
  }
  /// (a & b) | c
  Reg and_or(Arg a, Arg b, Arg c) { return (*this)("lop3.b32", a, b, c, 0xea); }
  Reg bits_of(Reg value) { return k_.bit_cast(u32, value, at_); }
  Reg single_of(Reg bits) { return into(f32, "mov.b32", bits); }
  std::vector<Reg> halves_of(Reg pair) { return parts_of(b16, pair); }
  std::vector<Reg> parts_of(Type part, Reg whole) { return k_.unpack(part, whole, at_); }
  Reg packed(Type type, std::span<const Reg> parts) { return k_.pack(type, parts, at_); }
  Reg special(std::string_view name) { return k_.special(name, at_); }

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
  /// `inputs` are the registers of all operands that are read, in order: of an address in shared memory its
  /// 32 bits. Returns the result. Null where `emit_all` is not.
  Reg (*emit)(Emitter& emit, const Variant& variant, std::span<const Reg> inputs);
  /// The same for an instruction with any number of result registers; returns them in order.
  std::vector<Reg> (*emit_all)(Emitter& emit, const Variant& variant, std::span<const Reg> inputs) = nullptr;

  std::vector<Reg> append(Emitter& emitter, const Variant& variant, std::span<const Reg> inputs) const {
    if (emit_all != nullptr) return emit_all(emitter, variant, inputs);
    return {emit(emitter, variant, inputs)};
  }
};

/// The state spaces of ldmatrix and stmatrix whose addresses are those of shared memory.
inline constexpr std::string_view kSharedSpaces = "shared shared::cta";

/// The families.
///@{
std::span<const Fallback> fallbacks_to_narrow();
std::span<const Fallback> fallbacks_from_narrow();
std::span<const Fallback> fallbacks_of_scales();
std::span<const Fallback> stochastic_fallbacks();
std::span<const Fallback> fallbacks_to_short();
std::span<const Fallback> fallbacks_of_pairs();
std::span<const Fallback> fallbacks_of_minmax();
std::span<const Fallback> fallbacks_of_reductions();
std::span<const Fallback> fallbacks_of_products();
std::span<const Fallback> fallbacks_of_matrix_loads();
std::span<const Fallback> fallbacks_of_matrix_stores();
///@}

}  // namespace ptxloom::lower
