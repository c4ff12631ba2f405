// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <limits>

#include "oracle/checks.hpp"
#include "oracle/instance.hpp"

namespace ptxloom::oracle {
namespace {

using Texts = std::vector<std::string>;

constexpr int kNumber = 250;  // of registers that stand for others

std::string reg(const std::string& registers, int offset = 0) {
  return (registers == "P" ? "P" : registers + "_") + std::to_string(kNumber + offset);
}

std::string vector_of(const std::string& registers, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + reg(registers, i);
  return text + "}";
}

/// "R32" for .b32.
std::string registers_of(const Type& type) {
  return type == pred ? "P" : "R" + std::to_string(type.whole_bytes() * 8);
}

std::string repeated(const std::string& element, int count) {
  std::string text = "{";
  for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ", ") + element;
  return text + "}";
}

/// "F32", "S32", "U32", "H32" for a type of 32 bits.
Texts typed_registers(const Type& type) {
  Texts texts;
  const std::string bits = std::to_string(type.whole_bytes() * 8);
  for (const char* kind : {"F", "S", "U"}) {
    const bool exists = type.whole_bytes() <= 8 && (kind[0] != 'F' || type.whole_bytes() >= 2);
    if (exists && type != pred) texts.push_back(kind + bits);
  }
  if (type == pred || type.whole_bytes() == 4) texts.emplace_back("H32");
  return texts;
}

const Texts& literals() {
  static const Texts texts{"0",      "1", "-1", "7", "70000", "1.5", "0f3F800000", "0d3FF0000000000000",
                           "WARP_SZ"};
  return texts;
}

/// "V32_250.x", an element of a vector register, where there are vectors of the type.
Texts elements_of_vectors(const Type& type) {
  const int bytes = type.whole_bytes();
  if (type == pred || bytes > 8) return {};
  return {"V" + std::to_string(bytes * 8) + "_" + std::to_string(kNumber) + ".x"};
}

/// Values at the ends of what the operand takes, and beyond.
Texts numbers_around(const OperandSpec& operand) {
  Texts texts;
  const auto add = [&](std::int64_t number) { texts.push_back(std::to_string(number)); };
  if (operand.range) {
    add(operand.range->first - 1);
    add(operand.range->first);
    if (operand.range->second != std::numeric_limits<std::int64_t>::max()) {
      add(operand.range->second);
      add(operand.range->second + 1);
    }
    if (operand.step > 1) {
      add(operand.range->first + 1);
      add(-operand.step);
    }
  }
  for (std::int64_t choice : operand.choices) {
    add(choice - 1);
    add(choice);
    add(choice + 1);
  }
  return texts;
}

Texts scalars(const OperandSpec& operand) {
  Texts texts{"P250", "_", "[R32_250]", "[R64_250]"};
  for (int count : {1, 2, 3}) texts.push_back(vector_of(registers_of(operand.type), count));
  for (const char* registers : {"R8", "R16", "R32", "R64", "R128"}) texts.push_back(reg(registers));
  for (const std::string& typed : typed_registers(operand.type)) texts.push_back(reg(typed));
  for (const std::string& element : elements_of_vectors(operand.type)) texts.push_back(element);
  if (operand.type == pred) texts.emplace_back("!P250");
  if (operand.direction == OperandSpec::Direction::in)
    texts.insert(texts.end(), {"v_global", "v_global+4", "v_shared+0"});
  texts.insert(texts.end(), literals().begin(), literals().end());
  return texts;
}

Texts vectors(const OperandSpec& operand) {
  const std::string registers = registers_of(operand.type);
  Texts texts{reg(registers)};
  for (int count : {operand.count - 1, operand.count + 1, operand.count * 2, operand.count / 2}) {
    if (count > 0) texts.push_back(vector_of(registers, count));
  }
  for (int bytes : {operand.type.whole_bytes() / 2, operand.type.whole_bytes() * 2}) {
    if (operand.type == pred || bytes == 0 || bytes > 16) continue;
    const std::string other = "R" + std::to_string(bytes * 8);
    texts.push_back(vector_of(other, operand.count));
    std::string mixed = vector_of(registers, operand.count);
    texts.push_back("{" + reg(other) + mixed.substr(mixed.find_first_of(",}")));
  }
  const std::string whole = vector_of(registers, operand.count);
  const std::string rest = whole.substr(whole.find_first_of(",}"));
  for (const char* element : {"_", "0", "1.5", "0f3F800000", "P250"}) {
    texts.push_back("{" + std::string(element) + rest);
    // Not predicates alone, which ptxas takes for some of the narrow types, nor decimals alone, which are f64
    // to it in some instructions and to us what the operand wants.
    if (element[0] == 'P' && operand.count == 1) texts.pop_back();
    if (element[0] != 'P' && element != std::string_view("1.5"))
      texts.push_back(repeated(element, operand.count));
  }
  for (const std::string& typed : typed_registers(operand.type)) {
    const std::string all = vector_of(typed, operand.count);
    texts.push_back(all);
    texts.push_back("{" + reg(typed) + rest);
    for (const char* element : {"S", "0", "1.5"}) {
      const std::string other = element[0] == 'S' ? reg("S" + typed.substr(1)) : std::string(element);
      texts.push_back("{" + other + all.substr(all.find_first_of(",}")));
    }
  }
  return texts;
}

/// The texts, and registers of other widths as the base of an address. None of 32 bits where it is generic or
/// global: ptxas ends there without naming a line.
Texts with_other_bases(const OperandSpec& operand, Texts texts) {
  const bool wide = operand.space.empty() || operand.space == "global";
  if (wide || operand.space.starts_with("shared")) texts.emplace_back("R16_250");
  if (operand.space == "tmem") texts.insert(texts.end(), {"R32_250", "S32_250", "U32_250"});
  return texts;
}

/// What else is tried at the place of an operand.
Texts others_of(const OperandSpec& operand, const std::string& own) {
  using Kind = OperandSpec::Kind;
  switch (operand.kind) {
    case Kind::address:
      // No other classes: ptxas does not look at them where tensor copies are concerned, and a predicate
      // there has it search for an address that it never finds.
      return with_other_bases(
          operand, {own + "+16", own + "+-16", "v_global", "v_shared", "v_local", "v_const", "kp"});
    case Kind::symbol:
      return {"R64_250", "R32_250", "nowhere"};
    case Kind::label:
      return {"R32_250", "nowhere", "0"};
    case Kind::literal:
      return {"R32_250", "0"};
    case Kind::value:
      break;
  }
  Texts texts = numbers_around(operand);
  const Texts more = !operand.registers_allowed ? Texts{"R32_250", "1.5", "P250", "WARP_SZ"}
                     : operand.count > 0        ? vectors(operand)
                                                : scalars(operand);
  texts.insert(texts.end(), more.begin(), more.end());
  return texts;
}

/// The names that the form's declarations declare, and whatever else looks like one.
Texts names_in(const Surroundings& around) {
  Texts names;
  const std::string text = around.module_decls + " " + around.body_decls;
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    while (end < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
      ++end;
    const bool name =
        std::isalpha(static_cast<unsigned char>(text[at])) != 0 && (at == 0 || text[at - 1] == ' ');
    if (name && end > at) names.push_back(text.substr(at, end - at));
    at = std::max(end, at + 1);
  }
  return names;
}

class Writer {
 public:
  Writer(Variant variant, std::vector<Case>& out)
      : variant_(variant), texts_(operand_texts(variant.operands())), out_(out) {}

