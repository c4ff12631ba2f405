// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

/// \file
/// PTX types by their PTX names. What an instruction does with a type is in specs/; the values of a type are
/// in numeric.hpp.
namespace [[gnu::visibility("default")]] ptxloom {

/// How the bits of a type are interpreted.
enum class TypeKind : std::uint8_t {
  bits,              ///< not at all: .b32
  signed_integer,    ///< .s32
  unsigned_integer,  ///< .u32
  floating,          ///< .f32
  predicate,         ///< .pred
};

/// Throws Error(usage, "sub-byte-type"): values of this type are not whole bytes.
[[noreturn]] void refuse_sub_byte(std::string_view type);

/// A PTX type.
struct Type {
  std::string_view name;   ///< "f32"; valid for the rest of the process, for types of a spec overlay too
  std::uint16_t bits = 0;  ///< size of one value
  TypeKind kind = TypeKind::bits;  ///< how the bits are interpreted
  std::uint8_t lanes = 1;          ///< elements in a value of a packed type: 2 for f16x2

  /// Size of one value. Throws Error(usage, "sub-byte-type") for a type of less than 8 bits, whose values are
  /// packed without gaps: their sizes are counted in bits.
  constexpr int bytes() const {
    if (bits != 0 && bits < 8) refuse_sub_byte(name);
    return whole_bytes();
  }
  /// Bytes that hold one value by itself, as a variable or a register: `bits`, rounded up.
  constexpr int whole_bytes() const { return (bits + 7) / 8; }
  /// What its kind says.
  ///@{
  constexpr bool is_float() const { return kind == TypeKind::floating; }
  constexpr bool is_signed() const { return kind == TypeKind::signed_integer; }
  constexpr bool is_integer() const {
    return kind == TypeKind::signed_integer || kind == TypeKind::unsigned_integer;
  }
  ///@}
  // Types differ if their names do, which can mostly be seen without reading them.
  friend constexpr bool operator==(const Type& a, const Type& b) {
    if (a.bits != b.bits || a.kind != b.kind || a.name.size() != b.name.size()) return false;
    return a.name.data() == b.name.data() || a.name == b.name;
  }
};

/// The type of this name.
///@{
inline constexpr Type pred{"pred", 1, TypeKind::predicate};
inline constexpr Type b1{"b1", 1}, b8{"b8", 8}, b16{"b16", 16}, b32{"b32", 32}, b64{"b64", 64},
    b128{"b128", 128};
inline constexpr Type s4{"s4", 4, TypeKind::signed_integer}, s8{"s8", 8, TypeKind::signed_integer},
    s16{"s16", 16, TypeKind::signed_integer}, s32{"s32", 32, TypeKind::signed_integer},
    s64{"s64", 64, TypeKind::signed_integer};
inline constexpr Type u4{"u4", 4, TypeKind::unsigned_integer}, u8{"u8", 8, TypeKind::unsigned_integer},
    u16{"u16", 16, TypeKind::unsigned_integer}, u32{"u32", 32, TypeKind::unsigned_integer},
    u64{"u64", 64, TypeKind::unsigned_integer};
inline constexpr Type f16{"f16", 16, TypeKind::floating}, bf16{"bf16", 16, TypeKind::floating},
    tf32{"tf32", 32, TypeKind::floating}, f32{"f32", 32, TypeKind::floating},
    f64{"f64", 64, TypeKind::floating};
inline constexpr Type f16x2{"f16x2", 32, TypeKind::floating, 2}, bf16x2{"bf16x2", 32, TypeKind::floating, 2};
inline constexpr Type e4m3{"e4m3", 8, TypeKind::floating}, e5m2{"e5m2", 8, TypeKind::floating},
    e3m2{"e3m2", 6, TypeKind::floating}, e2m3{"e2m3", 6, TypeKind::floating},
    e2m1{"e2m1", 4, TypeKind::floating}, ue8m0{"ue8m0", 8, TypeKind::floating},
    ue4m3{"ue4m3", 8, TypeKind::floating}, ue5m3{"ue5m3", 8, TypeKind::floating};
///@}

/// Handles of textures, samplers and surfaces.
///@{
inline constexpr Type texref{"texref", 64}, samplerref{"samplerref", 64}, surfref{"surfref", 64};
///@}

/// One of the types above by its name, handles excluded; nullopt for any other name.
std::optional<Type> find_type(std::string_view name);

}  // namespace ptxloom
