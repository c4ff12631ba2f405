// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "ptxloom/ir.hpp"
#include "text/buffer.hpp"

// One instruction as text: the variant's precomputed pieces, with the operands in between.
namespace ptxloom::text {

/// The names of a kernel's registers, formatted once: they make up most of a kernel's text.
class RegisterNames {
 public:
  explicit RegisterNames(const ir::Kernel& kernel);
  void write(Buffer& out, std::uint32_t id) const {
    const Name& name = names_[id];
    if (name.length <= sizeof name.text) return out.copy(name.text, name.length);
    out << kernel_->registers[id].name;
  }

 private:
  struct Name {
    char text[15];
    std::uint8_t length;  // too long for `text`: look it up
  };
  const ir::Kernel* kernel_;
  std::vector<Name> names_;
};

class InstructionPrinter {
 public:
  InstructionPrinter(const ir::Kernel& kernel, const RegisterNames& names) : kernel_(kernel), names_(names) {}
  void write(Buffer& out, const ir::Instruction& instruction) const;
  void write(Buffer& out, const ir::Call& call) const;

 private:
  void write_guard(Buffer& out, const std::optional<ir::Guard>& guard) const;
  void write_list(Buffer& out, std::span<const ir::Operand> operands) const;
  // Most operands are plain registers.
  void write_operand(Buffer& out, const ir::Operand& operand, const OperandSpec& place) const {
    if (operand.kind == ir::Operand::Kind::reg && operand.value == 0 && !operand.negated)
      return names_.write(out, operand.index);
    write_other(out, operand, place);
  }
  void write_other(Buffer& out, const ir::Operand& operand, const OperandSpec& place) const;
  void write_vector(Buffer& out, const ir::Operand& vector, const OperandSpec& place) const;

  const ir::Kernel& kernel_;
  const RegisterNames& names_;
};

}  // namespace ptxloom::text
