// SPDX-License-Identifier: Apache-2.0
// Text without nvdisasm: what the issue model needs of some instructions, whose words and texts are those
// that nvdisasm 13.2 and 13.5 print.
#include "sass/listing/own_text.hpp"

#include <catch2/catch_test_macros.hpp>

#include "sass/instruction/operands.hpp"

namespace ptxloom::sass::own_text_test {

namespace {

struct Known {
  int chip;
  Word word;
  const char* text;
};

constexpr Known kKnown[] = {
    {90, {0x03600000141879f1, 0x000fe20008741018}, "IGMMA.64x128 R24, UR20, R24"},
    {90, {0x06600000141879f1, 0x000fe20008741018}, "IGMMA.64x256 R24, UR20, R24"},
    {90, {0x00000000141879f1, 0x000fe20008741018}, "IGMMA.64x8 R24, UR20, R24"},
    {90, {0x000000180830723f, 0x000fde0000002030}, "DMMA.16x8x8 R48, R8, R24, R48"},
    {90, {0x000000180830723f, 0x000fde0000003030}, "DMMA.16x8x16 R48, R8, R24, R48"},
    {120, {0x77607934685c747f, 0x020fde0000043e5c}, "OMMA.SF.16864 R92, R104, R52, R92, R121, R118"},
    {120, {0x77607934685c747f, 0x020fde0000053e5c}, "OMMA.SF.SP.168128 R92, R104, R52, R92, R121, R118"},
    {90, {0x00000002ffff79a7, 0x0003e2000800000d}, "SYNCS.ARRIVE.TRANS64 UR13, R2"},
    {90, {0x000000ffffff79a7, 0x000fe2000810000c}, "SYNCS.ARRIVE.TRANS64.A1T0 UR12"},
    {90, {0x00000803ffff79a7, 0x0001e40008300404}, "SYNCS.ARRIVE.TRANS64.A0TR UR4, R3"},
    {90, {0x00003000ff0075a7, 0x000e62000800014d}, "SYNCS.PHASECHK P0, UR13, R0"},
};

ListedFunction completed(const Known& known) {
  ListedFunction function;
  ListedInstruction& one = function.instructions.emplace_back();
  one.word = known.word;
  one.decoded = Decoder(known.chip).decode(known.word);
  one.text = to_string(one.decoded);
  OwnText(known.chip).complete(function);
  return function;
}

}  // namespace

TEST_CASE("shapes, kinds of arrivals and registers are read without nvdisasm") {
  for (const Known& known : kKnown) {
    CAPTURE(known.text);
    CHECK(completed(known).instructions.front().text == known.text);
  }
}

TEST_CASE("products with scales depend on their accumulators, also without nvdisasm") {
  const ListedFunction function = completed(kKnown[5]);
  const InstructionText text = split_text(function.instructions.front().text);
  const OperandTable& operands = OperandTable::compiled();
  const Uses uses = operands.uses_of(text, 120);
  const auto count = [&](RegisterId id, const std::vector<RegisterUse>& in) {
    int found = 0;
    for (const RegisterUse& one : in) found += one.id == id ? 1 : 0;
    return found;
  };
  for (RegisterId id = 92; id < 96; ++id) CHECK((count(id, uses.reads) == 1 && count(id, uses.writes) == 1));
  for (const int id : {104, 107, 52, 53, 121, 118})
    CHECK(count(static_cast<RegisterId>(id), uses.reads) == 1);
  CHECK(uses.reads.size() == 4 + 4 + 2 + 1 + 1);
}

TEST_CASE("what a move gives its register is known, of constants and registers") {
  const OwnText own(90);
  const auto constant = own.moved("IMAD", {0x00008000ff007424, 0x000fe200078e00ff});
  REQUIRE(constant);
  CHECK((constant->constant && constant->value == 0x8000));
  CHECK(own.moved("HFMA2", {0x00001000ff037435, 0x000fe200000001ff})->value == 0x1000);
  CHECK(own.moved("MOV", {0xffffffff00048802, 0x000fe20000000f00})->value == 0xffffffff);
  CHECK_FALSE(own.moved("MOV", {0x0000000e00007c02, 0x000fe20008000f00})->constant);
  CHECK_FALSE(own.moved("R2UR", {0x00000000021b72ca, 0x000fce00000e0000})->constant);
  CHECK_FALSE(own.moved("IMAD", {0x000000ffff0c2224, 0x001fe200078e0006}));  // IMAD.MOV of a register
  CHECK_FALSE(own.moved("HFMA2", {0x0000000a17177231, 0x000fe40000000016}));
  CHECK_FALSE(own.moved("FADD", {0, 0}));
}

}  // namespace ptxloom::sass::own_text_test
