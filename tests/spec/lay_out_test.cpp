// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spec/operand_text.hpp"
#include "spec/spec_error.hpp"
#include "support/errors.hpp"

namespace ptxloom::spec::lay_out_test {
namespace {

const std::vector<std::string_view> kNames = {"D", "A", "BA", "TA"};

OperandSpec named(std::string_view name, OperandSpec::Kind kind) {
  OperandSpec spec;
  spec.name = name;
  spec.kind = kind;
  if (name == "D" || name == "A") spec.direction = OperandSpec::Direction::out;
  return spec;
}

OperandList laid(std::string_view text, std::string_view absent,
                 OperandSpec::Kind kind = OperandSpec::Kind::value) {
  std::vector<std::optional<OperandSpec>> operands;
  for (const std::string_view name : kNames) {
    const bool there =
        (" " + std::string(absent) + " ").find(" " + std::string(name) + " ") == std::string::npos;
    operands.push_back(there ? std::optional(named(name, kind)) : std::nullopt);
  }
  return lay_out(text, kNames, std::move(operands), {.file = "f.json", .form = "form"});
}

/// As it prints, with names for operands.
std::string shape(const OperandList& list) {
  std::string text;
  for (const OperandPiece& piece : list.pieces) {
    text += piece.text;
    if (piece.operand >= 0) text += list.specs[static_cast<std::size_t>(piece.operand)].name;
  }
  return text;
}

std::string without(std::string_view text, std::string_view absent) { return shape(laid(text, absent)); }

TEST_CASE("an absent operand goes with the separator before it, or behind it where it stands first") {
  CHECK(without("D, A, BA, TA", "") == "D, A, BA, TA");
  CHECK(without("D, A, BA, TA", "D") == "A, BA, TA");
  CHECK(without("D, A, BA, TA", "A") == "D, BA, TA");
  CHECK(without("D, A, BA, TA", "TA") == "D, A, BA");
  CHECK(without("D, A, BA, TA", "D A") == "BA, TA");
  CHECK(without("D, A, BA, TA", "A BA TA") == "D");
  CHECK(without("D, A, BA, TA", "D A BA TA").empty());
  CHECK(without("D|A, BA , TA", "A") == "D, BA , TA");
  CHECK(without("D|A, BA , TA", "D") == "A, BA , TA");
  CHECK(without("D|A, BA , TA", "BA") == "D|A , TA");
  CHECK(without("D  ,  A,  BA, TA", "A") == "D,  BA, TA");
}

TEST_CASE("brackets left empty go the same way") {
  CHECK(without("D, {A}, BA, TA", "A") == "D, BA, TA");
  CHECK(without("D, [ A ], BA, TA", "A") == "D, BA, TA");
  CHECK(without("(D), A, BA, TA", "D") == "A, BA, TA");
  CHECK(without("D, A, {BA, TA}", "BA") == "D, A, {TA}");
  CHECK(without("D, A, {BA, TA}", "TA") == "D, A, {BA}");
  CHECK(without("D, A, {BA, TA}", "BA TA") == "D, A");
  CHECK(without("D, A, [{BA, TA}]", "BA TA") == "D, A");
  CHECK(without("[D, {A, BA}], TA", "A BA") == "[D], TA");
  CHECK(without("[D, {A, BA}], TA", "D A BA") == "TA");
}

TEST_CASE("an address gets brackets unless the text has them") {
  const auto address = [](std::string_view text) {
    return shape(laid(text, "", OperandSpec::Kind::address));
  };
  CHECK(address("D, A, BA, TA") == "[D], [A], [BA], [TA]");
  CHECK(address("D, [A, BA], TA") == "[D], [A, BA], [TA]");
  CHECK(address("D, [A], BA, [[TA]]") == "[D], [A], [BA], [[TA]]");
}

TEST_CASE("operands in braces of the text are one vector, and outputs beside | may be left out") {
  const OperandList list = laid("D|A, {BA, TA}", "");
  REQUIRE(list.specs.size() == 4);
  CHECK(list.specs[0].sink_allowed);
  CHECK(list.specs[1].sink_allowed);
  CHECK_FALSE(list.specs[2].sink_allowed);
  CHECK_FALSE(list.specs[1].continues);
  CHECK_FALSE(list.specs[2].continues);
  CHECK(list.specs[3].continues);
  const OperandList apart = laid("{D, A}, BA|TA", "");
  CHECK(apart.specs[1].continues);
  CHECK_FALSE(apart.specs[2].continues);
  CHECK_FALSE(apart.specs[0].sink_allowed);
  CHECK_FALSE(apart.specs[2].sink_allowed);  // they are read
}

TEST_CASE("an operand that the text does not show is refused with its name") {
  const Error error = error_of([] { laid("D, A, BA", ""); });
  CHECK(error.diagnostics().front().code == "spec-operand");
  CHECK(error.diagnostics().front().message.find("TA") != std::string::npos);
}

}  // namespace
}  // namespace ptxloom::spec::lay_out_test
