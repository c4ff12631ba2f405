// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_core.hpp"

/// \file
/// Short names for arithmetic. The type of the first register among the operands chooses the opcode, or of
/// the first that is not untyped (`.b`), else that of the first literal that has a type. Results are new
/// registers.
namespace [[gnu::visibility("default")]] ptxloom {

/// The builder's layer for arithmetic.
class ArithmeticBuilder : public BuilderCore {
 public:
  using BuilderCore::BuilderCore;

  /// A copy of a value, of this type.
  Reg mov(Type type, Arg a, Caller at = Caller::current());
  /// Assigns to an existing register, such as an accumulator or a counter.
  void set(Reg target, Arg value, Caller at = Caller::current());
  /// Floats are rounded to nearest even (.rn) and never contracted; integers wrap, and `mul` keeps the low
  /// half.
  ///@{
  Reg add(Arg a, Arg b, Caller at = Caller::current());
  Reg sub(Arg a, Arg b, Caller at = Caller::current());
  Reg mul(Arg a, Arg b, Caller at = Caller::current());
  ///@}
  /// The quotient, and the remainder, which integers alone have.
  ///@{
  Reg div(Arg a, Arg b, Caller at = Caller::current());
  Reg rem(Arg a, Arg b, Caller at = Caller::current());
  ///@}
  /// The smaller or the larger value. If one operand is NaN, the result is the other one.
  ///@{
  Reg min(Arg a, Arg b, Caller at = Caller::current());
  Reg max(Arg a, Arg b, Caller at = Caller::current());
  ///@}
  /// -a, and the absolute value.
  ///@{
  Reg neg(Arg a, Caller at = Caller::current());
  Reg abs(Arg a, Caller at = Caller::current());
  ///@}
  /// a * b + c: `fma.rn` for floats, `mad.lo` for integers.
  Reg fma(Arg a, Arg b, Arg c, Caller at = Caller::current());
  /// The whole product of two 16-bit or 32-bit integers, which has twice as many bits.
  Reg mul_wide(Arg a, Arg b, Caller at = Caller::current());
  /// The same plus `c`, which has twice as many bits as a and b.
  Reg mad_wide(Arg a, Arg b, Reg c, Caller at = Caller::current());
  /// Bitwise, on any types of one size, and on predicates.
  ///@{
  Reg and_(Arg a, Arg b, Caller at = Caller::current());
  Reg or_(Arg a, Arg b, Caller at = Caller::current());
  Reg xor_(Arg a, Arg b, Caller at = Caller::current());
  Reg not_(Reg a, Caller at = Caller::current());
  ///@}
  /// Shifts by a number of bits, a u32; numbers above the type's size count as its size, as in PTX. `shr`
  /// keeps the sign of a signed integer.
  ///@{
  Reg shl(Arg a, Arg bits, Caller at = Caller::current());
  Reg shr(Arg a, Arg bits, Caller at = Caller::current());
  ///@}
  /// Compares. The result is a predicate; every comparison with NaN is false.
  ///@{
  Reg eq(Arg a, Arg b, Caller at = Caller::current());
  Reg ne(Arg a, Arg b, Caller at = Caller::current());
  Reg lt(Arg a, Arg b, Caller at = Caller::current());
  Reg le(Arg a, Arg b, Caller at = Caller::current());
  Reg gt(Arg a, Arg b, Caller at = Caller::current());
  Reg ge(Arg a, Arg b, Caller at = Caller::current());
  ///@}
  /// `if_true` where the predicate holds, else `if_false`.
  Reg select(Reg predicate, Arg if_true, Arg if_false, Caller at = Caller::current());

  /// The hardware's approximation (`.approx`). The PTX ISA gives its error in the section of the instruction:
  /// ex2, lg2, rcp, sqrt, rsqrt, sin, cos, tanh. Angles are in radians. Where the target has a form that
  /// flushes subnormals and no other, it is used.
  ///@{
  Reg exp2(Arg a, Caller at = Caller::current());
  Reg log2(Arg a, Caller at = Caller::current());
  Reg rcp(Arg a, Caller at = Caller::current());
  Reg sqrt(Arg a, Caller at = Caller::current());
  Reg rsqrt(Arg a, Caller at = Caller::current());
  Reg sin(Arg a, Caller at = Caller::current());
  Reg cos(Arg a, Caller at = Caller::current());
  Reg tanh(Arg a, Caller at = Caller::current());

  ///@}
  /// Converts to another type. A narrowed float is rounded to nearest even, a float that becomes an integer
  /// toward zero.
  Reg convert(Type to, Reg a, Caller at = Caller::current());
  /// The bits of a register in a new register of another type of the same size. (`as` only renames a
  /// register, and an instruction on u32 does not take one that is declared `.f32`.)
  Reg bit_cast(Type to, Reg a, Caller at = Caller::current());
  /// The parts as one register of this type, the first part in the lowest bits.
  Reg pack(Type type, std::span<const Reg> parts, Caller at = Caller::current());
  /// The parts of a register, the lowest bits first. Error(usage, "operand-type") if its size is no multiple
  /// of theirs.
  std::vector<Reg> unpack(Type part, Reg whole, Caller at = Caller::current());
  /// The thread's index in the grid along x, a u32: "%ctaid.x * %ntid.x + %tid.x".
  Reg global_thread_x(Caller at = Caller::current());

 protected:
  Reg binary(std::string_view mnemonic, const Operation& operation, Arg a, Arg b);
  Reg unary(std::string_view name, Arg a, Caller at);
  Reg approximate(std::string_view name, std::string_view mnemonic, Arg a, Caller at);
  Reg extreme(std::string_view name, Arg a, Arg b, Caller at);
  Reg bitwise(std::string_view name, Arg a, Arg b, Caller at);
  Reg shift(std::string_view name, Type type, Type as_word, Arg a, Arg bits, Caller at);
  static void require_divisor(const Operation& operation, const Arg& b);
  Reg compare(std::string_view relation, Arg a, Arg b, Caller at);
  void emit_mov(Reg target, Arg value, Caller at);
};

}  // namespace ptxloom
