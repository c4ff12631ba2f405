// SPDX-License-Identifier: Apache-2.0
// Stall counts that are longer than needed: a shorter one that the lint proposes must not break the code.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>
#include <utility>

#include "lint_code.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

using Found = std::vector<std::string>;

std::string line(int stall, std::string_view text) {
  return fmt::format("[----:B------:R-:W-:-:S{:02}] {}\n", stall, text);
}

/// "00 S15 to S03" for each stall count that the lint finds too long.
Found long_stalls_of(const std::string& code, int chip) {
  Found found;
  const Lint all = lint(test::code_listing(code), chip, true);
  for (const LintFinding& one : all.functions.front().findings)
    if (one.code == "long-stall")
      found.push_back(fmt::format("{:02x} S{:02} to S{:02}", one.offset, one.have, one.need));
  return found;
}

std::string movs(int count) {
  std::string code;
  for (int i = 0; i < count; ++i) code += line(15, "MOV R9, R8");
  return code;
}

/// Errors of a function, without their messages.
std::set<std::string> errors_of(const Listing& listing, int chip) {
  std::set<std::string> errors;
  const Lint all = lint(listing, chip, false);
  for (const LintFinding& one : all.functions.front().findings)
    errors.insert(fmt::format("{:x} {} {} {:x}", one.offset, one.code, one.reg, one.producer.value_or(0)));
  return errors;
}

/// Applies each note of a listing by itself, which must bring no error; how many there were.
int apply_each(Listing& listing, int chip) {
  const std::set<std::string> before = errors_of(listing, chip);
  int applied = 0;
  const Lint found = lint(listing, chip, true);
  for (const LintFinding& one : found.functions.front().findings) {
    if (one.code != "long-stall") continue;
    unsigned& stall = listing.functions.front().instructions[one.offset / kInstructionBytes].control.stall;
    const unsigned longer = std::exchange(stall, static_cast<unsigned>(one.need));
    CAPTURE(one.offset, one.need);
    for (const std::string& error : errors_of(listing, chip)) {
      CAPTURE(error);
      CHECK(before.contains(error));
    }
    stall = longer;
    ++applied;
  }
  return applied;
}

std::string random_code(std::mt19937& random) {
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::string code;
  constexpr int kLine = 8;
  const int lines = 1 + below(4);
  for (int i = 0; i < lines * kLine; ++i) {
    const int a = below(4), b = below(4);
    const std::string texts[] = {fmt::format("FADD R{}, R{}, R20", a, b),
                                 fmt::format("IADD3 R{}, R{}, R20, RZ", a, b),
                                 fmt::format("ISETP.GE.AND P{}, PT, R{}, R20, PT", a % 2, b),
                                 fmt::format("@P{} FMUL R{}, R{}, R20", a % 2, 10 + a, b),
                                 fmt::format("SEL R{}, R20, R21, P{}", a, b % 2),
                                 fmt::format("UIADD3 UR{}, UR{}, 0x1, URZ", 4 + a % 2, 4 + b % 2),
                                 fmt::format("IMAD R{}, R20, UR{}, R21", 10 + a, 4 + b % 2),
                                 fmt::format("@P{} BRA `(.L_{})", a % 2, below(lines))};
    if (i % kLine == 0) code += fmt::format(".L_{}:\n", i / kLine);
    code += line(below(3) == 0 ? 1 + below(15) : 14, texts[static_cast<std::size_t>(below(8))]);
  }
  return code + line(5, "EXIT");
}

}  // namespace

TEST_CASE("a stall count is needed as long as a reader far behind needs it") {
  // A guard needs a predicate 13 cycles later on sm_80, and 12 on sm_75.
  for (const int chip : {75, 80}) {
    const int need = chip == 75 ? 12 : 13;
    CAPTURE(chip);
    for (const int between : {1, 4, 8, 13}) {
      CAPTURE(between);
      const std::string code = line(15, "ISETP.GE.AND P0, PT, R1, R2, PT") + line(between, "MOV R20, R21") +
                               line(4, "@P0 FADD R5, R1, R3") + movs(3);
      const Found found = long_stalls_of(code, chip);
      const int least = std::max(1, need - between);
      const std::string first = fmt::format("00 S15 to S{:02}", least);
      CHECK((std::ranges::find(found, first) != found.end()) == (15 - least >= 8));
    }
  }
}

TEST_CASE("each stall count may be as short as the lint says") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  int applied = 0;
  for (int round = 0; round < 300; ++round) {
    const std::string code = random_code(random);
    CAPTURE(code);
    Listing listing = test::code_listing(code);
    applied += apply_each(listing, round % 2 == 0 ? 80 : 75);
  }
  CHECK(applied > 100);
}

TEST_CASE("two stall counts may each be shorter, but not both") {
  const std::string code =
      line(13, "FADD R1, R2, R3") + line(13, "MOV R21, R22") + line(4, "MOV R20, R1") + movs(3);
  const Lint found = lint(test::code_listing(code), 80, true);
  const std::string text = lint_text(found);
  CHECK(text.find("13 cycles, of which 1 would do for all that read results if no other count changes") !=
        std::string::npos);
}

TEST_CASE("stall counts before code that is not followed, or not known, are left alone") {
  const std::string before = movs(7), compare = line(13, "ISETP.GE.AND P0, PT, R1, R2, PT");
  const auto is_told = [](const std::string& code) {
    for (const std::string& one : long_stalls_of(code, 80))
      if (one.starts_with("70 ")) return true;
    return false;
  };
  CHECK(is_told(before + compare + movs(3)));
  CHECK(is_told(before + compare + line(5, "EXIT")));
  CHECK_FALSE(is_told(before + compare + line(5, "RET.REL.NODEC R20 `(code)")));
  CHECK_FALSE(is_told(before + compare + line(5, "CALL.REL.NOINC `(.L_1)") + ".L_1:\n" + movs(3)));
  CHECK_FALSE(is_told(before + compare + line(5, "BSYNC B0") + movs(3)));
  CHECK_FALSE(is_told(before + compare + line(5, "BRX R20 -0x10")));
  CHECK_FALSE(is_told(before + compare + line(5, "FUTURE R5, P0") + movs(3)));
  // What is not known may have written something, too, and is not known to be through with it.
  CHECK_FALSE(is_told(movs(6) + line(5, "FUTURE P0, R5") + compare + movs(3)));
  CHECK(is_told(movs(5) + line(5, "FUTURE P0, R5") + line(15, "MOV R9, R8") + compare +
                line(15, "MOV R9, R8") + movs(3)));
  // Code that something unknown leads to: results may be on their way to it.
  const std::string entered = movs(6) + line(5, "RET.REL.NODEC R20 `(code)") + ".L_1:\n";
  CHECK_FALSE(is_told(entered + compare + movs(3)));
  // The end of a line that is too short to let all results arrive before the call.
  CHECK_FALSE(
      is_told(before + compare + ".L_1:\n" + line(2, "MOV R21, R22") + line(5, "RET.REL.NODEC R20 `(code)")));
}
