// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <string_view>

#include "support/specs.hpp"

// The matrix instructions: that people's words choose the variant they mean, and that none of the manual's
// combinations is missing where they can be counted on paper.
namespace ptxloom {
namespace {

Variant chosen(std::string_view family, std::initializer_list<Choice> choices, std::string_view target) {
  return specs().select(family, choices, Target(target));
}

/// Documented variants of a form that `counts` accepts.
template <class Counts>
auto documented(std::string_view form, Counts counts) {
  const auto all = specs().variants(form);
  return std::count_if(all.begin(), all.end(),
                       [&](Variant v) { return !v.undocumented() && counts(v.opcode()); });
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST_CASE("block-scaled mma is chosen by shape, types and scale") {
  const Variant mma = chosen(
      "mma.sync", {{"shape", "m16n8k64"}, {"a", "e2m1"}, {"b", "e2m1"}, {"scale", "ue4m3"}}, "sm_120a");
  CHECK(mma.opcode() ==
        "mma.sync.aligned.m16n8k64.row.col.kind::mxf4nvf4.block_scale.scale_vec::4X.f32.e2m1.e2m1.f32.ue4m3");
  CHECK(mma.operand("A").registers() == 4);
  CHECK(mma.operand("scale-a-data").name == "SA");
  const Variant wide = chosen(
      "mma.sync", {{"shape", "m16n8k32"}, {"a", "e3m2"}, {"b", "e4m3"}, {"scale", "ue8m0"}}, "sm_120f");
  CHECK(wide.opcode() ==
        "mma.sync.aligned.m16n8k32.row.col.kind::mxf8f6f4.block_scale.f32.e3m2.e4m3.f32.ue8m0");
}

TEST_CASE("a kind is written only where the types need it or it is named") {
  const auto opcode = [](std::string_view b, std::string_view d) {
    return chosen("mma.sync", {{"shape", "m16n8k32"}, {"a", "e4m3"}, {"b", b}, {"d", d}}, "sm_120a").opcode();
  };
  CHECK(opcode("e5m2", "f32") == "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e5m2.f32");
  CHECK(opcode("e2m1", "f16") == "mma.sync.aligned.m16n8k32.row.col.kind::f8f6f4.f16.e4m3.e2m1.f16");
}

TEST_CASE("sparse mma is a family of its own, with metadata and selector") {
  const Variant mma = chosen(
      "mma.sp", {{"sp", "sp::ordered_metadata"}, {"shape", "m16n8k32"}, {"a", "f16"}, {"d", "f32"}}, "sm_80");
  CHECK(mma.opcode() == "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32");
  CHECK(mma.operand("A").registers() == 4);
  CHECK(mma.operand("f").range->second == 1);
}

TEST_CASE("wgmma takes A from registers or by descriptor") {
  const std::initializer_list<Choice> by_descriptor = {
      {"shape", "m64n256k16"}, {"a", "bf16"}, {"d", "f32"}, {"source", "descriptor"}, {"transposeA", "yes"}};
  CHECK(chosen("wgmma.mma_async", by_descriptor, "sm_90a").operand("a-desc").registers() == 1);
  const std::initializer_list<Choice> in_registers = {
      {"shape", "m64n256k16"}, {"a", "bf16"}, {"d", "f32"}, {"source", "registers"}};
  const Variant wgmma = chosen("wgmma.mma_async", in_registers, "sm_90a");
  CHECK(wgmma.operand("A").registers() == 4);
  CHECK(wgmma.operand("D").registers() == 128);
  CHECK(wgmma.operand_index("TA") < 0);
}

TEST_CASE("kinds, types and shapes of the manual are all there") {
  CHECK(documented("mma", [](auto opcode) { return has(opcode, "kind::f8f6f4"); }) == 25 * 2);
  CHECK(documented("mma", [](auto opcode) { return has(opcode, ".f64."); }) == 4 * 5);
  CHECK(documented("mma", [](auto opcode) { return has(opcode, ".b1."); }) == 3 * 2);
  CHECK(documented("mma.sp", [](auto opcode) { return has(opcode, "kind::f8f6f4"); }) == 25 * 2);
  CHECK(documented("mma.block_scale", [](auto opcode) { return has(opcode, "mxf8f6f4"); }) == 25 * 2);
  CHECK(documented("mma.block_scale", [](auto opcode) { return !has(opcode, "mxf8f6f4"); }) == 2 + 2 + 1);
  CHECK(documented("ldmatrix", [](auto opcode) { return has(opcode, "m16n16"); }) == 3 * 2 * 3);
  CHECK(documented("tcgen05.mma.ws", [](auto opcode) { return has(opcode, "collector::b3::"); }) ==
        5 * 4 * 2 * 2 * 2);
}

}  // namespace
}  // namespace ptxloom
