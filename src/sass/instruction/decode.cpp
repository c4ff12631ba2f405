// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/decode.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "generated/encodings.hpp"
#include "sass/instruction/table_text.hpp"

namespace ptxloom::sass {
namespace {

/// The text before the separator, which is removed with it from the front.
std::string_view take(std::string_view& text, std::string_view separator) {
  const std::size_t at = text.find(separator);
  const std::string_view taken = text.substr(0, at);
  text.remove_prefix(at == text.npos ? text.size() : at + separator.size());
  return taken;
}

unsigned number(std::string_view text, int base = 10) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value, base);
  return value;
}

void set_bit(Word& word, unsigned at, bool value) {
  (at < 64 ? word.low : word.high) |= std::uint64_t{value} << (at % 64);
}

}  // namespace

std::string to_string(const Register& value) { return fmt::format("{}{}", value.kind, value.number); }

Decoder::Parsed Decoder::parse(std::string_view line, int chip, bool& serves) {
  Parsed parsed;
  Row& row = parsed.row;
  parsed.opcode = number(take(line, " "), 16);
  serves = has_chip(take(line, " "), chip);
  for (std::string_view bits = take(line, " "); !bits.empty() && bits != "-";) {
    std::string_view bit = take(bits, ",");
    const unsigned at = number(take(bit, "="));
    set_bit(row.mask, at, true);
    set_bit(row.value, at, bit == "1");
  }
  row.name = take(line, " ");
  row.guard = take(line, " ");
  row.reuse = take(line, " ") == "reuse";
  while (!line.empty()) {
    std::string_view place = take(line, " ");
    const std::size_t digits = std::min(place.find_first_of("0123456789"), place.size());
    const std::string_view kind = place.substr(0, digits);
    place.remove_prefix(digits);
    const unsigned at = number(take(place, ":"));
    row.places.push_back({.kind = kind,
                          .has_zero = kind != "B" && kind != "SB",
                          .at = static_cast<std::uint8_t>(at),
                          .count = static_cast<std::uint8_t>(number(place))});
  }
  return parsed;
}

Decoder::Decoder(int chip) : rows_(std::size_t{1} << kOpcodeBits) {
  std::string_view text = kEncodings;
  take(text, "\"encodings\": [");
  take(text, "\"");  // the first row names the columns
  take(text, "\"");
  while (text.find('"') != text.npos) {
    take(text, "\"");
    bool serves = false;
    Parsed parsed = parse(take(text, "\""), chip, serves);
    if (serves && parsed.opcode < rows_.size()) rows_[parsed.opcode].push_back(std::move(parsed.row));
  }
}

Decoded Decoder::decode(const Word& word) const {
  Decoded decoded;
  decoded.guard.number = static_cast<unsigned>(word.bits(12, 3));
  decoded.negated = word.bits(15, 1) != 0;
  for (const Row& row : rows_[word.bits(0, kOpcodeBits)]) {
    if ((word.low & row.mask.low) != row.value.low || (word.high & row.mask.high) != row.value.high) continue;
    decoded.opcode = row.name;
    decoded.guard.kind = row.guard;
    decoded.reuse = row.reuse;
    for (const Place& place : row.places) {
      const auto value = static_cast<unsigned>(word.bits(place.at, place.count));
      if (!place.has_zero || value != (1U << place.count) - 1)
        decoded.registers.push_back({place.kind, value});
    }
    break;
  }
  return decoded;
}

std::string to_string(const Decoded& decoded) {
  std::string text;
  if (decoded.negated || decoded.guard.number != 7)
    text = fmt::format(
        "@{}{} ", decoded.negated ? "!" : "",
        decoded.guard.number == 7 ? fmt::format("{}T", decoded.guard.kind) : to_string(decoded.guard));
  text += decoded.opcode.empty() ? "?" : decoded.opcode;
  for (std::size_t i = 0; i < decoded.registers.size(); ++i)
    text.append(i == 0 ? " " : ", ").append(to_string(decoded.registers[i]));
  return text;
}

}  // namespace ptxloom::sass
