// SPDX-License-Identifier: Apache-2.0
// Fallbacks of mma against the instructions themselves, both in the executor.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <limits>
#include <memory>
#include <random>

#include "ptxloom/exec.hpp"
#include "ptxloom/lower.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::test::lower_product_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using U32 = std::uint32_t;
constexpr U32 kWarps = 64, kLanes = 32;
constexpr const char* kNative = "sm_90";

std::shared_ptr<const Specs> specs() {
  static const auto all = std::make_shared<const Specs>();
  return all;
}

struct Sizes {
  explicit Sizes(const Variant& variant)
      : a(count(variant, "A")), b(count(variant, "B")), c(count(variant, "C")) {}
  std::size_t all() const { return a + b + c; }

  std::size_t a, b, c;

 private:
  static std::size_t count(const Variant& variant, const char* name) {
    return static_cast<std::size_t>(variant.operand(name).registers());
  }
};

/// Each thread loads its registers of A, B and C, which are also those of D.
ir::Module kernel(const Variant& variant, const std::string& target) {
  const Sizes sizes(variant);
  KernelBuilder k(specs(), "k", Target(target));
  const Pointer out = k.pointer(u32, "out"), in = k.pointer(u32, "in");
  const Reg i = k.global_thread_x(), first = k.mul(i, static_cast<U32>(sizes.all()));
  std::vector<Reg> x;
  for (std::size_t n = 0; n < sizes.all(); ++n)
    x.push_back(k.bit_cast(n < sizes.a + sizes.b ? b32 : s32, k.load(in[k.add(first, static_cast<U32>(n))])));
  const std::span<const Reg> all(x);
  const auto sums = all.last(sizes.c);
  lower::emit(k, variant.opcode(), sums, all.first(sizes.a), all.subspan(sizes.a, sizes.b), sums);
  const Reg to = k.mul(i, static_cast<U32>(sizes.c));
  for (std::size_t n = 0; n < sizes.c; ++n)
    k.store(out[k.add(to, static_cast<U32>(n))], k.bit_cast(u32, sums[n]));
  return k.finish();
}

