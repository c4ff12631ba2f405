// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/control_code.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ptxloom::sass {
namespace {

constexpr unsigned kNone = 7;

std::optional<unsigned> scoreboard(std::uint64_t number) {
  if (number == kNone) return std::nullopt;
  return static_cast<unsigned>(number);
}

/// A character for each bit, from the lowest on; '-' where it is not set.
template <typename Letter>
std::string letters(unsigned bits, unsigned count, const Letter& letter) {
  std::string text(count, '-');
  for (unsigned i = 0; i < count; ++i)
    if ((bits >> i & 1U) != 0) text[i] = letter(i);
  return text;
}

char digit_or_dash(std::optional<unsigned> number) { return number ? static_cast<char>('0' + *number) : '-'; }

}  // namespace

std::vector<Word> words_of(std::span<const std::byte> code) {
  std::vector<Word> words(code.size() / kInstructionBytes);
  std::ranges::copy(code.first(words.size() * sizeof(Word)),
                    std::as_writable_bytes(std::span(words)).begin());
  return words;
}

ControlCode control_code_of(const Word& word) {
  return {.reuse = static_cast<unsigned>(word.bits(122, 4)),
          .wait = static_cast<unsigned>(word.bits(116, 6)),
          .read = scoreboard(word.bits(113, 3)),
          .write = scoreboard(word.bits(110, 3)),
          .yield = word.bits(109, 1) == 0,
          .stall = static_cast<unsigned>(word.bits(105, 4))};
}

std::string to_string(const ControlCode& code) {
  return fmt::format("[{}:B{}:R{}:W{}:{}:S{:02}]", letters(code.reuse, 4, [](unsigned) { return 'R'; }),
                     letters(code.wait, kScoreboards, [](unsigned i) { return static_cast<char>('0' + i); }),
                     digit_or_dash(code.read), digit_or_dash(code.write), code.yield ? 'Y' : '-', code.stall);
}

}  // namespace ptxloom::sass
