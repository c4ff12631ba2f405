// SPDX-License-Identifier: Apache-2.0
// Fallbacks of conversions against the instructions themselves, both in the executor.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cstring>
#include <functional>
#include <memory>
#include <random>

#include "ptxloom/exec.hpp"
#include "ptxloom/lower.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::test::lower_convert_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using U32 = std::uint32_t;

std::shared_ptr<const Specs> specs() {
  static const auto all = std::make_shared<const Specs>();
  return all;
}

/// Inputs: thread i has the 32 bits first + i * step.
struct Inputs {
  U32 first = 0, step = 1;
  U32 threads = 1 << 16;
};

/// Stores the result for each thread's input. Of two f32 the lower one is the input with some bits inverted.
ir::Module kernel(const std::string& opcode, const std::string& target) {
  KernelBuilder k(specs(), "k", Target(target));
  const Pointer out = k.pointer(u32, "out");
  const Reg first = k.param(u32, "first"), step = k.param(u32, "step");
  const Reg i = k.global_thread_x(), bits = k.add(first, k.mul(i, step));
  Reg result;
  if (opcode.ends_with(".f32")) {
    const Reg upper = k.bit_cast(f32, bits), lower = k.bit_cast(f32, k.xor_(bits, 0x9e37'79b9));
    result = lower::op(k, opcode, upper, lower);
  } else if (opcode.find(".f16x2.e") != opcode.npos) {
    const Reg pair = k.reg(b16);
    k.emit("cvt.u16.u32", pair, bits);
    result = lower::op(k, opcode, pair);
  } else {
    result = lower::op(k, opcode, BuilderCore::as(b32, bits));
  }
  if (result.type.bits == 16) result = k.op("cvt.u32.u16", result);
  k.store(out[i], BuilderCore::as(u32, result));
  return k.finish();
}

class Conversion {
 public:
  Conversion(const std::string& opcode, const std::string& target) : program_(kernel(opcode, target), "k") {}

  std::vector<U32> operator()(const Inputs& inputs) const {
    exec::Memory memory;
    std::vector<U32> out(inputs.threads, 0xa5a5'a5a5);
    std::array<std::byte, 16> parameters;
    const std::uint64_t address = memory.map(out.data(), out.size() * sizeof(U32), "out");
    std::memcpy(parameters.data(), &address, 8);
    std::memcpy(&parameters[8], &inputs.first, 4);
    std::memcpy(&parameters[12], &inputs.step, 4);
    program_.run(memory, {.grid = {inputs.threads / 256, 1, 1},
                          .block = {256, 1, 1},
                          .parameters = parameters,
                          .judge = false});
    return out;
  }

 private:
  exec::Program program_;
};

void compare(const std::string& opcode, const std::vector<Inputs>& all, const std::string& target = "sm_75") {
  INFO(opcode << " on " << target);
  REQUIRE(lower::support(*specs(), opcode, Target(target)) == lower::Support::emulated);
  const std::string has_it = opcode.ends_with(".bf16x2") ? "sm_107f" : "sm_100a";
  REQUIRE(lower::support(*specs(), opcode, Target(has_it)) == lower::Support::native);
  const Conversion native(opcode, has_it), emulated(opcode, target);
  for (const Inputs& inputs : all) {
    const std::vector<U32> expected = native(inputs), found = emulated(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (found[i] == expected[i]) continue;
      CAPTURE(inputs.first + i * inputs.step, found[i], expected[i]);
      FAIL("the fallback differs");
    }
  }
}

const std::vector<std::string> kTypes{"e4m3x2", "e5m2x2", "e2m3x2", "e3m2x2"};

/// In both halves, all values of 16 bits.
constexpr Inputs kHalves{0, 1 | 40'503U << 16};

}  // namespace

TEST_CASE("f32 to narrow types: ties, their neighbours and random values") {
  std::mt19937 random(Catch::getSeed());
  std::vector<Inputs> inputs{{static_cast<U32>(random()), static_cast<U32>(random()) | 1, 1 << 15}};
  for (const U32 near : {0U, 1U, ~0U}) inputs.push_back({near, 1 << 16});
  for (const std::string& type : kTypes)
    for (const std::string relu : {"", ".relu"})
      compare("cvt.rn.satfinite" + relu + "." + type + ".f32", inputs);
}

TEST_CASE("f16 and bf16 to narrow types: all values") {
  for (const std::string& type : kTypes)
    for (const std::string relu : {"", ".relu"})
      for (const std::string from : {".f16x2", ".bf16x2"})
        compare("cvt.rn.satfinite" + relu + "." + type + from, {kHalves});
}

TEST_CASE("narrow types to f16: all pairs") {
  for (const std::string& type : kTypes)
    for (const std::string relu : {"", ".relu"}) compare("cvt.rn" + relu + ".f16x2." + type, {{}});
}

TEST_CASE("f32 to e4m3: all values", "[.long]") {
  const U32 chunk = 1U << 24;
  for (const std::string relu : {"", ".relu"})
    for (U32 n = 0; n < 256; ++n) compare("cvt.rn.satfinite" + relu + ".e4m3x2.f32", {{n * chunk, 1, chunk}});
}

TEST_CASE("targets without the conversion get the fallback, and its PTX says so") {
  const std::string opcode = "cvt.rn.satfinite.e4m3x2.f32";
  for (const std::string target : {"sm_75", "sm_80", "sm_86"}) {
    compare(opcode, {{0x3f00'0000, 4099, 1 << 12}}, target);
    CHECK_THAT(print(kernel(opcode, target)), ContainsSubstring("// emulated " + opcode));
  }
  CHECK(lower::support(*specs(), opcode, Target("sm_90")) == lower::Support::native);
  const std::string native = print(kernel(opcode, "sm_90"));
  CHECK_THAT(native, ContainsSubstring(opcode + " ") && !ContainsSubstring("emulated"));
}

TEST_CASE("an instruction that is neither there nor emulated is refused, and so are wrong operands") {
  KernelBuilder k(specs(), "k", Target("sm_80"));
  const Reg x = k.mov(f32, 1.0F), word = k.mov(u32, 1);
  const auto code_of = [&](const std::function<void()>& work) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      CHECK_THAT(error.what(), ContainsSubstring("convert_test.cpp:"));
      return error.code();
    }
    return "none";
  };
  const char* const missing = "cvt.rn.satfinite.pzo.e4m3x2.f32";
  CHECK(lower::support(*specs(), missing, Target("sm_80")) == lower::Support::none);
  CHECK(code_of([&] { lower::op(k, missing, x, x); }) == code_of([&] { k.op(missing, x, x); }));
  CHECK(code_of([&] { lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", x); }) == "operand-count");
  CHECK(code_of([&] { lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", x, word); }) == "operand-type");
  CHECK(code_of([&] { lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", x, 1.0F); }) == "operand-type");
}

}  // namespace ptxloom::test::lower_convert_test
