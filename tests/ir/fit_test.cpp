// SPDX-License-Identifier: Apache-2.0
#include "ir/fit.hpp"

#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

// Which operand may stand where: the PTX ISA's operand type checking (9.4), and what ptxas was seen to add to
// it.
namespace ptxloom::ir::fit_test {
namespace {

using Kind = Operand::Kind;
using Place = OperandSpec;

const std::vector<Type> kRegisters = {pred, b16, b32, b64, u16, s16,   u32,   s32,
                                      u64,  s64, f16, f32, f64, f16x2, bf16x2};

Kernel kernel() {
  Kernel result;
  for (const Type& type : kRegisters) result.registers.push_back({.type = type});
  return result;
}

Operand reg(const Type& type) {
  for (std::uint32_t i = 0; i < kRegisters.size(); ++i) {
    if (kRegisters[i] == type) return {.kind = Kind::reg, .index = i};
  }
  FAIL("no register of type " << type.name);
  return {};
}

Operand integer(std::int64_t value) { return {.kind = Kind::integer, .value = value}; }
Operand single(float value) { return {.kind = Kind::f32, .value = std::bit_cast<std::uint32_t>(value)}; }
Operand decimal(double value) { return {.kind = Kind::f64, .value = std::bit_cast<std::int64_t>(value)}; }
const Operand kSink{.kind = Kind::sink};
const Operand kDangling{.kind = Kind::reg, .index = 99};

Misfit misfit(const Place& place, const Operand& operand) {
  return find_mismatch(kernel(), place, operand).why;
}

Mismatch of_vector(const Place& place, const std::vector<Operand>& elements) {
  Kernel k = kernel();
  k.operands = {kSink, kSink};  // of another instruction
  k.operands.insert(k.operands.end(), elements.begin(), elements.end());
  return find_mismatch(
      k, place,
      Operand{.kind = Kind::vector, .count = static_cast<std::uint16_t>(elements.size()), .index = 2});
}

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
  CHECK(fitting({.type = b32}) == "b32 u32 s32 f32 f16x2 bf16x2");
  CHECK(fitting({.type = s32}) == "b32 u32 s32 f16x2 bf16x2");
  CHECK(fitting({.type = u64}) == "b64 u64 s64");
  CHECK(fitting({.type = f16}) == "b16 f16");
  CHECK(fitting({.type = f32}) == "b32 f32");
  CHECK(fitting({.type = f64}) == "b64 f64");
  CHECK(fitting({.type = f16x2}) == "b32 f16x2");
  CHECK(fitting({.type = {"u16x2", 32, TypeKind::unsigned_integer, 2}}) == "b32");
  CHECK(fitting({.type = b32, .exact = true}) == "b32");
  CHECK(fitting({.type = u32, .exact = true}) == "b32");
}

TEST_CASE("loads, stores and conversions take wider registers") {
  CHECK(fitting({.type = u16, .wider_allowed = true}) == "b16 b32 b64 u16 s16 u32 s32 u64 s64 f16x2 bf16x2");
  CHECK(fitting({.type = b32, .wider_allowed = true}) == "b32 b64 u32 s32 u64 s64 f32 f64 f16x2 bf16x2");
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

TEST_CASE("the address of a variable stands for a whole number only with an offset") {
  const Place place{.type = u32, .literal_allowed = true};
  const Operand name{.kind = Kind::symbol}, with_offset{.kind = Kind::symbol, .value = 4},
      element{.kind = Kind::symbol, .count = 4, .value = 4};
  CHECK(misfit(place, with_offset) == Misfit::none);
  CHECK(misfit(place, name) == Misfit::kind);
  CHECK(misfit(place, element) == Misfit::kind);
  CHECK(misfit({.type = u64, .literal_allowed = true}, with_offset) == Misfit::none);
  CHECK(misfit({.type = u16, .literal_allowed = true}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = f32, .literal_allowed = true}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = pred, .literal_allowed = true}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = u32}, with_offset) == Misfit::kind);
  CHECK(misfit({.type = u32, .registers_allowed = false, .literal_allowed = true}, with_offset) ==
        Misfit::kind);
  CHECK(misfit(place, {.kind = Kind::label}) == Misfit::kind);
}

