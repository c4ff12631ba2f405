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

/// The low bits of a word in a register of this type.
Reg low_bits(KernelBuilder& k, Type type, Reg word) {
  if (type.bits == 32) return k.bit_cast(type, word);
  const Reg low = k.reg(type.kind == TypeKind::bits || type.bits == 8 ? type : b16);
  k.emit(type.bits == 8 ? "cvt.u8.u32" : "cvt.u16.u32", low, word);
  return low;
}

Reg word_of(KernelBuilder& k, Reg value) {
  if (value.type.bits == 32) return k.bit_cast(u32, value);
  if (value.type.bits == 8) return k.op("cvt.u32.u8", value);
  const Reg half = k.reg(b16);
  k.emit("mov.b16", half, value);
  return k.op("cvt.u32.u16", half);
}

/// Stores the result for each thread's input: the bits of the first operand. Others have these bits with some
/// inverted, except that the random bits of cvt.rs are a multiple.
ir::Module kernel(const std::string& opcode, const std::string& target) {
  KernelBuilder k(specs(), "k", Target(target));
  const Pointer out = k.pointer(u32, "out");
  const Reg first = k.param(u32, "first"), step = k.param(u32, "step");
  const Reg i = k.global_thread_x(), bits = k.add(first, k.mul(i, step));
  const Variant variant = specs()->match(opcode).at(0);
  std::vector<Reg> operands;
  const auto inputs = variant.operands().subspan(1);
  U32 inverted = 0;
  for (const OperandSpec& input : inputs)
    for (int element = 0; element < std::max(input.count, 1); ++element, inverted += 0x9e37'79b9)
      operands.push_back(
          low_bits(k, input.type, input.name == "R" ? k.mul(bits, 0x2c1b'3c6d) : k.xor_(bits, inverted)));
  const auto emitted = [&]() -> Reg {
    if (inputs[0].count > 0)
      return lower::op(k, opcode, std::span<const Reg>(operands).first(4), operands[4]);
    if (inputs.size() == 1) return lower::op(k, opcode, operands[0]);
    if (inputs.size() == 2) return lower::op(k, opcode, operands[0], operands[1]);
    return lower::op(k, opcode, operands[0], operands[1], operands[2]);
  };
  k.store(out[i], word_of(k, emitted()));
  return k.finish();
}

/// A target that has the instruction.
std::string native_target(const std::string& opcode) {
  for (const char* const target : {"sm_90", "sm_100a", "sm_107f"})
    if (lower::support(*specs(), opcode, Target(target)) == lower::Support::native) return target;
  FAIL("no target has it");
  return "";
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

/// Compares the fallback with the instruction, for the inputs.
void compare(const std::string& opcode, const std::vector<Inputs>& all, const std::string& target = "sm_75") {
  INFO(opcode << " on " << target);
  REQUIRE(lower::support(*specs(), opcode, Target(target)) == lower::Support::emulated);
  const Conversion native(opcode, native_target(opcode)), emulated(opcode, target);
  for (const Inputs& inputs : all) {
    const std::vector<U32> expected = native(inputs), found = emulated(inputs);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (found[i] == expected[i]) continue;
      CAPTURE(static_cast<U32>(inputs.first + i * inputs.step), found[i], expected[i]);
      FAIL("the fallback differs");
    }
  }
}

/// Inputs by the bits of the operand that a thread's own: for f32 each bf16 value and its neighbours, which
/// are all ties and what is beside them, and random ones; for pairs of 16 bits all values in both halves; all
/// pairs of narrow values.
std::vector<Inputs> inputs_for(const Variant& variant) {
  const OperandSpec& source = variant.operands()[1];
  if (source.type.bits < 32) return {{}};
  if (variant.slot("a") != "f32" && variant.operands().size() == 2) return {{0, 1 | 40'503U << 16}};
  static std::mt19937 random(Catch::getSeed());
  std::vector<Inputs> inputs{{static_cast<U32>(random()), static_cast<U32>(random()) | 1, 1 << 15}};
  for (const U32 near : {0U, 1U, ~0U}) inputs.push_back({near, 1 << 16});
  return inputs;
}

/// Compares each variant of the form that the target has no instruction for, and counts them.
int compare_form(const char* form, const std::string& target) {
  int compared = 0;
  for (const Variant& variant : specs()->variants(form)) {
    const std::string opcode(variant.opcode());
    if (variant.undocumented()) continue;
    if (lower::support(*specs(), opcode, Target(target)) != lower::Support::emulated) continue;
    compare(opcode, inputs_for(variant), target);
    ++compared;
  }
  return compared;
}

}  // namespace

TEST_CASE("fallbacks of conversions give the bits of the instructions") {
  CHECK(compare_form("cvt.fp8.f32", "sm_75") == 40);
  CHECK(compare_form("cvt.fp8.f16x2", "sm_75") == 80);
  CHECK(compare_form("cvt.f16x2.fp8", "sm_75") == 11);
  CHECK(compare_form("cvt.bf16x2.fp8", "sm_75") == 22);
  CHECK(compare_form("cvt.ue5m3", "sm_75") == 18);
  CHECK(compare_form("cvt.ue8m0", "sm_75") == 8);
  CHECK(compare_form("cvt.bf16x2.ue8m0", "sm_75") == 1);
  CHECK(compare_form("cvt.rs", "sm_75") == 8);
  CHECK(compare_form("cvt.rs.x4", "sm_75") == 10);
}

TEST_CASE("fallbacks of conversions to 16 bits and tf32 give the bits of the instructions") {
  CHECK(compare_form("cvt.f16.f32", "sm_75") == 66);
  CHECK(compare_form("cvt.f16.f32", "sm_80") == 40);
  CHECK(compare_form("cvt.tf32", "sm_75") == 18);
  CHECK(compare_form("cvt.tf32", "sm_80") == 16);
  CHECK(compare_form("cvt.tf32", "sm_90a") == 12);
  CHECK(compare_form("cvt", "sm_75") == 9);
}

TEST_CASE("fallbacks of conversions on targets with some of the instructions") {
  CHECK(compare_form("cvt.bf16x2.fp8", "sm_90") == 22);
  CHECK(compare_form("cvt.fp8.f32", "sm_90") == 36);
  CHECK(compare_form("cvt.ue5m3", "sm_120a") == 18);
}

// The inputs from 0 on; a second operand has the inverted sign, so both together have all values.
TEST_CASE("f32 to narrow types, 16 bits and tf32: all values", "[.long]") {
  const U32 chunk = 1U << 24;
  for (const char* form : {"cvt.fp8.f32", "cvt.ue8m0", "cvt.ue5m3", "cvt.f16.f32", "cvt.tf32", "cvt"})
    for (const Variant& variant : specs()->variants(form)) {
      const std::string opcode(variant.opcode());
      if (variant.undocumented() || !opcode.ends_with(".f32")) continue;
      if (lower::support(*specs(), opcode, Target("sm_75")) != lower::Support::emulated) continue;
      DYNAMIC_SECTION(opcode) {
        const U32 chunks = variant.operands().size() == 2 ? 256 : 128;
        for (U32 n = 0; n < chunks; ++n) compare(opcode, {{n * chunk, 1, chunk}});
      }
    }
}

TEST_CASE("stochastic rounding: 10^8 random values", "[.long]") {
  std::mt19937 random(Catch::getSeed());
  for (const char* form : {"cvt.rs", "cvt.rs.x4"})
    for (const Variant& variant : specs()->variants(form)) DYNAMIC_SECTION(variant.opcode()) {
        for (int n = 0; n < 6; ++n)
          compare(std::string(variant.opcode()),
                  {{static_cast<U32>(random()), static_cast<U32>(random()) | 1, 1 << 24}});
      }
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
  const char* const missing = "cvt.rn.satfinite.scaled::n1::ue8m0.e4m3x2.f32";
  CHECK(lower::support(*specs(), missing, Target("sm_80")) == lower::Support::none);
  CHECK(code_of([&] { lower::op(k, missing, x, x); }) == code_of([&] { k.op(missing, x, x); }));
  CHECK(code_of([&] { lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", x); }) == "operand-count");
  CHECK(code_of([&] { lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", x, word); }) == "operand-type");
  CHECK(code_of([&] { lower::op(k, "cvt.rn.satfinite.e4m3x2.f32", x, 1.0F); }) == "operand-type");
}

}  // namespace ptxloom::test::lower_convert_test
