// SPDX-License-Identifier: Apache-2.0
// Activations, against their definitions in double precision.
#include "ptxloom/kit/activation.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

using Emitter = std::function<Reg(KernelBuilder&, Reg)>;

std::vector<float> activated(const Emitter& activation, std::vector<float> x) {
  kit::Params params;
  params.pointer("x", f32);
  KernelBuilder k = kit_test::builder("sm_75");
  const kit::ParamRegs in = params.declare(k);
  const auto place = in.pointer("x")[k.special("tid.x")];
  k.store(place, activation(k, k.load(place)));
  kit_test::run(k.finish(), {.block = {static_cast<std::uint32_t>(x.size()), 1, 1}}, params.arguments(),
                {kit_test::tensor("x", x)});
  return x;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

}  // namespace

TEST_CASE("activations are those of their definitions") {
  const struct {
    Emitter emitted;
    double (*defined)(double);
    double error;
  } cases[] = {{kit::relu, [](double x) { return x > 0 ? x : 0; }, 0},
               {kit::sigmoid, sigmoid, 1e-6},
               {kit::silu, [](double x) { return x * sigmoid(x); }, 1e-6},
               {kit::gelu_tanh,
                [](double x) {
                  return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) /
                         2;
                },
                2e-6},
               {kit::gelu, [](double x) { return x * std::erfc(-x * std::numbers::sqrt2 / 2) / 2; }, 5e-7}};
  std::vector<float> x{0, -0.0F, 1, -1, 30, -30, 0x1p-140F};
  while (x.size() < 200) x.push_back(kit_test::random_value(x.size() < 100 ? 1 : 8));
  for (const auto& [emitted, defined, error] : cases) {
    const std::vector<float> y = activated(emitted, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      REQUIRE(std::abs(y[i] - defined(x[i])) <= error * (1 + std::abs(x[i])));
    }
    CHECK(std::isnan(activated(emitted, {std::numeric_limits<float>::quiet_NaN()})[0]));
  }
}

TEST_CASE("activations have names") {
  const std::pair<Activation, Emitter> cases[] = {{Activation::relu, kit::relu},
                                                  {Activation::silu, kit::silu},
                                                  {Activation::gelu, kit::gelu},
                                                  {Activation::gelu_tanh, kit::gelu_tanh}};
  const std::vector<float> x{-2.5F, -0.75F, 0.5F, 3};
  for (const auto& [activation, emitted] : cases) {
    const auto by_name = [name = activation](KernelBuilder& k, Reg value) {
      return kit::activate(k, name, value);
    };
    CHECK(activated(by_name, x) == activated(emitted, x));
  }
  CHECK(activated([](KernelBuilder& k, Reg value) { return kit::activate(k, Activation::none, value); }, x) ==
        x);
}
