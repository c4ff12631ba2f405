// SPDX-License-Identifier: Apache-2.0
// Warnings that come of following values: `.aligned` under a predicate that differs along a warp, and
// addresses that are less aligned than the access.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/check.hpp"

namespace {

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;

const std::string kAligned = "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r8}, [sv];";

std::vector<Diagnostic> found_in(const std::string& statements) {
  static const auto specs = std::make_shared<const Specs>();
  const std::vector<Diagnostic> found = check(
      {.ptx = statements,
       .declarations = ".reg .b32 r<9>; .reg .b64 d<9>; .reg .pred p<9>; .shared .align 16 .b32 sv[64]; "
                       ".local .align 16 .b32 lv[64]; .shared .b32 plain[64];",
       .target = "sm_90a"},
      specs);
  for (const Diagnostic& diagnostic : found) {
    UNSCOPED_INFO(statements << ": " << to_string(diagnostic));
    CHECK(diagnostic.severity == Severity::warning);
  }
  return found;
}

/// Statements that make p1 of %tid.x in r1, then an `.aligned` instruction under it.
bool warns(const std::string& predicate) {
  const auto found = found_in("mov.u32 r1, %tid.x;\n" + predicate + "\n@p1 " + kAligned);
  CHECK(found.size() <= 1);
  CHECK((found.empty() || found[0].code == "divergent-aligned"));
  return !found.empty();
}

}  // namespace

TEST_CASE("a predicate that may differ along the warp is warned of") {
  CHECK(warns("setp.lt.u32 p1, r1, 7;"));
  CHECK(warns("and.b32 r2, r1, 1; setp.eq.u32 p1, r2, 0;"));
  CHECK(warns("ld.local.b32 r2, [lv]; setp.eq.u32 p1, r2, 0;"));
  CHECK(warns("atom.shared.add.u32 r2, [sv], 1; setp.eq.u32 p1, r2, 0;"));
  CHECK(warns("mov.u32 r2, %tid.y; setp.eq.u32 p1, r2, 0;"));
  CHECK(warns("setp.lt.u32 p2, r1, 9; mov.b32 r2, 0; @p2 mov.b32 r2, 1; setp.eq.u32 p1, r2, 0;"));
  CHECK(warns("mov.u32 r2, %laneid; setp.ne.s32 p1, r2, 0;"));
}

TEST_CASE("a predicate that is uniform across the warp gives no warning") {
  CHECK_FALSE(warns("shr.u32 r2, r1, 5; setp.eq.u32 p1, r2, 0;"));
  CHECK_FALSE(warns("setp.lt.u32 p1, r1, 32;"));
  CHECK_FALSE(warns("setp.gt.u32 p1, r1, 31;"));
  CHECK_FALSE(warns("and.b32 r2, r1, -32; setp.eq.s32 p1, r2, 64;"));
  CHECK_FALSE(warns("setp.lt.u32 p2, r1, 7; vote.sync.any.pred p1, p2, -1;"));
  CHECK_FALSE(warns("shfl.sync.idx.b32 r2, r1, 0, 31, -1; setp.eq.u32 p1, r2, 3;"));
  CHECK_FALSE(warns("mov.u32 r2, %ctaid.x; setp.eq.u32 p1, r2, 0;"));
  CHECK_FALSE(warns("ld.shared.b32 r2, [sv]; setp.eq.u32 p1, r2, 0;"));
}

TEST_CASE("code that a divergent branch skips runs under its predicate") {
  const std::string begin = "mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 7;\n";
  CHECK(found_in(begin + "@p1 bra L;\n" + kAligned + "\nL: ret;").size() == 1);
  CHECK(found_in(begin + "@p1 bra L;\nret;\nL: " + kAligned + "\nret;").empty());
  CHECK(
      found_in("mov.u32 r1, %tid.x; setp.lt.u32 p1, r1, 64;\n@p1 bra L;\n" + kAligned + "\nL: ret;").empty());
}

TEST_CASE("values carried around a loop are followed") {
  const std::string begin =
      "mov.u32 r1, %tid.x; mov.u32 r2, 0; mov.u32 r3, 0;\nL: setp.eq.u32 p1, r3, 5;\n@p1 ";
  CHECK(found_in(begin + kAligned + "\nmov.u32 r3, r2; mov.u32 r2, r1; bra L;").size() == 1);
  CHECK(found_in(begin + kAligned + "\nmov.u32 r3, r2; add.u32 r2, r2, 1; bra L;").empty());
  CHECK(found_in("mov.u32 r1, %tid.x; setp.eq.u32 p1, r2, 0;\nL: @p1 " + kAligned +
                 "\nsetp.eq.u32 p1, r1, 0; bra L;")
            .size() == 1);
}

TEST_CASE("an address that is less aligned than the access is warned of") {
  const auto code = [](const std::string& statement) {
    const auto found = found_in(statement);
    return found.empty() ? std::string() : found[0].code;
  };
  CHECK(code("ld.shared.v4.b32 {r1, r2, r3, r4}, [sv+16];").empty());
  CHECK(code("ld.shared.v4.b32 {r1, r2, r3, r4}, [sv+8];") == "misaligned-address");
  CHECK(code("ld.shared.v2.b32 {r1, r2}, [plain];") == "misaligned-address");
  CHECK(code("st.shared.b64 [sv+4], d1;") == "misaligned-address");
  CHECK(code("st.shared.b32 [sv+4], r1;").empty());
  CHECK(code("ld.shared.u8 r1, [sv+3];").empty());
}
