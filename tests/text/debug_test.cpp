// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch_test_macros.hpp>
#include <cstdint>

#include "reading.hpp"

namespace {

using namespace ptxloom;
using namespace ptxloom::testing;
using Found = std::vector<std::string>;

constexpr std::string_view kDebug = R"(.version 9.0
.target sm_90a, debug
.address_size 64

.visible .entry k()
{
    .loc 1 4 0
begin:
    .loc 1 12 5, function_name $L__info_string0+8, inlined_at 1 3 2
    .loc 1 3 2
    ret;
end:
}

.file 1 "/a folder/kernel.cu"
.file 2 "other.cuh", 1700000000, 1234

.section .debug_str
{
$L__info_string0:
.b8 95,90
.b8 0 // "_Z"
}

.section .debug_info
{
.b32 end-begin
.b32 .debug_str+4
.b64 begin
.b16 -1
.b32 end-begin
}

.section .debug_loc
{
}
)";

}  // namespace

TEST_CASE("debug information prints as it was") {
  const ParseResult result = parse(kDebug, compiled_specs());
  INFO(words(result));
  REQUIRE(result.ok());
  CHECK(print(result.module) == kDebug);
  CHECK(result.module.modes == std::vector<std::string>{"debug"});
  REQUIRE(result.module.functions[0].locations.size() == 3);
  CHECK(result.module.functions[0].locations[0].place.line == 4);
  CHECK(result.module.functions[0].locations[1].inlined_at->line == 3);
  REQUIRE(result.module.files.size() == 2);
  CHECK((*result.module.files[1].stamp)[1] == 1234);
}

TEST_CASE("a file may have a time without a size") {
  const ParseResult result = parse(module_of(".file 3 \"f\", 17"), compiled_specs());
  REQUIRE(result.ok());
  CHECK(result.module.files[0].stamp == std::array<std::uint64_t, 2>{17, 0});
}

TEST_CASE("what is wrong with debug information is reported where it stands") {
  CHECK(places(module_of(".file x \"f\"")) == Found{"4:7 syntax"});
  CHECK(places(module_of(".file 1 f")) == Found{"4:9 syntax"});
  CHECK(places(module_of(".entry k() { .loc 1 2; ret; }")) == Found{"4:22 syntax"});
  CHECK(places(module_of(".entry k() { .loc 1 2 3, inlined_at 1 2 3\n ret; }")) == Found{"4:26 syntax"});
  CHECK(places(module_of(".entry k() { .loc 1 (2) 3\n ret; }")) == Found{"4:21 syntax"});
  CHECK(places(module_of(".section .debug_str { .u8 1 }")) == Found{"4:23 syntax"});
  CHECK(places(module_of(".section .debug_str { .b8 1")) == Found{"4:28 syntax"});
  CHECK(places(module_of(".section debug_str { }")) == Found{"4:10 syntax"});
  CHECK(places(module_of(".section .debug_str { .b8 255, 256 }")) == Found{"4:32 bad-size"});
  CHECK(places(module_of(".section .debug_str { .b16 -32768, -32769 }")) == Found{"4:36 bad-size"});
  CHECK(places(module_of(".section .debug_str { .b32 4294967296, -0 }")) == Found{"4:40 bad-size"});
  CHECK(places(module_of(".section .debug_str { a: .b16 a }")) == Found{"4:31 bad-size"});
  CHECK(places(module_of(".section .debug_str { a: .b32 a, a }")) == Found{"4:32 syntax"});
  CHECK(places(module_of(".section .debug_str { a: .b8 1 a: .b8 2 }")) == Found{"4:32 duplicate-name"});
}
