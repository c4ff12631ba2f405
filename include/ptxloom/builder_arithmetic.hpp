// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/builder_core.hpp"

// Short names for arithmetic: the opcode follows from the type of the first typed operand, and results are
// new registers.
namespace [[gnu::visibility("default")]] ptxloom {

class ArithmeticBuilder : public BuilderCore {
 public:
  using BuilderCore::BuilderCore;

  Reg mov(Type type, Arg a, Caller at = Caller::current());
  /// Assigns to a register that exists: an accumulator, a counter.
  void set(Reg target, Arg value, Caller at = Caller::current());
  Reg add(Arg a, Arg b, Caller at = Caller::current());
  Reg sub(Arg a, Arg b, Caller at = Caller::current());
  Reg mul(Arg a, Arg b, Caller at = Caller::current());
  Reg div(Arg a, Arg b, Caller at = Caller::current());
  Reg rem(Arg a, Arg b, Caller at = Caller::current());
  Reg min(Arg a, Arg b, Caller at = Caller::current());
  Reg max(Arg a, Arg b, Caller at = Caller::current());
  Reg neg(Arg a, Caller at = Caller::current());
  Reg abs(Arg a, Caller at = Caller::current());
  /// Floats: fma.rn; integers: mad.lo
  Reg fma(Arg a, Arg b, Arg c, Caller at = Caller::current());
  Reg mul_wide(Arg a, Arg b, Caller at = Caller::current());  ///< 16 or 32 bits to twice as many
  Reg mad_wide(Arg a, Arg b, Reg c, Caller at = Caller::current());
  Reg and_(Arg a, Arg b, Caller at = Caller::current());
  Reg or_(Arg a, Arg b, Caller at = Caller::current());
  Reg xor_(Arg a, Arg b, Caller at = Caller::current());
  Reg not_(Reg a, Caller at = Caller::current());
  /// By more than the type has bits: all of them, as PTX shifts. The number of bits is a u32.
  Reg shl(Arg a, Arg bits, Caller at = Caller::current());
  Reg shr(Arg a, Arg bits, Caller at = Caller::current());
  Reg eq(Arg a, Arg b, Caller at = Caller::current());
  Reg ne(Arg a, Arg b, Caller at = Caller::current());
  Reg lt(Arg a, Arg b, Caller at = Caller::current());
  Reg le(Arg a, Arg b, Caller at = Caller::current());
  Reg gt(Arg a, Arg b, Caller at = Caller::current());
  Reg ge(Arg a, Arg b, Caller at = Caller::current());
  Reg select(Reg predicate, Arg if_true, Arg if_false, Caller at = Caller::current());

  // The hardware's approximations (.approx): their errors stand in the PTX manual. Angles are in radians.
  Reg exp2(Arg a, Caller at = Caller::current());
  Reg log2(Arg a, Caller at = Caller::current());
  Reg rcp(Arg a, Caller at = Caller::current());
  Reg sqrt(Arg a, Caller at = Caller::current());
  Reg rsqrt(Arg a, Caller at = Caller::current());
  Reg sin(Arg a, Caller at = Caller::current());
  Reg cos(Arg a, Caller at = Caller::current());
  Reg tanh(Arg a, Caller at = Caller::current());

  /// To another type; narrowing floats round to nearest even, floats to integers toward zero.
  Reg convert(Type to, Reg a, Caller at = Caller::current());
  /// The bits of a register as another type of the same size, in a register of their own (`as` renames a
  /// register, and instructions on u32 take none that is declared .f32).
  Reg bit_cast(Type to, Reg a, Caller at = Caller::current());
  Reg pack(Type type, std::span<const Reg> parts, Caller at = Caller::current());
  std::vector<Reg> unpack(Type part, Reg whole, Caller at = Caller::current());
  Reg global_thread_x(Caller at = Caller::current());  ///< %ctaid.x * %ntid.x + %tid.x

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
