// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ptxloom/ir.hpp"

// One thread of a kernel of integers, by the PTX manual and nothing of the executor: what the builder emits
// means what its helpers promise. Parameters by their order; stores to global memory by their address.
namespace ptxloom::build_test {

class Evaluation {
 public:
  Evaluation(const ir::Module& module, std::vector<std::uint64_t> parameters)
      : kernel_(module.functions.front()),
        parameters_(std::move(parameters)),
        registers_(kernel_.registers.size()) {
    run();
  }

  /// By address, as many bytes as were stored.
  const std::map<std::uint64_t, std::uint64_t>& stores() const { return stores_; }

 private:
  struct Word {
    std::string name;  // "mul.hi"
    std::string type;  // "u32"
  };
  static Word split(std::string_view opcode) {
    const std::size_t dot = opcode.rfind('.');
    if (dot == opcode.npos) return {std::string(opcode), {}};
    return {std::string(opcode.substr(0, dot)), std::string(opcode.substr(dot + 1))};
  }

  std::uint64_t raw(const ir::Operand& operand) const {
    using Kind = ir::Operand::Kind;
    if (operand.kind == Kind::reg) return registers_[operand.index];
    if (operand.kind == Kind::integer) return static_cast<std::uint64_t>(operand.value);
    if (operand.kind == Kind::address)
      return registers_[operand.index] + static_cast<std::uint64_t>(operand.value);
    throw std::runtime_error("an operand that the test does not know");
  }

  // Cut to the type, and extended by its sign.
  static std::int64_t cut(std::uint64_t value, const std::string& type) {
    const int spare = 64 - std::stoi(type.substr(1));
    return type[0] == 's' ? static_cast<std::int64_t>(value << spare) >> spare
                          : static_cast<std::int64_t>(value << spare >> spare);
  }

  bool compare(const std::string& relation, const std::string& type, std::uint64_t left,
               std::uint64_t right) {
    const std::int64_t a = cut(left, type), b = cut(right, type);
    const bool below = type[0] == 's' ? a < b : static_cast<std::uint64_t>(a) < static_cast<std::uint64_t>(b);
    if (relation == "eq") return a == b;
    if (relation == "ne") return a != b;
    if (relation == "lt") return below;
    if (relation == "ge") return !below;
    if (relation == "le") return below || a == b;
    if (relation == "gt") return !below && a != b;
    throw std::runtime_error("relation " + relation);
  }

  std::uint64_t value_of(const Word& word, std::span<const ir::Operand> operands) {
    const auto& [name, type] = word;
    const int bits = std::stoi(type.substr(1));
    const std::uint64_t a = raw(operands[1]), b = operands.size() > 2 ? raw(operands[2]) : 0;
    const std::int64_t x = cut(a, type), y = cut(b, type);
    if (name == "mov") return a;
    if (name == "add") return a + b;
    if (name == "sub") return a - b;
    if (name == "mul.lo") return a * b;
    const std::uint64_t product = static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(y);
    if (name == "mul.wide") return product;
    if (name == "mul.hi") return product >> bits;
    if (name == "mad.lo") return a * b + raw(operands[3]);
    if (name == "mad.wide") return product + raw(operands[3]);
    if (name == "div") return static_cast<std::uint64_t>(x / y);
    if (name == "rem") return static_cast<std::uint64_t>(x % y);
    if (name == "min") return compare("lt", type, a, b) ? a : b;
    if (name == "max") return compare("lt", type, a, b) ? b : a;
    if (name == "and") return a & b;
    if (name == "or") return a | b;
    if (name == "xor") return a ^ b;
    if (name == "not") return ~a;
    if (name == "shl") return (b & 0xffff'ffff) >= static_cast<unsigned>(bits) ? 0 : a << b;
    if (name == "shr") return static_cast<std::uint64_t>(x >> std::min<std::uint64_t>(b & 0xffff'ffff, 63));
    if (name == "selp") return registers_[operands[3].index] != 0 ? a : b;
    if (name.starts_with("setp.")) return compare(name.substr(5), type, a, b) ? 1 : 0;
    throw std::runtime_error("instruction " + name);
  }

  void execute(const ir::Instruction& instruction) {
    const std::span<const ir::Operand> operands = kernel_.operands_of(instruction);
    const Word word = split(instruction.variant.opcode());
    if (word.name == "ld.param") {
      registers_[operands[0].index] = parameters_.at(next_parameter_++);
    } else if (word.name == "st.global") {
      stores_[raw(operands[0])] =
          static_cast<std::uint64_t>(cut(raw(operands[1]), "u" + word.type.substr(1)));
    } else {
      const bool wide = word.name == "mul.wide" || word.name == "mad.wide";
      const std::uint64_t value = value_of(word, operands);
      const bool predicate = word.name.starts_with("setp.");
      registers_[operands[0].index] =
          wide || predicate ? value : static_cast<std::uint64_t>(cut(value, "u" + word.type.substr(1)));
    }
  }

  std::size_t place_of(std::uint32_t label) const {
    for (std::size_t at = 0; at < kernel_.body.size(); ++at)
      if (kernel_.body[at].kind == ir::Statement::Kind::label && kernel_.body[at].index == label) return at;
    throw std::runtime_error("a label that is nowhere");
  }

  void run() {
    std::size_t at = 0;
    for (int steps = 0; steps < 100'000; ++steps, ++at) {
      if (kernel_.body.at(at).kind != ir::Statement::Kind::instruction) continue;
      const ir::Instruction& instruction = kernel_.instructions[kernel_.body[at].index];
      if (const auto& guard = instruction.guard; guard && (registers_[guard->reg.id] != 0) == guard->negated)
        continue;
      if (instruction.variant.opcode() == "ret") return;
      if (instruction.variant.opcode() == "bra") {
        at = place_of(kernel_.operands_of(instruction)[0].index);
      } else {
        execute(instruction);
      }
    }
    throw std::runtime_error("it does not end");
  }

  const ir::Kernel& kernel_;
  std::vector<std::uint64_t> parameters_;
  std::size_t next_parameter_ = 0;
  std::vector<std::uint64_t> registers_;
  std::map<std::uint64_t, std::uint64_t> stores_;
};

}  // namespace ptxloom::build_test
