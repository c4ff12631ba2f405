// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <string>

#include "support/errors.hpp"
#include "support/specs.hpp"

namespace ptxloom {
namespace {

using Catch::Matchers::ContainsSubstring;

std::string_view opcode_chosen(std::string_view family, std::initializer_list<Choice> choices,
                               std::string_view target) {
  return specs().select(family, choices, Target(target)).opcode();
}

Diagnostic refusal(std::string_view family, std::initializer_list<Choice> choices, std::string_view target) {
  const Error error = error_of([&] { specs().select(family, choices, Target(target)); });
  CHECK(error.kind() == ErrorKind::illegal_ptx);
  return error.diagnostics().front();
}

TEST_CASE("a variant is chosen by shape and types; slots not named stay unwritten") {
  CHECK(opcode_chosen("mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f32"}},
                      "sm_90a") == "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32");
  CHECK(opcode_chosen("mma.sync", {{"shape", "m16n8k32"}, {"a", "u8"}, {"b", "s8"}}, "sm_80") ==
        "mma.sync.aligned.m16n8k32.row.col.s32.u8.s8.s32");
  CHECK(opcode_chosen("mma.sync", {{"shape", "m16n8k32"}, {"a", "u8"}, {"b", "s8"}, {"sat", "satfinite"}},
                      "sm_80") == "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.u8.s8.s32");
  CHECK(opcode_chosen("mma.sync", {{"shape", "m8n8k4"}, {"a", "f64"}, {"b", "f64"}}, "sm_80") ==
        "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64");
  CHECK(opcode_chosen("mma.sync",
                      {{"shape", "m8n8k4"},
                       {"a", "f16"},
                       {"d", "f32"},
                       {"c", "f32"},
                       {"alayout", "row"},
                       {"blayout", "col"}},
                      "sm_75") == "mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32");
  CHECK(opcode_chosen("ldmatrix", {{"shape", "m8n8"}, {"num", "x4"}, {"space", "shared"}, {"type", "b16"}},
                      "sm_75") == "ldmatrix.sync.aligned.m8n8.x4.shared.b16");
  CHECK(opcode_chosen("ld", {{"type", "f32"}, {"space", "global"}}, "sm_75") == "ld.global.f32");
  CHECK(opcode_chosen("ld", {{"type", "f32"}, {"space", "global"}, {"vec", "4"}}, "sm_75") ==
        "ld.global.v4.f32");
}

TEST_CASE("a form's name chooses it alone") {
  CHECK(opcode_chosen("mov", {{"type", "b32"}}, "sm_75") == "mov.b32");
  CHECK(specs().select("mov.pack", {{"type", "b32"}, {"parts", "2"}}, Target("sm_75")).operand("A").count ==
        2);
}

TEST_CASE("a variant that the target lacks is refused with the targets that have it") {
  const Diagnostic why = refusal("mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}}, "sm_75");
  CHECK(why.code == "not-on-target");
  CHECK_THAT(why.message, ContainsSubstring("sm_75"));
  CHECK_THAT(why.hint, ContainsSubstring("sm_80 (PTX 7.0)"));
}

TEST_CASE("words that fit nothing are refused with what they could be") {
  const Diagnostic why =
      refusal("mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f16"}}, "sm_90");
  CHECK(why.code == "no-variant");
  CHECK_THAT(why.hint, ContainsSubstring("d can be: f32"));
  CHECK_THAT(refusal("mma.sync", {{"colour", "red"}, {"flavour", "sweet"}}, "sm_90").hint,
             ContainsSubstring("shape"));
  CHECK(refusal("no.such.family", {}, "sm_90").code == "unknown-form");
}

TEST_CASE("more than one variant left is refused with a list") {
  const Diagnostic why = refusal("mma.sync", {{"shape", "m16n8k16"}, {"a", "f16"}, {"b", "f16"}}, "sm_80");
  CHECK(why.code == "ambiguous-variant");
  CHECK_THAT(why.message, ContainsSubstring(".f32.f16.f16.f32") && ContainsSubstring(".f16.f16.f16.f16"));
}

TEST_CASE("find answers without throwing") {
  CHECK(specs().find("ldmatrix", {{"shape", "m8n8"}, {"num", "x1"}}, Target("sm_75")));
  CHECK_FALSE(specs().find("stmatrix", {{"shape", "m8n8"}, {"num", "x1"}}, Target("sm_89")));
}

}  // namespace
}  // namespace ptxloom
