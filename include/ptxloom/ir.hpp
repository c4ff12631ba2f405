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

/// \file
/// PTX as plain data, which the builder makes, the printer prints, the parser reads and the executor runs. A
/// function keeps its operands in one pool. An instruction is therefore a few integers, and a kernel with
/// thousands of them needs no allocation for each. A function has one scope: nested scopes of PTX (`{ .reg
/// ... }`) are flattened when it is read, and names that shadow others are renamed.
namespace [[gnu::visibility("default")]] ptxloom {
/// PTX as plain data.
namespace ir {

/// A register of a function.
struct Register {
  std::uint32_t id = 0;  ///< index into Function::registers
  friend bool operator==(const Register&, const Register&) = default;
};

/// A register as declared. Without a name it is printed as the prefix of its class and its number: "%r12".
struct RegisterDecl {
  Type type;                 ///< its class
  std::uint32_t number = 0;  ///< among the registers of its class without a name
  std::string name;          ///< may be empty
  bool element = false;      ///< read as an element of a vector register, `v.x`
};

/// An operand.
struct Operand {
  /// What it is, and which members it uses.
  enum class Kind : std::uint8_t {
    sink,              ///< `_`
    reg,               ///< index: register, value: its selector (`r1.b0`) as ir::selector_of reads it
    integer,           ///< value
    f32,               ///< value: the bits
    f64,               ///< value: the bits
    symbol,            ///< index into Function::symbols, value: byte offset, count: as for address_symbol
    label,             ///< index into Function::labels
    address,           ///< [register index + value]
    address_symbol,    ///< [symbol index + value]; with a count x[value / count]
    address_absolute,  ///< [value]
    vector,            ///< {…}: `count` operands from `index` in Function::operands
    literal,           ///< text fixed by the variant (a special register)
  };
  Kind kind = Kind::sink;      ///< what it is
  bool negated : 1 = false;    ///< `!p`, `-r`
  bool plus_zero : 1 = false;  ///< `p+0`, not `p`: ptxas treats them differently without optimisation
  bool decimal : 1 = false;    ///< an f32 that was read as 1.5, not as its bits: f64 to ptxas in some vectors
  std::uint16_t count = 0;     ///< elements of a vector; bytes of an array's element that is written `x[2]`
  std::uint32_t index = 0;     ///< see Kind
  std::int64_t value = 0;      ///< see Kind
};

/// `@p` or `@!p` before an instruction.
struct Guard {
  Register reg;          ///< the predicate
  bool negated = false;  ///< `@!p`
};

/// An instruction.
struct Instruction {
  Variant variant;                  ///< kept alive by Module::specs
  std::uint32_t first_operand = 0;  ///< in Function::operands, in the order of Variant::operands()
  std::uint32_t operand_count = 0;  ///< number of its operands
  std::optional<Guard> guard = {};  ///< the predicate before it
  std::uint32_t line = 0;           ///< in the PTX that it was read from; 0 if it was built
  std::uint32_t column = 0;         ///< in that line
};

/// `label: .branchtargets ...`, from which brx.idx chooses, or `label: .calltargets ...`, which a call by
/// address may reach.
struct Targets {
  /// Which of the two.
  enum class Kind : std::uint8_t {
    branch,  ///< `.branchtargets`
    call,    ///< `.calltargets`
  };
  Kind kind = Kind::branch;               ///< which of the two
  std::uint32_t label = 0;                ///< its label
  std::vector<std::uint32_t> names = {};  ///< the labels of a branch, or the symbols of a call
};

/// `call (results), callee, (arguments), targets;`
struct Call {
  Operand callee;                             ///< a symbol, or a register that holds an address
  std::uint32_t first_operand = 0;            ///< in Function::operands: the results, then the arguments
  std::uint32_t result_count = 0;             ///< number of results
  std::uint32_t argument_count = 0;           ///< number of arguments
  bool uniform = false;                       ///< call.uni
  std::optional<std::uint32_t> targets = {};  ///< label of a Prototype or of Targets
  std::optional<Guard> guard = {};            ///< the predicate before it
  std::uint32_t line = 0;                     ///< in the PTX that it was read from; 0 if it was built
  std::uint32_t column = 0;                   ///< in that line
};

/// `.loc`: the source of the instructions that follow.
struct Location {
  /// A place in a source file.
  struct Place {
    std::uint32_t file = 0;    ///< File::index
    std::uint32_t line = 0;    ///< from 1
    std::uint32_t column = 0;  ///< from 1
  };
  Place place;                           ///< the source
  bool intermediate = false;             ///< `.loc_intermediate`: of a text between the source and PTX
  std::string function = {};             ///< name of the inlined function in .debug_str: "label" or "label+8"
  std::optional<Place> inlined_at = {};  ///< where it is called
};

/// A line of a function's body.
struct Statement {
  /// The kind of line; its contents are in the function's vector of that kind.
  enum class Kind : std::uint8_t {
    instruction,  ///< Function::instructions
    label,        ///< Function::labels
    comment,      ///< Function::comments
    pragma,       ///< Function::pragmas
    call,         ///< Function::calls
    targets,      ///< Function::targets
    prototype,    ///< Function::prototypes
    location,     ///< Function::locations
  };
  Kind kind = Kind::instruction;  ///< the kind of line
  std::uint32_t index = 0;        ///< into the vector of that kind
};

/// State spaces.
enum class Space : std::uint8_t {
  generic,   ///< none is named
  global,    ///< .global
  shared,    ///< .shared
  local,     ///< .local
  constant,  ///< .const
  param,     ///< .param of an entry
  function,  ///< .param of a function: its parameters and results, and the arguments of calls
  code,      ///< a function
};

/// How other modules see a name.
enum class Linkage : std::uint8_t {
  none,      ///< not at all
  visible,   ///< .visible
  external,  ///< .extern: it is defined elsewhere
  weak,      ///< .weak
  common,    ///< .common
};

/// The two numbers of `.attribute(.unified(first, second))`, which mark one object in several modules.
using Unified = std::array<std::uint64_t, 2>;

/// An address among the initial values of a variable.
struct AddressValue {
  std::uint64_t offset = 0;  ///< bytes from the start of the variable
  std::string name;          ///< of the variable or function whose address it is
  std::int64_t addend = 0;   ///< bytes added to the address
  bool generic = false;      ///< generic(name)
  std::uint64_t mask = 0;    ///< 0xFF00(name): the bits of the address that are kept; 0: all
};

/// A variable of a module, in any state space, or of a function, also in .param for calls.
struct Variable {
  std::string name;             ///< its name
  Space space = Space::shared;  ///< its state space
  Type type = b8;               ///< of an element
  std::uint64_t count = 1;      ///< elements; 0: an external array of unknown size (dynamic shared memory)
  std::uint32_t alignment = 0;  ///< bytes; 0: that of the type
  Linkage linkage = Linkage::none;  ///< how other modules see it
  bool array = false;    ///< `x[1]`, not `x`: calls distinguish them. More elements are always an array
  bool managed = false;  ///< `.attribute(.managed)`
  std::optional<Unified> unified = {};       ///< `.attribute(.unified)`
  std::vector<std::uint8_t> initial = {};    ///< initial bytes; empty: zeros
  std::vector<AddressValue> addresses = {};  ///< addresses among them, which only the linker knows, by offset
  std::string fields = {};                   ///< fields of a texture or sampler: "filter_mode = linear"
  std::vector<std::string> header = {};  ///< comment lines before a variable of a module, without the slashes
};

/// A parameter of an entry or function.
struct Parameter {
  std::string name;                   ///< its name
  Type type = b64;                    ///< of an element
  std::uint32_t count = 0;            ///< elements of an array; 0: a scalar
  std::uint32_t alignment = 0;        ///< bytes, for a pointer of what it points to; 0: that of the type
  std::optional<Space> pointer = {};  ///< `.ptr` and this state space
  std::optional<Register> reg = {};   ///< the register of a function's parameter that is not in .param
  bool unsized = false;               ///< `x[]` of a function: as many elements as the caller passes
  /// Bytes of the parameter.
  std::uint32_t size() const {
    return static_cast<std::uint32_t>(type.whole_bytes()) * (count == 0 ? 1U : count);
  }
};

/// How a function is called.
struct Interface {
  std::vector<Parameter> results = {};                     ///< results of a function
  std::vector<Parameter> parameters = {};                  ///< parameters in order
  bool noreturn = false;                                   ///< `.noreturn`
  std::optional<std::uint32_t> abi_preserve = {};          ///< `.abi_preserve`
  std::optional<std::uint32_t> abi_preserve_control = {};  ///< `.abi_preserve_control`
};

/// `label: .callprototype ...`: the interface of the functions that a call by address may reach.
struct Prototype : Interface {
  std::uint32_t label = 0;  ///< its label
};

/// A name that operands refer to: a parameter, a variable of the function or module, or a function.
struct Symbol {
  std::string name;             ///< the name
  Space space = Space::shared;  ///< where it lies
};

/// A kernel (.entry), or a function (.func) that kernels call.
struct Function : Interface {
  std::string name;                      ///< its name
  std::vector<std::string> header = {};  ///< comment lines before it, without the slashes
  bool entry = true;                     ///< .entry; else .func
  bool defined = true;                   ///< false: it is declared only and has no body
  Linkage linkage = Linkage::visible;    ///< how other modules see it
  std::optional<Unified> unified = {};   ///< `.attribute(.unified)`

