// SPDX-License-Identifier: Apache-2.0
// What the helpers promise, evaluated with fresh random values: arithmetic, division by constants, control
// flow.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <functional>
#include <random>
#include <stdexcept>

#include "build/evaluate.hpp"
#include "ptxloom/builder.hpp"
#include "ptxloom/check.hpp"

namespace ptxloom::build_test {
namespace {

constexpr std::uint64_t kOut = 0x1000;

std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

// A kernel of two parameters that stores what `body` makes of them.
std::function<std::uint64_t(std::uint64_t, std::uint64_t)> kernel_of(
    Type type, const std::function<Reg(KernelBuilder&, Reg, Reg)>& body) {
  KernelBuilder k(shared_specs(), "meaning", Target("sm_80"));
  const Pointer out = k.pointer(type, "out");
  const Reg a = k.param(type, "a"), b = k.param(type, "b");
  const Reg result = body(k, a, b);
  k.store("global", result.type, k.at(out.base), result);
  const auto module = std::make_shared<const ir::Module>(k.finish());
  REQUIRE(check(*module).empty());
  return [module](std::uint64_t x, std::uint64_t y) {
    return Evaluation(*module, {kOut, x, y}).stores().at(kOut);
  };
}

std::vector<std::uint32_t> edges_and_random(std::mt19937& random, int count) {
  std::vector<std::uint32_t> all{0, 1, 2, 0x7fff'ffff, 0x8000'0000, 0xffff'fffe, 0xffff'ffff};
  for (int i = 0; i < count; ++i) all.push_back(static_cast<std::uint32_t>(random() >> random() % 32));
  return all;
}

template <class T>
struct Meaning {
  const char* name;
  std::function<Reg(KernelBuilder&, Reg, Reg)> emit;
  std::function<std::uint64_t(T, T)> compute;
};

template <class T>
std::vector<Meaning<T>> meanings() {
  using U = std::uint32_t;
  using W = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  const Type wide = std::is_signed_v<T> ? s64 : u64;
  const auto low = [](auto value) { return std::uint64_t{static_cast<U>(value)}; };
  const auto flag = [](KernelBuilder& k, Reg p) { return k.select(p, 7, k.mov(b32, 9)); };
  const auto chosen = [](bool p) { return std::uint64_t{p ? 7U : 9U}; };
  return {
      {"add", [](auto& k, Reg a, Reg b) { return k.add(a, b); }, [=](T a, T b) { return low(U(a) + U(b)); }},
      {"sub", [](auto& k, Reg a, Reg b) { return k.sub(a, b); }, [=](T a, T b) { return low(U(a) - U(b)); }},
      {"sub5", [](auto& k, Reg a, Reg) { return k.sub(5, a); }, [=](T a, T) { return low(5U - U(a)); }},
      {"mul", [](auto& k, Reg a, Reg b) { return k.mul(a, b); }, [=](T a, T b) { return low(U(a) * U(b)); }},
      {"fma", [](auto& k, Reg a, Reg b) { return k.fma(a, b, a); },
       [=](T a, T b) { return low(U(a) * U(b) + U(a)); }},
      {"min", [](auto& k, Reg a, Reg b) { return k.min(a, b); },
       [=](T a, T b) { return low(std::min(a, b)); }},
      {"max", [](auto& k, Reg a, Reg b) { return k.max(a, b); },
       [=](T a, T b) { return low(std::max(a, b)); }},
      {"mul_wide", [](auto& k, Reg a, Reg b) { return k.mul_wide(a, b); },
       [](T a, T b) { return static_cast<std::uint64_t>(W{a} * W{b}); }},
      {"mad_wide", [=](auto& k, Reg a, Reg b) { return k.mad_wide(a, b, k.mov(wide, 77)); },
       [](T a, T b) { return static_cast<std::uint64_t>(W{a} * W{b}) + 77; }},
      {"and_", [](auto& k, Reg a, Reg b) { return k.and_(a, b); },
       [=](T a, T b) { return low(U(a) & U(b)); }},
      {"or_", [](auto& k, Reg a, Reg b) { return k.or_(a, b); }, [=](T a, T b) { return low(U(a) | U(b)); }},
      {"xor_", [](auto& k, Reg a, Reg b) { return k.xor_(a, b); },
       [=](T a, T b) { return low(U(a) ^ U(b)); }},
      {"not_", [](auto& k, Reg a, Reg) { return k.not_(a); }, [=](T a, T) { return low(~U(a)); }},
      {"shl", [](auto& k, Reg a, Reg b) { return k.shl(a, k.and_(b, 63)); },
       [=](T a, T b) { return low((U(b) & 63) > 31 ? 0 : U(a) << (U(b) & 63)); }},
      {"shr", [](auto& k, Reg a, Reg b) { return k.shr(a, k.and_(b, 63)); },
       [=](T a, T b) { return low(W{a} >> (U(b) & 63)); }},
      {"eq", [=](auto& k, Reg a, Reg b) { return flag(k, k.eq(a, b)); },
       [=](T a, T b) { return chosen(a == b); }},
      {"ne", [=](auto& k, Reg a, Reg b) { return flag(k, k.ne(a, b)); },
       [=](T a, T b) { return chosen(a != b); }},
      {"lt", [=](auto& k, Reg a, Reg b) { return flag(k, k.lt(a, b)); },
       [=](T a, T b) { return chosen(a < b); }},
      {"le", [=](auto& k, Reg a, Reg b) { return flag(k, k.le(a, b)); },
       [=](T a, T b) { return chosen(a <= b); }},
      {"gt", [=](auto& k, Reg a, Reg b) { return flag(k, k.gt(a, b)); },
       [=](T a, T b) { return chosen(a > b); }},
      {"ge", [=](auto& k, Reg a, Reg b) { return flag(k, k.ge(a, b)); },
       [=](T a, T b) { return chosen(a >= b); }},
  };
}

template <class T>
void check_meanings(Type type) {
  std::mt19937 random(Catch::getSeed());
  for (const Meaning<T>& one : meanings<T>()) {
    const auto run = kernel_of(type, one.emit);
    const std::vector<std::uint32_t> values = edges_and_random(random, 12);
    for (const std::uint32_t a : values)
      for (const std::uint32_t b : values) {
        const std::uint64_t expected = one.compute(static_cast<T>(a), static_cast<T>(b));
        if (const std::uint64_t got = run(a, b); got != expected) {
          CAPTURE(one.name, type.name, a, b);
          REQUIRE(got == expected);
        }
      }
  }
}

// Around multiples of the divisor, where a reciprocal that is a little off shows.
std::vector<std::uint32_t> dividends(std::mt19937& random, std::uint32_t divisor) {
  std::vector<std::uint32_t> all{0, 1, 0xffff'ffff, 0x7fff'ffff, 0x8000'0000, divisor, divisor - 1};
  const std::uint32_t largest = 0xffff'ffff / divisor * divisor;
  all.insert(all.end(), {largest, largest - 1});
  while (all.size() < 40)
    all.push_back(static_cast<std::uint32_t>(random() / divisor * divisor + random() % 3 - 1));
  return all;
}

std::vector<std::uint32_t> divisors(std::mt19937& random) {
  std::vector<std::uint32_t> all{641U, 0xffff'ffffU, 0xffff'fffeU, 0x8000'0001U, 0x7fff'ffffU};
  for (std::uint32_t d = 1; d <= 70; ++d) all.push_back(d);
  for (int bit = 7; bit < 32; ++bit)
    for (const int beside : {-1, 0, 1}) all.push_back((1U << bit) + static_cast<std::uint32_t>(beside));
  for (int i = 0; i < 100; ++i)
    all.push_back(static_cast<std::uint32_t>(1 + (random() >> random() % 31) / 2));
  return all;
}

}  // namespace

TEST_CASE("arithmetic of u32 and s32 means what its name says") {
  check_meanings<std::uint32_t>(u32);
  check_meanings<std::int32_t>(s32);
}

TEST_CASE("quotients and remainders by any constant are exact, and no u32 division is left") {
  std::mt19937 random(Catch::getSeed());
  for (const std::uint32_t divisor : divisors(random)) {
    const auto quotient = kernel_of(u32, [&](KernelBuilder& k, Reg a, Reg) { return k.div(a, divisor); });
    const auto remainder = kernel_of(u32, [&](KernelBuilder& k, Reg a, Reg) { return k.rem(a, divisor); });
    for (const std::uint32_t n : dividends(random, divisor))
      if (quotient(n, 0) != n / divisor || remainder(n, 0) != n % divisor) {
        CAPTURE(n, divisor);
        CHECK(quotient(n, 0) == n / divisor);
        REQUIRE(remainder(n, 0) == n % divisor);
      }
  }
  KernelBuilder k(shared_specs(), "division", Target("sm_80"));
  const Reg n = k.reg(u32), i = k.reg(s32);
  k.div(n, 10), k.rem(n, 7), k.rem(n, 8), k.div(i, 10), k.rem(i, n.type == u32 ? k.reg(s32) : i);
  const ir::Module module = k.finish();
  std::vector<std::string> divisions;
  for (const ir::Instruction& instruction : module.functions[0].instructions) {
    const std::string opcode(instruction.variant.opcode());
    if (opcode.starts_with("div") || opcode.starts_with("rem")) divisions.push_back(opcode);
  }
  CHECK(divisions == std::vector<std::string>{"div.s32", "rem.s32"});
}

TEST_CASE("quotients by a constant take as few instructions as they need") {
  const auto opcodes = [](std::uint32_t divisor) {
    KernelBuilder k(shared_specs(), "division", Target("sm_80"));
    k.div(k.reg(u32), divisor);
    std::string all;
    const ir::Module module = k.finish();
    for (const ir::Instruction& instruction : module.functions[0].instructions)
      all += std::string(instruction.variant.opcode()) + " ";
    return all;
  };
  for (const std::uint32_t divisor : {1U, 2U, 64U, 0x8000'0000U}) CHECK(opcodes(divisor) == "shr.u32 ret ");
  // One of them divides 2^32 + 1: the upper half of the product is the quotient.
  for (const std::uint32_t divisor : {641U, 6'700'417U}) CHECK(opcodes(divisor) == "mul.hi.u32 ret ");
  for (const std::uint32_t divisor : {3U, 5U, 10U, 100U, 1000U, 6U, 12U})
    CHECK(opcodes(divisor) == "mul.hi.u32 shr.u32 ret ");
  for (const std::uint32_t divisor : {7U, 19U, 21U, 107U})
    CHECK(opcodes(divisor) == "mul.hi.u32 sub.u32 shr.u32 add.u32 shr.u32 ret ");
}

TEST_CASE("division by a register, of both signs") {
  std::mt19937 random(Catch::getSeed());
  const auto u =
      kernel_of(u32, [](KernelBuilder& k, Reg a, Reg b) { return k.sub(k.div(a, b), k.rem(a, b)); });
  const auto s =
      kernel_of(s32, [](KernelBuilder& k, Reg a, Reg b) { return k.sub(k.div(a, b), k.rem(a, b)); });
  for (int i = 0; i < 300; ++i) {
    const auto a = static_cast<std::uint32_t>(random()),
               b = static_cast<std::uint32_t>(random() >> random() % 32 | 1);
    CHECK(u(a, b) == std::uint32_t{a / b - a % b});
    const auto x = std::int64_t{static_cast<std::int32_t>(a)}, y = std::int64_t{static_cast<std::int32_t>(b)};
    CHECK(s(a, b) == static_cast<std::uint32_t>(x / y - x % y));
  }
}

TEST_CASE("branches go where they should") {
  const auto run = [](const std::function<void(KernelBuilder&, Reg, Reg)>& body, std::uint64_t a,
                      std::uint64_t b) {
    return kernel_of(u32, [&](KernelBuilder& k, Reg x, Reg y) {
      const Reg result = k.mov(u32, 1);
      body(k, result, k.lt(x, y));
      return result;
    })(a, b);
  };
  const auto set = [](KernelBuilder& k, Reg to, int value) { k.emit("mov.u32", to, value); };
  const auto jump = [&](bool unless) {
    return [=](KernelBuilder& k, Reg to, Reg p) {
      const Label over = k.label("over");
      unless ? k.branch_unless(p, over) : k.branch_if(p, over);
      set(k, to, 2);
      k.place(over);
    };
  };
  CHECK(run(jump(false), 3, 4) == 1);
  CHECK(run(jump(false), 4, 3) == 2);
  CHECK(run(jump(true), 3, 4) == 2);
  CHECK(run(jump(true), 4, 3) == 1);
  const auto choose = [&](KernelBuilder& k, Reg to, Reg p) {
    k.if_(p, [&] { set(k, to, 5); }, [&] { set(k, to, 6); });
  };
  CHECK(run(choose, 3, 4) == 5);
  CHECK(run(choose, 4, 3) == 6);
  const auto only = [&](KernelBuilder& k, Reg to, Reg p) { k.if_(p, [&] { set(k, to, 8); }); };
  CHECK(run(only, 3, 4) == 8);
  CHECK(run(only, 4, 3) == 1);
  const auto guarded = [&](KernelBuilder& k, Reg to, Reg p) {
    k.guarded(p, [&] { k.emit("add.u32", to, to, 10); });
    k.guarded_not(p, [&] { k.emit("add.u32", to, to, 20); });
    k.emit("add.u32", to, to, 100);  // without a guard again
  };
  CHECK(run(guarded, 3, 4) == 111);
  CHECK(run(guarded, 4, 3) == 121);
  const auto forward = [&](KernelBuilder& k, Reg to, Reg) {
    const Label over = k.label("over");
    k.branch(over);
    set(k, to, 2);
    k.place(over);
  };
  CHECK(run(forward, 3, 4) == 1);
  const auto early = [&](KernelBuilder& k, Reg to, Reg p) {
    k.guarded(p, [&] { set(k, to, 3); });
    k.if_(k.eq(to, 1), [&] { set(k, to, 4); });
  };
  CHECK(run(early, 3, 4) == 3);
  CHECK(run(early, 4, 3) == 4);
}

TEST_CASE("loops run the right number of iterations") {
  const auto turns = kernel_of(u32, [](KernelBuilder& k, Reg begin, Reg end) {
    const Reg sum = k.mov(u32, 0);
    k.for_(begin, end, 3, [&](Reg i) { k.emit("mad.lo.u32", sum, i, 1000, k.add(sum, 1)); });
    return sum;
  });
  std::mt19937 random(Catch::getSeed());
  for (int turn = 0; turn < 60; ++turn) {
    const auto begin = static_cast<std::uint32_t>(random() % 40),
               end = static_cast<std::uint32_t>(random() % 60);
    std::uint32_t sum = 0;
    for (std::uint32_t i = begin; i < end; i += 3) sum += i * 1000 + 1;
    CHECK(turns(begin, end) == sum);
  }
  const auto from_below = kernel_of(s32, [](KernelBuilder& k, Reg begin, Reg step) {
    const Reg count = k.mov(s32, 0);
    k.for_(begin, 7, step, [&](Reg) { k.emit("add.s32", count, count, 1); });
    return count;
  });
  CHECK(from_below(static_cast<std::uint32_t>(-5), 4) == 3);
  CHECK(from_below(7, 1) == 0);
  const auto doubled = kernel_of(u32, [](KernelBuilder& k, Reg a, Reg b) {
    const Reg value = k.mov(u32, a);
    k.do_while([&] {
      k.emit("add.u32", value, value, value);
      return k.lt(value, b);
    });
    return value;
  });
  CHECK(doubled(3, 50) == 96);
  CHECK(doubled(3, 1) == 6);
}

TEST_CASE("elements of a pointer are where C++ would put them") {
  std::mt19937 random(Catch::getSeed());
  struct Index {
    Type type;
    std::int64_t value;
  };
  for (const Type element : {b8, bf16, f32, f64, e4m3})
    for (const Index index :
         {Index{u32, 0xfff0'0000}, Index{s32, -77}, Index{u64, 1}, Index{s64, -(std::int64_t{1} << 33)}}) {
      const std::int64_t at = index.value + static_cast<std::int64_t>(random() % 999);
      KernelBuilder k(shared_specs(), "elements", Target("sm_80"));
      const Pointer x = k.pointer(element, "x");
      const Reg i = k.param(index.type, "i");
      k.store(x[i], k.reg(element));
      const ir::Module module = k.finish();
      const std::uint64_t base = std::uint64_t{1} << 40;
      const Evaluation done(
          module, {base, static_cast<std::uint64_t>(at) & (index.type.bits == 32 ? 0xffff'ffffU : ~0ULL)});
      CAPTURE(element.name, index.type.name, at);
      CHECK(done.stores().begin()->first == base + static_cast<std::uint64_t>(at * element.bytes()));
    }
  KernelBuilder k(shared_specs(), "elements", Target("sm_80"));
  const Pointer x = k.pointer(u16, "x");
  k.store(x[-3], k.reg(u16));
  const ir::Module module = k.finish();
  CHECK(Evaluation(module, {4096}).stores().begin()->first == 4096 - 6);
}

}  // namespace ptxloom::build_test
