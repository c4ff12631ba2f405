// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/signature.hpp"
#include "ptxloom/specs.hpp"
#include "ptxloom/type.hpp"

// PTX as plain data: what the builder makes, the printer prints, the parser reads and the executor runs.
// A function keeps its operands in one pool, so that an instruction is a few integers and a kernel of
// thousands of them is built without an allocation each. It has one scope: the scopes that PTX nests ({ .reg
// ... }) are flattened when it is read, with other names for what shadows a name.
namespace [[gnu::visibility("default")]] ptxloom {
namespace ir {

/// Index into Function::registers.
struct Register {
  std::uint32_t id = 0;
  friend bool operator==(const Register&, const Register&) = default;
};

/// A register as declared. A register without a name prints as its class's prefix and its number ("%r12").
struct RegisterDecl {
  Type type;
  std::uint32_t number = 0;
  std::string name;
};

struct Operand {
  enum class Kind : std::uint8_t {
    sink,              ///< `_`
    reg,               ///< index: register, value: its selector (`r1.b0`) as ir::selector_of reads it
    integer,           ///< value
    f32,               ///< value: the bits
    f64,               ///< value: the bits
    symbol,            ///< index into Function::symbols, value: byte offset, count: as of address_symbol
    label,             ///< index into Function::labels
    address,           ///< [register index + value]
    address_symbol,    ///< [symbol index + value]; or, with a count, x[value / count]
    address_absolute,  ///< [value]
    vector,            ///< {…}: `count` operands from `index` in Function::operands
    literal,           ///< text fixed by the variant (a special register)
  };
  Kind kind = Kind::sink;
  bool negated : 1 = false;    ///< `!p`, `-r`
  bool plus_zero : 1 = false;  ///< `p+0`, not `p`: to ptxas it makes a difference where it does not optimise
  std::uint16_t count = 0;     ///< of a vector; of an element of an array, written `x[2]`: its bytes
  std::uint32_t index = 0;
  std::int64_t value = 0;
};

/// `@p` or `@!p` before an instruction.
struct Guard {
  Register reg;
  bool negated = false;
};

struct Instruction {
  Variant variant;
  std::uint32_t first_operand = 0;  ///< in Function::operands, in the order of the variant's operands()
  std::uint32_t operand_count = 0;
  std::optional<Guard> guard = {};
  std::uint32_t line = 0;  ///< in the PTX it was read from; 0 if built
  std::uint32_t column = 0;
};

/// `label: .branchtargets ...`, which brx.idx chooses from, or `label: .calltargets ...`, which a call by
/// address may reach.
struct Targets {
  enum class Kind : std::uint8_t { branch, call };
  Kind kind = Kind::branch;
  std::uint32_t label = 0;
  std::vector<std::uint32_t> names = {};  ///< of a branch: labels; of a call: symbols
};

/// `call (results), callee, (arguments), targets;`
struct Call {
  Operand callee;                   ///< a symbol, or a register that holds an address
  std::uint32_t first_operand = 0;  ///< in Function::operands: the results, then the arguments
  std::uint32_t result_count = 0;
  std::uint32_t argument_count = 0;
  bool uniform = false;                       ///< call.uni
  std::optional<std::uint32_t> targets = {};  ///< label of a Prototype or of Targets
  std::optional<Guard> guard = {};
  std::uint32_t line = 0;
  std::uint32_t column = 0;
};

/// `.loc`: where what follows comes from in a file of the module.
struct Location {
  struct Place {
    std::uint32_t file = 0, line = 0, column = 0;
  };
  Place place;
  std::string function = {};  ///< name in .debug_str of the function inlined: "label" or "label+8"
  std::optional<Place> inlined_at = {};
};

/// A line of a function's body; `index` into the vector of its kind.
struct Statement {
  enum class Kind : std::uint8_t { instruction, label, comment, pragma, call, targets, prototype, location };
  Kind kind = Kind::instruction;
  std::uint32_t index = 0;
};

/// `function` is .param of a function, its results, and what a call passes; `param` that of an entry.
enum class Space : std::uint8_t { generic, global, shared, local, constant, param, function, code };

/// How a name of a module is known to others.
enum class Linkage : std::uint8_t { none, visible, external, weak, common };

/// `.attribute(.unified(first, second))`: the same object in several modules.
using Unified = std::array<std::uint64_t, 2>;

/// An address among the initial values of a variable, at `offset` bytes.
struct AddressValue {
  std::uint64_t offset = 0;
  std::string name;  ///< of a variable or function
  std::int64_t addend = 0;
  bool generic = false;    ///< generic(name)
  std::uint64_t mask = 0;  ///< 0xFF00(name): these bits of it; 0 = all
};

/// A variable of a module (any space) or of a function (also .param, for calls).
struct Variable {
  std::string name;
  Space space = Space::shared;
  Type type = b8;
  std::uint64_t count = 1;      ///< elements; 0 for an external array of unknown size (dynamic shared memory)
  std::uint32_t alignment = 0;  ///< bytes; 0 = that of the type
  Linkage linkage = Linkage::none;
  bool array = false;  ///< `x[1]`, not `x`, which a call tells apart; more elements are an array anyway
  bool managed = false;
  std::optional<Unified> unified = {};
  std::vector<std::uint8_t> initial = {};    ///< bytes; empty = zero
  std::vector<AddressValue> addresses = {};  ///< what of them is known when linked only, by offset
  std::string fields = {};                   ///< of a texture or sampler: "filter_mode = linear"
  std::vector<std::string> header = {};      ///< of a module: comment lines before it, without "//"
};

/// A parameter of an entry or function; `count` elements of an array (an aggregate), 0 for a scalar.
struct Parameter {
  std::string name;
  Type type = b64;
  std::uint32_t count = 0;
  std::uint32_t alignment = 0;        ///< bytes; 0 = that of the type; of a pointer: of what it points to
  std::optional<Space> pointer = {};  ///< prints as .ptr .<space>
  std::optional<Register> reg = {};   ///< of a function: passed in this register, not in .param
  bool unsized = false;               ///< of a function: `x[]`, as many as the caller gives
  std::uint32_t size() const { return static_cast<std::uint32_t>(type.bytes()) * (count == 0 ? 1U : count); }
};

/// How a function is called.
struct Interface {
  std::vector<Parameter> results = {};
  std::vector<Parameter> parameters = {};
  bool noreturn = false;
  std::optional<std::uint32_t> abi_preserve = {}, abi_preserve_control = {};
};

/// `label: .callprototype ...`: the interface of what a call by address reaches.
struct Prototype : Interface {
  std::uint32_t label = 0;
};

/// A name that operands refer to: a parameter, a variable of the function or module, a function.
struct Symbol {
  std::string name;
  Space space = Space::shared;
};

/// A kernel (.entry), or a function (.func) that kernels call.
struct Function : Interface {
  std::string name;
  std::vector<std::string> header = {};  ///< comment lines before it, without "//"
  bool entry = true;
  bool defined = true;  ///< false: declared only; it has no body
  Linkage linkage = Linkage::visible;
  std::optional<Unified> unified = {};

