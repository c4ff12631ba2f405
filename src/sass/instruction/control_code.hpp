// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// The control code: what the compiler tells the scheduler of an instruction. From sm_70 on an instruction has
// 128 bits, and its control code bits 105 to 125 of them:
//   105..108  stall count: cycles before the warp issues its next instruction
//   109       0: the scheduler should switch to another warp
//   110..112  scoreboard that is set until the result is written; 7: none
//   113..115  scoreboard that is set until the operands are read; 7: none
//   116..121  scoreboards to wait for, one bit each
//   122..125  operand slots whose register is kept for the next instruction
// docs/sass.md says how this was verified.
namespace ptxloom::sass {

inline constexpr int kInstructionBytes = 16;
inline constexpr int kScoreboards = 6;

/// One instruction.
struct Word {
  std::uint64_t low = 0, high = 0;

  /// `count` bits from bit `at` on, at most 64.
  constexpr std::uint64_t bits(unsigned at, unsigned count) const {
    std::uint64_t value = at >= 64 ? high >> (at - 64) : low >> at;
    if (at > 0 && at < 64) value |= high << (64 - at);
    return count >= 64 ? value : value & ((std::uint64_t{1} << count) - 1);
  }
  friend constexpr bool operator==(const Word&, const Word&) = default;
};

/// The instructions of a section of code; bytes after the last whole one are left out.
std::vector<Word> words_of(std::span<const std::byte> code);

struct ControlCode {
  unsigned reuse = 0;  ///< a bit for each operand slot, the first is bit 0
  unsigned wait = 0;   ///< a bit for each scoreboard
  std::optional<unsigned> read,
      write;  ///< scoreboards that it sets; the bits can also hold 6, which no chip has
  bool yield = false;
  unsigned stall = 0;

  /// "Y:S00": the warp goes on when all results of this instruction and of those before are there, whether
  /// scoreboards tell of them or not. ptxas relies on it in unoptimised code since 13.3.
  bool waits_for_all() const { return yield && stall == 0; }
};

ControlCode control_code_of(const Word& word);
/// "[R-R-:B0----5:R1:W2:Y:S04]": reuse, scoreboards waited for, set for reading and for writing, yield, stall
/// count.
std::string to_string(const ControlCode& code);

}  // namespace ptxloom::sass
