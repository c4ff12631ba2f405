// SPDX-License-Identifier: Apache-2.0
#include "spec/operand_text.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "spec/cell.hpp"
#include "spec/need.hpp"

namespace ptxloom::spec {
namespace {

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

/// A character behind a type, and the flag that it sets.
struct Flag {
  char mark;
  bool OperandSpec::* field;
};
constexpr Flag kFlags[] = {{'+', &OperandSpec::wider_allowed}, {'&', &OperandSpec::wider_integers},
                           {'_', &OperandSpec::sink_allowed},  {'^', &OperandSpec::needed},
                           {'~', &OperandSpec::loose},         {'$', &OperandSpec::whole_numbers},
                           {'%', &OperandSpec::any_class},     {'.', &OperandSpec::exact}};

class OperandParser {
 public:
  OperandParser(const OperandTemplate& operand, std::string_view text, const Vocabulary& vocabulary,
                Place place)
      : text_(text), vocabulary_(vocabulary), place_(place), by_opcode_(operand.by_opcode) {
    spec_.name = operand.name;
  }

  std::optional<OperandSpec> parse() {
    std::string_view first = text_.substr(0, text_.find(' '));
    std::string_view rest =
        first.size() == text_.size() ? std::string_view{} : text_.substr(first.size() + 1);
    if (const std::size_t slash = first.find('/');
        slash != first.npos) {  // a whole operand from one cell: addr/tmem
      rest = first.substr(slash + 1);
      first = first.substr(0, slash);
    }
    if (first == kAbsent || rest == kAbsent || rest.starts_with("-=") || rest == "-'") {
      if (first != "addr") return std::nullopt;
      rest = {};
    }
    if (!parse_kind(first, rest)) parse_value(first, OperandSpec::Direction::in, false);
    return spec_;
  }

 private:
  [[noreturn]] void bad(const std::string& why) const {
    fail("spec-operand", place_, "the operand " + quote(spec_.name) + ", " + quote(text_) + ": " + why,
         "write one of out in inout reg imm addr sym label lit, a type, [count] and flags, as "
         "specs/README.md says");
  }

  /// False if the word is a type instead of a kind ("b32[4]": a register).
  bool parse_kind(std::string_view kind, std::string_view rest) {
    using Kind = OperandSpec::Kind;
    using Direction = OperandSpec::Direction;
    const auto fixed = [&](Kind what) {
      spec_.kind = what;
      spec_.registers_allowed = false;
      spec_.text = rest;
    };
    if (kind == "out") return parse_value(rest, Direction::out, false), true;
    if (kind == "inout") return parse_value(rest, Direction::inout, false), true;
    if (kind == "in") return parse_value(rest, Direction::in, true), true;
    if (kind == "reg") return spec_.registers_only = true, parse_value(rest, Direction::in, false), true;
    if (kind == "imm") return parse_immediate(rest), true;
    if (kind == "sym") return fixed(Kind::symbol), parse_symbol(rest), true;
    if (kind == "label") return fixed(Kind::label), true;
    if (kind == "lit") return fixed(Kind::literal), true;
    if (kind != "addr") return false;
    return spec_.kind = Kind::address, parse_address(rest), true;
  }

  /// "shared", "param kp", "/shared", "shared/generic", "shared+", "global&", "tmem.", "%".
  void parse_address(std::string_view text) {
    std::string_view space = text.substr(0, text.find(' '));
    if (space.size() < text.size()) spec_.text = text.substr(space.size() + 1);
    spec_.any_class = space == "%";
    if (spec_.any_class) space = {};
    for (; space.size() > 1; space.remove_suffix(1)) {
      if (space.ends_with('+'))
        spec_.long_base = true;
      else if (space.ends_with('&'))
        spec_.short_base = true;
      else if (space.ends_with('.'))
        spec_.exact = true;
      else if (!space.ends_with('-'))  // a slot that adds none
        break;
    }
    const std::size_t slash = space.find('/');
    if (const std::string_view named = space.substr(0, slash); named != kAbsent) spec_.space = named;
    spec_.variables = slash == space.npos ? spec_.space : std::string(space.substr(slash + 1));
    if (spec_.variables == "generic" || spec_.variables == kAbsent) spec_.variables.clear();
  }

