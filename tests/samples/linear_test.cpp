// SPDX-License-Identifier: Apache-2.0
// samples/torch_extension/linear.cpp in the executor: what can be run of the extension without torch.
#include <algorithm>
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "samples/torch_extension/linear.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"

namespace ptxloom::test::linear_test {
namespace {

using ptxloom_torch::Linear;
using ptxloom_torch::LinearKernels;

constexpr std::uint16_t kPoison = 0xa5a5;

/// Rows of 16-bit elements, further apart than they are long, registered with the executor.
struct Matrix {
  Context context;
  std::uint64_t rows, columns, pitch;
  std::vector<std::uint16_t> elements = std::vector<std::uint16_t>(rows * pitch, kPoison);

  Matrix(const Context& ctx, std::uint64_t m, std::uint64_t n, std::uint64_t apart)
      : context(ctx), rows(m), columns(n), pitch(apart) {
    context.register_memory(elements.data(), 2 * elements.size());
  }
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() { context.unregister_memory(elements.data()); }

  Matrix& randomise(Type type, std::mt19937& random) {
    std::normal_distribution<double> normal;
    for (std::uint64_t i = 0; i < rows * columns; ++i)
      elements[i / columns * pitch + i % columns] =
          static_cast<std::uint16_t>(narrow::encode(type, normal(random)));
    return *this;
  }
  double at(Type type, std::uint64_t i, std::uint64_t j) const {
    return narrow::decode(type, elements[i * pitch + j]);
  }
};

/// Elements of y that are further from the definition than rounding to `type` and sums in f32 explain, and
/// those beside it that were written.
std::size_t wrong_elements(const Linear& layer, const Matrix& x, const Matrix& weight, const Matrix* bias,
                           const Matrix& y) {
  std::size_t wrong = 0;
  const double rounding = layer.type == f16 ? 0x1p-11 : 0x1p-8;
  for (std::uint64_t i = 0; i < y.rows; ++i) {
    for (std::uint64_t j = 0; j < y.pitch; ++j) {
      if (j >= y.columns) {
        wrong += y.elements[i * y.pitch + j] != kPoison ? 1U : 0U;
        continue;
      }
      double sum = bias != nullptr ? bias->at(layer.type, 0, j) : 0, size = std::abs(sum);
      for (std::uint64_t l = 0; l < layer.k; ++l) {
        const double product = x.at(layer.type, i, l) * weight.at(layer.type, j, l);
        sum += product;
        size += std::abs(product);
      }
      const double expected = layer.activation == Activation::relu ? std::max(sum, 0.0) : sum;
      const double off = std::abs(y.at(layer.type, i, j) - expected);
      wrong += off <= rounding * std::abs(expected) + 0x1p-20 * size ? 0U : 1U;  // NaN is wrong
    }
  }
  return wrong;
}

TEST_CASE("the torch extension's layer takes any number of rows, pitches, a bias and an activation") {
  std::mt19937 random(Catch::getSeed());
  const Context context({.device = "cpu"});
  const LinearKernels kernels(context);
  for (const Type type : {bf16, f16}) {
    Matrix weight(context, 24, 40, 48), bias(context, 1, 24, 24);
    weight.randomise(type, random), bias.randomise(type, random);
    for (const std::uint64_t m : {1, 7, 65}) {
      const bool wide = m == 7;
      Matrix x(context, m, 40, wide ? 56 : 40), y(context, m, 24, wide ? 32 : 24);
      x.randomise(type, random);
      for (const bool with_bias : {false, true}) {
        Linear layer{
            .type = type, .m = m, .n = 24, .k = 40, .x_pitch = x.pitch, .weight_pitch = weight.pitch};
        layer.y_pitch = y.pitch;
        layer.activation = with_bias ? Activation::relu : Activation::none;
        layer.x = x.elements.data();
        layer.weight = weight.elements.data();
        layer.bias = with_bias ? bias.elements.data() : nullptr;
        layer.y = y.elements.data();
        std::ranges::fill(y.elements, kPoison);
        kernels.launch(nullptr, layer);
        INFO(type.name << ", " << m << " rows, bias " << with_bias);
        CHECK(wrong_elements(layer, x, weight, with_bias ? &bias : nullptr, y) == 0);
      }
    }
  }
}

TEST_CASE("the torch extension refuses rows that overlap, as those of an expanded tensor do") {
  const LinearKernels kernels(Context({.device = "cpu"}));
  const Linear whole{.m = 4, .n = 8, .k = 16, .x_pitch = 16, .weight_pitch = 16, .y_pitch = 8};
  for (std::uint64_t Linear::* const pitch : {&Linear::x_pitch, &Linear::weight_pitch, &Linear::y_pitch}) {
    for (const std::uint64_t apart : {std::uint64_t{0}, whole.*pitch - 1}) {
      Linear layer = whole;
      layer.*pitch = apart;
      CHECK(error_of([&] { kernels.launch(nullptr, layer); }).code() == "bad-stride");
    }
  }
}

TEST_CASE("the torch extension names an activation that it does not have") {
  CHECK(ptxloom_torch::activation_of("gelu_tanh") == Activation::gelu_tanh);
  CHECK(error_of([] { ptxloom_torch::activation_of("tanh"); }).code() == "unknown-activation");
}

}  // namespace
}  // namespace ptxloom::test::linear_test
