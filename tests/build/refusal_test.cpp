// SPDX-License-Identifier: Apache-2.0
// What the builder refuses, and that the Error names the kernel, the operation, the operand and the caller's
// line.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <functional>
#include <optional>
#include <source_location>

#include "ptxloom/builder.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/errors.hpp"

namespace ptxloom::refusal_test {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

KernelBuilder builder(std::string name = "weighted") {
  return {shared_specs(), std::move(name), Target("sm_90a")};
}

std::string code_of(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    CHECK_FALSE(error.diagnostics().front().hint.empty());
    return error.diagnostics().front().code;
  }
  return "none";
}

using Work = std::function<void(KernelBuilder&)>;

/// Refused, and the message says where: on the line on which this is called.
void check_place(const Work& work, const std::string& code, const std::string& operation,
                 std::source_location here = std::source_location::current()) {
  KernelBuilder k = builder();
  const auto line = here.line();
  const Error error = error_of([&] { work(k); });
  CHECK(error.diagnostics().front().code == code);
  CHECK_THAT(error.what(), ContainsSubstring("kernel weighted") && ContainsSubstring(operation) &&
                               ContainsSubstring("refusal_test.cpp:" + std::to_string(line)));
  CHECK_NOTHROW(k.barrier());  // and the builder goes on
}

}  // namespace

TEST_CASE("operands of two types are refused on the caller's line") {
  check_place([](auto& k) { k.add(k.reg(f32), k.reg(u32)); }, "operand-type", "add: operand b is a .u32");
  check_place([](auto& k) { k.lt(k.reg(s32), k.reg(u32)); }, "operand-type", "lt: operand b is a .u32");
  check_place([](auto& k) { k.select(k.reg(pred), k.reg(f32), k.reg(u32)); }, "operand-type",
              "select: operand if_false");
  check_place([](auto& k) { k.store(k.pointer(f32, "x")[0], k.reg(u32)); }, "operand-type",
              "store: operand value is a .u32 register, but the operation is on .f32");
  check_place([](auto& k) { k.mov(f32, k.reg(s32)); }, "operand-type", "mov: operand a");
  check_place([](auto& k) { k.for_(0, k.reg(u32), k.reg(s32), [](Reg) {}); }, "operand-type",
              "for_: operand step");
  check_place([](auto& k) { k.emit("add.u32", k.reg(u32), k.reg(u32), k.reg(f32)); }, "operand-type",
              "add.u32: operand B");
  check_place([](auto& k) { k.emit("add.u33", k.reg(u32)); }, "unknown-modifier", "add.u33");
}

