// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/ptx.hpp"
#include "support/ptx_samples.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace {

using namespace ptxloom;
using Kind = ir::Operand::Kind;

Variant only(const Specs& specs, std::string_view opcode, std::size_t operands) {
  for (const Variant& variant : specs.match(opcode))
    if (variant.operands().size() == operands) return variant;
  FAIL("no variant of " << opcode);
  return {};
}

void append(ir::Kernel& kernel, Variant variant, std::vector<ir::Operand> operands,
            std::optional<ir::Guard> guard = {}) {
  const auto first = static_cast<std::uint32_t>(kernel.operands.size());
  kernel.operands.insert(kernel.operands.end(), operands.begin(), operands.end());
  kernel.body.push_back(
      {ir::Statement::Kind::instruction, static_cast<std::uint32_t>(kernel.instructions.size())});
  kernel.instructions.push_back({.variant = variant,
                                 .first_operand = first,
                                 .operand_count = static_cast<std::uint32_t>(operands.size()),
                                 .guard = guard});
}

}  // namespace

TEST_CASE("text of any length is printed whole") {
  std::string expected;
  ir::Module module{.version = {8, 0}, .target = "sm_80"};
  for (const std::size_t length : {1, 4000, 4093, 4094, 4095, 4096, 4097, 9000, 1}) {
    std::string line(length, 'a');
    for (std::size_t i = 0; i < length; ++i) line[i] = static_cast<char>('a' + (i + i / 26) % 26);
    expected += "// " + line + "\n";
    module.header.push_back(std::move(line));
  }
  CHECK(print(module) == expected + "\n.version 8.0\n.target sm_80\n.address_size 64\n");
}

TEST_CASE("a module made of data prints as PTX") {
  const auto specs = std::make_shared<const Specs>();
  ir::Module module{.specs = specs, .version = {8, 0}, .target = "sm_80", .header = {"made by hand", ""}};
  module.variables = {
      {.name = "weights",
       .space = ir::Space::constant,
       .type = f32,
       .count = 2,
       .initial = {0, 0, 0x80, 0x3F}},
      {.name = "dynamic", .type = b8, .count = 0, .alignment = 128, .linkage = ir::Linkage::external}};
  ir::Kernel& kernel = module.functions.emplace_back();
  kernel.name = "axpy";
  kernel.parameters = {{.name = "n", .type = u32},
                       {.name = "x", .type = u64, .alignment = 4, .pointer = ir::Space::global}};
  kernel.maxntid = {128, 1, 1};
  kernel.registers = {{.type = u32, .number = 0},     {.type = f32, .number = 0},
                      {.type = f32, .number = 1},     {.type = pred, .number = 0},
                      {.type = s32, .name = "count"}, {.type = u64, .number = 2}};
  kernel.symbols = {{"n", ir::Space::param}};
  kernel.labels = {"end"};
  kernel.comments = {"---- tail ----", ""};
  append(kernel, only(*specs, "ld.param.u32", 2),
         {{.kind = Kind::reg, .index = 0}, {.kind = Kind::address_symbol, .index = 0}});
  append(kernel, only(*specs, "bra", 1), {{.kind = Kind::label, .index = 0}},
         ir::Guard{.reg = {3}, .negated = true});
  kernel.body.push_back({ir::Statement::Kind::comment, 0});
  append(kernel, only(*specs, "st.global.f32", 2),
         {{.kind = Kind::address, .index = 5, .value = -4}, {.kind = Kind::f32, .value = 0x40490FDB}});
  kernel.body.push_back({ir::Statement::Kind::comment, 1});
  kernel.body.push_back({ir::Statement::Kind::label, 0});
  append(kernel, only(*specs, "ret", 0), {});
  CHECK(print(module) == R"(// made by hand
//

.version 8.0
.target sm_80
.address_size 64

.const .f32 weights[2] = {0f3F800000};
.extern .shared .align 128 .b8 dynamic[];

.visible .entry axpy(
    .param .u32 n,
    .param .u64 .ptr .global .align 4 x
)
.maxntid 128, 1, 1
{
    .reg .b32 %r<1>;
    .reg .f32 %f<2>;
    .reg .pred %p<1>;
    .reg .s32 count;
    .reg .b64 %rd<3>;

    ld.param.u32 %r0, [n];
    @!%p0 bra end;

    // ---- tail ----
    st.global.f32 [%rd2+-4], 0f40490FDB;
    //
end:
    ret;
}
)");
  CHECK(print(kernel, kernel.instructions[1]) == "@!%p0 bra end;");
}

TEST_CASE("what was printed reads and prints as it was") {
  const auto specs = std::make_shared<const Specs>();
  const ParseResult first = parse(kSamplePtx, specs);
  for (const Diagnostic& d : first.diagnostics) UNSCOPED_INFO(to_string(d));
  REQUIRE(first.ok());
  CHECK(print(first.module) == kSamplePtx);
}

TEST_CASE("what is printed assembles", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const ParseResult result = parse(kSamplePtx, std::make_shared<const Specs>());
  const CommandResult assembled = Ptxas(*path).assemble(print(result.module), "sm_90a");
  INFO(assembled.output);
  CHECK(assembled.status == 0);
}
