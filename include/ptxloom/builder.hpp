// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptxloom/by_variant.hpp"
#include "ptxloom/ir.hpp"

// The builder people write kernels with. A Reg is a virtual register with the PTX type it is used as; an
// instruction is appended by its opcode (or a Variant that `select` chose) and its operands, and is checked
// there and then against the specs and the target: an illegal one throws on the line that emits it. The short
// names (add, load, if_ ...) choose opcodes by type and go the same way. Loops over constants are C++
// loops: generation is unrolled.
//
// Operands of a short name are of one type: nothing is converted or reinterpreted behind the caller's back.
// A .b register is untyped and goes with any type of its size. Where the bits of the result do not depend on
// the sign (add, sub, mul, fma, mov, select, store), integers of one size go together; where they do
// (compare, min, max, div, rem, mul_wide, for_), they do not. Literals must fit the type. `convert` converts,
// `as` reinterprets.
//
// An Error of the builder names the kernel, the operation, the operand, and the line of the caller: the last
// parameter of each function, `at`, is filled in by the compiler.
namespace [[gnu::visibility("default")]] ptxloom {

/// Who called: file and line.
using Caller = std::source_location;

/// A virtual register. Made by a KernelBuilder, and belongs to it.
struct Reg {
  Type type;
  ir::Register id;
  std::uint32_t builder = 0;  ///< the number of the KernelBuilder; 0 = none made it
};

struct Label {
  std::uint32_t index = 0;
  std::uint32_t builder = 0;
};

/// A shared memory array of the kernel, or a dynamic one. As an operand: its address.
struct Shared {
  std::uint32_t symbol = 0;
  Type type;  ///< of an element
  std::uint32_t builder = 0;
};

/// [base + offset], base a register or a shared array.
struct Address {
  ir::Operand operand;
  std::uint32_t builder = 0;
  Address operator+(std::int64_t bytes) const;
};

/// A global pointer parameter with its element type; `x[i]` names an element for load and store.
struct Pointer {
  Reg base;
  Type element;
  struct Element;
  Element operator[](Reg index) const;
  Element operator[](std::int64_t index) const;
};
struct Pointer::Element {
  Pointer pointer;
  ir::Operand index;  ///< a register or an integer
  Type index_type;
  std::uint32_t index_builder = 0;
};

/// What can stand as an operand: a register, a literal, an address, a vector of registers, a label, `_`.
class Arg {
 public:
  Arg(Reg reg)
      : operand_{.kind = ir::Operand::Kind::reg, .index = reg.id.id},
        type_(reg.type),
        builder_(reg.builder) {}
  Arg(std::integral auto value) : Arg(static_cast<std::int64_t>(value), value < 0) {}
  Arg(float value);
  Arg(double value);
  Arg(Address address) : operand_(address.operand), builder_(address.builder) {}
  Arg(Label label);
  Arg(Shared array);
  Arg(const std::vector<Reg>& elements) : Arg(std::span<const Reg>(elements)) {}
  Arg(std::span<const Reg> elements)
      : operand_{.kind = ir::Operand::Kind::vector, .count = static_cast<std::uint16_t>(elements.size())},
        elements_(elements) {}
  /// `_`: a result nobody wants.
  static Arg sink();
  /// What the variant's text itself says: a special register.
  static Arg literal();
  /// 0 as a literal of a type: 0 or 0.0.
  static Arg zero(Type type);
  /// `!p`
  static Arg negated(Reg predicate);

  const ir::Operand& operand() const { return operand_; }
  std::span<const Reg> elements() const { return elements_; }
  /// The type to choose an opcode by; `pred` bits and vectors have none.
  Type type() const { return type_; }
  bool is_register() const { return operand_.kind == ir::Operand::Kind::reg; }
  /// An integer below 0. (Above 2^63 the operand holds one too.)
  bool is_negative() const { return negative_; }
  /// The number of the builder that made what the operand refers to; 0 = it refers to nothing.
  std::uint32_t builder() const { return builder_; }

 private:
  Arg(std::int64_t value, bool negative)
      : operand_{.kind = ir::Operand::Kind::integer, .value = value}, negative_(negative) {}
  Arg() = default;
  ir::Operand operand_;
  std::span<const Reg> elements_;
  Type type_;
  std::uint32_t builder_ = 0;
  bool negative_ = false;
};

/// What `emit` appends: an opcode, or the Variant that `select` chose; and the line that says so.
class Opcode {
 public:
  Opcode(const std::convertible_to<std::string_view> auto& text, Caller at = Caller::current())
      : text_(text), at_(at) {}
  Opcode(Variant variant, Caller at = Caller::current()) : variant_(variant), at_(at) {}

