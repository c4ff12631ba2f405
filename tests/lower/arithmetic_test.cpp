// SPDX-License-Identifier: Apache-2.0
// Fallbacks of floating arithmetic and of reductions against the instructions themselves, both in the
// executor.
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

namespace ptxloom::test::lower_arithmetic_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using U32 = std::uint32_t;
using U64 = std::uint64_t;
constexpr U32 kThreads = 256;
constexpr std::size_t kInputs = 3;

std::shared_ptr<const Specs> specs() {
  static const auto all = std::make_shared<const Specs>();
  return all;
}

Reg operand(KernelBuilder& k, Type type, Reg bits) {
  if (type.bits == 64) return k.bit_cast(type, bits);
  const Reg word = k.unpack(b32, bits)[0];
  if (type.bits == 32) return k.bit_cast(type, word);
  const Reg half = k.unpack(b16, word)[0], result = k.reg(type);
  k.emit("mov.b16", result, half);
  return result;
}

/// The result's bits, and ones above them.
Reg wide(KernelBuilder& k, Reg value) {
  const Reg ones = k.mov(u32, ~0U);
  if (value.type.bits == 64) return k.bit_cast(b64, value);
  if (value.type.bits == 32) return k.pack(b64, std::array{k.bit_cast(u32, value), ones});
  const Reg half = k.reg(b16);
  k.emit("mov.b16", half, value);
  return k.pack(b64, std::array{k.op("cvt.u32.u16", half), ones});
}

/// Thread i has the inputs 3 i, 3 i + 1 ..., of 64 bits each, of which an operand takes the low ones.
ir::Module kernel(const Variant& variant, const std::string& target) {
  KernelBuilder k(specs(), "k", Target(target));
  const Pointer out = k.pointer(b64, "out"), in = k.pointer(b64, "in");
  const Reg i = k.global_thread_x(), first = k.mul(i, static_cast<U32>(kInputs));
  const auto places = variant.operands().subspan(1);
  std::vector<Reg> x;
  for (std::size_t n = 0; n < places.size(); ++n)
    x.push_back(operand(k, places[n].type, k.load(in[k.add(first, static_cast<U32>(n))])));
  const Opcode opcode(variant.opcode());
  const Reg result =
      x.size() == 2 ? lower::op(k, opcode, x[0], x[1]) : lower::op(k, opcode, x[0], x[1], x[2]);
  k.store(out[i], wide(k, result));
  return k.finish();
}

std::vector<U64> run(const ir::Module& module, std::vector<U64> in) {
  exec::Program program(module, "k");
  exec::Memory memory;
  std::vector<U64> out(in.size() / kInputs, 0xa5a5'a5a5'a5a5'a5a5);
  const std::array<U64, 2> parameters{memory.map(out.data(), out.size() * 8, "out"),
                                      memory.map(in.data(), in.size() * 8, "in")};
  program.run(memory, {.grid = {static_cast<U32>(out.size()) / kThreads, 1, 1},
                       .block = {kThreads, 1, 1},
                       .parameters = std::as_bytes(std::span(parameters))});
  return out;
}

std::string native_target(const Variant& variant) {
  for (const char* const target : {"sm_90", "sm_100a"})
    if (variant.since(Target(target))) return target;
  FAIL("no target has it");
  return "";
}

/// Zeros, infinities, NaNs, the least and greatest subnormal and normal numbers, and one, of formats with
/// this many bits of mantissa; or close to another value; or random bits.
class Values {
 public:
  explicit Values(Type type) : element_bits_(type.bits), mantissa_(23) {
    if (type.name.ends_with("x2")) element_bits_ /= 2;
    if (element_bits_ == 16) mantissa_ = type.name.starts_with("bf") ? 7 : 10;
    if (type.bits == 16 && type.kind == TypeKind::bits) mantissa_ = 7;
  }

  U64 operator()(std::mt19937& random) {
    U64 all = 0;
    for (int at = 0; at < 64; at += element_bits_) all |= (element(random) & mask()) << at;
    return all;
  }

 private:
  U64 mask() const { return (U64{1} << element_bits_) - 1; }

  U64 element(std::mt19937& random) {
    const U64 infinity = (mask() >> (mantissa_ + 1)) << mantissa_, one = U64{1} << mantissa_;
    const std::array<U64, 9> special{
        0, 1, one - 1, one, infinity - 1, infinity, infinity + 1, mask() >> 1, infinity >> 1};
    const U64 sign = (random() & 1U) << (element_bits_ - 1);
    switch (random() % 4) {
      case 0:
        last_ = special.at(random() % special.size());
        break;
      case 1:
        last_ += random() % 5 - 2;  // ties, and differences that cancel
        break;
      case 2:  // exponents near each other, so that sums are rounded
        last_ = (infinity >> 1) + (random() % (one * 32)) - one * 16;
        break;
      default:
        last_ = random();
    }
    return (last_ & (mask() >> 1)) | sign;
  }

  int element_bits_, mantissa_;
  U64 last_ = 0;
};

std::vector<U64> inputs_for(const Variant& variant, std::size_t threads, std::mt19937& random) {
  std::vector<Values> values;
  for (const OperandSpec& place : variant.operands().subspan(1)) values.emplace_back(place.type);
  std::vector<U64> in(threads * kInputs);
  for (std::size_t i = 0; i < in.size(); ++i)
    if (i % kInputs < values.size()) in[i] = values[i % kInputs](random);
  return in;
}

void compare(const Variant& variant, const std::string& target, const std::vector<U64>& in) {
  INFO(variant.opcode() << " on " << target);
  const ir::Module emulated = kernel(variant, target), native = kernel(variant, native_target(variant));
  CHECK_THAT(print(emulated), ContainsSubstring("// emulated " + std::string(variant.opcode())));
  const std::vector<U64> found = run(emulated, in), expected = run(native, in);
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (found[i] == expected[i]) continue;
    CAPTURE(in[kInputs * i], in[kInputs * i + 1], in[kInputs * i + 2], found[i], expected[i]);
    FAIL("the fallback differs");
  }
}

