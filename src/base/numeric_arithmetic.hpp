// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/numeric_number.hpp"

// PTX's floating-point arithmetic on bit patterns, each result rounded once. f64 keeps the payload of a NaN
// operand (PTX ISA 9.7.3: "NaN payloads are supported for double-precision instructions"); with several NaN,
// that of the second, else the third, else the first operand, as on an H200. All other formats have one NaN,
// FloatFormat::nan.
namespace ptxloom::base {

std::uint64_t add(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers = {});
std::uint64_t sub(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers = {});
std::uint64_t mul(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers = {});
std::uint64_t fma(const FloatFormat& format, std::uint64_t a, std::uint64_t b, std::uint64_t c,
                  Modifiers modifiers = {});
std::uint64_t div(const FloatFormat& format, std::uint64_t a, std::uint64_t b, Modifiers modifiers = {});
std::uint64_t sqrt(const FloatFormat& format, std::uint64_t a, Modifiers modifiers = {});

/// `bits`, with a subnormal replaced by a zero of the same sign.
std::uint64_t flush_subnormal(const FloatFormat& format, std::uint64_t bits);
/// Rounds and then modifies a result: the last step of each function above and of convert().
std::uint64_t finish(const FloatFormat& format, const Number& result, Modifiers modifiers);

}  // namespace ptxloom::base
