// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>
#include <string>

#include "ir/naming.hpp"
#include "ptxloom/ir.hpp"

namespace {

using namespace ptxloom;

// A kernel's parameters lie as the compiler lays out a struct of the same members.
struct Parameters {
  std::uint32_t n;
  float alpha;
  std::uint8_t flag;
  void* x;
  std::uint16_t half;
  alignas(16) std::uint8_t blob[20];
  double beta;
  alignas(64) std::uint8_t map[128];
};

}  // namespace

TEST_CASE("parameters lie where C puts the members of a struct") {
  ir::Kernel kernel;
  kernel.name = "k";
  kernel.parameters = {{.name = "n", .type = u32},
                       {.name = "alpha", .type = f32},
                       {.name = "flag", .type = u8},
                       {.name = "x", .type = u64, .alignment = 128, .pointer = ir::Space::global},
                       {.name = "half", .type = b16},
                       {.name = "blob", .type = b8, .count = 20, .alignment = 16},
                       {.name = "beta", .type = f64},
                       {.name = "map", .type = b8, .count = 128, .alignment = 64}};
  const KernelSignature found = signature(kernel);
  REQUIRE(found.parameters.size() == 8);
  CHECK(found.name == "k");
  CHECK(found.parameters[0].offset == offsetof(Parameters, n));
  CHECK(found.parameters[1].offset == offsetof(Parameters, alpha));
  CHECK(found.parameters[2].offset == offsetof(Parameters, flag));
  CHECK(found.parameters[3].offset == offsetof(Parameters, x));
  CHECK(found.parameters[4].offset == offsetof(Parameters, half));
  CHECK(found.parameters[5].offset == offsetof(Parameters, blob));
  CHECK(found.parameters[6].offset == offsetof(Parameters, beta));
  CHECK(found.parameters[7].offset == offsetof(Parameters, map));
  CHECK(found.parameters[5].size == 20);
  CHECK(found.parameters[3].pointer);
  CHECK_FALSE(found.parameters[0].pointer);
  CHECK(found.size() == sizeof(Parameters));
}

TEST_CASE("operands read as PTX writes them, and broken ones do no harm") {
  using Kind = ir::Operand::Kind;
  ir::Kernel kernel;
  kernel.registers = {{.type = b32, .number = 7},
                      {.type = f64, .number = 1},
                      {.type = u64, .number = 0, .name = "base"},
                      {.type = pred, .number = 0}};
  kernel.symbols = {{"tile"}};
  kernel.operands = {
      {.kind = Kind::reg, .index = 0}, {.kind = Kind::sink}, {.kind = Kind::integer, .value = -3}};
  const auto text = [&](ir::Operand operand) { return ir::text_of(kernel, operand); };
  CHECK(text({.kind = Kind::reg, .index = 0}) == "%r7");
  CHECK(text({.kind = Kind::reg, .index = 1}) == "%fd1");
  CHECK(text({.kind = Kind::reg, .negated = true, .index = 2}) == "-base");
  CHECK(text({.kind = Kind::reg, .negated = true, .index = 3}) == "!%p0");
  CHECK(text({.kind = Kind::vector, .count = 3, .index = 0}) == "{%r7, _, -3}");
  CHECK(text({.kind = Kind::address, .index = 2, .value = -8}) == "base+-8");
  CHECK(text({.kind = Kind::address_symbol, .index = 0, .value = 16}) == "tile+16");
  CHECK(text({.kind = Kind::address_symbol, .plus_zero = true, .index = 0}) == "tile+0");
  CHECK(text({.kind = Kind::f32, .value = 0x3F800000}) == "0f3F800000");
  CHECK(text({.kind = Kind::f64, .value = -1}) == "0dFFFFFFFFFFFFFFFF");
  CHECK(text({.kind = Kind::reg, .index = 99}) == "<register 99>");
  CHECK(text({.kind = Kind::vector, .count = 9, .index = 2}) == "<vector>");
  CHECK(text({.kind = Kind::vector, .count = 1, .index = 2}) == "{-3}");
  CHECK(text({.kind = Kind::vector, .count = 2, .index = 2}) == "<vector>");
  CHECK(text({.kind = Kind::vector, .count = 1, .index = 3}) == "<vector>");
  CHECK(text({.kind = Kind::vector, .count = 0, .index = 4}) == "<vector>");
  kernel.operands.push_back({.kind = Kind::vector, .count = 1, .index = 0});
  CHECK(text({.kind = Kind::vector, .count = 1, .index = 3}) == "{<vector>}");
}