TEST_CASE("a vector has as many elements as its place") {
  const Place pair{.type = u32, .count = 2};
  CHECK(of_vector(pair, {reg(u32), reg(u32)}).why == Misfit::none);
  CHECK(of_vector(pair, {reg(u32)}).why == Misfit::length);
  CHECK(of_vector(pair, {reg(u32), reg(u32), reg(u32)}).why == Misfit::length);
  CHECK(misfit(pair, reg(u32)) == Misfit::length);
  Kernel k = kernel();
  k.operands = {reg(u32), reg(u32), reg(u32)};
  const auto from = [&](std::uint32_t index) {
    return find_mismatch(k, pair, Operand{.kind = Kind::vector, .count = 2, .index = index}).why;
  };
  CHECK(from(1) == Misfit::none);
  CHECK(from(2) == Misfit::dangling);
  CHECK(from(3) == Misfit::dangling);
  CHECK(from(4) == Misfit::dangling);
}

TEST_CASE("braces around a scalar are undocumented, and hold as many registers as ptxas takes") {
  CHECK(of_vector({.type = u32}, {reg(u32)}).why == Misfit::length);
  CHECK(of_vector({.type = u32, .braces = 1}, {reg(u32)}).why == Misfit::undocumented);
  CHECK(of_vector({.type = u32, .braces = 1}, {reg(u32), reg(u32)}).why == Misfit::length);
  CHECK(of_vector({.type = u32, .braces = 1}, {reg(f32)}).why == Misfit::type);
  CHECK(of_vector({.type = u32, .braces = 1, .needed = true}, {reg(u32)}).why == Misfit::length);
  CHECK(of_vector({.type = u32, .registers_allowed = false, .braces = 1}, {reg(u32)}).why == Misfit::length);
  CHECK(of_vector({.type = bf16x2, .braces = 2}, {reg(bf16x2), reg(bf16x2)}).why == Misfit::undocumented);
  CHECK(of_vector({.type = bf16, .braces = 2}, {reg(b16), reg(b16)}).why == Misfit::undocumented);
  CHECK(of_vector({.type = bf16, .braces = 2}, {reg(b16), reg(b16), reg(b16)}).why == Misfit::length);
}

TEST_CASE("elements of one type fit as each of them does, and the first that does not is named") {
  const Place place{.type = f32, .count = 3};
  CHECK(of_vector(place, {reg(f32), reg(f32), reg(f32)}).why == Misfit::none);
  CHECK(of_vector(place, {reg(b32), reg(b32), reg(b32)}).why == Misfit::none);
  const Mismatch all = of_vector(place, {reg(s32), reg(s32), reg(s32)});
  CHECK((all.why == Misfit::type && all.element == 0));
  const Mismatch last = of_vector(place, {reg(f32), reg(f32), reg(f64)});
  CHECK((last.why == Misfit::type && last.element == 2));
  CHECK(of_vector(place, {reg(f32), kDangling, reg(f32)}).why == Misfit::dangling);
  CHECK(of_vector(place, {kDangling, kDangling, kDangling}).why == Misfit::dangling);
  CHECK(of_vector({.type = u32, .count = 2, .any_class = true}, {reg(pred), reg(pred)}).why ==
        Misfit::undocumented);
}

TEST_CASE("elements of several types are of one size, and not integers and floats") {
  const Place any{.type = b32, .count = 2};
  CHECK(of_vector(any, {reg(u32), reg(s32)}).why == Misfit::none);
  CHECK(of_vector(any, {reg(b32), reg(f32)}).why == Misfit::none);
  CHECK(of_vector(any, {reg(f16x2), reg(f32)}).why == Misfit::none);  // a pair is bits
  CHECK(of_vector(any, {reg(u32), reg(f32)}).why == Misfit::mixed);
  CHECK(of_vector(any, {reg(f32), integer(1)}).why == Misfit::mixed);
  CHECK(of_vector(any, {reg(u32), integer(1)}).why == Misfit::none);
  CHECK(of_vector(any, {reg(u32), single(1)}).why == Misfit::mixed);
  const Place wide{.type = b16, .count = 2, .wider_allowed = true};
  CHECK(of_vector(wide, {reg(u32), reg(s32)}).why == Misfit::none);
  CHECK(of_vector(wide, {reg(u32), reg(u16)}).why == Misfit::mixed);
  // ptxas only looks at the size of registers of several types; the manual does not promise it.
  CHECK(of_vector({.type = u32, .count = 2}, {reg(b32), reg(f32)}).why == Misfit::undocumented);
  CHECK(of_vector({.type = u32, .count = 2}, {reg(pred), reg(u32)}).why == Misfit::mixed);
  CHECK(of_vector({.type = u32, .count = 2}, {reg(b64), reg(u32)}).why == Misfit::type);
}

