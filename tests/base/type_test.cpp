// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/type.hpp"

#include <catch2/catch_test_macros.hpp>
#include <string>

namespace ptxloom::test {

TEST_CASE("types are found by their PTX name") {
  CHECK(find_type("bf16x2")->lanes == 2);
  CHECK(find_type("ue8m0")->bits == 8);
  CHECK(find_type("pred")->kind == TypeKind::predicate);
  CHECK(find_type("s4")->is_signed());
  CHECK(find_type("tf32")->is_float());
  CHECK_FALSE(find_type("u4")->is_signed());
  CHECK_FALSE(find_type("b8")->is_integer());
  for (const std::string_view word : {"", "f", "f 16", "F16", "f16 ", "f15", "s128", "bf16x4"}) {
    INFO('\'' << word << '\'');
    CHECK_FALSE(find_type(word).has_value());
  }
}

TEST_CASE("the number in a PTX type's name is its size") {
  for (const Type type :
       {b1, b8, b16, b32, b64, b128, s4, s8, s16, s32, s64, u4, u8, u16, u32, u64, f16, tf32, f32, f64}) {
    const std::string name(type.name);
    INFO(name);
    CHECK(type.bits == std::stoi(name.substr(name.find_first_of("0123456789"))));
    REQUIRE(find_type(name).has_value());
    CHECK(*find_type(name) == type);
    CHECK(find_type(name)->kind == type.kind);
  }
}

TEST_CASE("the size of a narrow float is its sign, exponent and mantissa") {
  for (const Type type : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
    INFO(type.name);
    CHECK(type.bits == 1 + (type.name[1] - '0') + (type.name[3] - '0'));
    CHECK(find_type(type.name)->is_float());
  }
}

}  // namespace ptxloom::test
