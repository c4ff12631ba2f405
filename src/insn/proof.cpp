// SPDX-License-Identifier: Apache-2.0
#include "insn/proof.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <set>

namespace ptxloom::insn {
namespace {

int sum(const std::map<std::string, int>& counts) {
  return std::accumulate(counts.begin(), counts.end(), 0,
                         [](int total, const auto& entry) { return total + entry.second; });
}

/// Offsets in the code between which the loop lies.
struct Span {
  std::uint64_t begin = 0, end = 0;
};

Span loop_of(const sass::ListedFunction& function, int first_clock, int last_clock) {
  Span span{.begin = 0, .end = UINT64_MAX};
  for (const sass::ListedInstruction& instruction : function.instructions) {
    if (instruction.ptx_line == first_clock && span.begin == 0) span.begin = instruction.offset;
    if (instruction.ptx_line == last_clock && span.end == UINT64_MAX) span.end = instruction.offset;
  }
  return span;
}

Proof::State state_of(const Proof& proof) {
  const int inside = sum(proof.of_instructions), outside = proof.outside;
  if (inside == 0 && outside == 0 && sum(proof.of_bridges) > 0) return Proof::State::fused;
  if (inside == 0) return outside > 0 ? Proof::State::hoisted : Proof::State::folded;
  if (inside < proof.instructions) return outside > 0 ? Proof::State::hoisted : Proof::State::fused;
  return inside == proof.instructions ? Proof::State::one : Proof::State::expanded;
}

std::map<std::string, int> less(const std::map<std::string, int>& many,
                                const std::map<std::string, int>& few) {
  std::map<std::string, int> counts;
  for (const auto& [opcode, count] : many) {
    const auto found = few.find(opcode);
    const int more = count - (found == few.end() ? 0 : found->second);
    if (more > 0) counts[opcode] = more;
  }
  return counts;
}

}  // namespace

std::string_view to_string(Proof::State state) {
  constexpr std::array<std::string_view, 5> kNames = {"one", "expanded", "fused", "hoisted", "folded"};
  return kNames[static_cast<std::size_t>(state)];
}

double Proof::length() const {
  return instructions == 0 ? 0 : static_cast<double>(sum(of_instructions)) / instructions;
}

double Proof::step_length() const {
  return instructions == 0 ? 0 : length() + static_cast<double>(sum(of_bridges)) / instructions;
}

bool Proof::usable() const {
  if (state == State::one || state == State::expanded) return true;
  // The assembler made one instruction of this and the statement behind it.
  return state == State::fused && sum(of_bridges) >= instructions;
}

std::string Proof::opcodes(const std::map<std::string, int>& counts) const {
  std::string text;
  for (const auto& [opcode, count] : counts) {
    if (!text.empty()) text += " + ";
    const double each = static_cast<double>(count) / std::max(instructions, 1);
    if (count != instructions) text += fmt::format("{:.3g} ", each);
    text += opcode;
  }
  return text;
}

Proof difference(const Proof& few, const Proof& many) {
  Proof proof{.instructions = many.instructions - few.instructions,
              .of_instructions = less(many.of_instructions, few.of_instructions),
              .of_bridges = less(many.of_bridges, few.of_bridges),
              .of_loop = less(many.of_loop, few.of_loop),
              .outside = many.outside,
              .registers = std::max(few.registers, many.registers)};
  proof.state = state_of(proof);
  return proof;
}

Proof prove(const sass::ListedFunction& function, const KernelText& kernel, int first_line) {
  Proof proof{.instructions = static_cast<int>(kernel.instruction_lines.size()),
              .registers = function.facts.registers};
  const Span loop =
      loop_of(function, first_line + kernel.first_clock_line, first_line + kernel.last_clock_line);
  const std::set<int> instructions(kernel.instruction_lines.begin(), kernel.instruction_lines.end()),
      bridges(kernel.bridge_lines.begin(), kernel.bridge_lines.end());
  for (const sass::ListedInstruction& found : function.instructions) {
    const int line = found.ptx_line - first_line;
    const bool inside = found.offset > loop.begin && found.offset < loop.end;
    const std::string opcode(found.decoded.opcode);
    if (opcode == "NOP") continue;
    if (instructions.contains(line)) {
      if (inside) {
        ++proof.of_instructions[opcode];
      } else {
        ++proof.outside;
      }
    } else if (inside) {
      ++(bridges.contains(line) ? proof.of_bridges : proof.of_loop)[opcode];
    }
  }
  proof.state = state_of(proof);
  return proof;
}

}  // namespace ptxloom::insn
