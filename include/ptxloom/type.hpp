// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// A Type is a PTX type by its PTX name. `bits` is the size of one value; a packed type (f16x2) has `lanes`
// elements in it. What an instruction makes of a type stands in specs/; the numerics of floating formats in
// src/base/numeric.hpp.
namespace [[gnu::visibility("default")]] ptxloom {

enum class TypeKind : std::uint8_t { bits, signed_integer, unsigned_integer, floating, predicate };

struct Type {
  std::string_view name;
  std::uint16_t bits = 0;
  TypeKind kind = TypeKind::bits;
  std::uint8_t lanes = 1;

  constexpr int bytes() const { return (bits + 7) / 8; }
  constexpr bool is_float() const { return kind == TypeKind::floating; }
  constexpr bool is_signed() const { return kind == TypeKind::signed_integer; }
  constexpr bool is_integer() const {
    return kind == TypeKind::signed_integer || kind == TypeKind::unsigned_integer;
  }
  /// Names tell types apart, which mostly is seen without reading them.
  friend constexpr bool operator==(const Type& a, const Type& b) {
    if (a.bits != b.bits || a.kind != b.kind || a.name.size() != b.name.size()) return false;
    return a.name.data() == b.name.data() || a.name == b.name;
  }
};

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
    ue4m3{"ue4m3", 8, TypeKind::floating};

/// Handles of textures, samplers and surfaces.
inline constexpr Type texref{"texref", 64}, samplerref{"samplerref", 64}, surfref{"surfref", 64};

/// The element types above by name; nullopt for any other word.
std::optional<Type> find_type(std::string_view name);

}  // namespace ptxloom
