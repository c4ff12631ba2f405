// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include "ptxloom/type.hpp"
#include "spec/form_data.hpp"

namespace ptxloom {
namespace {

TEST_CASE("types.json and type.hpp say the same of every type that both have") {
  int both = 0;
  for (const spec::TypeData& data : spec::compiled_specs().types) {
    const auto type = find_type(data.type.name);
    if (!type) continue;
    INFO(data.type.name);
    ++both;
    CHECK(type->bits == data.type.bits);
    CHECK(type->kind == data.type.kind);
    CHECK(type->lanes == data.type.lanes);
  }
  CHECK(both == 32);  // all of type.hpp
}

}  // namespace
}  // namespace ptxloom
