// SPDX-License-Identifier: Apache-2.0
#include "sass/instruction/control_code.hpp"

#include <catch2/catch_test_macros.hpp>

#include "assembled.hpp"
#include "sass/listing/listing.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

/// A word whose bits from 105 on are these.
Word with_code(std::uint64_t code) { return {.low = 0, .high = code << 41U}; }

}  // namespace

TEST_CASE("each field of a control code is in its place") {
  CHECK(to_string(control_code_of(with_code(0))) == "[----:B------:R0:W0:Y:S00]");
  // Nothing is set or waited for, by the numbers that say so.
  constexpr std::uint64_t kNothing = (7U << 5U) | (7U << 8U) | (1U << 4U);
  CHECK(to_string(control_code_of(with_code(kNothing))) == "[----:B------:R-:W-:-:S00]");
  CHECK(to_string(control_code_of(with_code(kNothing | 13U))) == "[----:B------:R-:W-:-:S13]");
  CHECK(to_string(control_code_of(with_code(kNothing & ~0x10ULL))) == "[----:B------:R-:W-:Y:S00]");
  CHECK(to_string(control_code_of(with_code(kNothing ^ (5U << 5U)))) == "[----:B------:R-:W2:-:S00]");
  CHECK(to_string(control_code_of(with_code(kNothing ^ (3U << 8U)))) == "[----:B------:R4:W-:-:S00]");
  CHECK(to_string(control_code_of(with_code(kNothing | (0x21U << 11U)))) == "[----:B0----5:R-:W-:-:S00]");
  CHECK(to_string(control_code_of(with_code(kNothing | (0x5U << 17U)))) == "[R-R-:B------:R-:W-:-:S00]");
}

TEST_CASE("bits of an instruction may cross its halves") {
  const Word word{.low = 0xF000000000000000, .high = 0x5};
  CHECK(word.bits(60, 8) == 0x5F);
  CHECK(word.bits(0, 64) == word.low);
  CHECK(word.bits(64, 64) == word.high);
}

// A load's result comes at a time that nobody knows, so who uses it waits for a scoreboard that the load has
// set.
TEST_CASE("an instruction waits only for scoreboards that one in its kernel sets, for every target",
          "[oracle]") {
  for (const TargetInfo& target : test::targets_or_skip()) {
    CAPTURE(target.name);
    const test::Assembled built = test::assemble(test::kKernels, target.name, "");
    const CubinView view(built.bytes(), "k.cubin");
    const Listing listing = list({.cubin = view, .name = "k.cubin"});
    int waits = 0, loads = 0;
    for (const ListedFunction& function : listing.functions) {
      unsigned set = 0;
      for (const ListedInstruction& one : function.instructions) {
        for (const auto& scoreboard : {one.control.read, one.control.write})
          if (scoreboard) set |= 1U << *scoreboard;
      }
      for (const ListedInstruction& one : function.instructions) {
        CAPTURE(one.text, to_string(one.control));
        CHECK((one.control.wait & ~set) == 0);
        CHECK(one.control.read.value_or(0) < kScoreboards);
        CHECK(one.control.write.value_or(0) < kScoreboards);
        waits += one.control.wait != 0 ? 1 : 0;
        if (one.decoded.opcode != "LDG") continue;
        CHECK(one.control.write.has_value());
        ++loads;
      }
    }
    CHECK(waits > 3);
    CHECK(loads > 60);
  }
}
