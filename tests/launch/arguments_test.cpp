// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <limits>
#include <string>

#include "ptxloom/launch.hpp"
#include "support/errors.hpp"

using namespace ptxloom;

namespace {

KernelSignature signature_of(std::vector<KernelParameter> parameters) {
  KernelSignature signature{.name = "kernel"};
  for (KernelParameter& parameter : parameters) signature.append(std::move(parameter));
  return signature;
}

/// The code and message of the refusal of one argument for a parameter of this type.
std::string refusal(const KernelParameter& parameter, const Argument& argument) {
  const Error error = error_of([&] { Arguments(signature_of({parameter}), {argument}); });
  CHECK(error.kind() == ErrorKind::usage);
  CHECK_FALSE(error.diagnostics()[0].hint.empty());
  return error.diagnostics()[0].code + ": " + error.diagnostics()[0].message;
}

template <typename T>
T packed(const KernelParameter& parameter, const Argument& argument) {
  const Arguments arguments(signature_of({parameter}), {argument});
  REQUIRE(arguments.bytes().size() == sizeof(T));
  T value;
  std::memcpy(&value, arguments.bytes().data(), sizeof value);
  return value;
}

}  // namespace

TEST_CASE("arguments are laid out as C lays out a struct") {
  struct Expected {
    std::uint8_t flag = 7;
    std::uint32_t n = 4099;
    float alpha = 1.5F;
    std::uint64_t x = 0x123456789abcdef0;
    std::uint16_t half = 0x3c00;
    double beta = -0.25;
  } expected;
  const KernelSignature signature = signature_of({{.name = "flag", .type = u8},
                                                  {.name = "n", .type = u32},
                                                  {.name = "alpha", .type = f32},
                                                  {.name = "x", .type = u64, .pointer = true},
                                                  {.name = "half", .type = f16},
                                                  {.name = "beta", .type = f64}});
  const Arguments arguments(
      signature, {7, 4099, 1.5F, Argument::pointer(expected.x), Argument::bits(f16, 0x3c00), -0.25});
  REQUIRE(arguments.bytes().size() == sizeof expected);
  const auto same = [&](auto Expected::* member, std::size_t index) {
    return std::memcmp(arguments.bytes().data() + signature.parameters[index].offset, &(expected.*member),
                       sizeof(expected.*member)) == 0;
  };
  CHECK(signature.parameters[5].offset == offsetof(Expected, beta));
  CHECK(same(&Expected::flag, 0));
  CHECK(same(&Expected::n, 1));
  CHECK(same(&Expected::alpha, 2));
  CHECK(same(&Expected::x, 3));
  CHECK(same(&Expected::half, 4));
  CHECK(same(&Expected::beta, 5));
}

TEST_CASE("an integer goes into any integer parameter that can hold it") {
  CHECK(packed<std::uint32_t>({.name = "n", .type = u32}, 5) == 5);
  CHECK(packed<std::uint64_t>({.name = "n", .type = u64}, 5) == 5);
  CHECK(packed<std::int64_t>({.name = "n", .type = s64}, -5) == -5);
  CHECK(packed<std::int8_t>({.name = "n", .type = s8}, -128L) == -128);
  CHECK(packed<std::uint32_t>({.name = "n", .type = u32}, std::uint64_t{0xffffffff}) == 0xffffffff);
  CHECK(packed<std::uint32_t>({.name = "n", .type = b32}, -1) == 0xffffffff);
  CHECK(packed<std::uint64_t>({.name = "n", .type = u64}, std::numeric_limits<std::uint64_t>::max()) ==
        ~0ULL);
  CHECK(packed<std::uint8_t>({.name = "n", .type = u8}, true) == 1);
}

TEST_CASE("an integer that the parameter cannot hold is refused with value and types") {
  CHECK(refusal({.name = "n", .type = u32}, -1) ==
        "argument-range: argument 1 of `kernel`, `n`, is u32, but -1 of s32 was given");
  CHECK(refusal({.name = "n", .type = u32}, std::uint64_t{0x100000000}).starts_with("argument-range"));
  CHECK(refusal({.name = "n", .type = s32}, 0x80000000U).starts_with("argument-range"));
  CHECK(refusal({.name = "n", .type = s8}, 128).starts_with("argument-range"));
  CHECK(refusal({.name = "n", .type = s8}, -129).starts_with("argument-range"));
  CHECK(refusal({.name = "n", .type = u64}, -1).starts_with("argument-range"));
  CHECK(refusal({.name = "n", .type = s64}, std::numeric_limits<std::uint64_t>::max())
            .starts_with("argument-range"));
  CHECK(refusal({.name = "n", .type = b16}, 65536).starts_with("argument-range"));
}