  std::string_view text() const { return text_; }
  /// False where a text is meant.
  Variant variant() const { return variant_; }
  Caller at() const { return at_; }

 private:
  std::string_view text_;
  Variant variant_;
  Caller at_;
};

class KernelBuilder {
 public:
  /// A kernel for a target; a Context converts to its specs. Throws Error(usage) for a name PTX does not
  /// allow.
  KernelBuilder(std::shared_ptr<const Specs> specs, std::string name, Target target);

  const Specs& specs() const { return *module_.specs; }
  const Target& target() const { return target_; }

  // ---- parameters, registers, memory
  // A value lies in memory as bits of its type's size, but for integers, f32 and f64: an array of bf16 is one
  // of .b16, one of e4m3 of .b8. A type of fewer bits than a byte (e2m1, s4) has no array, and no parameter:
  // declare b8, two values in each.
  // --------------------------------------------------------------------------
  /// A scalar parameter, loaded into a register at the top of the kernel.
  Reg param(Type type, std::string name, Caller at = Caller::current());
  /// A pointer to global memory, likewise.
  Pointer pointer(Type element, std::string name, Caller at = Caller::current());
  /// A tensor map (EncodedTensorMap), as 128 opaque bytes: the generic address that tensor copies name.
  Reg tensor_map(std::string name, Caller at = Caller::current());
  Reg reg(Type type, Caller at = Caller::current());
  std::vector<Reg> regs(Type type, int count, Caller at = Caller::current());
  /// The same register, used as another type of its size (a b32 that holds an f16x2).
  static Reg as(Type type, Reg reg, Caller at = Caller::current());
  /// A special register by its name without "%": "tid.x".
  Reg special(std::string_view name, Caller at = Caller::current());
  Shared shared(Type type, std::uint64_t count, std::string name, std::uint32_t alignment = 0,
                Caller at = Caller::current());
  /// The one array whose size the launch gives (`.extern .shared`).
  Shared dynamic_shared(std::string name, std::uint32_t alignment = 128, Caller at = Caller::current());
  Reg address_of(Shared array, Caller at = Caller::current());
  static Address at(Reg base, std::int64_t offset = 0);
  static Address at(Shared array, std::int64_t offset = 0);

  // ---- any instruction of the specs
  // ---------------------------------------------------------------------------
  void emit(const Opcode& opcode, std::initializer_list<Arg> args);
  void emit(const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
    emit(opcode, {Arg(args)...});
  }
  /// Whether the opcode exists on the target at all.
  bool has(std::string_view opcode);

  // ---- arithmetic: the opcode follows from the first register's type; results are new registers
  // -----------------
  Reg mov(Type type, Arg a, Caller at = Caller::current());
  Reg add(Arg a, Arg b, Caller at = Caller::current());
  Reg sub(Arg a, Arg b, Caller at = Caller::current());
  Reg mul(Arg a, Arg b, Caller at = Caller::current());
  Reg div(Arg a, Arg b, Caller at = Caller::current());
  Reg rem(Arg a, Arg b, Caller at = Caller::current());
  Reg min(Arg a, Arg b, Caller at = Caller::current());
  Reg max(Arg a, Arg b, Caller at = Caller::current());
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
  /// To another type; narrowing floats round to nearest even, floats to integers toward zero.
  Reg convert(Type to, Reg a, Caller at = Caller::current());
  Reg pack(Type type, std::span<const Reg> parts, Caller at = Caller::current());
  std::vector<Reg> unpack(Type part, Reg whole, Caller at = Caller::current());
  Reg global_thread_x(Caller at = Caller::current());  ///< %ctaid.x * %ntid.x + %tid.x

  // ---- memory: of a wider integer a store keeps the low bits
  // ---------------------------------------------------------------------------------------------------
  Reg load(const Pointer::Element& element, Caller at = Caller::current());
  void store(const Pointer::Element& element, Arg value, Caller at = Caller::current());
  Reg load(std::string_view space, Type type, Address address, Caller at = Caller::current());
  void store(std::string_view space, Type type, Address address, Arg value, Caller at = Caller::current());
  void barrier(Caller at = Caller::current());  ///< all threads of the block

