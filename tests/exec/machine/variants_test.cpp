// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "exec/harness.hpp"
#include "exec/machine/operation.hpp"
#include "support/folders.hpp"

// Every variant of every form with semantics, decoded in a kernel of its own with canonical operands. What
// ptxas takes and the manual does not promise may be refused.
namespace ptxloom::exec::test::variants_test {
namespace {

/// A kernel of one instruction, in a module that has every kind of symbol the specs name.
class OneInstruction {
 public:
  explicit OneInstruction(const Variant& variant) {
    ir::Instruction instruction{.variant = variant};
    std::vector<ir::Operand> operands;
    for (const OperandSpec& spec : variant.operands()) operands.push_back(operand(spec));
    instruction.first_operand = static_cast<std::uint32_t>(kernel_.operands.size());
    instruction.operand_count = static_cast<std::uint32_t>(operands.size());
    kernel_.operands.insert(kernel_.operands.end(), operands.begin(), operands.end());
    kernel_.instructions.push_back(instruction);
    kernel_.body.push_back({.kind = ir::Statement::Kind::instruction, .index = 0});
  }

  ir::Module module(std::string target) && {
    kernel_.name = "k";
    kernel_.parameters = {{.name = "kp", .type = b8, .count = 64, .alignment = 16}};
    kernel_.variables = {{.name = "fp", .space = ir::Space::function, .type = b8, .count = 64}};
    ir::Module module{.specs = specs(), .target = std::move(target)};
    const auto variable = [&](const char* name, ir::Space space) {
      module.variables.push_back({.name = name, .space = space, .type = b32, .count = 64, .alignment = 128});
    };
    variable("gv", ir::Space::global);
    variable("cv", ir::Space::constant);
    variable("sv", ir::Space::shared);
    variable("lv", ir::Space::local);
    ir::Function function;
    function.name = "fn0";
    function.entry = false;
    module.functions = {std::move(function), std::move(kernel_)};
    return module;
  }

 private:
  using Kind = ir::Operand::Kind;

  ir::Operand reg(Type type) {
    kernel_.registers.push_back(
        {.type = type, .number = static_cast<std::uint32_t>(kernel_.registers.size())});
    return {.kind = Kind::reg, .index = static_cast<std::uint32_t>(kernel_.registers.size() - 1)};
  }

  ir::Operand symbol(const OperandSpec& spec, Kind kind) {
    const std::string name = spec.text.substr(0, spec.text.find_first_of("|+ "));
    const bool is_function = name == "fn0" || name == "k";
    kernel_.symbols.push_back({.name = name, .space = is_function ? ir::Space::code : ir::Space::shared});
    return {.kind = kind, .index = static_cast<std::uint32_t>(kernel_.symbols.size() - 1)};
  }

  // The only label is also the name of a list with itself in it.
  ir::Operand label() {
    kernel_.labels = {"L0"};
    kernel_.targets = {{.kind = ir::Targets::Kind::branch, .label = 0, .names = {0}}};
    return {.kind = Kind::label};
  }

  ir::Operand value(const OperandSpec& spec) {
    if (!spec.registers_allowed) {
      if (!spec.literal_allowed) return {.kind = Kind::sink};
      const std::int64_t lowest = spec.range ? spec.range->first : 0;
      return {.kind = Kind::integer, .value = spec.choices.empty() ? lowest : spec.choices.front()};
    }
    if (spec.count == 0) return reg(spec.type);
    std::vector<ir::Operand> elements;
    for (int i = 0; i < spec.count; ++i) elements.push_back(reg(spec.type));
    const auto first = static_cast<std::uint32_t>(kernel_.operands.size());
    kernel_.operands.insert(kernel_.operands.end(), elements.begin(), elements.end());
    return {.kind = Kind::vector, .count = static_cast<std::uint16_t>(spec.count), .index = first};
  }

  ir::Operand operand(const OperandSpec& spec) {
    switch (spec.kind) {
      case OperandSpec::Kind::address:
        if (!spec.text.empty()) return symbol(spec, Kind::address_symbol);
        return {.kind = Kind::address, .index = reg(b64).index};
      case OperandSpec::Kind::symbol:
        return symbol(spec, Kind::symbol);
      case OperandSpec::Kind::label:
        return label();
      case OperandSpec::Kind::literal:
        return {.kind = Kind::literal};
      case OperandSpec::Kind::value:
        break;
    }
    return value(spec);
  }

  ir::Function kernel_;
};

/// Why the variant cannot be executed; empty if it can.
std::string refusal(const Variant& variant, const std::vector<Target>& targets) {
  const auto target =
      std::ranges::find_if(targets, [&](const Target& t) { return variant.since(t).has_value(); });
  if (target == targets.end()) return "no target";
  try {
    Program(OneInstruction(variant).module(std::string(target->name())), "k");
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Of tests/golden/not_executable_words.txt, each with the number of variants refused.
std::map<std::string, int, std::less<>> words_without_semantics() {
  std::ifstream file(ptxloom::test::source_folder() + "/tests/golden/not_executable_words.txt");
  REQUIRE(file);
  std::map<std::string, int, std::less<>> words;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) words.emplace(line, 0);
  }
  return words;
}

bool has_word(const Variant& variant, std::string_view word) {
  const auto operands = variant.operands();
  if (std::ranges::find(operands, word, &OperandSpec::text) != operands.end()) return true;
  const std::string_view opcode = variant.opcode();
  const std::size_t at = opcode.find("." + std::string(word));
  return at != opcode.npos && (at + word.size() + 1 == opcode.size() || opcode[at + word.size() + 1] == '.');
}

}  // namespace

TEST_CASE("every documented variant of a form with semantics decodes", "[slow]") {
  const std::vector<Target> targets = specs()->targets();
  std::map<std::string, std::string, std::less<>> refused;  // opcodes, and why
  auto words = words_without_semantics();
  std::size_t variants = 0;
  for (const auto& [form, semantics] : semantics_by_form()) {
    for (const Variant& variant : specs()->variants(form)) {
      if (variant.undocumented()) continue;
      ++variants;
      const std::string why = refusal(variant, targets);
      const auto word = std::ranges::find_if(words, [&](auto& one) { return has_word(variant, one.first); });
      if (word != words.end()) {
        word->second += why.empty() ? 0 : 1;
      } else if (!why.empty()) {
        refused.emplace(variant.opcode(), why);
      }
    }
  }
  CHECK(variants > 100'000);
  std::string report;
  for (const auto& [opcode, why] : refused) report += opcode + "\n    " + why + "\n";
  INFO(refused.size() << " opcodes:\n" << report.substr(0, 5000));
  CHECK(refused.empty());
  for (const auto& [word, count] : words) {
    CAPTURE(word);
    CHECK(count > 0);  // no variant with it is refused: it need not stand there
  }
}

}  // namespace ptxloom::exec::test::variants_test
