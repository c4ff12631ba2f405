// SPDX-License-Identifier: Apache-2.0
#include "text/read_operands.hpp"

#include <algorithm>
#include <limits>

#include "ir/naming.hpp"
#include "spec/database.hpp"
#include "text/constant.hpp"

namespace ptxloom::text {
namespace {

using Kind = ir::Operand::Kind;

bool is_word_character(char c) {
  return c == '_' || c == '.' || c == '%' || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
         (c >= 'a' && c <= 'z');
}

// A decimal is converted to the instruction's type.
ir::Operand literal(const Constant& constant, const Type& type) {
  if (constant.kind == Constant::Kind::integer) return {.kind = Kind::integer, .value = constant.bits};
  const bool single = type == f32 || (constant.kind == Constant::Kind::f32 && type != f64);
  const Constant value =
      single ? Constant::of(static_cast<float>(constant.as_double())) : Constant::of(constant.as_double());
  return {.kind = single ? Kind::f32 : Kind::f64,
          .decimal = single && constant.kind != Constant::Kind::f32,
          .value = value.bits};
}

// In these families ptxas accepts `x[2]` for [x+8]; words.json lists them.
bool takes_elements(Variant variant) {
  const std::string_view family = variant.data()->form->data().family;
  for (const spec::WordClass& cls : variant.data()->form->vocabulary().classes())
    if (cls.name == "indexed")
      return std::find(cls.words.begin(), cls.words.end(), family) != cls.words.end();
  return false;
}

// "%tid.r" is %tid.x.
bool is_literal(std::string_view word, std::string_view literal) {
  if (word == literal) return true;
  const std::size_t last = literal.size() - 1;
  return word.size() == literal.size() && last > 1 && literal[last - 1] == '.' &&
         word.substr(0, last) == literal.substr(0, last) && kColours.find(word[last]) != kColours.npos &&
         kColours.find(word[last]) == kElements.find(literal[last]);
}

}  // namespace

void OperandReader::start() {
  start_ = in_.position();
  pool_start_ = function_.operands.size();
  furthest_ = 0;
  expected_ = {};
}

bool OperandReader::read(Variant variant) {
  undo();
  const std::span<const OperandSpec> places = variant.operands();
  operands_.assign(places.size(), {});
  bool bare = false;    // the preceding operand has no brackets
  bool inside = false;  // of brackets
  for (const OperandPiece& piece : variant.pieces()) {
    std::string_view text = piece.text;
    if (bare) text.remove_prefix(1);
    bare = piece.operand >= 0 && at_element(variant, piece);
    if (bare) text.remove_suffix(1);
    if (!match(text)) return false;
    if (piece.operand < 0) continue;
    const auto i = static_cast<std::size_t>(piece.operand);
    if (i > 0 && text.find('|') != text.npos && operands_[i - 1].kind == Kind::sink && in_.peek().is("_"))
      return expected("a register");  // ptxas does not parse `_|_`
    const std::size_t start = in_.position();
    if (!(bare ? read_bare_element(operands_[i]) : read_operand(places[i], operands_[i]))) return false;
    if (const std::size_t bracket = piece.text.find_last_of("[]"); bracket != piece.text.npos)
      inside = piece.text[bracket] == '[';
    if (is_element(operands_[i]) && (inside || in_.peek().is("|"))) {
      in_.seek(start);
      fail(in_.peek(), "syntax", "ptxas reads no element of a vector register in brackets or before '|'",
           "copy it to or from a register with mov");
    }
  }
  if (!in_.peek().is(";")) return expected(";");
  function_.operands.insert(function_.operands.end(), operands_.begin(), operands_.end());
  return true;
}

bool OperandReader::is_element(const ir::Operand& operand) const {
  return operand.kind == Kind::reg && function_.registers[operand.index].element;
}

std::span<const ir::Operand> OperandReader::operands() const {
  return std::span<const ir::Operand>(function_.operands).last(operands_.size());
}

void OperandReader::undo() {
  function_.operands.resize(pool_start_);
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
  fail_behind_register();
  in_.seek(furthest_);
  const Token& token = in_.peek();
  const bool separated = expected_.size() == 1;
  if (token.is_word() && !token.is("_") && !separated && !scopes_.find(token.text))
    fail(token, "undefined-name", "there is no register, variable or function " + std::string(token.text),
         token.text.starts_with('%') ? "declare it with .reg; read special registers with a mov of their type"
                                     : "declare it before it is used");
  fail(token, "syntax",
       "expected " + (separated ? "'" + std::string(expected_) + "'" : std::string(expected_)) + ", found " +
           quoted(token));
}

// `r+1`, `d|_` and `d|p` where the instruction has a register alone.
void OperandReader::fail_behind_register() const {
  if (furthest_ == 0) return;
  in_.seek(furthest_ - 1);
  const Token &reg = in_.peek(), &token = in_.peek(1);
  const std::optional<Name> name = reg.is_word() ? scopes_.find(reg.text) : std::nullopt;
  if (!name || name->kind != Name::Kind::reg) return;
  const std::string text(reg.text);
  if (token.is("+"))
    fail(token, "register-offset", "a number cannot be added to " + text + " here, only in an address",
         "add it with an instruction of its own: ptxas takes some of these, adds an integer whatever the "
         "instruction's type, and crashes or hangs on registers of floating point and predicates");
  if (token.is("|"))
    fail(token, "no-second-result", "nothing can follow " + text + ": there is no second result here",
         "write " + text + " alone; ptxas ignores |_");
}

// Matches the literal text of a variant, ignoring blanks.
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

// Whether the next address is written `x[2]`, without the brackets in the variant's text.
bool OperandReader::at_element(Variant variant, const OperandPiece& piece) const {
  const bool address =
      variant.operands()[static_cast<std::size_t>(piece.operand)].kind == OperandSpec::Kind::address;
  if (!address || !piece.text.ends_with('[')) return false;
  const auto name = static_cast<std::size_t>(
      std::count_if(piece.text.begin(), piece.text.end(), [](char c) { return c != ' '; }) - 1);
  return in_.peek(name).is_word() && in_.peek(name + 1).is("[") && takes_elements(variant);
}

bool OperandReader::read_operand(const OperandSpec& place, ir::Operand& out) {
  if (place.kind == OperandSpec::Kind::address) return read_address(out);
  if (place.kind == OperandSpec::Kind::literal) {
    out.kind = Kind::literal;
    if (!is_literal(word(), place.text)) return expected("an operand");
    skip_word();
    return true;
  }
  return in_.peek().is("{") ? read_vector(place, out) : read_scalar(place, out);
}

bool OperandReader::read_vector(const OperandSpec& place, ir::Operand& out) {
  in_.next();
  const auto first = static_cast<std::uint32_t>(function_.operands.size());
  do {
    ir::Operand element;
    if (!read_scalar(place, element)) return false;
    if (element.kind == Kind::vector) return expected("an element");
    function_.operands.push_back(element);
  } while (in_.accept(","));
  if (!in_.accept("}")) return expected("}");
  const std::size_t count = function_.operands.size() - first;
  if (count > std::numeric_limits<std::uint16_t>::max()) return expected("a shorter vector");
  out = {.kind = Kind::vector, .count = static_cast<std::uint16_t>(count), .index = first};
  return true;
}

bool OperandReader::read_scalar(const OperandSpec& place, ir::Operand& out) {
  if (in_.accept("_")) {
    out = {.kind = Kind::sink};
    return true;
  }
  const bool number = place.negation_allowed && place.type != pred;
  if (in_.peek().is(number ? "-" : "!") && in_.peek(1).is_word()) {
    in_.next();
    if (!read_selected(out) && !read_name(out)) return false;
    out.negated = true;
    return out.kind == Kind::reg || expected(number ? "a register" : "a predicate");
  }
  // `-r1` is not a constant; another variant may accept it.
  if (in_.peek().is("-") && in_.peek(1).is_word() && !starts_constant(in_.peek(1)))
    return expected("an operand");
  if (starts_constant(in_.peek())) {
    out = literal(read_constant(in_), place.type);
    return true;
  }
  const bool selectors = place.kind == OperandSpec::Kind::value && !place.text.empty();
  if (selectors && read_selected(out)) return true;
  if (!read_name(out)) return false;
  if (out.kind == Kind::symbol && in_.peek().is("[")) return read_element(out);
  return out.kind != Kind::symbol || read_offset(out);
}

bool OperandReader::read_address(ir::Operand& out) {
  if (starts_constant(in_.peek())) {
    out = {.kind = Kind::address_absolute, .value = read_integer(in_)};
    return true;
  }
  if (word().find('.') != std::string_view::npos) return expected("an address");
  if (!read_name(out)) return false;
  if (out.kind == Kind::label || out.kind == Kind::vector) return expected("an address");
  out.kind = out.kind == Kind::reg ? Kind::address : Kind::address_symbol;
  return read_offset(out);
}

// `+8`
bool OperandReader::read_offset(ir::Operand& out) {
  const Token& plus = in_.peek();
  if (!in_.accept("+")) return true;
  if (out.kind == Kind::symbol && function_.symbols[out.index].space == ir::Space::code)
    fail(plus, "operand-kind",
         "nothing can be added to the address of the function " + function_.symbols[out.index].name,
         "add it in a register");
  out.value = read_integer(in_);
  out.plus_zero = out.value == 0;
  return true;
}

bool OperandReader::read_bare_element(ir::Operand& out) {
  if (!read_name(out)) return false;
  if (out.kind != Kind::symbol) return expected("an array");
  out.kind = Kind::address_symbol;
  return read_element(out);
}

// `[2]`, the third element of an array.
bool OperandReader::read_element(ir::Operand& out) {
  const Token& open = in_.next();
  const std::uint32_t bytes = scopes_.element_bytes(out.index);
  if (bytes == 0)
    fail(open, "operand-kind", function_.symbols[out.index].name + " is not an array", "write [name+bytes]");
  if (in_.peek().is_word() && !starts_constant(in_.peek()))
    fail(in_.peek(), "unsupported", "an array index must be a number here, not " + quoted(in_.peek()),
         "compute the address in a register, with mad");
  out.value = static_cast<std::int64_t>(static_cast<std::uint64_t>(read_integer(in_)) * bytes);
  out.count = static_cast<std::uint16_t>(bytes);
  return in_.accept("]") || expected("]");
}

// `%tid .x` is one word.
std::string_view OperandReader::word() {
  if (!in_.peek().is_word() || !in_.peek(1).is_directive()) return in_.peek().text;
  joined_ = in_.peek().text;
  return joined_ += in_.peek(1).text;
}

void OperandReader::skip_word() {
  in_.next();
  if (in_.peek().is_directive()) in_.next();
}

// Expands a vector register to its elements.
ir::Operand OperandReader::elements(const Name& vector) {
  const auto first = static_cast<std::uint32_t>(function_.operands.size());
  for (std::uint32_t i = 0; i < vector.count; ++i)
    function_.operands.push_back({.kind = Kind::reg, .index = vector.index + i});
  return {.kind = Kind::vector, .count = vector.count, .index = first};
}

// `%r1.b0`: one word for the lexer.
bool OperandReader::read_selected(ir::Operand& out) {
  const std::string_view text = word();
  const std::size_t dot = text.find('.');
  if (!in_.peek().is_word() || dot == text.npos || text.size() - dot > 9) return false;
  const std::optional<Name> name = scopes_.find(text.substr(0, dot));
  if (!name || name->kind != Name::Kind::reg) return false;
  out = {.kind = Kind::reg, .index = name->index, .value = ir::pack_selector(text.substr(dot + 1))};
  skip_word();
  return true;
}

bool OperandReader::read_name(ir::Operand& out) {
  const Token& token = in_.peek();
  if (!token.is_word()) return expected("an operand");
  const std::optional<Name> name = scopes_.find(word());
  if (!name) return expected("an operand");
  skip_word();
  switch (name->kind) {
    case Name::Kind::reg:
      out = {.kind = Kind::reg, .index = name->index};
      break;
    case Name::Kind::vector:
      out = elements(*name);
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