// Which pairs go together: each helper with each pair of types, against a rule written here anew.
TEST_CASE("every pair of types in every helper") {
  using Pair = std::function<void(KernelBuilder&, Reg, Reg)>;
  const std::pair<const char*, Pair> agnostic[] = {
      {"add", [](auto& k, Reg a, Reg b) { k.add(a, b); }},
      {"sub", [](auto& k, Reg a, Reg b) { k.sub(a, b); }},
      {"mul", [](auto& k, Reg a, Reg b) { k.mul(a, b); }},
      {"fma b", [](auto& k, Reg a, Reg b) { k.fma(a, b, a); }},
      {"fma c", [](auto& k, Reg a, Reg b) { k.fma(a, a, b); }},
      {"select", [](auto& k, Reg a, Reg b) { k.select(k.reg(pred), a, b); }},
      {"store", [](auto& k, Reg a, Reg b) { k.store("shared", a.type, k.at(k.shared(b8, 64, "s")), b); }}};
  const std::pair<const char*, Pair> strict[] = {
      {"div", [](auto& k, Reg a, Reg b) { k.div(a, b); }},
      {"rem", [](auto& k, Reg a, Reg b) { k.rem(a, b); }},
      {"min", [](auto& k, Reg a, Reg b) { k.min(a, b); }},
      {"max", [](auto& k, Reg a, Reg b) { k.max(a, b); }},
      {"eq", [](auto& k, Reg a, Reg b) { k.eq(a, b); }},
      {"ne", [](auto& k, Reg a, Reg b) { k.ne(a, b); }},
      {"lt", [](auto& k, Reg a, Reg b) { k.lt(a, b); }},
      {"le", [](auto& k, Reg a, Reg b) { k.le(a, b); }},
      {"gt", [](auto& k, Reg a, Reg b) { k.gt(a, b); }},
      {"ge", [](auto& k, Reg a, Reg b) { k.ge(a, b); }},
      {"mul_wide", [](auto& k, Reg a, Reg b) { k.mul_wide(a, b); }},
      {"for_", [](auto& k, Reg a, Reg b) { k.for_(a, b, 1, [](Reg) {}); }}};
  const Type types[] = {s16, u16, b16, f16, bf16, s32, u32, b32, f32, f16x2, bf16x2, s64, u64, b64, f64};
  const auto integer = [](Type t) { return t.is_integer(); };
  const auto untyped = [](Type t) { return t.kind == TypeKind::bits; };
  for (const Type a : types)
    for (const Type b : types) {
      const bool bits = a.bits == b.bits && (untyped(a) || untyped(b));
      const bool signs = a.bits == b.bits && integer(a) && integer(b);
      const auto refused = [&](const Pair& helper) {
        KernelBuilder k = builder();
        try {
          helper(k, k.reg(a), k.reg(b));
        } catch (const Error& error) {
          return error.kind() == ErrorKind::usage && error.diagnostics().front().code == "operand-type";
        }
        return false;
      };
      for (const auto& [name, helper] : agnostic) {
        const bool narrowing = std::string_view(name) == "store" && b.bits > a.bits &&
                               (integer(a) || untyped(a)) && (integer(b) || untyped(b));
        CAPTURE(name, a.name, b.name);
        CHECK(refused(helper) == !(a == b || bits || signs || narrowing));
      }
      for (const auto& [name, helper] : strict) {
        CAPTURE(name, a.name, b.name);
        CHECK(refused(helper) == !(a == b || bits));
      }
    }
}

