// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "reading.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::testing;
using Found = std::vector<std::string>;
using Bytes = std::vector<std::uint8_t>;

ir::Variable only(const std::string& declaration) {
  const ParseResult result = parse(module_of(declaration), compiled_specs());
  INFO(declaration);
  INFO(words(result));
  REQUIRE(result.ok());
  return result.module.variables.back();
}

// What the last variable of a module prints as.
std::string printed(const std::string& declarations) {
  const ParseResult result = parse(module_of(declarations), compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  const std::string text = print(result.module);
  const std::size_t line = text.rfind('\n', text.size() - 2) + 1;
  return text.substr(line, text.size() - 1 - line);
}

}  // namespace

TEST_CASE("initial values are bytes in a row") {
  CHECK(only(".global .u32 x[2][3] = {{1, -1}, {2}};").initial ==
        Bytes{1, 0, 0, 0, 255, 255, 255, 255, 2, 0, 0, 0});
  CHECK(only(".global .u8 x[] = {300, 0x12, 0b11, 017};").initial == Bytes{44, 18, 3, 15});
  CHECK(only(".global .u8 x[] = {1, 2, 3};").count == 3);
  CHECK(only(".global .u8 x[][2] = {{1}, {2}, {3}};").count == 6);
  CHECK(only(".global .v2 .f32 x = {1.0, 0f40000000};").initial == Bytes{0, 0, 0x80, 0x3F, 0, 0, 0, 0x40});
  CHECK(only(".const .b64 x = 1.0;").initial == Bytes{0, 0, 0, 0, 0, 0, 0xF0, 0x3F});
  CHECK(only(".global .b128 x = 1;").initial.size() == 16);
}

TEST_CASE("an initial value may be left out, but not its elements' braces") {
  CHECK(only(".global .u32 x[2] = {};").count == 2);
  CHECK(only(".global .u32 x[2] = {};").initial.empty());
  CHECK(only(".global .u32 x[2][3] = {};").initial.empty());
  CHECK(places(module_of(".global .u32 x[2][3] = {{}, {1}};")) == Found{"4:26 syntax"});
  CHECK(places(module_of(".global .u32 x[] = {};")) == Found{"4:21 syntax"});
}

TEST_CASE("addresses, attributes and linkage print as they were") {
  const std::string z = ".global .u32 z[4];\n";
  CHECK(printed(z + ".global .align 8 .u64 x[3] = {z, z+4, generic(z)+8};") ==
        ".global .align 8 .u64 x[3] = {z, z+4, generic(z)+8};");
  CHECK(printed(z + ".global .u8 x[2] = {0xFF(z), 0xFF00(z+4)};") ==
        ".global .u8 x[2] = {0x00000000000000FF(z), 0x000000000000FF00(z+4)};");
  CHECK(printed(".global .u32 x[1] = {3};") == ".global .u32 x[1] = {3};");
  CHECK(printed(".weak .const .align 16 .f64 x = 0.5;") ==
        ".weak .const .align 16 .f64 x = 0d3FE0000000000000;");
  CHECK(printed(".common .global .b32 x;") == ".common .global .b32 x;");
  CHECK(printed(".visible .global .attribute(.managed) .b32 x;") ==
        ".visible .global .attribute(.managed) .b32 x;");
  CHECK(printed(".extern .global .attribute(.unified(1, 2)) .b32 x[];") ==
        ".extern .global .attribute(.unified(1, 2)) .b32 x[];");
  CHECK(printed(".global .texref x;") == ".global .texref x;");
  CHECK(printed(".global .samplerref x = { addr_mode_0 = wrap, force_unnormalized_coords = 1 };") ==
        ".global .samplerref x = { addr_mode_0 = wrap, force_unnormalized_coords = 1 };");
}

TEST_CASE("the variables declared as v<4> are counted over the module") {
  const std::string some = ".global .u32 v<60000>;\n";
  CHECK(parse(module_of(some + ".shared .u8 w<40000>;"), compiled_specs()).ok());
  const ParseResult result = parse(module_of(some + ".shared .u8 w<40001>;"), compiled_specs());
  REQUIRE(result.diagnostics.size() == 1);
  CHECK(result.diagnostics[0].code == "bad-size");
  CHECK(result.diagnostics[0].message ==
        "a module can have 100000 variables declared as v<4> in all: 0 to 40000 here");
}

TEST_CASE("what is wrong with a declaration is reported where it stands") {
  CHECK(places(module_of(".global .u32 x = y;")) == Found{"4:18 undefined-name"});
  CHECK(places(module_of(".global .u32 x = {1};")) == Found{"4:18 syntax"});
  CHECK(places(module_of(".global .u32 x[2] = 1;")) == Found{"4:21 syntax"});
  CHECK(places(module_of(".global .u32 x[2][2] = {{1}, {2}, {3}};")) == Found{"4:24 bad-size"});
  CHECK(places(module_of(".global .u32 x[2][2] = {{1, 2, 3}};")) == Found{"4:25 bad-size"});
  CHECK(places(module_of(".global .u32 x[2][] = {{1}};")) == Found{"4:19 syntax"});
  CHECK(places(module_of(".global .f32 x = 1;")) == Found{"4:18 operand-literal"});
  CHECK(places(module_of(".global .u32 x = 1.0;")) == Found{"4:18 operand-literal"});
  CHECK(places(module_of(".global .u32 x, x;")) == Found{"4:17 duplicate-name"});
  CHECK(places(module_of(".extern .global .u32 x = 3;")) == Found{"4:22 syntax"});
  CHECK(places(module_of(".global .u32 x[1099511627776][1099511627776];")) == Found{"4:14 bad-size"});
  CHECK(places(module_of(".extern .global .u8 x[1099511627776];")).empty());
  CHECK(places(module_of(".extern .global .u8 x[1048576][1048576];")).empty());
  CHECK(places(module_of(".extern .global .u8 x[1099511627777];")) == Found{"4:23 bad-size"});
  CHECK(places(module_of(".extern .global .u8 x[1048576][1048577];")) == Found{"4:21 bad-size"});
}
