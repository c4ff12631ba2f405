// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/activation.hpp"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

namespace ptxloom::kit {
namespace {

constexpr std::array<std::pair<std::string_view, Activation>, 5> kNames = {
    {{"none", Activation::none},
     {"relu", Activation::relu},
     {"gelu", Activation::gelu},
     {"gelu_tanh", Activation::gelu_tanh},
     {"silu", Activation::silu}}};

constexpr auto kLog2E = static_cast<float>(std::numbers::log2e);

Reg fast_exp2(KernelBuilder& k, Reg x) {
  const Reg result = k.reg(f32);
  k.emit("ex2.approx.ftz.f32", result, x);
  return result;
}

/// 1 / (1 + 2^exponent)
Reg over_one_plus_exp2(KernelBuilder& k, Reg exponent) {
  const Reg inverse = k.reg(f32);
  k.emit("rcp.approx.ftz.f32", inverse, k.add(fast_exp2(k, exponent), 1.0F));
  return inverse;
}

}  // namespace

std::optional<Activation> find_activation(std::string_view name) {
  for (const auto& [known, activation] : kNames)
    if (known == name) return activation;
  return std::nullopt;
}

std::string_view name(Activation activation) {
  for (const auto& [known, one] : kNames)
    if (one == activation) return known;
  return {};
}

Reg relu(KernelBuilder& k, Reg x) { return k.select(k.lt(x, 0.0F), 0.0F, x); }  // max would turn NaN into 0

Reg sigmoid(KernelBuilder& k, Reg x) { return over_one_plus_exp2(k, k.mul(x, -kLog2E)); }

Reg silu(KernelBuilder& k, Reg x) { return k.mul(x, sigmoid(k, x)); }

// tanh(u) = 2 / (1 + exp(-2 u)) - 1, with u = sqrt(2 / pi) * (x + 0.044715 x^3)
Reg gelu_tanh(KernelBuilder& k, Reg x) {
  const float slope = -2 * kLog2E * std::numbers::inv_sqrtpi_v<float> * std::numbers::sqrt2_v<float>;
  const Reg cubic = k.fma(k.mul(x, x), slope * 0.044715F, slope);
  return k.mul(x, over_one_plus_exp2(k, k.mul(x, cubic)));
}

// Abramowitz and Stegun 7.1.26 for erfc(|x| / sqrt(2)).
Reg gelu(KernelBuilder& k, Reg x) {
  constexpr float kCoefficients[] = {1.061405429F, -1.453152027F, 1.421413741F, -0.284496736F, 0.254829592F};
  constexpr float kP = 0.3275911F * std::numbers::sqrt2_v<float> / 2;
  const Reg positive = k.reg(f32), t = k.reg(f32);
  k.emit("abs.f32", positive, x);
  k.emit("rcp.approx.ftz.f32", t, k.fma(positive, kP, 1.0F));
  Reg sum = k.mov(f32, kCoefficients[0]);
  for (std::size_t i = 1; i < std::size(kCoefficients); ++i) sum = k.fma(sum, t, kCoefficients[i]);
  const Reg exponential = fast_exp2(k, k.mul(k.mul(x, x), -kLog2E / 2));
  const Reg tail = k.mul(k.mul(k.mul(sum, t), 0.5F), exponential);
  return k.mul(x, k.select(k.lt(x, 0.0F), tail, k.sub(1.0F, tail)));
}

Reg activate(KernelBuilder& k, Activation activation, Reg x) {
  switch (activation) {
    case Activation::none:
      return x;
    case Activation::relu:
      return relu(k, x);
    case Activation::silu:
      return silu(k, x);
    case Activation::gelu_tanh:
      return gelu_tanh(k, x);
    case Activation::gelu:
      return gelu(k, x);
  }
  return x;
}

double activate(Activation activation, double x) {
  switch (activation) {
    case Activation::relu:
      return x < 0 ? 0 : x;
    case Activation::silu:
      return x / (1 + std::exp(-x));
    case Activation::gelu:
      return x * std::erfc(-x / std::numbers::sqrt2) / 2;
    case Activation::gelu_tanh:
      return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2;
    case Activation::none:
      return x;
  }
  return x;
}

}  // namespace ptxloom::kit
