// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ir/fit_operands.hpp"

// Which elements a vector operand may have.
namespace ptxloom::ir::fit_test {
namespace {

Mismatch of_vector(const Place& place, const std::vector<Operand>& elements) {
  Kernel k = kernel();
  k.operands = {kSink, kSink};  // of another instruction
  k.operands.insert(k.operands.end(), elements.begin(), elements.end());
  return find_mismatch(
      k, place,
      Operand{.kind = Kind::vector, .count = static_cast<std::uint16_t>(elements.size()), .index = 2});
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
  const Place pairs{.type = b32, .count = 2, .pairs = true};
  CHECK(of_vector(pairs, {reg(f16x2), reg(f16x2)}).why == Misfit::none);
  CHECK(of_vector(pairs, {reg(f16x2), reg(f32)}).why == Misfit::mixed);
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
  CHECK(both(place, integer(1), integer(2)) == Misfit::none);
  place.type = b32;
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
  Operand narrow = single(1);
  narrow.decimal = true;
  place = vector_of(f32);
  CHECK(both(place, reg(f32), narrow) == Misfit::none);
  place.needed = true;
  CHECK(both(place, reg(f32), narrow) == Misfit::literal);
  CHECK(both(place, narrow, narrow) == Misfit::literal);
  CHECK(both(place, reg(f32), single(1)) == Misfit::none);
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
  place = vector_of(s32);
  CHECK(both(place, reg(b32), reg(f32)) == Misfit::undocumented);
  place.whole_numbers = true;
  CHECK(both(place, reg(b32), reg(f32)) == Misfit::type);
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

}  // namespace
}  // namespace ptxloom::ir::fit_test