  std::optional<std::array<std::uint32_t, 3>> reqntid, maxntid, reqnctapercluster;
  std::optional<std::uint32_t> minnctapersm, maxnreg, maxclusterrank;
  bool explicitcluster = false, blocksareclusters = false;
  std::vector<std::string> header_pragmas;  ///< what holds for the whole body: "\"nounroll\""

  std::vector<RegisterDecl> registers;
  std::vector<Variable> variables;
  std::vector<Symbol> symbols;
  std::vector<std::string> labels;
  std::vector<Operand> operands;
  std::vector<Instruction> instructions;
  std::vector<Call> calls;
  std::vector<Targets> targets;
  std::vector<Prototype> prototypes;
  std::vector<Location> locations;
  std::vector<std::string> comments;
  std::vector<std::string> pragmas;  ///< what stands after .pragma: "\"nounroll\""
  std::vector<Statement> body;

  std::span<const Operand> operands_of(const Instruction& instruction) const {
    return {operands.data() + instruction.first_operand, instruction.operand_count};
  }
  std::span<const Operand> elements_of(const Operand& vector) const {
    return {operands.data() + vector.index, vector.count};
  }
  std::span<const Operand> results_of(const Call& call) const {
    return {operands.data() + call.first_operand, call.result_count};
  }
  std::span<const Operand> arguments_of(const Call& call) const {
    return {operands.data() + call.first_operand + call.result_count, call.argument_count};
  }
};

/// A function that is an entry: the only ones that builder and executor know.
using Kernel = Function;

/// What the kernel expects at launch: its parameters at their offsets by PTX's alignment rules.
KernelSignature signature(const Kernel& kernel);

/// `.alias name, of;`
struct Alias {
  std::string name, of;
};

/// `.file index "name", timestamp, size`
struct File {
  std::uint32_t index = 0;
  std::string name;
  std::optional<std::array<std::uint64_t, 2>> stamp = {};  ///< time and size
};

/// DWARF that is written as data: what stands between the braces, as it was read.
struct Section {
  std::string name;  ///< ".debug_info"
  std::string body;
};

/// In PTX a name is declared before it is used. Functions without a body are printed first, then variables,
/// then functions with one.
struct Module {
  std::shared_ptr<const Specs> specs;  ///< keeps the variants alive
  Version version{9, 0};
  std::string target = "sm_90a";
  std::vector<std::string> modes = {};  ///< what else .target names: "debug", "texmode_independent"
  std::vector<std::string> header;      ///< comment lines at the top, without "//"
  std::vector<std::string> pragmas = {};
  std::vector<Variable> variables;
  std::vector<Function> functions;
  std::vector<Alias> aliases = {};
  std::vector<File> files = {};
  std::vector<Section> sections = {};
  std::vector<std::string> footer = {};  ///< comment lines after the last function and variable

  /// The function of this name, the one with a body where it is declared too; null if there is none.
  const Function* find(std::string_view name) const;
};

}  // namespace ir
}  // namespace ptxloom
