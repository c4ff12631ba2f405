// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/type.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "ptxloom/error.hpp"

namespace ptxloom {
namespace {

constexpr std::array kTypes{pred,  b1,     b8,   b16,  b32,  b64,  b128, s4,    s8,    s16,  s32,
                            s64,   u4,     u8,   u16,  u32,  u64,  f16,  bf16,  tf32,  f32,  f64,
                            f16x2, bf16x2, e4m3, e5m2, e3m2, e2m3, e2m1, ue8m0, ue4m3, ue5m3};

}  // namespace

void refuse_sub_byte(std::string_view type) {
  throw Error(ErrorKind::usage, "sub-byte-type",
              "a value of type " + std::string(type) + " has less than 8 bits, so it has no size in bytes",
              "count bits, and round up the size of the whole: packed_bytes(type, count)");
}

std::optional<Type> find_type(std::string_view name) {
  const auto found = std::ranges::find(kTypes, name, &Type::name);
  return found == kTypes.end() ? std::nullopt : std::optional(*found);
}

}  // namespace ptxloom
