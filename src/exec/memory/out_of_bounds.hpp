// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// The NaN that tensor copies write outside the tensor, in every 16 bits of an element, and that fma.oob
// treats as a zero factor. NVIDIA does not publish the pattern; others found this one on hardware.
namespace ptxloom::exec {

inline constexpr std::uint16_t kOutOfBoundsNan = 0x7ff7;

}  // namespace ptxloom::exec
