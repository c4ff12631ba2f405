// SPDX-License-Identifier: Apache-2.0
// Parts of shared memory: their places, and that a kernel finds them there.
#include "ptxloom/kit/shared_layout.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;
using kit::SharedLayout;

TEST_CASE("parts follow each other at multiples of their alignments") {
  SharedLayout layout;
  CHECK(layout.size() == 0);
  CHECK(layout.pitch() == 0);
  layout.add("a", 6000, 1024).add("b", 512, 1024).add("nothing", 0, 64).add("barriers", 28, 8);
  CHECK(layout.offset("a") == 0);
  CHECK(layout.offset("b") == 6144);
  CHECK(layout.offset("nothing") == 6656);
  CHECK(layout.offset("barriers") == 6656);
  CHECK(layout.bytes("a") == 6000);
  CHECK(layout.size() == 6684);
  CHECK(layout.alignment() == 1024);
  CHECK(layout.pitch() == 7168);
}

TEST_CASE("parts that cannot be placed are refused") {
  SharedLayout layout;
  layout.add("a", 16);
  const auto failure = [](const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("nothing was thrown");
  };
  CHECK_THAT(failure([&] { layout.add("a", 16); }), ContainsSubstring("two parts 'a'"));
  CHECK_THAT(failure([&] { layout.add("b", -1); }), ContainsSubstring("not negative"));
  CHECK_THAT(failure([&] { layout.add("b", 1, 24); }), ContainsSubstring("power of two"));
  CHECK_THAT(failure([&] { (void)layout.offset("c"); }), ContainsSubstring("its parts are: a"));
  CHECK(layout.size() == 16);
}

// Each part is written in its whole length: none overlaps another.
TEST_CASE("a kernel uses the parts of two stages") {
  kit::Params params;
  params.pointer("out", u32);
  KernelBuilder k = kit_test::builder("sm_75");
  k.require_block(32);
  const kit::ParamRegs in = params.declare(k);
  // guide shared_layout {
  kit::SharedLayout stage;
  stage.add("a", 96, 128).add("b", 32, 64);
  kit::SharedLayout shared;
  shared.add("stages", 2 * stage.pitch(), stage.alignment()).add("flags", 8);
  const Reg base = k.address_of(k.dynamic_shared("bytes", 128));
  const Reg stages = shared.address(k, base, "stages"), flags = shared.address(k, base, "flags");
  // the launch has shared.size() bytes of dynamic shared memory
  // }
  const Reg thread = k.special("tid.x");
  const auto fill = [&](Reg at, int bytes, int value) {
    const Reg here = k.fma(thread, 4, at);
    k.if_(k.lt(thread, bytes / 4), [&] { k.store("shared", u32, k.at(here), k.add(thread, value)); });
  };
  k.for_(thread, shared.size() / 4, 32,
         [&](Reg word) { k.store("shared", u32, k.at(k.fma(word, 4, base)), 7); });
  k.barrier();
  for (int i = 0; i < 2; ++i) {
    const Reg begin = k.add(stages, i * stage.pitch());
    fill(stage.address(k, begin, "a"), stage.bytes("a"), 100 + 1000 * i);
    fill(stage.address(k, begin, "b"), stage.bytes("b"), 200 + 1000 * i);
  }
  fill(flags, shared.bytes("flags"), 5000);
  k.barrier();
  k.for_(thread, shared.size() / 4, 32, [&](Reg word) {
    k.store(in.pointer("out")[word], k.load("shared", u32, k.at(k.fma(word, 4, base))));
  });
  CHECK(stage.pitch() == 256);
  CHECK(shared.size() == 520);
  std::vector<std::uint32_t> out(130), expected(130, 7);
  for (std::uint32_t i = 0; i < 2; ++i) {
    for (std::uint32_t word = 0; word < 24; ++word) expected[64 * i + word] = 100 + 1000 * i + word;
    for (std::uint32_t word = 0; word < 8; ++word) expected[64 * i + 32 + word] = 200 + 1000 * i + word;
    expected[128 + i] = 5000 + i;
  }
  exec::Launch launch{.block = {32, 1, 1}};
  launch.shared_bytes = 520;
  kit_test::run(k.finish(), launch, params.arguments(), {kit_test::tensor("out", out)});
  CHECK(out == expected);
}