  /// "gv|gv+4", "sv in shared", "sv in narrow".
  void parse_symbol(std::string_view names) {
    const std::size_t in = names.find(" in ");
    if (in == names.npos) return;
    spec_.text = names.substr(0, in);
    if (const std::string_view space = names.substr(in + 4); space != kAbsent) spec_.space = space;
  }

  void parse_immediate(std::string_view values) {
    spec_.registers_allowed = false;
    spec_.literal_allowed = true;
    if (!values.empty()) parse_values(values);
  }

  /// The values of a literal: a range, or one of "32|64|128".
  void parse_values(std::string_view values) {
    if (values.find("..") != values.npos && values.find('|') == values.npos) return parse_range(values);
    for (std::string_view word : split(values, '|')) spec_.choices.push_back(number(word));
  }

  /// "0..3", "0../16", "4..8/4", "0..-1/32".
  void parse_range(std::string_view range) {
    const std::size_t dots = range.find("..");
    const std::size_t slash = std::min(range.find('/'), range.size());
    const std::string_view last = range.substr(dots + 2, slash - dots - 2);
    spec_.range = {number(range.substr(0, dots)), last.empty() ? kUnlimited : number(last)};
    if (slash < range.size()) spec_.step = number(range.substr(slash + 1));
  }

  std::int64_t number(std::string_view digits) const {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) bad(quote(digits) + " is not a number");
    return value;
  }

  /// Those that some assemblers take around a scalar of the type.
  void add_braces(const TypeData& type) {
    const std::optional<Version> assembler = vocabulary_.assembler();
    if (type.braces == 0 || spec_.braces > 0 || (assembler && !type.braces_of.contains(*assembler))) return;
    spec_.braces = type.braces;
    if (!assembler) spec_.braces_until = last_version_of(type.braces_of);
  }

  /// Whether ptxas takes registers of `.f16x2` for this type. `marked`: as if the opcode named it; `any`:
  /// also where it is another floating-point type.
  bool takes_pairs(const Type& type, bool marked, bool any) const {
    if (type.kind == TypeKind::bits) return marked || !spec_.exact;
    if (type.is_float()) return any || (marked && type.lanes > 1);
    return marked || by_opcode_;
  }

  /// Whether ptxas takes `v+4` for this type: if the opcode names it, or if it has 32 bits, and not beside
  /// registers with selectors.
  bool takes_variable(const Type& type, bool named) const {
    const bool integer = type.kind == TypeKind::bits || (type.is_integer() && type.lanes == 1);
    return integer && spec_.count == 0 && spec_.text.empty() && spec_.literal_allowed &&
           (named || type.bits == 32);
  }

  /// Removes the number behind `,` or `:`, the first chip that takes what the flag refuses on others.
  int take_chip(std::string_view& text) const {
    const std::size_t digits = text.find_last_not_of("0123456789") + 1;
    if (digits == 0 || digits == text.size() || (text[digits - 1] != ',' && text[digits - 1] != ':'))
      return OperandSpec::kNoChip;
    const std::string_view chip = text.substr(digits);
    text = text.substr(0, digits);
    return static_cast<int>(number(chip));
  }

  /// Removes the flags at the end; `,:90` is `,90:90`.
  void take_flags(std::string_view& text) {
    int chip = take_chip(text);
    for (; !text.empty() && !text.ends_with(".."); text.remove_suffix(1)) {  // "..": an open range
      if (const int other = take_chip(text); other != OperandSpec::kNoChip) chip = other;
      const auto* const flag = std::ranges::find(kFlags, text.back(), &Flag::mark);
      if (flag != std::end(kFlags))
        spec_.*flag->field = true;
      else if (text.back() == '#')
        ++spec_.index;
      else if (text.back() == ',')
        spec_.variable_since = chip;
      else if (text.back() == ':')
        spec_.element_since = chip;
      else if (text.back() != '-')  // a slot that adds none
        break;
    }
  }

