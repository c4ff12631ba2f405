// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ptxloom/builder_operands.hpp"
#include "ptxloom/by_variant.hpp"

/// \file
/// The core of a KernelBuilder: its module, registers and parameters, and `emit`, through which every
/// instruction goes. The short names of the other builder headers are layers above it.
///
/// A value lies in memory as bits of its type's size, except for integers, f32 and f64: an array of bf16 is
/// one of `.b16`, an array of e4m3 one of `.b8`. There are no arrays and no parameters of types with less
/// than 8 bits (e2m1, s4): declare b8, with two values in each.
namespace [[gnu::visibility("default")]] ptxloom {

/// The builder's lowest layer.
class BuilderCore {
 public:
  /// As KernelBuilder.
  BuilderCore(std::shared_ptr<const Specs> specs, std::string name, Target target, Caller at);

  /// The specs and the target that it builds for.
  ///@{
  const Specs& specs() const;
  const Target& target() const { return target_; }
  ///@}

  /// A scalar parameter, loaded into a register at the top of the kernel.
  Reg param(Type type, std::string name, Caller at = Caller::current());
  /// A parameter that is a pointer to global memory, loaded in the same way.
  Pointer pointer(Type element, std::string name, Caller at = Caller::current());
  /// A parameter that is a tensor map (EncodedTensorMap, 128 opaque bytes). The register holds its generic
  /// address, which TMA loads and stores name.
  Reg tensor_map(std::string name, Caller at = Caller::current());
  /// New registers, without a value. Error(usage, "register-type") for a type that no register holds.
  ///@{
  Reg reg(Type type, Caller at = Caller::current());
  std::vector<Reg> regs(Type type, int count, Caller at = Caller::current());
  ///@}
  /// The same register, used as another type of its size, such as a b32 that holds an f16x2.
  static Reg as(Type type, Reg reg, Caller at = Caller::current());
  /// The value of a special register, by its name without the percent sign: "tid.x". Error(illegal_ptx,
  /// "unknown-special-register").
  Reg special(std::string_view name, Caller at = Caller::current());

  /// Appends any instruction of the specs with all of its operands.
  ///@{
  void emit(const Opcode& opcode, std::initializer_list<Arg> args);
  void emit(const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
    emit(opcode, {Arg(args)...});
  }
  ///@}
  /// Appends an instruction with a new register for its result. `args` are all other operands.
  ///@{
  Reg op(const Opcode& opcode, std::initializer_list<Arg> args);
  Reg op(const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
    return op(opcode, {Arg(args)...});
  }
  ///@}
  /// The same for an instruction with several result registers, in their order: those of a vector, or two
  /// destinations (`d|p`).
  ///@{
  std::vector<Reg> ops(const Opcode& opcode, std::initializer_list<Arg> args);
  std::vector<Reg> ops(const Opcode& opcode, const std::convertible_to<Arg> auto&... args) {
    return ops(opcode, {Arg(args)...});
  }
  ///@}
  /// Whether the target has the opcode at all.
  bool has(std::string_view opcode);

  /// Comment lines: one here, one here that stands out, one at the top of the file.
  ///@{
  void comment(std::string text, Caller at = Caller::current());
  void section(std::string_view title, Caller at = Caller::current());
  void header(std::string line, Caller at = Caller::current());
  ///@}
  /// `.pragma`, with its quotation marks: `"\"nounroll\""` at the head of a loop.
  void pragma(std::string text, Caller at = Caller::current());
  /// Writes `.file` and `.loc` for the instructions that follow, so that profilers show the C++ line that
  /// emitted each. LinkOptions::line_info keeps them.
  void source_lines(bool on = true);
  /// The thread block that launches must have, in threads (`.reqntid`).
  void require_block(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1,
                     Caller at = Caller::current());
  /// The largest thread block that launches may have, in threads (`.maxntid`).
  void max_block(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1, Caller at = Caller::current());
  /// The cluster that launches must have, in thread blocks (`.reqnctapercluster`).
  void require_cluster(std::uint32_t x, std::uint32_t y = 1, std::uint32_t z = 1,
                       Caller at = Caller::current());
  /// Thread blocks that must fit on an SM (`.minnctapersm`).
  void min_blocks_per_sm(std::uint32_t blocks, Caller at = Caller::current());
  /// Registers that a thread may have (`.maxnreg`).
  void max_registers(std::uint32_t count, Caller at = Caller::current());