  /// The directive of this name.
  ///@{
  std::optional<std::array<std::uint32_t, 3>> reqntid, maxntid, reqnctapercluster;
  std::optional<std::uint32_t> minnctapersm, maxnreg, maxclusterrank, minperctamemory;
  bool explicitcluster = false, blocksareclusters = false;
  ///@}
  std::vector<std::string> languages;  ///< what .language names: `5`, or `"CUDA C++"`, with the quotes
  std::vector<std::string>
      header_pragmas;  ///< .pragma directives of the whole body: `"nounroll"`, with the quotes

  /// The contents that operands and statements refer to by index.
  ///@{
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
  ///@}
  std::vector<std::string> pragmas;  ///< arguments of .pragma in the body: `"nounroll"`, with the quotes
  std::vector<Statement> body;       ///< the lines in order

  /// The operands of an instruction, the elements of a vector, the results or the arguments of a call.
  ///@{
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
  ///@}
};

/// A Function that is an entry.
using Kernel = Function;

/// The parameters that the kernel expects at launch, with offsets by the alignment rules of PTX.
KernelSignature signature(const Kernel& kernel);

/// `.alias name, of;`
struct Alias {
  std::string name;  ///< another name
  std::string of;    ///< of this function
};

/// `.file index "name", timestamp, size`
struct File {
  std::uint32_t index = 0;                                 ///< the number that `.loc` uses
  std::string name;                                        ///< path of the file
  std::optional<std::array<std::uint64_t, 2>> stamp = {};  ///< time and size
};

/// A section of DWARF that is written as data.
struct Section {
  std::string name;  ///< ".debug_info"
  std::string body;  ///< the text between the braces, as it was read
  /// What the body has, which older PTX versions lack: `label:`, `label-label`, `-1`.
  ///@{
  bool labels = false, distances = false, negatives = false;
  ///@}
};

/// A module. PTX requires that a name is declared before it is used: functions without a body are printed
/// first, then variables, then functions with a body. A copy of a function or an instruction must not outlive
/// `specs`.
struct Module {
  std::shared_ptr<const Specs> specs;       ///< keeps the instructions' variants alive
  Version version = default_ptx_version();  ///< .version
  std::string target = "sm_90a";            ///< .target
  std::vector<std::string> modes = {};      ///< options of .target: "debug", "texmode_independent"
  std::vector<std::string> header;          ///< comment lines at the top, without the slashes
  std::vector<std::string> pragmas = {};    ///< arguments of .pragma, with the quotes
  std::vector<Variable> variables;          ///< variables of the module
  std::vector<Function> functions;          ///< entries and functions
  std::vector<Alias> aliases = {};          ///< aliases of functions
  std::vector<File> files = {};             ///< source files
  std::vector<Section> sections = {};       ///< debug information
  std::vector<std::string> footer = {};     ///< comment lines after the last function and variable

  /// The function of this name; the one with a body if it is also declared. Null if there is none.
  const Function* find(std::string_view name) const;
};

}  // namespace ir
}  // namespace ptxloom
