// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "ptxloom/type.hpp"

// Which types a declaration takes (PTX ISA, "Types"): the fundamental ones and the opaque ones. All others
// are only types of instructions; in memory and in registers their values are bits.
namespace ptxloom::ir {

inline constexpr std::array kDeclarable{b8,    b16, b32, b64,  b128,   u8,         u16,
                                        u32,   u64, s8,  s16,  s32,    s64,        f16,
                                        f16x2, f32, f64, pred, texref, samplerref, surfref};

constexpr bool is_opaque(const Type& type) { return type == texref || type == samplerref || type == surfref; }

/// A variable may be declared with it: a predicate lives in a register only.
constexpr bool is_declarable(const Type& type) {
  return type != pred && std::find(kDeclarable.begin(), kDeclarable.end(), type) != kDeclarable.end();
}
constexpr bool is_register_type(const Type& type) {
  return !is_opaque(type) && (type == pred || is_declarable(type));
}

/// The type by which values of a type are declared, loaded and stored: integers, f32 and f64 by their own,
/// all others as bits of their size. nullopt where a value is no whole power of two of bytes: memory has no
/// address for one of 4 or 6 bits, nor for a predicate.
constexpr std::optional<Type> storage_of(const Type& type) {
  if (type.kind != TypeKind::predicate)
    for (const Type& bits : {b8, b16, b32, b64, b128})
      if (bits.bits == type.bits)
        return (type.is_integer() && type.lanes == 1) || type == f32 || type == f64 ? type : bits;
  return std::nullopt;
}

}  // namespace ptxloom::ir