TEST_CASE("every kind of operand has a text") {
  using Kind = ir::Operand::Kind;
  ir::Kernel kernel;
  kernel.registers = {{.type = u32, .number = 1}};
  kernel.symbols = {{"tile"}};
  kernel.labels = {"loop"};
  const auto text = [&](ir::Operand operand) { return ir::text_of(kernel, operand); };
  CHECK(text({.kind = Kind::reg, .value = 0x3062}) == "%r1.b0");
  CHECK(text({.kind = Kind::reg, .index = 1, .value = 0x3062}) == "<register 1>.b0");
  CHECK(text({.kind = Kind::reg, .negated = true, .index = 1}) == "!<register 1>");
  CHECK(text({.kind = Kind::integer, .negated = true, .value = 1}) == "!1");
  CHECK(text({.kind = Kind::f32, .value = -1}) == "0fFFFFFFFF");
  CHECK(text({.kind = Kind::f32, .value = 0x123}) == "0f00000123");
  CHECK(text({.kind = Kind::f64, .value = 0x123}) == "0d0000000000000123");
  CHECK(text({.kind = Kind::address, .value = 0}) == "%r1");
  CHECK(text({.kind = Kind::symbol, .count = 4, .value = 12}) == "tile[3]");
  CHECK(text({.kind = Kind::symbol, .index = 1}) == "<symbol 1>");
  CHECK(text({.kind = Kind::address_absolute, .value = 64}) == "64");
  CHECK(text({.kind = Kind::label}) == "loop");
  CHECK(text({.kind = Kind::label, .index = 1}) == "<label 1>");
  CHECK(text({.kind = Kind::literal}) == "<literal>");
}

TEST_CASE("a selector is packed in eight bytes and read back") {
  for (const char* letters : {"", "x", "b0", "h1h0", "12345678"}) {
    CHECK(ir::selector_of({.kind = ir::Operand::Kind::reg, .value = ir::pack_selector(letters)}) == letters);
  }
  CHECK(ir::pack_selector("b0") == 0x3062);
  CHECK(ir::selector_of({.value = ir::pack_selector("123456789")}) == "12345678");
  CHECK(ir::selector_of({.value = ir::pack_selector("\x80\xFF")}) == "\x80\xFF");
}

TEST_CASE("an identifier is what the manual's grammar says") {
  // PTX ISA 4.4: [a-zA-Z]{followsym}* or [_$%]{followsym}+, followsym being [a-zA-Z0-9_$].
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
                    follow = letters + "0123456789_$";
  CHECK_FALSE(ir::is_identifier(""));
  for (int code = 0; code < 256; ++code) {
    const std::string c(1, static_cast<char>(code));
    const bool letter = letters.find(c) != std::string::npos, follows = follow.find(c) != std::string::npos;
    CAPTURE(code);
    CHECK(ir::is_identifier(c) == letter);
    CHECK(ir::is_identifier(c + "x") == (letter || c == "_" || c == "$" || c == "%"));
    for (const char* before : {"x", "_", "$", "%", "x9_"}) CHECK(ir::is_identifier(before + c) == follows);
    CHECK(ir::is_identifier("x" + c + "y") == follows);
  }
}

TEST_CASE("kernels are found by name") {
  ir::Module module;
  module.functions.resize(2);
  module.functions[1].name = "second";
  CHECK(module.find("second") == &module.functions[1]);
  CHECK(module.find("third") == nullptr);
  // A function may be declared before and after it is defined: that is the one with a body.
  module.functions.resize(5);
  for (const std::size_t i : {2u, 3u, 4u}) module.functions[i].name = "first";
  module.functions[2].defined = module.functions[4].defined = false;
  CHECK(module.find("first") == &module.functions[3]);
  module.functions[3].name = "other";
  CHECK(module.find("first") == &module.functions[4]);
}

TEST_CASE("registers are named after the class of their type") {
  const auto name = [](const Type& type) { return ir::name_of({.type = type, .number = 12}); };
  CHECK(name(pred) == "%p12");
  for (const Type& type : {b8, u8, e4m3}) CHECK(name(type) == "%b12");
  for (const Type& type : {b16, s16, f16}) CHECK(name(type) == "%h12");
  for (const Type& type : {b32, u32, f16x2}) CHECK(name(type) == "%r12");
  CHECK(name(f32) == "%f12");
  for (const Type& type : {b64, s64}) CHECK(name(type) == "%rd12");
  CHECK(name(f64) == "%fd12");
  CHECK(name(b128) == "%q12");
}