  /// Removes "=range".
  std::string_view take_range(std::string_view& text) {
    const std::size_t equals = text.find('=');
    if (equals == text.npos) return {};
    const std::string_view range = text.substr(equals + 1);
    text = text.substr(0, equals);
    return range;
  }

  /// Removes "[count]"; "[-1]" is one register in braces.
  void take_count(std::string_view& text) {
    if (!text.ends_with(']')) return;
    const std::size_t open = std::min(text.find('['), text.size());
    const std::string_view count = text.substr(open + 1, text.size() - open - 2);
    const int registers = count == kAbsent ? -1 : static_cast<int>(number(count));
    (registers < 0 ? spec_.braces : spec_.count) = std::abs(registers);
    text = text.substr(0, open);
  }

  struct MarkedType {
    const TypeData& data;
    bool marked;  ///< as if the opcode named it
  };
  /// "type['|''|!]".
  MarkedType set_type(std::string_view text) {
    const bool pairs = text.ends_with('\''), any_pairs = text.ends_with("''"), no_pairs = text.ends_with('!');
    if (any_pairs) text.remove_suffix(1);
    if (pairs || no_pairs || text.ends_with('-')) text.remove_suffix(1);  // `-`: a slot that marks none
    const TypeData* const type = vocabulary_.type(text);
    if (type == nullptr) bad("unknown type " + quote(text));
    spec_.type = type->type;
    spec_.pairs = !no_pairs && takes_pairs(type->type, pairs, any_pairs);
    add_braces(*type);
    return {*type, pairs};
  }

  /// "[!]type['|''|!][count][=range][+][_]", " .selectors"
  void parse_value(std::string_view text, OperandSpec::Direction direction, bool literals) {
    spec_.direction = direction;
    if (text == "_") {
      spec_.registers_allowed = false;
      spec_.sink_allowed = true;
      return;
    }
    if (const std::size_t dot = text.find(" ."); dot != text.npos) {
      spec_.text = text.substr(dot + 2);
      text = text.substr(0, dot);
    }
    const bool negatable = text.starts_with('!') || text.starts_with('-');
    if (negatable) text.remove_prefix(1);
    take_flags(text);
    const std::string_view range = take_range(text);
    take_count(text);
    const auto [type, marked] = set_type(text);
    spec_.literal_allowed = literals && (type.literals || !range.empty());
    spec_.variable_allowed =
        spec_.variable_since != OperandSpec::kNoChip && takes_variable(type.type, by_opcode_ || marked);
    // The manual shows `!` only for some predicates; ptxas accepts it on all that are read.
    spec_.negation_allowed = negatable || (literals && spec_.type == pred);
    if (spec_.count > 0 && direction == OperandSpec::Direction::out && !spec_.needed)
      spec_.sink_allowed = true;
    if (!range.empty()) parse_values(range);
  }

  OperandSpec spec_;
  std::string_view text_;
  const Vocabulary& vocabulary_;
  Place place_;
  bool by_opcode_;
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

/// The text with each operand's name replaced by one character, 1 + its index.
std::string encode(std::string_view text, std::span<const std::string_view> names) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      out += text[at++];
      continue;
    }
    std::size_t end = at;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(at, end - at);
    const auto found = std::find(names.begin(), names.end(), word);
    if (found == names.end()) {
      out += word;
    } else {
      out += static_cast<char>(1 + (found - names.begin()));
    }
    at = end;
  }
  return out;
}

std::size_t skip_blanks_back(const std::string& text, std::size_t at) {
  while (at > 0 && text[at - 1] == ' ') --at;
  return at;
}

