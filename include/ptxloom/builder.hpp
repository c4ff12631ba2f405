// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
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
// names (add, load, if_ ...) only choose opcodes by type and go the same way. Loops over constants are C++
// loops: generation is unrolled.
namespace [[gnu::visibility("default")]] ptxloom {

/// A virtual register. Made by KernelBuilder; belongs to one kernel.
struct Reg {
  Type type;
  ir::Register id;
};

struct Label {
  std::uint32_t index = 0;
};

/// A shared memory array of the kernel, or a dynamic one. As an operand: its address.
struct Shared {
  std::uint32_t symbol = 0;
  Type type;
};

/// [base + offset], base a register or a shared array.
struct Address {
  ir::Operand operand;
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
};

/// What can stand as an operand: a register, a literal, an address, a vector of registers, a label, `_`.
class Arg {
 public:
  Arg(Reg reg) : operand_{.kind = ir::Operand::Kind::reg, .index = reg.id.id}, type_(reg.type) {}
  Arg(std::integral auto value) : Arg(static_cast<std::int64_t>(value), Integer{}) {}
  Arg(float value);
  Arg(double value);
  Arg(Address address) : operand_(address.operand) {}
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

 private:
  struct Integer {};
  Arg(std::int64_t value, Integer) : operand_{.kind = ir::Operand::Kind::integer, .value = value} {}
  Arg() = default;
  ir::Operand operand_;
  std::span<const Reg> elements_;
  Type type_;
};

class KernelBuilder {
 public:
  /// A kernel for a target; a Context converts to its specs. Throws Error(usage) for a name PTX does not
  /// allow.
  KernelBuilder(std::shared_ptr<const Specs> specs, std::string name, Target target);

  const Specs& specs() const { return *module_.specs; }
  const Target& target() const { return target_; }

  // ---- parameters, registers, memory
  // --------------------------------------------------------------------------
  /// A scalar parameter, loaded into a register at the top of the kernel.
  Reg param(Type type, std::string name);
  /// A pointer to global memory, likewise.
  Pointer pointer(Type element, std::string name);
  /// A tensor map (EncodedTensorMap), as 128 opaque bytes: the generic address that tensor copies name.
  Reg tensor_map(std::string name);
  Reg reg(Type type);
  std::vector<Reg> regs(Type type, int count);
  /// The same register, used as another type of its size (a b32 that holds an f16x2).
  static Reg as(Type type, Reg reg) { return {type, reg.id}; }
  /// A special register by its name without "%": "tid.x".
  Reg special(std::string_view name);
  Shared shared(Type type, std::uint64_t count, std::string name, std::uint32_t alignment = 0);
  /// The one array whose size the launch gives (`.extern .shared`).
  Shared dynamic_shared(std::string name, std::uint32_t alignment = 128);
  Reg address_of(Shared array);
  static Address at(Reg base, std::int64_t offset = 0);
  static Address at(Shared array, std::int64_t offset = 0);

  // ---- any instruction of the specs
  // ---------------------------------------------------------------------------
  void emit(std::string_view opcode, std::initializer_list<Arg> args);
  void emit(Variant variant, std::initializer_list<Arg> args);
  void emit(std::string_view opcode, const std::convertible_to<Arg> auto&... args) {
    emit(opcode, {Arg(args)...});
  }
  void emit(Variant variant, const std::convertible_to<Arg> auto&... args) { emit(variant, {Arg(args)...}); }
  /// Whether the opcode exists on the target at all.
  bool has(std::string_view opcode);

