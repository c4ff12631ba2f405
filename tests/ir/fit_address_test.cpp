// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <string>
#include <utility>
#include <vector>

#include "ir/fit_operands.hpp"

// What an address, a name of a variable and a label may be.
namespace ptxloom::ir::fit_test {
namespace {

TEST_CASE("an address is in a register that holds one") {
  // ptxas widens a base of 16 bits, also of an address of 64.
  const auto is_widened = [](const Place& place, const Type& type) {
    return type.bits == 16 && !type.is_float() && (place.space.empty() || place.space == "global");
  };
  const auto holding = [&](const Place& place) {
    std::string names;
    for (std::uint32_t i = 0; i < kRegisters.size(); ++i) {
      const Misfit why = misfit(place, {.kind = Kind::address, .index = i});
      if (why == Misfit::none)
        names += (names.empty() ? "" : " ") + std::string(kRegisters[i].name);
      else
        CHECK(why == (place.any_class || is_widened(place, kRegisters[i]) ? Misfit::undocumented
                                                                          : Misfit::address_type));
    }
    return names;
  };
  const auto in = [](const char* space) { return Place{.kind = Place::Kind::address, .space = space}; };
  for (const char* space : {"", "global", "texref", "samplerref", "surfref", "tensormap"})
    CHECK(holding(in(space)) == "b64 u64 s64");
  for (const char* space : {"shared", "shared::cta", "local", "const", "param"})
    CHECK(holding(in(space)) == "b16 b32 b64 u16 s16 u32 s32 u64 s64");
  CHECK(holding(in("tmem")) == "b32 u32 s32");
  CHECK(misfit({.kind = Place::Kind::address, .space = "global", .short_base = true},
               {.kind = Kind::address, .index = reg(u32).index}) == Misfit::undocumented);
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
         {"", "none", "global", "unified", "shared", "shared::cluster", "local", "const", "param",
          "param::func", "code", "texref", "samplerref", "surfref", "tensormap"}) {
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