TEST_CASE("a vector of sinks has no type") {
  const Place out{.direction = Place::Direction::out, .type = u32, .count = 2};
  CHECK(of_vector(out, {kSink, kSink}).why == Misfit::untyped);
  CHECK(of_vector(out, {kSink, reg(u32)}).why == Misfit::none);
  CHECK(of_vector(out, {reg(u32), kSink}).why == Misfit::none);
  CHECK(of_vector({.type = u32, .count = 2}, {reg(u32), kSink}).why == Misfit::sink);
  CHECK(of_vector({.direction = Place::Direction::out, .type = u32, .count = 2, .needed = true},
                  {reg(u32), kSink})
            .why == Misfit::sink);
}

TEST_CASE("literals as elements") {
  const auto both = [](const Place& place, const Operand& a, const Operand& b) {
    return of_vector(place, {a, b}).why;
  };
  using Direction = Place::Direction;
  const auto vector_of = [](const Type& type) {
    return Place{.direction = Direction::in, .type = type, .count = 2, .literal_allowed = true};
  };
  // Nothing but literals: they have a type of their own, which must be that of the place.
  CHECK(both(vector_of(u32), integer(1), integer(2)) == Misfit::none);
  CHECK(both(vector_of(b32), integer(1), integer(2)) == Misfit::literal);
  CHECK(both(vector_of(f32), integer(1), integer(2)) == Misfit::literal);
  CHECK(both(vector_of(f32), single(1), single(2)) == Misfit::none);
  CHECK(both(vector_of(b32), single(1), single(2)) == Misfit::none);
  CHECK(both(vector_of(f64), single(1), single(2)) == Misfit::literal);
  CHECK(both(vector_of(f64), decimal(1), decimal(2)) == Misfit::none);
  CHECK(both(vector_of(b64), decimal(1), decimal(2)) == Misfit::none);
  CHECK(both(vector_of(f32), decimal(1), decimal(2)) == Misfit::literal);
  CHECK(both({.type = u32, .count = 2}, integer(1), integer(2)) == Misfit::kind);
  Place place = vector_of(u32);
  place.exact = true;
  CHECK(both(place, integer(1), integer(2)) == Misfit::literal);
  place = vector_of(f32);
  place.loose = true;
  CHECK(both(place, decimal(1), decimal(2)) == Misfit::none);
  CHECK(both(place, integer(1), integer(2)) == Misfit::literal);
  place.type = f64;
  CHECK(both(place, integer(1), integer(2)) == Misfit::none);
  // One beside registers of its own type is an element of it, which not every place takes.
  CHECK(both({.type = f32, .count = 2}, reg(f32), single(1)) == Misfit::kind);
  CHECK(both({.type = f64, .count = 2}, reg(f64), decimal(1)) == Misfit::kind);
  CHECK(both({.type = f32, .count = 2}, reg(f32), decimal(1)) == Misfit::none);
  CHECK(both({.type = f64, .count = 2}, reg(f64), single(1)) == Misfit::none);
  CHECK(both({.type = f64, .count = 2}, reg(f64), integer(1)) == Misfit::mixed);
  // One beside registers: it takes their size.
  CHECK(both(vector_of(f32), reg(f32), single(1)) == Misfit::none);
  CHECK(both(vector_of(f32), reg(f32), decimal(1)) == Misfit::none);
  CHECK(both(vector_of(f16), reg(f16), decimal(1)) == Misfit::literal);
  CHECK(both(vector_of(f16), reg(b16), integer(1)) == Misfit::none);
  place = {.type = b16, .count = 2, .wider_allowed = true};
  CHECK(both(place, reg(b32), single(1)) == Misfit::literal);
  CHECK(both(place, reg(b16), single(1)) == Misfit::none);
  CHECK(both(place, reg(b32), integer(1)) == Misfit::none);
  place.type = u16;
  CHECK(both(place, reg(b32), single(1)) == Misfit::none);
  place = {.type = b64, .count = 2, .needed = true};
  CHECK(both(place, reg(b64), decimal(1)) == Misfit::literal);
  CHECK(both(place, reg(b64), single(1)) == Misfit::none);
  place.needed = false;
  CHECK(both(place, reg(b64), decimal(1)) == Misfit::none);
  // None where a place takes none.
  place = vector_of(u32);
  place.direction = Direction::out;
  CHECK(both(place, reg(u32), integer(1)) == Misfit::kind);
  place = vector_of(u32);
  place.registers_only = true;
  CHECK(both(place, reg(u32), integer(1)) == Misfit::kind);
  place = vector_of(b32);
  place.whole_numbers = true;
  CHECK(both(place, reg(b32), single(1)) == Misfit::literal);
  CHECK(both(place, reg(b32), integer(1)) == Misfit::none);
  place.range = {0, 3};
  CHECK(both(place, reg(b32), integer(3)) == Misfit::none);
  CHECK(both(place, reg(b32), integer(4)) == Misfit::range);
}

