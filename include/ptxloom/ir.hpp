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

// Kernels as plain data: what the builder makes, the printer prints, the parser reads and the executor runs.
// A Kernel keeps its operands in one pool, so that an instruction is a few integers and a kernel of thousands
// of them is built without an allocation each.
namespace [[gnu::visibility("default")]] ptxloom {
namespace ir {

/// Index into Kernel::registers.
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
    reg,               ///< index: register
    integer,           ///< value
    f32,               ///< value: the bits
    f64,               ///< value: the bits
    symbol,            ///< index into Kernel::symbols, value: byte offset
    label,             ///< index into Kernel::labels
    address,           ///< [register index + value]
    address_symbol,    ///< [symbol index + value]
    address_absolute,  ///< [value]
    vector,            ///< {…}: `count` operands from `index` in Kernel::operands
    literal,           ///< text fixed by the variant (a special register)
  };
  Kind kind = Kind::sink;
  bool negated = false;     ///< `!p`
  std::uint16_t count = 0;  ///< of a vector
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
  std::uint32_t first_operand = 0;  ///< in Kernel::operands, in the order of the variant's operands()
  std::uint32_t operand_count = 0;
  std::optional<Guard> guard = {};
  std::uint32_t line = 0;  ///< in the PTX it was read from; 0 if built
  std::uint32_t column = 0;
};

/// A line of a kernel's body; `index` into the vector of its kind.
struct Statement {
  enum class Kind : std::uint8_t { instruction, label, comment, pragma };
  Kind kind = Kind::instruction;
  std::uint32_t index = 0;
};

enum class Space : std::uint8_t { global, shared, local, constant };

/// A variable of a module (any space) or of a kernel (.shared, .local).
struct Variable {
  std::string name;
  Space space = Space::shared;
  Type type = b8;
  std::uint64_t count = 1;      ///< elements; 0 for an external array of unknown size (dynamic shared memory)
  std::uint32_t alignment = 0;  ///< bytes; 0 = that of the type
  bool external = false;
  std::vector<std::uint8_t> initial = {};  ///< bytes; empty = zero
};

/// A parameter of an entry; `count` elements of an array (an aggregate), 0 for a scalar.
struct Parameter {
  std::string name;
  Type type = b64;
  std::uint32_t count = 0;
  std::uint32_t alignment = 0;        ///< bytes; 0 = that of the type
  std::optional<Space> pointer = {};  ///< prints as .ptr .<space>
  std::uint32_t size() const { return static_cast<std::uint32_t>(type.bytes()) * (count == 0 ? 1U : count); }
};

struct Kernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::optional<std::array<std::uint32_t, 3>> reqntid, maxntid, reqnctapercluster;
  std::optional<std::uint32_t> minnctapersm, maxnreg, maxclusterrank;
  bool explicitcluster = false;

  std::vector<RegisterDecl> registers;
  std::vector<Variable> variables;
  std::vector<std::string> symbols;  ///< names of parameters and variables that operands refer to
  std::vector<std::string> labels;
  std::vector<Operand> operands;
  std::vector<Instruction> instructions;
  std::vector<std::string> comments;
  std::vector<std::string> pragmas;  ///< what stands after .pragma: "\"nounroll\""
  std::vector<Statement> body;

  std::span<const Operand> operands_of(const Instruction& instruction) const {
    return {operands.data() + instruction.first_operand, instruction.operand_count};
  }
  std::span<const Operand> elements_of(const Operand& vector) const {
    return {operands.data() + vector.index, vector.count};
  }
};

/// What the kernel expects at launch: its parameters at their offsets by PTX's alignment rules.
KernelSignature signature(const Kernel& kernel);

struct Module {
  std::shared_ptr<const Specs> specs;  ///< keeps the variants alive
  Version version{9, 0};
  std::string target = "sm_90a";
  std::vector<std::string> header;  ///< comment lines at the top, without "//"
  std::vector<Variable> variables;
  std::vector<Kernel> kernels;

  const Kernel* find(std::string_view name) const;
};

}  // namespace ir
}  // namespace ptxloom