using Inputs = std::function<std::vector<U64>(const Variant&, std::mt19937&)>;

/// Compares each variant of the form whose opcode begins so and that the target gets by a fallback; counts
/// them.
int compare_form(const char* form, const char* prefix, const std::string& target, const Inputs& inputs) {
  std::mt19937 random(Catch::getSeed());
  int compared = 0;
  for (const Variant& variant : specs()->variants(form)) {
    if (variant.undocumented() || !variant.opcode().starts_with(prefix)) continue;
    if (lower::support(*specs(), variant, Target(target)) != lower::Support::emulated) continue;
    compare(variant, target, inputs(variant, random));
    ++compared;
  }
  return compared;
}

std::vector<U64> sample(const Variant& variant, std::mt19937& random) {
  return inputs_for(variant, 1 << 14, random);
}

/// All lanes of a warp have its mask: all lanes, one, or random ones; lanes outside have a mask of their own.
std::vector<U64> warps(const Variant& variant, std::size_t threads, std::mt19937& random) {
  std::vector<U64> in = inputs_for(variant, threads, random);
  for (std::size_t i = 0; i < in.size() / kInputs; i += 32) {
    auto mask = static_cast<U32>(random());
    if (random() % 4 == 0) mask = ~0U;
    if (random() % 4 == 0) mask = 1U << random() % 32;
    for (std::size_t lane = 0; lane < 32; ++lane)
      in[(i + lane) * kInputs + 1] = (mask >> lane & 1U) != 0 ? mask : ~mask;
  }
  return in;
}

std::vector<U64> sample_of_warps(const Variant& variant, std::mt19937& random) {
  return warps(variant, 1 << 13, random);
}

}  // namespace

TEST_CASE("fallbacks of f32x2 arithmetic give the bits of the instructions") {
  for (const char* const target : {"sm_75", "sm_90a"}) {
    CHECK(compare_form("add.float", "", target, sample) == 30);
    CHECK(compare_form("fma", "", target, sample) == 8);
  }
}

TEST_CASE("fallbacks of mixed precision give the bits of the instructions") {
  for (const char* const target : {"sm_75", "sm_80", "sm_90a"}) {
    CHECK(compare_form("add.mixed", "", target, sample) == 40);
    CHECK(compare_form("fma.mixed", "", target, sample) == 16);
  }
}

TEST_CASE("fallbacks of min and max give the bits of the instructions") {
  CHECK(compare_form("min.float", "", "sm_75", sample) == 76);
  CHECK(compare_form("min.float", "", "sm_80", sample) == 48);
  CHECK(compare_form("min.float", "", "sm_90", sample) == 16);
}

TEST_CASE("fallbacks of redux.sync give the bits of the instructions") {
  CHECK(compare_form("redux.sync", "", "sm_75", sample_of_warps) == 17);
  CHECK(compare_form("redux.sync", "", "sm_80", sample_of_warps) == 8);
  CHECK(compare_form("redux.sync", "", "sm_120a", sample_of_warps) == 8);
}

TEST_CASE("the number of operands decides between an instruction and its fallback") {
  KernelBuilder k(specs(), "k", Target("sm_80"));
  const Reg x = k.mov(f32, 1.0F), y = k.mov(f32, 2.0F), z = k.mov(f32, 3.0F);
  lower::op(k, "min.f32", x, y);
  CHECK_THROWS_WITH(k.op("min.f32", x, y, z), ContainsSubstring("sm_100"));
  lower::op(k, "max.f32", x, y, z);
  const std::string text = print(k.finish());
  CHECK_THAT(text, ContainsSubstring("// emulated max.f32") && !ContainsSubstring("// emulated min.f32"));
  for (const Variant& variant : specs()->match("min.f32"))
    CHECK(lower::support(*specs(), variant, Target("sm_80")) ==
          (variant.operands().size() == 3 ? lower::Support::native : lower::Support::emulated));
}

TEST_CASE("arithmetic and reductions: 10^8 random values", "[.long]") {
  std::mt19937 random(Catch::getSeed());
  const std::size_t threads = 1 << 20;
  for (const char* form : {"add.float", "fma", "add.mixed", "fma.mixed", "min.float", "redux.sync"})
    for (const Variant& variant : specs()->variants(form)) {
      if (variant.undocumented()) continue;
      if (lower::support(*specs(), variant, Target("sm_75")) != lower::Support::emulated) continue;
      DYNAMIC_SECTION(variant.opcode() << ", operands: " << variant.operands().size() - 1) {
        const bool reduces = std::string_view(form) == "redux.sync";
        for (std::size_t n = 0; n < 100'000'000; n += threads)
          compare(variant, "sm_75",
                  reduces ? warps(variant, threads, random) : inputs_for(variant, threads, random));
      }
    }
}

}  // namespace ptxloom::test::lower_arithmetic_test