TEST_CASE("literals that the type cannot be are refused") {
  KernelBuilder k = builder();
  const Reg u = k.reg(u32), s = k.reg(s32), wide = k.reg(u64), signed_wide = k.reg(s64), half = k.reg(f16),
            f = k.reg(f32);
  const std::uint64_t huge = ~std::uint64_t{0};
  CHECK(code_of([&] { k.add(u, std::int64_t{1} << 40); }) == "operand-range");
  CHECK(code_of([&] { k.add(u, -1); }) == "none");  // modulo 2^32, as in C++
  CHECK(code_of([&] { k.add(u, 0xffff'ffffU); }) == "none");
  CHECK(code_of([&] { k.add(u, 0x1'0000'0000); }) == "operand-range");
  CHECK(code_of([&] { k.add(u, -0x8000'0001LL); }) == "operand-range");
  CHECK(code_of([&] { k.add(s, 0xffff'ffffU); }) == "none");
  CHECK(code_of([&] { k.lt(u, -1); }) == "operand-range");
  CHECK(code_of([&] { k.lt(u, 0xffff'ffffU); }) == "none");
  CHECK(code_of([&] { k.lt(s, 0x7fff'ffff); }) == "none");
  CHECK(code_of([&] { k.lt(s, 0x8000'0000U); }) == "operand-range");
  CHECK(code_of([&] { k.lt(s, -0x8000'0000LL); }) == "none");
  CHECK(code_of([&] { k.lt(wide, huge); }) == "none");
  CHECK(code_of([&] { k.lt(wide, -1); }) == "operand-range");
  CHECK(code_of([&] { k.lt(signed_wide, huge); }) == "operand-range");
  CHECK(code_of([&] { k.add(signed_wide, huge); }) == "none");
  CHECK(code_of([&] { k.mul_wide(s, 0x8000'0000U); }) == "operand-range");
  CHECK(code_of([&] { k.shl(u, -1); }) == "operand-range");
  CHECK(code_of([&] { k.shr(s, -1); }) == "operand-range");
  CHECK(code_of([&] { k.shl(u, 32); }) == "none");
  CHECK(code_of([&] { k.shl(u, k.reg(u64)); }) == "operand-type");
  CHECK(code_of([&] { k.div(u, 0); }) == "operand-range");
  CHECK(code_of([&] { k.rem(s, 0); }) == "operand-range");
  CHECK(code_of([&] { k.mov(u16, 0x1'0000); }) == "operand-range");
  CHECK(code_of([&] { k.mov(s16, -0x8000); }) == "none");
  CHECK(code_of([&] { k.mov(u32, 1.0F); }) == "operand-literal");
  CHECK(code_of([&] { k.mov(b32, 1.0F); }) == "none");
  CHECK(code_of([&] { k.mov(f16, 0x3c00); }) == "operand-literal");
  CHECK(code_of([&] { k.mov(f16, Arg::zero(f16)); }) == "none");
  CHECK(code_of([&] { k.add(half, 1.0F); }) == "operand-literal");
  CHECK(code_of([&] { k.add(f, 1); }) == "operand-literal");
  CHECK(code_of([&] { k.select(k.reg(pred), u, 1.0F); }) == "operand-literal");
  CHECK(code_of([&] { k.and_(f, 0x7fff'ffff); }) == "none");  // a mask
  CHECK(code_of([&] { k.and_(u, std::int64_t{1} << 33); }) == "operand-range");
  CHECK(code_of([&] { k.for_(0, u, 0, [](Reg) {}); }) == "operand-range");
  CHECK(code_of([&] { k.for_(0, s, -1, [](Reg) {}); }) == "operand-range");
  CHECK(code_of([&] { k.store("shared", u8, k.at(k.shared(u8, 1, "s")), 300); }) == "operand-range");
  CHECK(code_of([&] { k.load(k.pointer(f64, "p")[std::int64_t{1} << 61]); }) == "operand-range");
  CHECK(code_of([&] { k.add(1, 2); }) == "no-operand-type");
}

TEST_CASE("what another builder made is refused, by every helper that takes it") {
  KernelBuilder other = builder("other");
  const Reg x = other.reg(u32), p = other.reg(pred), address = other.reg(u64);
  const Shared array = other.shared(u32, 4, "array");
  const Pointer pointer = other.pointer(u32, "pointer");
  const Label label = other.label("label");
  const Work uses[] = {[&](auto& k) { k.add(x, 1); },
                       [&](auto& k) { k.add(k.reg(u32), x); },
                       [&](auto& k) { k.min(k.reg(u32), x); },
                       [&](auto& k) { k.and_(k.reg(u32), x); },
                       [&](auto& k) { k.fma(k.reg(u32), 1, x); },
                       [&](auto& k) { k.mad_wide(k.reg(u32), 1, address); },
                       [&](auto& k) { k.shl(k.reg(u32), x); },
                       [&](auto& k) { k.not_(x); },
                       [&](auto& k) { k.lt(k.reg(u32), x); },
                       [&](auto& k) { k.mov(u32, x); },
                       [&](auto& k) { k.convert(f32, x); },
                       [&](auto& k) { k.pack(b64, std::vector<Reg>{k.reg(u32), x}); },
                       [&](auto& k) { k.unpack(b16, x); },
                       [&](auto& k) { k.select(p, k.reg(u32), 1); },
                       [&](auto& k) { k.select(k.reg(pred), x, 1); },
                       [&](auto& k) { k.if_(p, [] {}); },
                       [&](auto& k) { k.if_(p, [] {}, [] {}); },
                       [&](auto& k) { k.do_while([&] { return p; }); },
                       [&](auto& k) { k.for_(0, x, 1, [](Reg) {}); },
                       [&](auto& k) { k.guarded(p, [] {}); },
                       [&](auto& k) { k.guarded_not(p, [] {}); },
                       [&](auto& k) { k.branch_if(p, k.label("own")); },
                       [&](auto& k) { k.branch_unless(p, k.label("own")); },
                       [&](auto& k) { k.branch(label); },
                       [&](auto& k) { k.place(label); },
                       [&](auto& k) { k.address_of(array); },
                       [&](auto& k) { k.load("shared", u32, k.at(array)); },
                       [&](auto& k) { k.load("global", u32, k.at(address, 4)); },
                       [&](auto& k) { k.load("global", u32, k.at(address) + 4); },
                       [&](auto& k) { k.load(pointer[0]); },
                       [&](auto& k) { k.load(k.pointer(u32, "own")[x]); },
                       [&](auto& k) { k.store(k.pointer(u32, "own")[0], x); },
                       [&](auto& k) { k.emit("add.u32", x, k.reg(u32), 1); },
                       [&](auto& k) { k.emit("mov.b64", k.reg(b64), std::vector<Reg>{k.reg(b32), x}); },
                       [&](auto& k) { k.emit("mov.u32", k.reg(u32), array); },
                       [&](auto& k) { k.add(Reg{u32, {0}}, 1); },
                       [&](auto& k) { k.add(Reg{}, 1); }};
  for (std::size_t i = 0; i < std::size(uses); ++i) {
    KernelBuilder k = builder();
    k.regs(u32, 20), k.regs(pred, 20), k.regs(u64, 20);  // so that the number alone would do
    CAPTURE(i);
    CHECK(code_of([&] { uses[i](k); }) == "foreign-operand");
    k.ret();
  }
  check_place([&](auto& k) { k.add(k.reg(u32), x); }, "foreign-operand", "add: operand b");
  check_place([&](auto& k) { k.emit("add.u32", x, x, 1); }, "foreign-operand", "add.u32: operand 1");
  // Also where the other one lies in the same memory.
  std::optional<KernelBuilder> first(builder());
  const Reg gone = first->reg(u32);
  first.emplace(builder());
  first->reg(u32);
  CHECK(code_of([&] { first->add(gone, 1); }) == "foreign-operand");
  // A builder that moved is still the same.
  KernelBuilder from = builder();
  const Reg kept = from.reg(u32);
  KernelBuilder to = std::move(from);
  CHECK(code_of([&] { to.add(kept, 1); }) == "none");
}

TEST_CASE("a builder that has finished is of no more use, and says so") {
  const Work uses[] = {[](auto& k) { k.reg(u32); },
                       [](auto& k) { k.regs(u32, 2); },
                       [](auto& k) { k.param(u32, "n"); },
                       [](auto& k) { k.pointer(u32, "x"); },
                       [](auto& k) { k.tensor_map("map"); },
                       [](auto& k) { k.special("tid.x"); },
                       [](auto& k) { k.global_thread_x(); },
                       [](auto& k) { k.shared(u32, 4, "s"); },
                       [](auto& k) { k.dynamic_shared("d"); },
                       [](auto& k) { k.label("l"); },
                       [](auto& k) { k.mov(u32, 1); },
                       [](auto& k) { k.barrier(); },
                       [](auto& k) { k.ret(); },
                       [](auto& k) { k.comment("c"); },
                       [](auto& k) { k.section("s"); },
                       [](auto& k) { k.header("h"); },
                       [](auto& k) { k.pragma("\"nounroll\""); },
                       [](auto& k) { k.require_block(32); },
                       [](auto& k) { k.min_blocks_per_sm(2); },
                       [](auto& k) { k.emit("bar.sync", 0); },
                       [](auto& k) { k.finish(); }};
  for (std::size_t i = 0; i < std::size(uses); ++i) {
    KernelBuilder k = builder();
    k.finish();
    CAPTURE(i);
    CHECK(code_of([&] { uses[i](k); }) == "builder-finished");
  }
  KernelBuilder k = builder();
  const Reg x = k.reg(u32), p = k.reg(pred);
  const Label label = k.label("label");
  k.finish();
  const Work later[] = {[&](auto& b) { b.add(x, 1); },         [&](auto& b) { b.lt(x, 1); },
                        [&](auto& b) { b.convert(f32, x); },   [&](auto& b) { b.if_(p, [] {}); },
                        [&](auto& b) { b.guarded(p, [] {}); }, [&](auto& b) { b.place(label); },
                        [&](auto& b) { b.branch(label); },     [&](auto& b) { b.emit("mov.u32", x, 1); }};
  for (const Work& work : later) CHECK(code_of([&] { work(k); }) == "builder-finished");
  const int line = __LINE__ + 1;
  const Error error = error_of([&] { k.add(x, 1); });
  CHECK_THAT(error.what(), ContainsSubstring("kernel weighted") &&
                               ContainsSubstring("refusal_test.cpp:" + std::to_string(line)));
  CHECK(k.target().name() == "sm_90a");
  CHECK(&k.specs() == shared_specs().get());
  CHECK(k.has("add.u32"));
  KernelBuilder in_body = builder();
  const Reg q = in_body.reg(pred);
  CHECK(code_of([&] { in_body.if_(q, [&] { in_body.finish(); }); }) != "none");
  KernelBuilder in_guard = builder();
  const Reg g = in_guard.reg(pred);
  CHECK(code_of([&] { in_guard.guarded(g, [&] { in_guard.finish(); }); }) == "nested-guard");
}

TEST_CASE("predicates, labels, names and sizes that make no sense are refused") {
  KernelBuilder k = builder();
  const Reg u = k.reg(u32), p = k.reg(pred);
  CHECK(code_of([&] { k.if_(u, [] {}); }) == "operand-type");
  CHECK(code_of([&] { k.guarded(u, [] {}); }) == "operand-type");
  CHECK(code_of([&] { k.branch_if(u, k.label("l")); }) == "operand-type");
  CHECK(code_of([&] { k.do_while([&] { return u; }); }) == "operand-type");
  CHECK(code_of([&] { k.select(u, 1.0F, 2.0F); }) == "operand-type");
  CHECK(code_of([&] { k.guarded(p, [&] { k.guarded_not(p, [] {}); }); }) == "nested-guard");
  CHECK(code_of([&] { k.guarded(p, [&] { k.branch_if(p, k.label("l")); }); }) == "nested-guard");
  CHECK(code_of([&] { k.as(u64, u); }) == "operand-type");
  CHECK(code_of([&] { k.as(u16, k.reg(u8)); }) == "none");
  CHECK(code_of([&] { k.unpack(Type{}, u); }) == "operand-type");
  CHECK(code_of([&] { k.unpack(b64, u); }) == "operand-type");
  CHECK(code_of([&] { k.regs(u32, -1); }) == "register-count");
  CHECK(code_of([&] { k.reg(Type{}); }) == "register-type");
  CHECK(code_of([&] { k.reg(texref); }) == "register-type");
  CHECK(code_of([&] { k.load(k.pointer(f32, "x")[k.reg(f32)]); }) == "operand-type");
  CHECK(code_of([&] { k.load(k.pointer(f32, "y")[k.reg(u16)]); }) == "operand-type");
  CHECK(code_of([&] { k.shared(u32, 0, "s"); }) == "bad-size");
  CHECK(code_of([&] { k.shared(u32, 1, "s", 3); }) == "bad-alignment");
  CHECK(code_of([&] { k.dynamic_shared("s", 0); }) == "bad-alignment");
  for (const char* name : {"", "1st", "a b", "a-b", "_", "$", "%", "x;"}) {
    CAPTURE(name);
    CHECK(code_of([&] { k.shared(u32, 1, name); }) == "bad-name");
    CHECK(code_of([&] { k.dynamic_shared(name); }) == "bad-name");
    CHECK(code_of([&] { k.param(u32, name); }) == "bad-name");
    CHECK(code_of([&] { k.pointer(u32, name); }) == "bad-name");
    CHECK(code_of([&] { k.tensor_map(name); }) == "bad-name");
    CHECK(code_of([&] { builder(name); }) == "bad-kernel-name");
  }
  CHECK(code_of([&] { k.label("a b"); }) == "bad-name");
  const Label twice = k.label("twice");
  k.place(twice);
  CHECK(code_of([&] { k.place(twice); }) == "duplicate-name");
  const Label nowhere = k.label("nowhere");
  k.label("unused");
  const int line = __LINE__ + 1;
  k.branch_if(p, nowhere);
  const Error error = error_of([&] { k.finish(); });
  CHECK(error.diagnostics().front().code == "undefined-label");
  CHECK_THAT(error.what(),
             ContainsSubstring("$nowhere") && ContainsSubstring("refusal_test.cpp:" + std::to_string(line)));
  k.place(nowhere);
  CHECK(check(k.finish()).empty());
}

TEST_CASE("a kernel returns, also where its last return is guarded") {
  KernelBuilder k = builder();
  k.guarded(k.reg(pred), [&] { k.ret(); });
  const ir::Module module = k.finish();
  CHECK(module.functions[0].instructions.size() == 2);
  CHECK_FALSE(module.functions[0].instructions.back().guard);
  KernelBuilder plain = builder();
  plain.ret();
  CHECK(plain.finish().functions[0].instructions.size() == 1);
}

}  // namespace ptxloom::refusal_test