  // ---- arithmetic: the opcode follows from the first register's type; results are new registers
  // -----------------
  Reg mov(Type type, Arg a);
  Reg add(Arg a, Arg b), sub(Arg a, Arg b), mul(Arg a, Arg b), div(Arg a, Arg b), rem(Arg a, Arg b);
  Reg min(Arg a, Arg b), max(Arg a, Arg b);
  Reg fma(Arg a, Arg b, Arg c);  ///< floats: fma.rn; integers: mad.lo
  Reg mul_wide(Arg a, Arg b);    ///< 16 or 32 bits to twice as many
  Reg mad_wide(Arg a, Arg b, Reg c);
  Reg and_(Arg a, Arg b), or_(Arg a, Arg b), xor_(Arg a, Arg b), not_(Reg a);
  Reg shl(Arg a, Arg bits), shr(Arg a, Arg bits);
  Reg eq(Arg a, Arg b), ne(Arg a, Arg b), lt(Arg a, Arg b), le(Arg a, Arg b), gt(Arg a, Arg b),
      ge(Arg a, Arg b);
  Reg select(Reg predicate, Arg if_true, Arg if_false);
  /// To another type; narrowing floats round to nearest even, floats to integers toward zero.
  Reg convert(Type to, Reg a);
  Reg pack(Type type, std::span<const Reg> parts);
  std::vector<Reg> unpack(Type part, Reg whole);
  Reg global_thread_x();  ///< %ctaid.x * %ntid.x + %tid.x

  // ---- memory
  // ---------------------------------------------------------------------------------------------------
  Reg load(const Pointer::Element& element);
  void store(const Pointer::Element& element, Arg value);
  Reg load(std::string_view space, Type type, Address address);
  void store(std::string_view space, Type type, Address address, Arg value);
  void barrier();  ///< all threads of the block

  // ---- control
  // ----------------------------------------------------------------------------------------------------
  using Body = std::function<void()>;
  void if_(Reg predicate, const Body& then);
  void if_(Reg predicate, const Body& then, const Body& otherwise);
  /// for (i = begin; i < end; i += step): tests before the first turn; the type of `i` is that of `end`, or
  /// s32.
  void for_(Arg begin, Arg end, Arg step, const std::function<void(Reg i)>& body);
  /// Runs `body`, then again while the predicate it returns holds.
  void do_while(const std::function<Reg()>& body);
  /// Guards every instruction of `body` with @p: for a few instructions, cheaper than a branch.
  void guarded(Reg predicate, const Body& body);
  void guarded_not(Reg predicate, const Body& body);
  Label label(std::string_view name);  ///< made unique
  void place(Label label);
  void branch(Label label);
  void branch_if(Reg predicate, Label label);
  void branch_unless(Reg predicate, Label label);
  void ret();

  // ---- how it reads and launches
  // ------------------------------------------------------------------------------------
  void comment(std::string text);
  void pragma(std::string text);         ///< `.pragma`: "\"nounroll\"" at the head of a loop
  void section(std::string_view title);  ///< a comment line that stands out
  void header(std::string line);         ///< a comment line at the top of the file
  void require_block(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1);  ///< .reqntid
  void min_blocks_per_sm(std::uint32_t blocks);                                   ///< .minnctapersm

  /// The module, with the lowest PTX version that has all its instructions. The builder is empty afterwards.
  ir::Module finish();

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

  ir::Kernel& kernel() { return module_.functions.front(); }
  Legal find_legal(std::string_view text, std::span<const ir::Operand> operands, std::size_t pool_start);
  std::span<const ir::Operand> push_operands(std::span<const Arg> args);
  void append(const Legal& legal, std::size_t operand_count);
  [[noreturn]] void refuse(std::string_view text, Diagnostic diagnostic, std::size_t first_operand);
  Reg binary(std::string_view mnemonic, Arg a, Arg b);
  Reg bitwise(std::string_view mnemonic, Arg a, Arg b);
  Reg compare(std::string_view relation, Arg a, Arg b);
  std::string_view word(std::initializer_list<std::string_view> parts);
  Address element_address(const Pointer::Element& element);
  std::uint32_t symbol(std::string name, ir::Space space = ir::Space::shared);
  void with_guard(ir::Guard guard, const Body& body);

  Target target_;
  ir::Module module_;
  Version version_;
  // By opcode, the one that fitted last: mostly it fits again.
  std::unordered_map<std::string, Legal, Hash, std::equal_to<>> opcodes_;
  std::unordered_map<std::string, bool, Hash, std::equal_to<>> has_;
  ByVariant<Legal> legal_;
  std::array<std::uint32_t, 8> class_counts_{};  // registers so far, by class
  std::optional<ir::Guard> guard_;
  std::string scratch_;
  std::uint32_t label_count_ = 0;
};

}  // namespace ptxloom
