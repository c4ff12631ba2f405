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
  return type == pred ? "P" : "R" + std::to_string(type.bytes() * 8);
}

const Texts& literals() {
  static const Texts texts{"0",      "1", "-1", "7", "70000", "1.5", "0f3F800000", "0d3FF0000000000000",
                           "WARP_SZ"};
  return texts;
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
    if (operand.step > 1) add(operand.range->first + 1);
  }
  for (std::int64_t choice : operand.choices) {
    add(choice - 1);
    add(choice);
    add(choice + 1);
  }
  return texts;
}

Texts scalars(const OperandSpec& operand) {
  Texts texts{"P250", "_"};
  // A vector for a scalar bf16 is taken by ptxas as its first element: a slip that we do not follow.
  if (!operand.type.name.starts_with("bf16")) {
    for (int count : {1, 2}) texts.push_back(vector_of(registers_of(operand.type), count));
  }
  for (const char* registers : {"R8", "R16", "R32", "R64", "R128"}) texts.push_back(reg(registers));
  const std::string bits = std::to_string(operand.type.bytes() * 8);
  for (const char* kind : {"F", "S", "U"}) {
    const bool exists = operand.type.bytes() <= 8 && (kind[0] != 'F' || operand.type.bytes() >= 2);
    if (exists && operand.type != pred) texts.push_back(reg(kind + bits));
  }
  if (operand.type == pred) texts.emplace_back("!P250");
  texts.insert(texts.end(), literals().begin(), literals().end());
  return texts;
}

Texts vectors(const OperandSpec& operand) {
  const std::string registers = registers_of(operand.type);
  Texts texts{reg(registers)};
  for (int count : {operand.count - 1, operand.count + 1, operand.count * 2, operand.count / 2}) {
    if (count > 0) texts.push_back(vector_of(registers, count));
  }
  for (int bytes : {operand.type.bytes() / 2, operand.type.bytes() * 2}) {
    if (operand.type == pred || bytes == 0 || bytes > 16) continue;
    const std::string other = "R" + std::to_string(bytes * 8);
    texts.push_back(vector_of(other, operand.count));
    std::string mixed = vector_of(registers, operand.count);
    texts.push_back("{" + reg(other) + mixed.substr(mixed.find_first_of(",}")));
  }
  for (const char* element : {"_", "0", "1.5"}) {
    const std::string whole = vector_of(registers, operand.count);
    texts.push_back("{" + std::string(element) + whole.substr(whole.find_first_of(",}")));
  }
  return texts;
}

/// What else is tried at the place of an operand.
Texts others_of(const OperandSpec& operand, const std::string& own) {
  using Kind = OperandSpec::Kind;
  switch (operand.kind) {
    case Kind::address:
      // No bases of 32 or 16 bits: whether ptxas takes them depends on the rest of the program.
      // No other base: ptxas does not look at it where tensor copies are concerned, and a predicate there has
      // it search for an address that it never finds.
      return {own + "+16", own + "+-16"};
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
      if (operand.kind == OperandSpec::Kind::symbol) others.insert(others.end(), names.begin(), names.end());
      for (const std::string& other : others) {
        if (other == own) continue;
        texts_[i] = other;
        add(variant_.pieces(), operand.name + "=" + other, operand.name);
      }
      texts_[i] = own;
    }
  }

  /// Without one operand and the comma before it, or with one more at the end.
  void fewer_and_more() {
    const std::vector<OperandPiece> pieces(variant_.pieces().begin(), variant_.pieces().end());
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].operand < 0 || (i > 0 && pieces[i].text != ", ")) continue;
      std::vector<OperandPiece> fewer = pieces;
      if (i == 0 && pieces.size() > 1 && pieces[0].text.empty() && pieces[1].text.starts_with(", "))
        fewer[1].text = fewer[1].text.substr(2);
      else if (i == 0)
        continue;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      add(fewer, "without " + variant_.operands()[static_cast<std::size_t>(pieces[i].operand)].name,
          "number");
    }
    for (const char* one : {"R32_250", "R64_250", "0"}) {
      std::vector<OperandPiece> more = pieces;
      more.push_back({.text = (pieces.empty() ? "" : ", ") + std::string(one), .operand = -1});
      add(more, "one more: " + std::string(one), "number");
    }
  }

 private:
  void add(std::span<const OperandPiece> pieces, std::string change, const std::string& what) {
    out_.push_back({.line = line_of(variant_.opcode(), pieces, texts_),
                    .change = std::move(change),
                    .kind = "operands:" + what});
  }

  Variant variant_;
  Texts texts_;
  std::vector<Case>& out_;
};

}  // namespace

std::vector<Case> other_operands(const Question& question, std::span<const Variant> sources) {
  const Texts names = names_in(surroundings(question.form));
  std::vector<Case> cases;
  for (Variant source : sources) {
    Writer writer(source, cases);
    writer.replaced(names);
    writer.fewer_and_more();
  }
  return cases;
}

}  // namespace ptxloom::oracle