std::vector<U32> run(const ir::Module& module, std::vector<U32> in, std::size_t results) {
  exec::Program program(module, "k");
  exec::Memory memory;
  std::vector<U32> out(results, 0xa5a5'a5a5);
  const std::array<std::uint64_t, 2> parameters{memory.map(out.data(), out.size() * 4, "out"),
                                                memory.map(in.data(), in.size() * 4, "in")};
  program.run(
      memory,
      {.grid = {kWarps, 1, 1}, .block = {kLanes, 1, 1}, .parameters = std::as_bytes(std::span(parameters))});
  return out;
}

/// A warp's elements of A, and of B, are random, or all are the least or the greatest number of their sign,
/// so that sums are as far from the addend as they can be. Addends are near a limit, or random.
std::vector<U32> inputs_for(const Variant& variant, std::mt19937& random) {
  const Sizes sizes(variant);
  std::vector<U32> in;
  const std::array<U32, 5> fills{0x8888'8888, 0x7777'7777, 0xffff'ffff, 0x8080'8080, 0x7f7f'7f7f};
  for (U32 warp = 0; warp < kWarps; ++warp) {
    const bool random_a = random() % 2 == 0, random_b = random() % 2 == 0;
    const U32 a = fills.at(random() % fills.size()), b = fills.at(random() % fills.size());
    for (U32 lane = 0; lane < kLanes; ++lane)
      for (std::size_t n = 0; n < sizes.all(); ++n) {
        const auto word = static_cast<U32>(random());
        if (n < sizes.a)
          in.push_back(random_a ? word : a);
        else if (n < sizes.a + sizes.b)
          in.push_back(random_b ? word : b);
        else if (word % 4 == 0)
          in.push_back(static_cast<U32>(random()));
        else
          in.push_back((word % 4 == 1 ? 0x8000'0000 : 0x7fff'ffff) ^ (word >> 20));
      }
  }
  return in;
}

void compare(const Variant& variant, const std::string& target, std::mt19937& random) {
  INFO(variant.opcode() << " on " << target);
  const std::vector<U32> in = inputs_for(variant, random);
  const ir::Module emulated = kernel(variant, target), native = kernel(variant, kNative);
  CHECK_THAT(print(emulated), ContainsSubstring("// emulated " + std::string(variant.opcode())));
  CHECK_THAT(print(native), !ContainsSubstring("// emulated"));
  const std::size_t results = Sizes(variant).c * kWarps * kLanes;
  const std::vector<U32> found = run(emulated, in, results), expected = run(native, in, results);
  for (std::size_t i = 0; i < results; ++i) {
    if (found[i] == expected[i]) continue;
    CAPTURE(i, found[i], expected[i]);
    FAIL("the fallback differs");
  }
  if (!variant.slot("sat")) return;
  CHECK(std::ranges::count(expected, 0x7fff'ffffU) > 10);
  const bool can_fall = variant.slot("a")->starts_with("s") || variant.slot("b")->starts_with("s");
  if (can_fall) CHECK(std::ranges::count(expected, 0x8000'0000U) > 10);
}

/// Compares each mma with an element type of A that the target gets by a fallback; counts them.
int compare_types(std::initializer_list<const char*> types, const std::string& target) {
  std::mt19937 random(Catch::getSeed());
  int compared = 0;
  for (const Variant& variant : specs()->variants("mma")) {
    if (variant.undocumented() || std::ranges::find(types, variant.slot("a")) == types.end()) continue;
    if (lower::support(*specs(), variant, Target(target)) != lower::Support::emulated) continue;
    compare(variant, target, random);
    ++compared;
  }
  return compared;
}

KernelBuilder builder() { return KernelBuilder(specs(), "k", Target("sm_75")); }

}  // namespace

TEST_CASE("fallbacks of mma with 16 rows of integers give the bits of the instructions") {
  // Two shapes, the types of A and of B, with and without .satfinite.
  CHECK(compare_types({"s4", "u4"}, "sm_75") == 16);
  CHECK(compare_types({"s8", "u8"}, "sm_75") == 16);
  CHECK(compare_types({"s4", "u4", "s8", "u8"}, "sm_80") == 0);
}

TEST_CASE("fallbacks of mma of bits give the bits of the instructions") {
  // xor: m16n8k128 and m16n8k256; and: m8n8k128 too.
  CHECK(compare_types({"b1"}, "sm_75") == 5);
}

TEST_CASE("ops returns all results of a fallback, and integers may stand in its vectors") {
  const auto module = [](bool literals) {
    KernelBuilder k = builder();
    const Pointer out = k.pointer(s32, "out");
    const Reg lane = k.special("laneid"), zero = k.mov(s32, 0);
    const std::vector<Reg> a(2, k.as(b32, lane)), b(1, a[0]), none(4, zero);
    const char* const opcode = "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32";
    const std::vector<Reg> d =
        literals ? lower::ops(k, opcode, a, b, Vector{0, 0, 0, 0}) : lower::ops(k, opcode, a, b, none);
    REQUIRE(d.size() == 4);
    const Reg to = k.mul(k.global_thread_x(), 4);
    for (std::size_t n = 0; n < d.size(); ++n) k.store(out[k.add(to, static_cast<U32>(n))], d[n]);
    return k.finish();
  };
  const std::size_t results = kWarps * kLanes * 4;
  // The second parameter is not read.
  const auto run_alone = [&](const ir::Module& made) {
    exec::Program program(made, "k");
    exec::Memory memory;
    std::vector<U32> out(results, 0xa5a5'a5a5);
    const std::array<std::uint64_t, 1> parameters{memory.map(out.data(), out.size() * 4, "out")};
    program.run(memory, {.grid = {kWarps, 1, 1},
                         .block = {kLanes, 1, 1},
                         .parameters = std::as_bytes(std::span(parameters))});
    return out;
  };
  CHECK(run_alone(module(true)) == run_alone(module(false)));
}

TEST_CASE("emit takes fallbacks with one result, of 8 bits too") {
  KernelBuilder k = builder();
  const Reg x = k.mov(f32, 1.0F), y = k.mov(f32, 2.0F), pair = k.reg(b16), codes = k.reg(b16),
            sum = k.reg(f32);
  lower::emit(k, "cvt.rn.satfinite.e4m3x2.f32", pair, x, y);
  lower::emit(k, "cvt.rn.satfinite.e2m1x2.f32", codes, x, y);
  lower::emit(k, "add.f32", sum, x, y);
  const std::string text = print(k.finish());
  CHECK_THAT(text, ContainsSubstring("// emulated cvt.rn.satfinite.e4m3x2.f32") &&
                       ContainsSubstring("// emulated cvt.rn.satfinite.e2m1x2.f32") &&
                       !ContainsSubstring("// emulated add.f32"));
}

TEST_CASE("a fallback with several results refuses what does not fit") {
  KernelBuilder k = builder();
  const char* const opcode = "mma.sync.aligned.m16n8k32.row.col.s32.s4.s4.s32";
  const std::vector<Reg> a = k.regs(b32, 2), b = k.regs(b32, 1), c = k.regs(s32, 4), single = k.regs(f32, 4);
  CHECK_THROWS_WITH(lower::op(k, opcode, a, b, c), ContainsSubstring("[several-results]"));
  CHECK_THROWS_WITH(lower::emit(k, opcode, c, a, b), ContainsSubstring("[operand-count]"));
  CHECK_THROWS_WITH(lower::ops(k, opcode, a, b), ContainsSubstring("[operand-count]"));
  CHECK_THROWS_WITH(lower::emit(k, opcode, c, b, b, c), ContainsSubstring("operand A is not a vector of 2") &&
                                                            ContainsSubstring("[operand-type]"));
  CHECK_THROWS_WITH(lower::emit(k, opcode, c, a, b, single),
                    ContainsSubstring("operand C is not of type .s32"));
  CHECK_THROWS_WITH(lower::emit(k, opcode, Vector{c[0], c[1], c[2], 0}, a, b, c),
                    ContainsSubstring("operand D is not a vector of registers"));
  CHECK_THROWS_WITH(lower::ops(k, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", a, b, single),
                    ContainsSubstring("it has no fallback"));
  CHECK_THROWS_WITH(
      lower::emit(k, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", single, a, b, single),
      ContainsSubstring("it has no fallback"));
}

}  // namespace ptxloom::test::lower_product_test