TEST_CASE("a value of the wrong type is refused with parameter and both types") {
  CHECK(refusal({.name = "a", .type = f32}, 1.5) ==
        "argument-type: argument 1 of `kernel`, `a`, is f32, but f64 was given");
  CHECK(refusal({.name = "a", .type = f32}, 1).starts_with("argument-type"));
  CHECK(refusal({.name = "a", .type = f64}, 1.5F).starts_with("argument-type"));
  CHECK(refusal({.name = "a", .type = u32}, 1.5F).starts_with("argument-type"));
  CHECK(refusal({.name = "a", .type = f16}, Argument::bits(bf16, 0)).starts_with("argument-type"));
  CHECK(refusal({.name = "a", .type = b64}, 1.5F).starts_with("argument-type"));
  CHECK(refusal({.name = "a", .type = b128}, Argument::bits(b128, 0)).starts_with("argument-type"));
  CHECK(packed<float>({.name = "a", .type = b32}, 1.5F) == 1.5F);
  CHECK(packed<std::uint16_t>({.name = "a", .type = b16}, Argument::bits(bf16, 0x3f80)) == 0x3f80);
}

TEST_CASE("bits of an integer fit any integer of their size, and b32 is the bits of anything of 32") {
  CHECK(packed<std::uint32_t>({.name = "n", .type = u32}, Argument::bits(s32, 0xfffffffb)) == 0xfffffffb);
  CHECK(packed<std::int16_t>({.name = "n", .type = s16}, Argument::bits(u16, 0xffff)) == -1);
  CHECK(packed<float>({.name = "a", .type = f32}, Argument::bits(b32, 0x3fc00000)) == 1.5F);
  CHECK(packed<std::uint32_t>({.name = "n", .type = u32}, Argument::bits(b32, 7)) == 7);
  CHECK(refusal({.name = "n", .type = u32}, Argument::bits(s16, 1)).starts_with("argument-type"));
  CHECK(refusal({.name = "a", .type = f32}, Argument::bits(s32, 1)).starts_with("argument-type"));
  CHECK(refusal({.name = "n", .type = u32}, Argument::bits(f32, 1)).starts_with("argument-type"));
}

TEST_CASE("nullptr is a pointer to nothing") {
  CHECK(packed<std::uint64_t>({.name = "x", .type = u64, .pointer = true}, nullptr) == 0);
  CHECK(refusal({.name = "n", .type = u32}, nullptr).starts_with("argument-type"));
}

TEST_CASE("a pointer parameter takes addresses only") {
  const KernelParameter x{.name = "x", .type = u64, .pointer = true};
  CHECK(refusal(x, 0) == "argument-type: argument 1 of `kernel`, `x`, is a pointer (u64), but s32 was given");
  CHECK(refusal(x, 1.0).starts_with("argument-type"));
  CHECK(refusal(x, Argument::bytes({})).starts_with("argument-type"));
  int on_host = 0;
  CHECK(packed<std::uint64_t>(x, &on_host) == reinterpret_cast<std::uintptr_t>(&on_host));
  CHECK(packed<std::uint64_t>(x, std::uint64_t{64}) == 64);
  CHECK(packed<std::uint64_t>(x, DeviceMemory()) == 0);
  CHECK(packed<std::uint64_t>({.name = "x", .type = b64}, Argument::pointer(64)) == 64);
  CHECK(refusal({.name = "n", .type = u32}, Argument::pointer(64)).starts_with("argument-type"));
  CHECK(refusal({.name = "n", .type = f64}, Argument::pointer(64)).starts_with("argument-type"));
}

TEST_CASE("an aggregate takes as many bytes as it has") {
  std::array<std::byte, 128> map;
  for (std::size_t i = 0; i < map.size(); ++i) map[i] = static_cast<std::byte>(i * 7);
  const KernelParameter tensor{.name = "map", .type = b8, .count = 128, .alignment = 64};
  CHECK(packed<std::array<std::byte, 128>>(tensor, Argument::bytes(map)) == map);
  CHECK(refusal(tensor, Argument::bytes(std::span(map).first(127))).starts_with("argument-size"));
  CHECK(refusal(tensor, 5).starts_with("argument-type"));
  CHECK(signature_of({{.name = "n", .type = u32}, tensor}).parameters[1].offset == 64);
}

TEST_CASE("the wrong number of arguments is refused with the parameters there are") {
  const KernelSignature signature =
      signature_of({{.name = "n", .type = u32}, {.name = "x", .type = u64, .pointer = true}});
  const Error error = error_of([&] { Arguments(signature, {1}); });
  CHECK(error.diagnostics()[0].code == "argument-count");
  CHECK(error.diagnostics()[0].message == "`kernel` takes 2 arguments, but 1 were given");
  CHECK(error.diagnostics()[0].hint == "its parameters: n: u32, x: a pointer (u64)");
  CHECK(error_of([&] { Arguments(signature, {1, 2, 3}); }).diagnostics()[0].code == "argument-count");
  CHECK(Arguments(signature_of({}), {}).bytes().empty());
}
