// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "ptxloom/activation.hpp"
#include "ptxloom/builder.hpp"

/// \file
/// Activations of one f32 value. They use the approximations of the special function unit, so subnormal
/// intermediate results count as zero; the relative error of the exponential and the reciprocal is about
/// 2^-22.
///
/// | function | value |
/// |---|---|
/// | relu | x if x > 0, else 0; NaN stays NaN |
/// | sigmoid | 1 / (1 + exp(-x)) |
/// | silu | x * sigmoid(x) |
/// | gelu_tanh | x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))) / 2 |
/// | gelu | x * Phi(x), Phi the normal distribution; its absolute error is at most 1.5e-7 times abs(x) |
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The activation of this name, as a problem's parameter `activation` spells it, if there is one.
std::optional<Activation> find_activation(std::string_view name);
std::string_view name(Activation activation);  ///< its name; empty if it is none of them

/// As the table above says. Each throws Error(usage, "operand-type") for a value that is no f32.
///@{
Reg relu(KernelBuilder& k, Reg x);
Reg sigmoid(KernelBuilder& k, Reg x);
Reg silu(KernelBuilder& k, Reg x);
Reg gelu_tanh(KernelBuilder& k, Reg x);
Reg gelu(KernelBuilder& k, Reg x);
Reg activate(KernelBuilder& k, Activation activation, Reg x);  ///< the one that is named; none: x
///@}

/// The same on the host, as exact as f64 is: what a reference compares with.
double activate(Activation activation, double x);

}  // namespace kit
}  // namespace ptxloom