std::size_t skip_blanks(const std::string& text, std::size_t at) {
  while (at < text.size() && text[at] == ' ') ++at;
  return at;
}

/// Removes the character at `at` together with its separator.
void remove_operand(std::string& text, std::size_t at) {
  const auto separator = [](char c) { return c == ',' || c == '|'; };
  std::size_t begin = skip_blanks_back(text, at), end = skip_blanks(text, at + 1);
  if (begin > 0 && separator(text[begin - 1])) {
    begin = skip_blanks_back(text, begin - 1);
    text.erase(begin, at + 1 - begin);
  } else if (end < text.size() && separator(text[end])) {
    text.erase(at, skip_blanks(text, end + 1) - at);
  } else if (begin > 0 && end < text.size() &&
             std::string_view("[({").find(text[begin - 1]) != std::string_view::npos) {
    text.replace(begin - 1, end - begin + 2, 1, '\0');  // removes empty brackets in the same way
    remove_operand(text, begin - 1);
  } else {
    text.erase(at, 1);
  }
}

}  // namespace

std::string OperandTemplate::fill(Values values) const {
  if (present_if >= 0 && values[static_cast<std::size_t>(present_if)] == kAbsent) return {};
  return text.render(values, literal ? Template::Absent::nothing : Template::Absent::dash);
}

void OperandTemplate::find_type(std::span<const int> slots_of_opcode) {
  for (const Template::Piece& piece : text.pieces()) {
    if (piece.literal.find_first_of("[=") != piece.literal.npos) return;
    for (const Template::Factor& factor : piece.factors)
      by_opcode = by_opcode || std::ranges::find(slots_of_opcode, factor.slot) != slots_of_opcode.end();
  }
}

std::optional<OperandSpec> parse_operand(const OperandTemplate& operand, std::string_view text,
                                         const Vocabulary& vocabulary, Place place) {
  return OperandParser(operand, text, vocabulary, place).parse();
}

OperandList lay_out(std::string_view text, std::span<const std::string_view> names,
                    std::vector<std::optional<OperandSpec>> operands, Place place) {
  std::string encoded = encode(text, names);
  std::string absent;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const std::size_t at = encoded.find(static_cast<char>(i + 1));
    if (at == encoded.npos)
      fail("spec-operand", place, "the text does not show the operand " + quote(names[i]));
    if (!operands[i]) remove_operand(encoded, at);
  }
  OperandList list;
  OperandPiece piece;
  int depth = 0;
  bool in_vector = false;  // follows an operand in the text's braces
  for (std::size_t at = skip_blanks(encoded, 0); at < encoded.size(); ++at) {
    const char c = encoded[at];
    const auto index = static_cast<std::size_t>(static_cast<unsigned char>(c)) - 1;
    if (index >= operands.size()) {
      depth += c == '[' ? 1 : c == ']' ? -1 : 0;
      in_vector = in_vector && c != '}';
      piece.text += c;
      continue;
    }
    OperandSpec& spec = list.specs.emplace_back(std::move(*operands[index]));
    spec.continues = in_vector;
    in_vector = in_vector || (at > 0 && encoded[at - 1] == '{');
    const bool paired =
        (at > 0 && encoded[at - 1] == '|') || (at + 1 < encoded.size() && encoded[at + 1] == '|');
    if (paired && spec.direction == OperandSpec::Direction::out && !spec.needed) spec.sink_allowed = true;
    const bool brackets = spec.kind == OperandSpec::Kind::address && depth == 0;
    if (brackets) piece.text += '[';
    piece.operand = static_cast<int>(list.specs.size()) - 1;
    list.pieces.push_back(std::move(piece));
    piece = {};
    if (brackets) piece.text = "]";
  }
  while (piece.text.ends_with(' ')) piece.text.pop_back();
  if (!piece.text.empty()) list.pieces.push_back(std::move(piece));
  return list;
}

}  // namespace ptxloom::spec
