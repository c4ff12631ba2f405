// SPDX-License-Identifier: Apache-2.0
// What bulk copies bring, as the issue model reads it from code written by hand.
#include "sass/issue/bulk_copies.hpp"

#include <fmt/format.h>

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_floating_point.hpp>
#include <random>

#include "modelled.hpp"

namespace ptxloom::sass::bulk_copies_test {

using Catch::Matchers::WithinAbs;
using Catch::Matchers::WithinRel;
using test::bound_of;

namespace {

/// An instruction that gives a register a constant, as ptxas 13.0 writes it for sm_90.
struct Constant {
  const char* text;
  Word word;  ///< with the constant 0
  const char* rest = "";
};

const Constant kConstants[] = {
    {"MOV R2, 0x0", {0x0000000000027802, 0x000fe20000000f00}},
    {"IMAD.MOV.U32 R2, RZ, RZ, 0x0", {0x00000000ff027424, 0x000fe200078e00ff}},
    {"HFMA2.MMA R2, -RZ, RZ, 0, 0", {0x00000000ff027435, 0x000fe200000001ff}},
    {"UMOV UR7, 0x0", {0x0000000000077882, 0x000fe20000000000}, "MOV R2, UR7"},
};
constexpr Word kMoveOfUniform = {0x0000000700027c02, 0x000fe20008000f00};

std::string line(const std::string& text) { return "[----:B------:R-:W-:-:S02] " + text + "\n"; }

/// A producer warp that fills a stage of `bytes`, and consumers that execute `body`.
IssueModel model_of(const Constant& constant, std::uint64_t bytes, const std::string& body,
                    const ModelOptions& options) {
  const std::string rest = constant.rest;
  Listing listing = test::code_listing(
      line(constant.text) + (rest.empty() ? "" : line(rest)) + line("@P2 BRA `(.L_2)") + ".L_1:\n" +
      line("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5+0x30], R0") + line("SYNCS.ARRIVE.TRANS64 RZ, [UR5], R2") +
      line("UTMALDG.2D [UR8], [UR12]") + line("UTMALDG.2D [UR8], [UR12]") + line("@P0 BRA `(.L_1)") +
      line("EXIT") + ".L_2:\n" + body + line("@P0 BRA `(.L_2)") + line("EXIT"));
  std::vector<ListedInstruction>& code = listing.functions.front().instructions;
  code[0].word = constant.word;
  code[0].word.low |= bytes << 32U;
  if (!rest.empty()) code[1].word = kMoveOfUniform;
  return issue_model(listing, 90, options);
}

const std::string kWait = line("SYNCS.PHASECHK.TRANS64.TRYWAIT P1, [UR28], R0");
const std::string kRelease = line("@!P3 SYNCS.ARRIVE.TRANS64.A1T0 RZ, [UR12], RZ");
const std::string kProduct = line("HGMMA.64x128x16.F32 R24, gdesc[UR20], R24, gsb0");
const std::string kDone = line("WARPGROUP.DEPBAR.LE gsb0, 0x1");
constexpr ModelOptions kTwoWarpgroups = {.warps = 9, .block_warps = 9};

std::uint64_t some_bytes() {
  static std::mt19937_64 draw(Catch::getSeed());
  return 16 * (64 + draw() % 3000);
}

}  // namespace

TEST_CASE("a loop of consumers reads what producers announce, however the constant is written") {
  for (const Constant& constant : kConstants) {
    const std::uint64_t bytes = some_bytes();
    CAPTURE(constant.text, bytes);
    const IssueModel model =
        model_of(constant, bytes, kWait + kProduct + kProduct + kDone + kRelease, kTwoWarpgroups);
    REQUIRE(model.functions.front().loops.size() == 2);
    const LoopModel& producer = model.functions.front().loops[0];
    const LoopModel& consumer = model.functions.front().loops[1];
    CHECK(producer.copied_bytes == static_cast<double>(bytes));
    CHECK(consumer.copied_bytes == static_cast<double>(bytes));
    CHECK(consumer.unknown_copies == 0);
    CHECK(consumer.warps == 8);
    // 64 bytes a cycle from L2, 128 into shared memory. A wgmma of 128 columns reads 2048 bytes of A and 4096
    // of B.
    const auto all = static_cast<double>(bytes);
    CHECK_THAT(bound_of(consumer, "l2"), WithinRel(all / 64, 1e-9));
    CHECK_THAT(bound_of(consumer, "shared"), WithinRel(all / 128 + 2.0 * 2 * (2048 + 4096) / 128, 1e-9));
    CHECK(consumer.shared_bytes == 2.0 * (2048 + 4096) / 4);
    CHECK(bound_of(consumer, "tensor") == 4 * 64);
    for (const Bound& one : consumer.bounds) CHECK(consumer.cycles >= one.cycles * 0.999);
    CHECK(consumer.cycles <= 1.1 * consumer.bounds.front().cycles + 30);
    CHECK(model_text(model).find(fmt::format("bulk copies: {} bytes of a thread block", bytes)) !=
          std::string::npos);
  }
}

TEST_CASE("a stage is one wait of a producer, and one release of consumers") {
  const std::uint64_t bytes = some_bytes();
  const auto copied = [&](const std::string& body) {
    return model_of(kConstants[0], bytes, body, kTwoWarpgroups).functions.front().loops[1].copied_bytes;
  };
  const auto one = static_cast<double>(bytes);
  const std::string product = kProduct + kDone;
  CHECK(copied(kWait + product + kRelease + kWait + product + kRelease) == 2 * one);
  CHECK(copied(kWait + kWait + product + kRelease) == one);  // it asks before it has to
  CHECK(copied(kWait + product) == one);                     // something else gives the stage back
  CHECK(copied(product + kRelease) == 0);
  CHECK(copied(product) == 0);
}

TEST_CASE("a size that is computed is not known, and said so") {
  const Constant sum = {"IADD3 R2, R4, R5, RZ", {}};
  const IssueModel model = model_of(sum, 0, kWait + kProduct + kDone + kRelease, kTwoWarpgroups);
  const LoopModel& consumer = model.functions.front().loops[1];
  CHECK((consumer.copied_bytes == 0 && consumer.unknown_copies == 1));
  CHECK(model.functions.front().loops[0].unknown_copies == 1);
  CHECK_THAT(consumer.cycles, WithinRel(128, 0.05));
  CHECK(model_text(model).find("bulk copies of a size that the code does not tell") != std::string::npos);
}

TEST_CASE("wgmma with A in registers reads less shared memory, and TMA may write the more") {
  const auto loop_of = [&](const std::string& product, std::uint64_t bytes) {
    return model_of(kConstants[0], bytes, kWait + line(product) + kDone + kRelease,
                    {.warps = 8, .block_warps = 8})
        .functions.front()
        .loops[1];
  };
  const std::uint64_t bytes = 2048;
  const LoopModel shared = loop_of("HGMMA.64x64x16.F32 R24, gdesc[UR20], R24, gsb0", bytes);
  const LoopModel registers = loop_of("HGMMA.64x64x16.F32 R24, R84, gdesc[UR20], R24, gsb0", bytes);
  CHECK(bound_of(shared, "tensor") == bound_of(registers, "tensor"));
  CHECK_THAT(bound_of(shared, "shared") - bound_of(registers, "shared"), WithinAbs(2 * 16, 1e-9));
  // Tensor cores and the reads of shared memory both take 64 cycles, so what TMA writes comes on top.
  CHECK(shared.bound == "shared");
  CHECK(registers.bound == "tensor");
  CHECK_THAT(shared.cycles, WithinAbs(64 + 2048 / 128, 3));
  CHECK_THAT(registers.cycles, WithinAbs(64, 3));
}

}  // namespace ptxloom::sass::bulk_copies_test
