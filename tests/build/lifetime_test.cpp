// SPDX-License-Identifier: Apache-2.0
// Builders and modules are used when whoever made the specs has let go of them.
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/builder.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/errors.hpp"
#include "support/overlay.hpp"

namespace ptxloom {
namespace {

std::shared_ptr<const Specs> read(const test::ProbeOverlay& overlay) {
  return std::make_shared<const Specs>(overlay.folders());
}

TEST_CASE("a builder, its module and what is read of it outlive the specs they were given") {
  const test::ProbeOverlay overlay;
  auto specs = read(overlay);
  const Target target = specs->target("sm_130a");
  KernelBuilder k(specs, "test", target);
  const Variant variant = specs->match("add.s32").front();
  specs.reset();
  const Reg x = k.reg(s32);
  k.emit(variant, x, 1, 2);
  k.emit("add.s32", x, x, 3);
  CHECK(k.target().name() == "sm_130a");
  ir::Module module = k.finish();
  CHECK(k.specs().match("probe.f24").size() == 1);

  ParseResult read_back = parse(print(module), module.specs);
  module = {};
  CHECK(read_back.ok());
  CHECK(check(read_back.module).empty());
  const std::string text = print(read_back.module);
  CHECK(text.find("add.s32 %r0, 1, 2;") != std::string::npos);
  const std::vector<Diagnostic> wrong =
      check({.ptx = "probe.f24 d, a, b;", .declarations = "", .target = "sm_130a"}, read_back.module.specs);
  read_back = {};
  REQUIRE(wrong.size() >= 1);
  CHECK_FALSE(to_string(wrong.front()).empty());
}

// The module keeps its own specs only; an instruction of others keeps those.
TEST_CASE("an instruction whose variant comes of other specs outlives them") {
  const test::ProbeOverlay overlay;
  KernelBuilder k(std::make_shared<const Specs>(), "test", Target("sm_80"));
  const Reg x = k.reg(s32);
  k.emit(read(overlay)->match("add.s32").front(), x, 1, 2);
  k.emit(read(overlay)->match("add.s32").front(), x, x, 2);
  const ir::Module module = k.finish();
  CHECK(print(module).find("add.s32 %r0, %r0, 2;") != std::string::npos);
  CHECK(check(module).empty());
}

TEST_CASE("a moved-from builder says so, and the other one goes on") {
  const auto specs = std::make_shared<const Specs>();
  KernelBuilder k(specs, "test", Target("sm_90a"));
  const Reg x = k.reg(s32), p = k.reg(pred);
  const Shared array = k.shared(u32, 4, "array");
  KernelBuilder other = std::move(k);
  const std::function<void()> uses[] = {[&] { k.reg(u32); },
                                        [&] { k.add(x, 1); },
                                        [&] { k.special("tid.x"); },
                                        [&] { k.param(u32, "n"); },
                                        [&] { k.load(array[0]); },
                                        [&] { k.convert(f32, x); },
                                        [&] { k.if_(p, [] {}); },
                                        [&] { k.emit("add.s32", x, x, 1); },
                                        [&] { k.op("add.s32", x, 1); },
                                        [&] { static_cast<void>(k.has("add.s32")); },
                                        [&] { k.exp2(x); },
                                        [&] { k.next_kernel("next"); },
                                        [&] { k.finish(); },
                                        [&] { static_cast<void>(k.specs()); }};
  for (std::size_t i = 0; i < std::size(uses); ++i) {
    CAPTURE(i);
    CHECK(error_of(uses[i]).code() == "moved-from");
  }
  other.add(x, 1);
  CHECK(check(other.finish()).empty());
}

}  // namespace
}  // namespace ptxloom
