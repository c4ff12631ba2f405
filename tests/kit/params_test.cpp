// SPDX-License-Identifier: Apache-2.0
// Parameters that are declared once: what the kernel reads is what the launch passes.
#include "ptxloom/kit/params.hpp"

#include <catch2/matchers/catch_matchers_string.hpp>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/ptx.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;
using kit::Params;

namespace {

std::string failure(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

}  // namespace

TEST_CASE("the kernel reads each parameter by its name") {
  Params params;
  params.scalar("half", f16, 0.3).size("n", u32, 7).pointer("out", f32, "y").size("stride", u64, 1ULL << 40);
  params.size("baked", s32, 5, true).scalar("alpha", f32, -2.5).workspace(u32).value("scale", f32);
  KernelBuilder k = kit_test::builder();
  const kit::ParamRegs in = params.declare(k);
  const Pointer out = in.pointer("out");
  k.store(out[0], k.convert(f32, in["half"]));
  k.store(out[1], k.convert(f32, in["n"]));
  k.store(out[2], k.convert(f32, k.shr(in["stride"], 38)));
  k.store(out[3], k.convert(f32, in["baked"]));
  k.store(out[4], in["alpha"]);
  k.store(out[5], in["scale"]);
  k.store(in.pointer("workspace")[1], in["n"]);
  CHECK(in.has("n"));
  CHECK_FALSE(in.has("y"));
  std::vector<ArgumentPlan> arguments = params.arguments();
  arguments[4].bits = 99;  // the kernel has 5 as a constant
  std::vector<float> y(6, 1000), scale{kit_test::random_value()};
  std::vector<std::uint32_t> workspace(2, 1);
  kit_test::run(
      k.finish(), {}, arguments,
      {kit_test::tensor("y", y), kit_test::tensor("workspace", workspace), kit_test::tensor("scale", scale)});
  CHECK(y == std::vector<float>{0.300048828125F, 7, 4, 5, -2.5F, scale[0]});
  CHECK(workspace == std::vector<std::uint32_t>{1, 7});
}

TEST_CASE("tensor maps are parameters of their own type") {
  Params params;
  TensorMap map;
  map.address = 64;
  params.map("a", "a", map).map_in_workspace("packed_a", map, 512).pointer("d", bf16);
  KernelBuilder k = kit_test::builder();
  const kit::ParamRegs in = params.declare(k);
  CHECK(in["a"].type == u64);
  CHECK(in.pointer("d").element == bf16);
  const std::string text = print(k.finish());
  CHECK_THAT(text, ContainsSubstring("a[128]") && ContainsSubstring("packed_a[128]"));
  const auto& arguments = params.arguments();
  REQUIRE(arguments.size() == 3);
  CHECK(arguments[0].map->address == 64);
  CHECK(arguments[1].map->address == 512);
  CHECK(arguments[1].tensor == kWorkspace);
  CHECK_FALSE(arguments[2].map);
}

TEST_CASE("parameters that cannot be passed are refused") {
  Params params;
  params.size("n", u32, 1).pointer("x", f32);
  CHECK_THAT(failure([&] { params.scalar("n", f32, 1); }), ContainsSubstring("two parameters 'n'"));
  CHECK_THAT(failure([&] { params.size("m", u32, 1ULL << 32); }), ContainsSubstring("wider type"));
  CHECK_THAT(failure([&] { params.size("m", s32, 1ULL << 31); }), ContainsSubstring("which is no s32"));
  CHECK_THAT(failure([&] { params.size("m", f32, 1); }), ContainsSubstring("a size is an integer"));
  KernelBuilder k = kit_test::builder();
  const kit::ParamRegs in = params.declare(k);
  CHECK_THAT(failure([&] { (void)in["k"]; }), ContainsSubstring("its parameters are: n, x"));
  CHECK_THAT(failure([&] { (void)in.pointer("n"); }), ContainsSubstring("not a pointer"));
  CHECK(params.arguments().size() == 2);
}