 protected:
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
  struct LabelUse {
    bool placed = false;
    std::optional<Caller> branch;  // a branch to it
  };
  // The labels of break_ and continue_, made at the first branch to them.
  struct Loop {
    std::optional<Label> end, next;
    bool continues = true;
  };
  // What belongs to one function of the module.
  struct Scope {
    std::size_t function = 0;  // index into Module::functions
    std::string subject;       // "kernel scale_add"
    // Unique in the process, so that registers of another kernel are not taken for this one's.
    std::uint32_t number = 0;
    std::array<std::uint32_t, 8> class_counts{};  // registers so far, by class
    std::vector<LabelUse> labels;
    std::vector<Loop> loops;
    std::optional<ir::Guard> guard;
    bool refuses_barriers = false;
    std::vector<std::uint32_t> globals;  // by index of the variable: its symbol + 1, or 0 for none yet
    bool nested = false;                 // a function that is made while a kernel is built
  };

  struct Operation;  // src/build/operation.hpp

  Operation operation(std::string_view name, Caller at) const;
  ir::Kernel& kernel(Caller at);
  Scope begin_scope(std::string_view kind, std::string name, Caller at);
  void require_kernel(std::string_view operation, Caller at) const;
  std::string_view word(std::initializer_list<std::string_view> parts);

  Legal find_legal(std::string_view text, std::span<const ir::Operand> operands, std::size_t pool_start,
                   Caller at);
  std::span<const ir::Operand> push_operands(std::string_view text, std::span<const Arg> args, Caller at);
  void own(std::string_view text, std::size_t operand, const Arg& arg, Caller at) const;
  void require_spaces(std::string_view text, std::span<const OperandSpec> places, std::span<const Arg> args,
                      Caller at) const;
  void append(const Legal& legal, std::size_t operand_count, Caller at);
  void append_location(ir::Kernel& kernel, Caller at);
  std::vector<Arg> resolve_all(std::string_view text, std::span<const Arg> args, Caller at);
  void emit_direct(const Opcode& opcode, std::span<const Arg> args);
  void emit_text(std::string_view text, std::span<const Arg> args, Caller at);
  void emit_variant(const Variant& variant, std::span<const Arg> args, Caller at);
  std::optional<std::vector<Reg>> try_results(const Legal& legal, std::string_view text,
                                              std::span<const Arg> args, bool one, Caller at);
  std::vector<Reg> results(const Opcode& opcode, std::span<const Arg> args, bool one);
  std::vector<Reg> results_of_text(std::string_view text, std::span<const Arg> args, bool one, Caller at);
  [[noreturn]] void refuse_results(std::string_view text, std::span<const OperandSpec> places,
                                   std::span<const Arg> args, bool one, Caller at);
  [[noreturn]] void refuse(std::string_view text, Diagnostic diagnostic, std::size_t first_operand,
                           Caller at);

  Type stored_type(const Operation& operation, Type type) const;
  std::string within() const;
  void require_name(const std::string& name, const char* code, Caller at) const;
  std::uint32_t symbol(std::string name, Caller at, ir::Space space = ir::Space::shared);
  std::uint32_t own_symbol(std::string name, Caller at, ir::Space space);
  std::uint32_t symbol_of_variable(std::uint32_t variable);
  Address resolve(const Operation& operation, const Address& address, std::int64_t elements = 1);
  void require_inside(const Operation& operation, const Address& address, std::int64_t elements) const;
  const ir::Variable* array_of(const Address& address) const;
  Reg base_of(const Operation& operation, const Address& address);

  Target target_;
  Scope scope_;
  std::uint32_t module_number_;  // what belongs to the module, not to a function, remembers this number
  bool finished_ = false;
  ir::Module module_;
  Version version_;
  // By opcode, the variant that fitted last: it mostly fits again.
  std::unordered_map<std::string, Legal, Hash, std::equal_to<>> opcodes_;
  std::unordered_map<std::string, bool, Hash, std::equal_to<>> has_;
  ByVariant<Legal> legal_;
  std::string scratch_;
  bool source_lines_ = false;
  Caller last_line_;
};

}  // namespace ptxloom
