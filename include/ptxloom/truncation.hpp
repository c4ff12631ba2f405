// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// \file
/// How far a sum of products by tensor cores may lie from the exact one, for the tolerances of references.
/// An instruction aligns its products and the accumulator to the largest of them, keeps some bits below the
/// first bit of that, and cuts off the rest, towards zero: of fp8 13 bits with mma.sync on sm_89, which adds
/// 16 products at once, and with wgmma on sm_90a, which adds 32. A unit is the last bit that is kept of the
/// largest product or partial sum.
namespace [[gnu::visibility("default")]] ptxloom {

inline constexpr double kKeptOfFp8 = 0x1p-13;  ///< a unit for sums of fp8, relative to the largest

/// Units that truncation may take of so many products of fp8, beyond one for each product by which positive
/// and negative ones differ in number: they are cut off to different sides.
///
/// Of up to 128 it is four for each 32, and some. Of the others each loses a part of a unit, so that the
/// losses spread by at most half a unit times the square root of their number: this allows four times the
/// spread. The accumulator loses half a unit in each addition, of 16 products at least, always towards zero.
double truncation_units(std::uint64_t products);

}  // namespace ptxloom
