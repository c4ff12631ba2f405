// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ir/fit_operands.hpp"

// Which operand may stand where: the PTX ISA's operand type checking (9.4), and what ptxas was seen to add to
// it. Registers, literals and whole instructions.
namespace ptxloom::ir::fit_test {
namespace {

/// The types whose registers fit the place.
std::string fitting(const Place& place) {
  std::string names;
  for (const Type& type : kRegisters) {
    const Misfit why = misfit(place, reg(type));
    CHECK((why == Misfit::none || why == Misfit::type));
    if (why == Misfit::none) names += (names.empty() ? "" : " ") + std::string(type.name);
  }
  return names;
}

TEST_CASE("a register fits the types that PTX lets it stand for") {
  CHECK(fitting({.type = pred}) == "pred");
  CHECK(fitting({.type = b16}) == "b16 u16 s16 f16");
  CHECK(fitting({.type = b32}) == "b32 u32 s32 f32 bf16x2");
  CHECK(fitting({.type = b32, .pairs = true}) == "b32 u32 s32 f32 f16x2 bf16x2");
  CHECK(fitting({.type = s32}) == "b32 u32 s32");
  CHECK(fitting({.type = s32, .pairs = true}) == "b32 u32 s32 f16x2");
  CHECK(fitting({.type = u64}) == "b64 u64 s64");
  CHECK(fitting({.type = f16}) == "b16 f16");
  CHECK(fitting({.type = f32}) == "b32 f32");
  CHECK(fitting({.type = f64}) == "b64 f64");
  CHECK(fitting({.type = f16x2}) == "b32 f16x2");
  CHECK(fitting({.type = {"u16x2", 32, TypeKind::unsigned_integer, 2}}) == "b32");
  CHECK(fitting({.type = b32, .exact = true}) == "b32");
  CHECK(fitting({.type = u32, .exact = true}) == "b32 u32");
  CHECK(fitting({.type = s16, .exact = true}) == "b16 s16");
}

TEST_CASE("loads, stores and conversions take wider registers") {
  CHECK(fitting({.type = u16, .wider_allowed = true}) == "b16 b32 b64 u16 s16 u32 s32 u64 s64");
  CHECK(fitting({.type = b32, .wider_allowed = true}) == "b32 b64 u32 s32 u64 s64 f32 f64 bf16x2");
  CHECK(fitting({.type = f32, .wider_allowed = true}) == "b32 b64 f32");
}

TEST_CASE("a register that does not fit is told why") {
  CHECK(misfit({.type = u32}, kDangling) == Misfit::dangling);
  CHECK(misfit({.type = u32}, {.kind = Kind::reg, .index = static_cast<std::uint32_t>(kRegisters.size())}) ==
        Misfit::dangling);
  CHECK(misfit({.type = u32, .registers_allowed = false}, reg(u32)) == Misfit::kind);
  Operand negated = reg(pred);
  negated.negated = true;
  CHECK(misfit({.type = pred}, negated) == Misfit::negation);
  CHECK(misfit({.type = pred, .negation_allowed = true}, negated) == Misfit::none);
  CHECK(misfit({.type = u32, .any_class = true}, reg(pred)) == Misfit::undocumented);
  CHECK(misfit({.type = u32, .any_class = true, .needed = true}, reg(pred)) == Misfit::type);
  CHECK(misfit({.direction = Place::Direction::out, .type = u32, .any_class = true}, negated) ==
        Misfit::negation);
  CHECK(misfit({.type = u32, .any_class = true}, negated) == Misfit::undocumented);
}

TEST_CASE("a part of a register is one of those that the place lists") {
  const Place bytes{.type = u32, .text = "b[0-3]|h[0-1]|q"};
  const auto part = [](std::string_view letters) {
    Operand operand = reg(u32);
    std::uint64_t packed = 0;  // the first letter lowest
    for (std::size_t i = letters.size(); i-- > 0;)
      packed = packed << 8 | static_cast<unsigned char>(letters[i]);
    operand.value = static_cast<std::int64_t>(packed);
    return operand;
  };
  for (const char* right : {"b0", "b3", "h0", "h1", "q"}) CHECK(misfit(bytes, part(right)) == Misfit::none);
  for (const char* wrong : {"b4", "h2", "b", "b/", "b01", "h", "q0", "0", "b|", "x"}) {
    INFO(wrong);
    CHECK(misfit(bytes, part(wrong)) == Misfit::selector);
  }
  CHECK(misfit({.type = u32}, part("b0")) == Misfit::selector);
  CHECK(misfit({.type = u32, .text = "[0-]"}, part("[")) == Misfit::selector);  // too short for a range
  CHECK(misfit({.type = u32, .text = "[0-]"}, part("[0-]")) == Misfit::none);
}

TEST_CASE("literals are of the kind that the type takes") {
  const auto literal = [](const Type& type, const Operand& operand) {
    return misfit({.type = type, .literal_allowed = true}, operand);
  };
  for (const Type& type : {u32, s64, b16, pred}) CHECK(literal(type, integer(5)) == Misfit::none);
  for (const Type& type : {f16, f32, f64}) CHECK(literal(type, integer(5)) == Misfit::literal);
  for (const Type& type : {f32, f64, b32}) CHECK(literal(type, single(5)) == Misfit::none);
  for (const Type& type : {b16, b64, u32, pred}) CHECK(literal(type, single(5)) == Misfit::literal);
  for (const Type& type : {f32, f64, b64}) CHECK(literal(type, decimal(5)) == Misfit::none);
  for (const Type& type : {b16, b32, u64, pred}) CHECK(literal(type, decimal(5)) == Misfit::literal);
  CHECK(misfit({.type = u32}, integer(5)) == Misfit::kind);
  CHECK(misfit({.type = f32}, single(5)) == Misfit::kind);
  CHECK(misfit({.type = u32, .literal_allowed = true, .any_class = true}, integer(5)) == Misfit::literal);
}

TEST_CASE("an immediate is in its range, on a step, or one of its values") {
  const Place range{
      .type = u32, .registers_allowed = false, .literal_allowed = true, .range = {{-8, 16}}, .step = 4};
  for (const int right : {-8, -4, 0, 16}) CHECK(misfit(range, integer(right)) == Misfit::none);
  for (const int wrong : {-9, -12, -7, 2, 15, 17, 20}) CHECK(misfit(range, integer(wrong)) == Misfit::range);
  const Place choice{.type = u32, .literal_allowed = true, .choices = {1, 4, 16}};
  for (const int right : {1, 4, 16}) CHECK(misfit(choice, integer(right)) == Misfit::none);
  for (const int wrong : {0, 2, 5, 17, -1}) CHECK(misfit(choice, integer(wrong)) == Misfit::range);
  // The number of a barrier is cut to 32 bits; that of another type, or one that no register gives, is not.
  const std::int64_t beyond = (std::int64_t{1} << 32) + 3;
  CHECK(misfit({.type = s32, .literal_allowed = true, .range = {{0, 15}}}, integer(beyond)) == Misfit::none);
  CHECK(misfit({.type = u32, .literal_allowed = true, .range = {{0, 15}}}, integer(beyond)) == Misfit::range);
  CHECK(misfit({.type = s32, .registers_allowed = false, .literal_allowed = true, .range = {{0, 15}}},
               integer(beyond)) == Misfit::range);
}

TEST_CASE("a decimal's range leaves its first value out") {
  const Place place{.type = f32, .literal_allowed = true, .range = {{0, 1}}};
  CHECK(misfit(place, single(0)) == Misfit::range);
  CHECK(misfit(place, single(0x1p-100f)) == Misfit::none);
  CHECK(misfit(place, single(1)) == Misfit::none);
  CHECK(misfit(place, single(1.0001f)) == Misfit::range);
  CHECK(misfit(place, decimal(0)) == Misfit::range);
  CHECK(misfit(place, decimal(0x1p-200)) == Misfit::none);
  CHECK(misfit(place, decimal(1)) == Misfit::none);
  CHECK(misfit(place, decimal(1.0001)) == Misfit::range);
  // Of other types the range is that of whole numbers, and a decimal has another kind.
  CHECK(misfit({.type = b32, .literal_allowed = true, .range = {{0, 1}}}, single(7)) == Misfit::none);
}

TEST_CASE("a sink stands for a destination that allows it") {
  CHECK(misfit({.direction = Place::Direction::out, .type = u32}, kSink) == Misfit::sink);
  CHECK(misfit({.direction = Place::Direction::out, .type = u32, .sink_allowed = true}, kSink) ==
        Misfit::none);
}

TEST_CASE(
    "the address of a variable stands for a whole number only with an offset, and where the form allows it") {
  const Place place{.type = u32, .literal_allowed = true, .variable_allowed = true};
  const Operand name{.kind = Kind::symbol}, with_offset{.kind = Kind::symbol, .value = 4},
      element{.kind = Kind::symbol, .count = 4, .value = 4};
  CHECK(misfit(place, with_offset) == Misfit::none);
  CHECK(misfit(place, name) == Misfit::kind);
  CHECK(misfit(place, element) == Misfit::kind);
  CHECK(misfit({.type = u64, .literal_allowed = true, .variable_allowed = true}, with_offset) ==
        Misfit::none);
  CHECK(misfit({.type = u16, .literal_allowed = true}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = f32, .literal_allowed = true}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = pred, .literal_allowed = true}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = u32}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = u32, .registers_allowed = false, .literal_allowed = true}, with_offset) ==
        Misfit::kind);
  CHECK(misfit(place, {.kind = Kind::label}) == Misfit::kind);
}

TEST_CASE("all operands of an instruction: the first that does not fit is named") {
  const Kernel k = kernel();
  const std::vector<Place> places = {{.type = u32}, {.type = f32}, {.type = u32, .any_class = true}};
  const auto of = [&](const std::vector<Operand>& operands) { return find_mismatch(k, places, operands); };
  CHECK(of({reg(u32), reg(f32), reg(u32)}).why == Misfit::none);
  const Mismatch second = of({reg(b32), reg(u32), reg(u64)});
  CHECK((second && second.why == Misfit::type && second.operand == 1 && second.element == -1));
  const Mismatch lax = of({reg(u32), reg(f32), reg(pred)});
  CHECK((!lax && lax.why == Misfit::undocumented));
  CHECK(operands_fit(k, places, std::vector{reg(u32), reg(f32), reg(u32)}));
  CHECK_FALSE(operands_fit(k, places, std::vector{reg(u32), reg(f32)}));
  CHECK_FALSE(operands_fit(k, places, std::vector{reg(u32), reg(f32), reg(pred)}));
  CHECK_FALSE(operands_fit(k, places, std::vector{reg(u32), reg(f64), reg(u32)}));
}

}  // namespace
}  // namespace ptxloom::ir::fit_test
