// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>

#include "ptxloom/type.hpp"

// Types that declarations accept (PTX ISA, "Types"): fundamental and opaque types. All others are only
// instruction types; in memory and in registers their values are bits.
namespace ptxloom::ir {

/// The largest alignment of a declaration, in bytes. ptxas 13.0 has no limit, but pads in memory: 1 MiB takes
/// it 0.2 s, 16 MiB 1 s, and 512 MiB more than 20 s and gigabytes.
inline constexpr std::uint32_t kMostAlignment = 1 << 20;

inline constexpr std::array kDeclarable{b8,    b16, b32, b64,  b128,   u8,         u16,
                                        u32,   u64, s8,  s16,  s32,    s64,        f16,
                                        f16x2, f32, f64, pred, texref, samplerref, surfref};

constexpr bool is_opaque(const Type& type) { return type == texref || type == samplerref || type == surfref; }

/// Whether a variable may have the type: a predicate can only be a register.
constexpr bool is_declarable(const Type& type) {
  return type != pred && std::find(kDeclarable.begin(), kDeclarable.end(), type) != kDeclarable.end();
}
constexpr bool is_register_type(const Type& type) {
  return !is_opaque(type) && (type == pred || is_declarable(type));
}

/// The type with which values are declared, loaded and stored: integers, f32 and f64 keep theirs, all others
/// become bits of their size. nullopt if the size is not a power of two of bytes: a value of 4 or 6 bits has
/// no address, nor does a predicate.
constexpr std::optional<Type> storage_of(const Type& type) {
  if (type.kind != TypeKind::predicate)
    for (const Type& bits : {b8, b16, b32, b64, b128})
      if (bits.bits == type.bits)
        return (type.is_integer() && type.lanes == 1) || type == f32 || type == f64 ? type : bits;
  return std::nullopt;
}

}  // namespace ptxloom::ir
