// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/builder.hpp"

/// \file
/// One load or store of adjacent elements by a thread: a scalar instruction for one register, a vector
/// instruction for several. The opcode is given up to the vector and the type, which follow from the
/// registers:
///
///     load_vector(k, "ld.global.nc", b32, from, {r0})              ld.global.nc.b32     r0, [from];
///     load_vector(k, "ld.global.nc", b32, from, {r0, r1})          ld.global.nc.v2.b32  {r0, r1}, [from];
///     load_vector(k, "ld.global.nc", b32, from, {r0, r1, r2, r3})  ld.global.nc.v4.b32  {r0, ...}, [from];
///
/// The address is a multiple of the bytes of all registers together (at most 16: matrix.hpp's alignment()
/// says what the rows of a matrix allow). All functions throw as KernelBuilder::emit() does: for a number of
/// registers that the target has no instruction for, and for registers narrower than the type.
namespace [[gnu::visibility("default")]] ptxloom {
namespace kit {

/// The opcode for this many registers of a type: "st.shared" becomes "st.shared.v2.f32".
std::string vector_opcode(std::string_view opcode, Type type, std::size_t registers);
/// Emits the access. A register of b8 is declared as b16.
///@{
void load_vector(KernelBuilder& k, std::string_view opcode, Type type, const Address& from,
                 std::span<const Reg> values);
void store_vector(KernelBuilder& k, std::string_view opcode, Type type, const Address& to,
                  std::span<const Reg> values);
///@}

/// The type as which an element is loaded and stored: f32 and f64 as they are, others as bits of their size.
Type access_type(Type element);
/// Registers of an element's type that are zero, to be loaded into under a guard: what lies outside a matrix
/// is zero.
std::vector<Reg> zeros(KernelBuilder& k, Type element, std::size_t count);
/// Predicate: `row_inside` holds, and `left` (s32), the elements from a position to the end of the row, is
/// more than `distance`, so that the element this far from there is inside the row.
Reg inside_row(KernelBuilder& k, Reg row_inside, Reg left, int distance);

}  // namespace kit
}  // namespace ptxloom
