// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "ptxloom/builder.hpp"
#include "quantize/problem.hpp"

// The scale of a block of elements, from the largest of their magnitudes. A magnitude is the bits of |x| in
// f32, as a u32: they are ordered as the magnitudes are, with infinity and then NaN above all numbers. A
// block with an infinity or NaN has the scale NaN, and so all of its elements are NaN.
namespace ptxloom::quantize_kernel {

struct BlockScale {
  Reg stored;  // as it is stored: an f32, or a code in the low bits of a b32
  Reg factor;  // f32: elements are multiplied by it and then rounded
};

/// `tensor_scale`: the f32 that all scales of the tensor are multiplied by, where the format has one.
BlockScale scale_of(KernelBuilder& k, const Problem& p, Reg magnitude, std::optional<Reg> tensor_scale);
/// The scale that all scales of a tensor are multiplied by, from the largest magnitude of the tensor: with it
/// the largest group has the largest scale.
Reg scale_of_tensor(KernelBuilder& k, const Problem& p, Reg magnitude);
/// Whether the target can make such scales.
bool can_scale(const Specs& specs, const Target& target, const kit::ScaledFormat& format);

/// The larger one of two magnitudes, and that of a value in f32.
///@{
inline Reg larger(KernelBuilder& k, Reg a, Reg b) { return k.max(a, b); }
inline Reg magnitude_of(KernelBuilder& k, Reg value) {
  return KernelBuilder::as(u32, k.and_(k.bit_cast(b32, value), 0x7fff'ffff));
}
///@}

}  // namespace ptxloom::quantize_kernel
