// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The NaN that copies of tensors write outside of the tensor, in every 16 bits of an element, and that
// fma.oob takes for a zero factor. NVIDIA does not publish its pattern; others found this one on hardware.
namespace ptxloom::exec {

inline constexpr std::uint16_t kOutOfBoundsNan = 0x7ff7;

}  // namespace ptxloom::exec
