// SPDX-License-Identifier: Apache-2.0
#include "text/read_operands.hpp"

#include <algorithm>
#include <limits>

#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

using Kind = ir::Operand::Kind;

bool is_word_character(char c) {
  return c == '_' || c == '.' || c == '%' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z');
}

// A decimal becomes what the instruction's type makes of it.
ir::Operand literal(const Constant& constant, const Type& type) {
  if (constant.kind == Constant::Kind::integer) return {.kind = Kind::integer, .value = constant.bits};
  const bool single = type == f32 || (constant.kind == Constant::Kind::f32 && type != f64);
  const Constant value =
      single ? Constant::of(static_cast<float>(constant.as_double())) : Constant::of(constant.as_double());
  return {.kind = single ? Kind::f32 : Kind::f64, .value = value.bits};
}

}  // namespace

bool OperandReader::read(Variant variant) {
  undo();
  const std::span<const OperandSpec> places = variant.operands();
  operands_.assign(places.size(), {});
  for (const OperandPiece& piece : variant.pieces()) {
    if (!match(piece.text)) return false;
    if (piece.operand < 0) continue;
    const auto i = static_cast<std::size_t>(piece.operand);
    if (!read_operand(places[i], operands_[i])) return false;
  }
  if (!in_.peek().is(";")) return expected(";");
  kernel_.operands.insert(kernel_.operands.end(), operands_.begin(), operands_.end());
  return true;
}

std::span<const ir::Operand> OperandReader::operands() const {
  return std::span<const ir::Operand>(kernel_.operands).last(operands_.size());
}

void OperandReader::undo() {
  kernel_.operands.resize(pool_start_);
  in_.seek(start_);
}

bool OperandReader::expected(std::string_view what) {
  if (in_.position() > furthest_ || expected_.empty()) {
    furthest_ = in_.position();
    expected_ = what;
  }
  return false;
}

void OperandReader::fail_at_furthest() const {
  in_.seek(furthest_);
  const Token& token = in_.peek();
  const bool separated = expected_.size() == 1;
  if (token.is_word() && !separated && !scopes_.find(token.text))
    fail(token, "undefined-name", "nothing is called " + std::string(token.text),
         token.text.starts_with('%')
             ? "declare it with .reg; special registers are read by mov of their own type"
             : "declare it before it is used");
  fail(token, "syntax",
       "expected " + (separated ? "'" + std::string(expected_) + "'" : std::string(expected_)) + ", found " +
           quoted(token));
}

// The literal text of a variant, blanks aside.
bool OperandReader::match(std::string_view text) {
  while (!text.empty()) {
    std::size_t length = 1;
    if (is_word_character(text[0]))
      while (length < text.size() && is_word_character(text[length])) ++length;
    const std::string_view wanted = text.substr(0, length);
    text.remove_prefix(length);
    if (wanted != " " && !in_.accept(wanted)) return expected(wanted);
  }
  return true;
}

bool OperandReader::read_operand(const OperandSpec& place, ir::Operand& out) {
  if (place.kind == OperandSpec::Kind::address) return read_address(out);
  if (place.kind == OperandSpec::Kind::literal) {
    out.kind = Kind::literal;
    return in_.accept(place.text) || expected("an operand");
  }
  return in_.peek().is("{") ? read_vector(place, out) : read_scalar(place, out);
}

bool OperandReader::read_vector(const OperandSpec& place, ir::Operand& out) {
  in_.next();
  const auto first = static_cast<std::uint32_t>(kernel_.operands.size());
  do {
    ir::Operand element;
    if (!read_scalar(place, element)) return false;
    kernel_.operands.push_back(element);
  } while (in_.accept(","));
  if (!in_.accept("}")) return expected("}");
  const std::size_t count = kernel_.operands.size() - first;
  if (count > std::numeric_limits<std::uint16_t>::max()) return expected("a shorter vector");
  out = {.kind = Kind::vector, .count = static_cast<std::uint16_t>(count), .index = first};
  return true;
}

bool OperandReader::read_scalar(const OperandSpec& place, ir::Operand& out) {
  if (in_.accept("_")) {
    out = {.kind = Kind::sink};
    return true;
  }
  if (in_.peek().is("!") && in_.peek(1).is_word()) {
    in_.next();
    if (!read_name(out)) return false;
    out.negated = true;
    return out.kind == Kind::reg || expected("a predicate");
  }
  if (starts_constant(in_.peek())) {
    out = literal(read_constant(in_), place.type);
    return true;
  }
  if (!read_name(out)) return false;
  if (out.kind == Kind::symbol && in_.accept("+")) out.value = read_integer(in_);
  return true;
}

bool OperandReader::read_address(ir::Operand& out) {
  if (starts_constant(in_.peek())) {
    out = {.kind = Kind::address_absolute, .value = read_integer(in_)};
    return true;
  }
  if (!read_name(out)) return false;
  if (out.kind == Kind::label) return expected("an address");
  out.kind = out.kind == Kind::reg ? Kind::address : Kind::address_symbol;
  if (in_.accept("+")) out.value = read_integer(in_);
  return true;
}

bool OperandReader::read_name(ir::Operand& out) {
  const Token& token = in_.peek();
  if (!token.is_word()) return expected("an operand");
  const std::optional<Name> name = scopes_.find(token.text);
  if (!name) return expected("an operand");
  in_.next();
  switch (name->kind) {
    case Name::Kind::reg:
      out = {.kind = Kind::reg, .index = name->index};
      break;
    case Name::Kind::symbol:
      out = {.kind = Kind::symbol, .index = name->index};
      break;
    case Name::Kind::label:
      out = {.kind = Kind::label, .index = name->index};
      break;
  }
  return true;
}

}  // namespace ptxloom::text
