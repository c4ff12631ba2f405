// SPDX-License-Identifier: Apache-2.0
// What a Kernel is launched with beside its arguments: variables of its module, cooperative grids, a limit of
// steps; and what it says of itself.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>

#include "ptxloom/context.hpp"
#include "support/errors.hpp"

namespace ptxloom::test::launch_options_test {
namespace {

const std::string kText =
    ".version 8.0\n.target sm_80\n.address_size 64\n.const .align 4 .b8 coef[8];\n.visible .global .u32 bias "
    "= 5;\n"
    ".global .texref image;\n.extern .global .u32 elsewhere;\n.visible .entry k(.param .u64 .ptr .global "
    "out)\n{\n"
    ".reg .b64 %o; .reg .b32 %x, %y;\nld.param.u64 %o, [out];\nld.const.u32 %x, [coef+4];\nld.global.u32 %y, "
    "[bias];\nadd.u32 %x, %x, %y;\nst.global.u32 [%o], %x;\nret;\n}\n";

std::uint32_t result_of(const Context& context, const Kernel& kernel) {
  Buffer out = context.alloc(4);
  kernel.launch(nullptr, {}, {out});
  context.synchronize();
  std::vector<std::uint32_t> word(1);
  out.copy_to(word);
  return word[0];
}

std::span<const std::byte> bytes_of(const std::vector<std::uint32_t>& words) {
  return std::as_bytes(std::span(words));
}

}  // namespace

TEST_CASE("a kernel lists its module's variables, and takes their bytes") {
  const Context context({.device = "cpu"});
  const Kernel kernel = context.load(kText);
  const auto variables = kernel.variables();
  REQUIRE(variables.size() == 2);
  CHECK((variables[0].name == "coef" && variables[0].constant && variables[0].bytes == 8));
  CHECK((variables[1].name == "bias" && !variables[1].constant && variables[1].bytes == 4));
  CHECK(result_of(context, kernel) == 5);
  kernel.write_variable("coef", bytes_of({1, 100}));
  CHECK(result_of(context, kernel) == 105);
  kernel.write_variable("bias", bytes_of({7}));
  CHECK(result_of(context, kernel) == 107);
  CHECK(result_of(context, context.load(kText)) == 5);  // another kernel has its own

  const Error unknown = error_of([&] { kernel.write_variable("baas", bytes_of({1})); });
  CHECK(unknown.kind() == ErrorKind::usage);
  CHECK(unknown.diagnostics()[0].code == "unknown-variable");
  CHECK(unknown.diagnostics()[0].hint == "did you mean 'bias'? it has coef (8 bytes), bias (4 bytes)");
  const Error size = error_of([&] { kernel.write_variable("coef", bytes_of({1})); });
  CHECK(size.diagnostics()[0].code == "variable-size");
  CHECK(error_of([&] { kernel.write_variable("image", bytes_of({1, 2})); }).diagnostics()[0].code ==
        "unknown-variable");
  CHECK(result_of(context, kernel) == 107);
}

TEST_CASE("a kernel's target is what its PTX is written for") {
  const Context context({.device = "cpu"});
  CHECK(context.target().name() == "sm_90a");
  CHECK(context.load(kText).target().name() == "sm_80");
}

TEST_CASE("a null pointer is a valid argument, and dereferencing it is found") {
  const Context context({.device = "cpu"});
  const Error error = error_of([&] { context.load(kText).launch(nullptr, {}, {nullptr}); });
  CHECK(error.diagnostics()[0].code == "null-address");
}

TEST_CASE("a launch may have a step limit, and be cooperative") {
  const Context context({.device = "cpu"});
  const std::string head = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n";
  const Kernel hangs = context.load(head + "again: bra again;\n}\n");
  const Error error = error_of([&] { hangs.launch_observed({}, {}, {.step_limit = 1000}); });
  CHECK(error.kind() == ErrorKind::device_fault);
  CHECK(error.diagnostics()[0].code == "step-limit");
  const Kernel empty = context.load(head + "ret;\n}\n");
  // sm_80 is an A100: 108 SMs with 2 thread blocks each.
  empty.launch(nullptr, {.grid = {216}, .block = {1024}, .cooperative = true}, {});
  CHECK(error_of([&] { empty.launch(nullptr, {.grid = {217}, .block = {1024}, .cooperative = true}, {}); })
            .diagnostics()[0]
            .code == "launch-cooperative");
}

TEST_CASE("a kernel's warnings are logged by kind, or all of them at the detailed level") {
  std::string text =
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .b16 %h<3>;\n";
  text += "mov.u16 %h0, 5;\nmov.u16 %h1, 6;\n";
  for (int i = 0; i < 30; ++i) text += "set.lo.f16.u16 %h2, %h0, %h1;\n";
  text += "ret;\n}\n";
  const auto logged = [&](LogLevel most) {
    std::vector<std::string> lines;
    const Log log(
        [&](LogLevel level, std::string_view line) {
          if (level == LogLevel::warning) lines.emplace_back(line);
        },
        most);
    const Kernel kernel = Context({.device = "cpu", .log = log}).load(text);
    CHECK(kernel.diagnostics().size() == 30);
    return lines;
  };
  const auto brief = logged(LogLevel::warning);
  REQUIRE(brief.size() == 1);
  CHECK(brief[0].starts_with("9:1: warning: set.lo.f16.u16: "));
  CHECK(brief[0].ends_with("[undocumented] (first of 30)"));
  CHECK(logged(LogLevel::info).size() == 30);
}

}  // namespace ptxloom::test::launch_options_test
