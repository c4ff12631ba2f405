// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>
#include <cstddef>
#include <cstdint>

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
}

TEST_CASE("kernels are found by name") {
  ir::Module module;
  module.functions.resize(2);
  module.functions[1].name = "second";
  CHECK(module.find("second") == &module.functions[1]);
  CHECK(module.find("third") == nullptr);
}