TEST_CASE("integers stand for floating point where ptxas does not look") {
  const Place loose{.type = f32, .count = 2, .loose = true};
  CHECK(of_vector(loose, {reg(u32), reg(u32)}).why == Misfit::undocumented);
  CHECK(of_vector(loose, {reg(u64), reg(u64)}).why == Misfit::type);
  CHECK(of_vector({.type = f32, .count = 2}, {reg(u32), reg(u32)}).why == Misfit::type);
  CHECK(of_vector({.type = bf16, .count = 2, .loose = true}, {reg(u16), reg(u16)}).why == Misfit::type);
  CHECK(of_vector({.type = f32, .count = 2}, {reg(b32), reg(u32)}).why == Misfit::undocumented);
  CHECK(of_vector({.type = u32, .count = 2}, {reg(pred), reg(b32)}).why == Misfit::undocumented);
}

TEST_CASE("the index into an array of textures is no coordinate") {
  const Place place{.type = f32, .count = 3, .index = 1};
  CHECK(of_vector(place, {reg(u32), reg(f32), reg(f32)}).why == Misfit::none);
  CHECK(of_vector(place, {reg(b32), reg(f32), reg(f32)}).why == Misfit::none);
  CHECK(of_vector(place, {integer(2), reg(f32), reg(f32)}).why == Misfit::none);
  const Mismatch wrong = of_vector(place, {reg(f32), reg(f32), reg(f32)});
  CHECK((wrong.why == Misfit::type && wrong.element == 0));
  CHECK(of_vector(place, {reg(u64), reg(f32), reg(f32)}).why == Misfit::type);
  CHECK(of_vector(place, {single(2), reg(f32), reg(f32)}).why == Misfit::type);
  CHECK(of_vector(place, {reg(u32), reg(f32), reg(u32)}).why == Misfit::mixed);
  const Place second{.type = f32, .count = 3, .index = 2};
  CHECK(of_vector(second, {reg(f32), reg(u32), reg(f32)}).why == Misfit::none);
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

TEST_CASE("places that continue a vector are its elements, and have types of their own") {
  const Kernel k = kernel();
  const std::vector<Place> places = {{.type = f32},
                                     {.type = u32},
                                     {.type = u32, .continues = true},
                                     {.type = u32, .continues = true},
                                     {.type = f64}};
  const auto of = [&](const Operand& b, const Operand& c, const Operand& d, const Operand& last) {
    return find_mismatch(k, places, std::vector{reg(f32), b, c, d, last});
  };
  CHECK(of(reg(u32), reg(u32), reg(u32), reg(f64)).why == Misfit::none);
  CHECK(of(reg(u32), reg(s32), reg(b32), reg(f64)).why == Misfit::none);
  const Mismatch element = of(reg(u32), reg(u32), reg(u64), reg(f64));
  CHECK((element.why == Misfit::type && element.operand == 3 && element.element == -1));
  CHECK(of(reg(u64), reg(u32), reg(u32), reg(f64)).operand == 1);
  CHECK(of(reg(u32), reg(u32), reg(u32), reg(f32)).operand == 4);
  CHECK(of(reg(u32), kDangling, reg(u32), reg(f64)).why == Misfit::dangling);
}

TEST_CASE("an address is in a register that holds one") {
  const auto holding = [](const Place& place) {
    std::string names;
    for (std::uint32_t i = 0; i < kRegisters.size(); ++i) {
      const Misfit why = misfit(place, {.kind = Kind::address, .index = i});
      if (why == Misfit::none)
        names += (names.empty() ? "" : " ") + std::string(kRegisters[i].name);
      else
        CHECK(why == (place.any_class ? Misfit::undocumented : Misfit::address_type));
    }
    return names;
  };
  const auto in = [](const char* space) { return Place{.kind = Place::Kind::address, .space = space}; };
  for (const char* space : {"", "global", "texref", "samplerref", "surfref", "tensormap"})
    CHECK(holding(in(space)) == "b64 u64 s64");
  for (const char* space : {"shared", "shared::cta", "local", "const", "param"})
    CHECK(holding(in(space)) == "b16 b32 b64 u16 s16 u32 s32 u64 s64");
  CHECK(holding(in("tmem")) == "b32 u32 s32");
  CHECK(holding({.kind = Place::Kind::address, .any_class = true}) == "b64 u64 s64");
  CHECK(misfit(in(""), {.kind = Kind::address, .index = 99}) == Misfit::dangling);
  CHECK(misfit(in(""), {.kind = Kind::address, .index = static_cast<std::uint32_t>(kRegisters.size())}) ==
        Misfit::dangling);
  CHECK(misfit(in("global"), {.kind = Kind::address, .index = 3, .value = 16}) == Misfit::none);
  CHECK(misfit(in("texref"), {.kind = Kind::address, .index = 3, .value = 16}) == Misfit::address_offset);
  CHECK(misfit(in("global"), reg(u64)) == Misfit::kind);
  CHECK(misfit(in("local"), {.kind = Kind::address_absolute, .value = 16}) == Misfit::none);
  CHECK(misfit(in("shared"), {.kind = Kind::address_absolute, .value = 16}) == Misfit::address_offset);
  CHECK(misfit({.kind = Place::Kind::address, .any_class = true}, {.kind = Kind::address_absolute}) ==
        Misfit::undocumented);
}

TEST_CASE("a variable is addressed by the instructions of its state space") {
  const std::vector<std::pair<Space, std::string>> expected = {
      {Space::generic, "generic"},
      {Space::global, "generic global unified texref samplerref surfref tensormap"},
      {Space::shared, "generic shared shared::cluster"},
      {Space::local, "generic local"},
      {Space::constant, "const"},
      {Space::param, "param param::func texref samplerref surfref"},
      {Space::function, "param param::func"},
      {Space::code, "code"}};
  for (const auto& [space, names] : expected) {
    std::string found;
    for (const char* wanted :
         {"", "global", "unified", "shared", "shared::cluster", "local", "const", "param", "param::func",
          "code", "texref", "samplerref", "surfref", "tensormap"}) {
      const std::string name = *wanted == '\0' ? "generic" : wanted;
      if (space_fits(wanted, space)) found += (found.empty() ? "" : " ") + name;
    }
    CHECK(found == names);
  }
}

TEST_CASE("names stand for variables that the kernel has, in the space of the place") {
  Kernel k = kernel();
  k.symbols = {{"tile", Space::shared}, {"table", Space::constant}};
  const auto at = [&](const Place& place, Kind kind, std::uint32_t index) {
    return find_mismatch(k, place, Operand{.kind = kind, .index = index}).why;
  };
  const Place address{.kind = Place::Kind::address, .space = "shared", .variables = "shared"};
  CHECK(at(address, Kind::address_symbol, 0) == Misfit::none);
  CHECK(at(address, Kind::address_symbol, 1) == Misfit::space);
  CHECK(at(address, Kind::address_symbol, 2) == Misfit::dangling);
  CHECK(at({.kind = Place::Kind::address, .any_class = true, .space = "shared", .variables = "shared"},
           Kind::address_symbol, 1) == Misfit::undocumented);
  const Place symbol{.kind = Place::Kind::symbol, .space = "const"};
  CHECK(at(symbol, Kind::symbol, 1) == Misfit::none);
  CHECK(at(symbol, Kind::symbol, 0) == Misfit::space);
  CHECK(at(symbol, Kind::symbol, 2) == Misfit::dangling);
  CHECK(at(symbol, Kind::reg, 1) == Misfit::kind);
  CHECK(at({.kind = Place::Kind::symbol}, Kind::symbol, 0) == Misfit::none);
  CHECK(at({.kind = Place::Kind::literal}, Kind::literal, 0) == Misfit::none);
  CHECK(at({.kind = Place::Kind::literal}, Kind::reg, 0) == Misfit::kind);
}

TEST_CASE("a label is a place in the code, or a list of such places") {
  Kernel k = kernel();
  k.labels = {"here", "list", "callees"};
  k.targets = {{.kind = Targets::Kind::branch, .label = 1}, {.kind = Targets::Kind::call, .label = 2}};
  const auto at = [&](const char* text, Kind kind, std::uint32_t index) {
    return find_mismatch(k, {.kind = Place::Kind::label, .text = text}, Operand{.kind = kind, .index = index})
        .why;
  };
  CHECK(at("", Kind::label, 0) == Misfit::none);
  CHECK(at("", Kind::label, 1) == Misfit::kind);
  CHECK(at("", Kind::label, 2) == Misfit::none);
  CHECK(at("a_list", Kind::label, 1) == Misfit::none);
  CHECK(at("a_list", Kind::label, 0) == Misfit::kind);
  CHECK(at("", Kind::label, 3) == Misfit::dangling);
  CHECK(at("", Kind::reg, 0) == Misfit::kind);
}

}  // namespace
}  // namespace ptxloom::ir::fit_test