  void replaced(const Texts& names) {
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const OperandSpec& operand = variant_.operands()[i];
      const std::string own = texts_[i];
      Texts others = others_of(operand, own);
      if (is_coordinates(i)) std::erase(others, "R64_250");
      if (operand.kind == OperandSpec::Kind::symbol) others.insert(others.end(), names.begin(), names.end());
      for (const std::string& other : others) {
        if (other == own) continue;
        texts_[i] = other;
        add(variant_.pieces(), operand.name + "=" + other);
      }
      texts_[i] = own;
    }
  }

  /// Without one operand and the comma before it, or with one more at the end.
  void fewer_and_more() {
    const std::vector<OperandPiece> pieces(variant_.pieces().begin(), variant_.pieces().end());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].operand < 0 || (i > 0 && pieces[i].text != ", ")) continue;
      if (is_coordinates(static_cast<std::size_t>(pieces[i].operand))) continue;
      std::vector<OperandPiece> fewer = pieces;
      if (i == 0 && pieces.size() > 1 && pieces[0].text.empty() && pieces[1].text.starts_with(", "))
        fewer[1].text = fewer[1].text.substr(2);
      else if (i == 0)
        continue;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      add(fewer, "without " + variant_.operands()[static_cast<std::size_t>(pieces[i].operand)].name);
    }
    for (const char* one : {"R32_250", "R64_250", "0"}) {
      add(with_one_more(pieces, one), "one more: " + std::string(one));
    }
  }

 private:
  /// Where the coordinates of a texture stand and 64 bits do, or nothing, ptxas takes what follows the
  /// brackets for the coordinates: [T, S], {x, y}. We do not read that.
  bool is_coordinates(std::size_t i) const {
    const std::span<const OperandSpec> operands = variant_.operands();
    return i > 0 && operands[i].kind == OperandSpec::Kind::value &&
           (operands[i - 1].space == "texref" || operands[i - 1].space == "samplerref");
  }

  void add(std::span<const OperandPiece> pieces, std::string change) {
    out_.push_back({.line = line_of(variant_.opcode(), pieces, texts_), .change = std::move(change)});
  }

  Variant variant_;
  Texts texts_;
  std::vector<Case>& out_;
};

}  // namespace

std::vector<Case> other_operands(const Question& question, std::span<const Variant> sources) {
  const Texts names = names_in(surroundings(question.form));
  std::vector<Case> cases;
  for (const Variant& source : sources) {
    Writer writer(source, cases);
    writer.replaced(names);
    writer.fewer_and_more();
  }
  return cases;
}

}  // namespace ptxloom::oracle
