// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// Adjacent elements of a row in registers, as they lie in memory, and their values in f32. `count` elements
/// of f32 are as many f32 registers. Of f16 and bf16 two elements are a b32, the first in the low half; a
/// single element is a b16. Of e4m3 and e5m2, which are only written, two elements are a b16, the first in
/// the low half; so is a single element, which is stored as a b8. So `count` is 1 or even, of f32 any.
/// Errors: functions that emit throw Error(usage): "operand-type" for a type that they do not convert,
/// "operand-count" for another number of elements or registers than these.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// Whether there are conversions for the type on the target: f32 and f16 have them everywhere, bf16 can be
/// read everywhere, and bf16, e4m3 and e5m2 can be written everywhere, before sm_80 and sm_89 by fallbacks
/// (lower.hpp).
///@{
bool can_unpack(Type type);
bool can_pack(const Specs& specs, const Target& target, Type type);
///@}

/// The type as which `count` elements are loaded and stored from registers, and the number of these.
///@{
Type packed_type(Type element, int count);
int packed_registers(Type element, int count);
///@}

/// A register of this type, all of whose elements are `value`.
Reg packed_constant(KernelBuilder& k, Type element, int count, double value);
/// The values of `count` elements, in f32.
std::vector<Reg> unpack_values(KernelBuilder& k, Type element, int count, std::span<const Reg> packed);
/// Values in f32, rounded to nearest even; those beyond the range of an 8-bit type become its largest.
std::vector<Reg> pack_values(KernelBuilder& k, Type element, std::span<const Reg> values);

/// A single element: `packed` taken apart into registers of one element each, and the reverse. An element is
/// an f32 or a b16; of 8 bits its low half. Those of 8 bits cannot be joined.
///@{
std::vector<Reg> split_packed(KernelBuilder& k, Type element, int count, std::span<const Reg> packed);
std::vector<Reg> join_packed(KernelBuilder& k, Type element, std::span<const Reg> elements);
///@}

}  // namespace kit
}  // namespace ptxloom
