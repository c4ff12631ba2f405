// SPDX-License-Identifier: Apache-2.0
// What specs/sass says of instructions against nvdisasm, for every target.
#include "sass/instruction/decode.hpp"

#include <catch2/catch_test_macros.hpp>
#include <random>

#include "assembled.hpp"
#include "nvdisasm_text.hpp"
#include "sass/listing/listing.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

TEST_CASE("opcode, guard, registers and reuse are those of nvdisasm, for every target", "[oracle]") {
  try {
    find_nvdisasm();
  } catch (const Error& error) {
    test::skip_without("nvdisasm", error.what());
  }
  for (const TargetInfo& target : test::targets_or_skip()) {
    CAPTURE(target.name);
    const test::Assembled built = test::assemble(test::kKernels, target.name, "");
    const CubinView view(built.bytes(), "k.cubin");
    const Disassembly disassembly = disassemble(built.bytes());
    if (disassembly.problem) FAIL(disassembly.problem->message);
    const Listing listing = list({.cubin = view, .name = "k.cubin", .disassembly = &disassembly});
    int compared = 0, same = 0;
    std::string others;
    for (const ListedFunction& function : listing.functions) {
      for (const ListedInstruction& one : function.instructions) {
        const test::TextFacts theirs = test::facts_of(one.text),
                              ours = test::facts_of(one.decoded, one.control.reuse);
        ++compared;
        if (ours == theirs) {
          ++same;
        } else {
          others += one.text + "  <-  " + to_string(one.decoded) + "\n";
        }
      }
    }
    CAPTURE(others);
    // What the data is worth on more code is in docs/results/sass.md.
    CHECK(same >= compared * 0.995);
    CHECK(compared > 150);
  }
}

TEST_CASE("before sm_100 the number of a uniform register has 6 bits") {
  struct Case {
    Word word;
    const char *before, *since;  // as nvdisasm -b SM90 and SM100 have it
  };
  const Case cases[] = {
      {{0x0000'0006'0404'7297, 0x004f'c800'0fff'e03f}, "UIADD3 UR4, UR4, UR6", "UIADD3 UR4, UR4, UR6, UR63"},
      {{0x0000'0046'0444'7297, 0x004f'c800'0fff'e005},
       "UIADD3 UR4, UR4, UR6, UR5",
       "UIADD3 UR68, UR4, UR70, UR5"},
      {{0x0000'0010'0404'7897, 0x001f'cc00'0fff'e03f}, "UIADD3 UR4, UR4", "UIADD3 UR4, UR4, UR63"}};
  for (const Case& one : cases) {
    for (const int chip : {80, 90}) CHECK(to_string(Decoder(chip).decode(one.word)) == one.before);
    for (const int chip : {100, 120}) CHECK(to_string(Decoder(chip).decode(one.word)) == one.since);
  }
}

TEST_CASE("any bits are decoded without a fault, and unknown ones are said to be") {
  std::mt19937_64 random(std::random_device{}());
  const Decoder decoder(90);
  int unknown = 0;
  for (int i = 0; i < 100000; ++i) {
    const Decoded decoded = decoder.decode({.low = random(), .high = random()});
    CHECK(decoded.registers.size() < 16);
    if (!decoded.opcode.empty()) continue;
    ++unknown;
    CHECK(decoded.registers.empty());
  }
  CHECK(unknown > 0);
  CHECK(to_string(decoder.decode({.low = 0x7FFF, .high = 0})) == "?");
}