  // ---- control
  // ----------------------------------------------------------------------------------------------------
  using Body = std::function<void()>;
  void if_(Reg predicate, const Body& then, Caller at = Caller::current());
  void if_(Reg predicate, const Body& then, const Body& otherwise, Caller at = Caller::current());
  /// for (i = begin; i < end; i += step): tests before the first turn; the type of `i` is that of `end`, or
  /// s32.
  void for_(Arg begin, Arg end, Arg step, const std::function<void(Reg i)>& body,
            Caller at = Caller::current());
  /// Runs `body`, then again while the predicate it returns holds.
  void do_while(const std::function<Reg()>& body, Caller at = Caller::current());
  /// Guards every instruction of `body` with @p: for a few instructions, cheaper than a branch.
  void guarded(Reg predicate, const Body& body, Caller at = Caller::current());
  void guarded_not(Reg predicate, const Body& body, Caller at = Caller::current());
  Label label(std::string_view name, Caller at = Caller::current());  ///< made unique
  void place(Label label, Caller at = Caller::current());
  void branch(Label label, Caller at = Caller::current());
  void branch_if(Reg predicate, Label label, Caller at = Caller::current());
  void branch_unless(Reg predicate, Label label, Caller at = Caller::current());
  void ret(Caller at = Caller::current());

  // ---- how it reads and launches
  // ------------------------------------------------------------------------------------
  void comment(std::string text, Caller at = Caller::current());
  /// `.pragma`: "\"nounroll\"" at the head of a loop
  void pragma(std::string text, Caller at = Caller::current());
  void section(std::string_view title, Caller at = Caller::current());  ///< a comment line that stands out
  void header(std::string line, Caller at = Caller::current());  ///< a comment line at the top of the file
  void require_block(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1,
                     Caller at = Caller::current());                            ///< .reqntid
  void min_blocks_per_sm(std::uint32_t blocks, Caller at = Caller::current());  ///< .minnctapersm

  /// The module, with the lowest PTX version that has all its instructions. Afterwards the builder can be
  /// asked for its specs and target, and nothing else.
  ir::Module finish(Caller at = Caller::current());

 private:
  // A variant that the target has.
  struct Legal {
    Variant variant;
    std::span<const OperandSpec> places;
    Version since;
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
  };

  struct Operation;  // src/build/operation.hpp

  ir::Kernel& kernel(Caller at);
  Legal find_legal(std::string_view text, std::span<const ir::Operand> operands, std::size_t pool_start,
                   Caller at);
  std::span<const ir::Operand> push_operands(std::string_view text, std::span<const Arg> args, Caller at);
  void own(std::string_view text, std::size_t operand, std::uint32_t builder, Caller at) const;
  void append(const Legal& legal, std::size_t operand_count);
  void emit_text(std::string_view text, std::span<const Arg> args, Caller at);
  void emit_variant(Variant variant, std::span<const Arg> args, Caller at);
  [[noreturn]] void refuse(std::string_view text, Diagnostic diagnostic, std::size_t first_operand,
                           Caller at);
  Reg binary(std::string_view mnemonic, const Operation& operation, Arg a, Arg b);
  Reg extreme(std::string_view name, Arg a, Arg b, Caller at);
  Reg bitwise(std::string_view name, Arg a, Arg b, Caller at);
  Reg shift(std::string_view name, Type type, Type as_word, Arg a, Arg bits, Caller at);
  static void require_divisor(const Operation& operation, const Arg& b);
  Reg compare(std::string_view relation, Arg a, Arg b, Caller at);
  std::string_view word(std::initializer_list<std::string_view> parts);
  Address element_address(std::string_view name, const Pointer::Element& element, Caller at);
  Type stored_type(const Operation& operation, Type type) const;
  std::uint32_t symbol(std::string name, Caller at, ir::Space space = ir::Space::shared);
  void with_guard(Reg predicate, bool negated, const Body& body, const Operation& operation);
  void check_labels(Caller at) const;

  struct LabelUse {
    bool placed = false;
    std::optional<Caller> branch;  // one that goes there
  };

  Target target_;
  std::string name_;
  std::uint32_t number_;  // of all builders of the process, so that no other's registers are taken for ours
  bool finished_ = false;
  ir::Module module_;
  Version version_;
  // By opcode, the one that fitted last: mostly it fits again.
  std::unordered_map<std::string, Legal, Hash, std::equal_to<>> opcodes_;
  std::unordered_map<std::string, bool, Hash, std::equal_to<>> has_;
  ByVariant<Legal> legal_;
  std::array<std::uint32_t, 8> class_counts_{};  // registers so far, by class
  std::vector<LabelUse> labels_;
  std::optional<ir::Guard> guard_;
  std::string scratch_;
};

}  // namespace ptxloom
