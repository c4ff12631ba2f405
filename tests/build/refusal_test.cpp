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
using Catch::Matchers::EndsWith;

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

TEST_CASE("hints about types name calls that work") {
  KernelBuilder k = builder();
  const auto hint = [](const std::function<void()>& work) {
    return error_of(work).diagnostics().front().hint;
  };
  const Reg f = k.reg(f32), u = k.reg(u32);
  CHECK(hint([&] { k.add(f, u); }) == "convert(f32, x) converts it; bit_cast(f32, x) keeps its bits");
  k.add(f, k.bit_cast(f32, u));
  CHECK(hint([&] { k.add(f, k.reg(u64)); }) == "convert(f32, x) converts it");
  CHECK_THAT(hint([&] { k.mov(f16, 0x3c00); }), ContainsSubstring(": bit_cast(f16, mov(b16, bits))"));
  k.add(k.reg(f16), k.bit_cast(f16, k.mov(b16, 0x3c00)));
  CHECK_THAT(hint([&] { k.mov(e4m3, 0x38); }), ContainsSubstring(": as(e4m3, mov(b16, bits))"));
  k.store(k.pointer(e4m3, "x")[0], k.as(e4m3, k.mov(b16, 0x38)));
  CHECK(check(k.finish()).empty());
}

TEST_CASE("a target that lacks an instruction is named once, and what has it in the hint") {
  KernelBuilder k(shared_specs(), "weighted", Target("sm_75"));
  const Diagnostic why = error_of([&] { k.redux_add(k.reg(u32)); }).diagnostics().front();
  CHECK(why.code == "not-on-target");
  CHECK_THAT(why.message, EndsWith("redux.sync.add.u32: not on sm_75"));
  CHECK(why.hint == "it needs sm_80 (PTX 7.0)");
}

TEST_CASE("what another builder made is refused, by every helper that takes it") {
  KernelBuilder other = builder("other");
  const Reg x = other.reg(u32), p = other.reg(pred), address = other.reg(u64);
  const Shared array = other.shared(u32, 4, "array");
  const Pointer pointer = other.pointer(u32, "pointer");
  const Label label = other.label("label");
  const Global table = other.constant("table", {1U});
  const Callee callee = other.function("callee", {}, {}, [](auto) { return std::vector<Reg>{}; });
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
                       [&](auto& k) { k.set(x, 1); },
                       [&](auto& k) { k.set(k.reg(u32), x); },
                       [&](auto& k) { k.op("add.u32", x, 1); },
                       [&](auto& k) { k.ops("mov.b64", k.pack(b64, k.regs(b32, 2)), x); },
                       [&](auto& k) { k.op("ld.shared.u32", &array[x]); },
                       [&](auto& k) { k.load(array[0]); },
                       [&](auto& k) { k.load(k.shared(u32, 4, "own")[x]); },
                       [&](auto& k) { k.store(k.shared(u32, 4, "own")[0], Vector{1, x}); },
                       [&](auto& k) { k.load(table[0]); },
                       [&](auto& k) { k.load(table[k.reg(u32)]); },
                       [&](auto& k) { k.address_of(table); },
                       [&](auto& k) { k.call(callee, {}); },
                       [&](auto& k) { k.while_([&] { return p; }, [] {}); },
                       [&](auto& k) { k.unroll(2, 0, x, 1, [](Reg) {}); },
                       [&](auto& k) { k.for_(0, 3, 1, [&](Reg) { k.break_if(p); }); },
                       [&](auto& k) { k.for_(0, 3, 1, [&](Reg) { k.continue_if(p); }); },
                       [&](auto& k) { k.exp2(x); },
                       [&](auto& k) { k.neg(x); },
                       [&](auto& k) { k.bit_cast(f32, x); },
                       [&](auto& k) { k.shuffle(x, 0); },
                       [&](auto& k) { k.shuffle_xor(k.reg(u64), x); },
                       [&](auto& k) { k.ballot(p); },
                       [&](auto& k) { k.vote_any(k.reg(pred), x); },
                       [&](auto& k) { k.match_any(x); },
                       [&](auto& k) { k.match_all(x); },
                       [&](auto& k) { k.redux_add(x); },
                       [&](auto& k) { k.elect(x); },
                       [&](auto& k) { k.warp_barrier(x); },
                       [&](auto& k) { k.barrier(1, x); },
                       [&](auto& k) { k.barrier_arrive(x, 32); },
                       [&](auto& k) { k.cp_async(&array[0], k.at(k.reg(u64)), 16); },
                       [&](auto& k) { k.cp_async(&k.shared(u32, 4, "own")[0], &pointer[0], 16); },
                       [&](auto& k) { k.cp_async(&k.shared(u32, 4, "own")[0], k.at(k.reg(u64)), 16, x); },
                       [&](auto& k) { k.mbarrier_init(&array[0], 1); },
                       [&](auto& k) { k.mbarrier_wait(&array[0], 1); },
                       [&](auto& k) { k.mbarrier_wait(&k.mbarriers(1, "own")[0], x); },
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
                       [](auto& k) { k.op("activemask.b32"); },
                       [](auto& k) { k.constant("c", {1U}); },
                       [](auto& k) { k.unroll(2, [](int) {}); },
                       [](auto& k) { k.break_(); },
                       [](auto& k) { k.max_block(32); },
                       [](auto& k) { k.require_cluster(2); },
                       [](auto& k) { k.max_registers(64); },
                       [](auto& k) { k.elect(); },
                       [](auto& k) { k.cp_async_wait(); },
                       [](auto& k) { k.mbarriers(1, "b"); },
                       [](auto& k) { k.function("f", {}, {}, [](auto) { return std::vector<Reg>{}; }); },
                       [](auto& k) { k.next_kernel("n"); },
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

TEST_CASE("results that an instruction does not have are refused") {
  check_place([](auto& k) { k.op("st.global.u32", k.at(k.reg(u64)), 1); }, "no-result", "st.global.u32");
  check_place([](auto& k) { k.op("bar.sync", 0); }, "no-result", "bar.sync");
  check_place([](auto& k) { k.op("ld.global.v4.f32", k.at(k.reg(u64))); }, "several-results",
              "4 result registers");
  check_place([](auto& k) { k.op("add.u32", k.reg(u32), k.reg(f32)); }, "operand-type", "add.u32: operand B");
  check_place([](auto& k) { k.op("add.u32", k.reg(u32)); }, "operand-count", "add.u32");
  check_place([](auto& k) { k.op("add.u33", k.reg(u32), 1); }, "unknown-modifier", "add.u33");
  check_place([](auto& k) { k.ops("tcgen05.alloc.cta_group::1.sync.aligned.b32", 1, 2); }, "no-result",
              "tcgen05");
  check_place([](auto& k) { k.op("ld.shared.u32", &k.pointer(u32, "x")[k.reg(f32)]); }, "operand-type",
              "ld.shared.u32: operand index");
  // What a refused candidate made is gone.
  KernelBuilder k = builder();
  const Reg wide = k.reg(u64);
  CHECK(code_of([&] { k.op("add.u32", wide, 1); }) == "operand-type");
  CHECK(k.op("add.u64", wide, 1).id.id <= wide.id.id + 2);
}

TEST_CASE("a target that lacks what a short name emits is named") {
  KernelBuilder k(shared_specs(), "old", Target("sm_75"));
  const Reg u = k.reg(u32), f = k.reg(f32), h = k.reg(bf16), address = k.reg(u64);
  const Shared array = k.shared(u32, 4, "array", 16), barrier = k.mbarriers(1, "barrier");
  const std::pair<Work, const char*> uses[] = {
      {[&](auto& b) { b.redux_add(u); }, "sm_80"},
      {[&](auto& b) { b.redux_min(f); }, "sm_100a"},
      {[&](auto& b) { b.elect(); }, "sm_90"},
      {[&](auto& b) { b.tanh(h); }, "sm_90"},
      {[&](auto& b) { b.cp_async(&array[0], b.at(address), 16); }, "sm_80"},
      {[&](auto& b) { b.cp_async_commit(); }, "sm_80"},
      {[&](auto& b) { b.mbarrier_init(&barrier[0], 1); }, "sm_80"},
      {[&](auto& b) { b.mbarrier_wait(&barrier[0], 0); }, "sm_80"},
      {[&](auto& b) { b.mbarrier_try_wait(&barrier[0], 0); }, "sm_90"},
      {[&](auto& b) { b.mbarrier_arrive_expect_tx(&barrier[0], 16); }, "sm_90"},
      {[&](auto& b) { b.cluster_barrier(); }, "sm_90"},
      {[&](auto& b) { b.op("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8", b.at(u)); }, "sm_100a"}};
  for (std::size_t i = 0; i < std::size(uses); ++i) {
    const Error error = error_of([&] { uses[i].first(k); });
    CAPTURE(i, error.what());
    CHECK(error.kind() == ErrorKind::illegal_ptx);
    CHECK_THAT(error.what(), ContainsSubstring(uses[i].second) && ContainsSubstring("refusal_test.cpp:") &&
                                 ContainsSubstring("kernel old"));
  }
  CHECK(code_of([&] { k.require_cluster(2); }) == "launch-bounds");
  KernelBuilder newer = builder();
  CHECK(code_of([&] { newer.require_cluster(4, 5); }) == "launch-bounds");
  CHECK(code_of([&] { newer.require_cluster(0); }) == "launch-bounds");
  CHECK(code_of([&] { newer.require_cluster(4, 4); }) == "none");
}

TEST_CASE("loops that make no sense are refused") {
  check_place([](auto& k) { k.break_(); }, "no-loop", "break_");
  check_place([](auto& k) { k.continue_(); }, "no-loop", "continue_");
  check_place([](auto& k) { k.break_if(k.reg(pred)); }, "no-loop", "break_if");
  check_place([](auto& k) { k.continue_if(k.reg(pred)); }, "no-loop", "continue_if");
  check_place([](auto& k) { k.do_while([&] { return k.continue_(), k.reg(pred); }); }, "no-loop", "while_");
  check_place([](auto& k) { k.while_([&] { return k.reg(u32); }, [] {}); }, "operand-type", "while_");
  check_place([](auto& k) { k.unroll(-1, [](int) {}); }, "operand-range", "-1 turns");
  check_place([](auto& k) { k.unroll(0, 0, k.reg(u32), 1, [](Reg) {}); }, "operand-range", "factor");
  check_place([](auto& k) { k.unroll(4, 0, k.reg(u32), k.reg(u32), [](Reg) {}); }, "operand-kind", "unroll");
  check_place([](auto& k) { k.unroll(4, 0, k.reg(u16), 1, [](Reg) {}); }, "operand-kind", "unroll");
  check_place([](auto& k) { k.unroll(4, 0, k.reg(s32), 1 << 30, [](Reg) {}); }, "operand-range", "unroll");
  check_place([](auto& k) { k.unroll(4, 0, k.reg(u32), 0, [](Reg) {}); }, "operand-range", "step");
  // A loop is over also where its body throws.
  KernelBuilder k = builder();
  CHECK(code_of([&] { k.unroll(2, [&](int) { k.add(1, 2); }); }) == "no-operand-type");
  CHECK(code_of([&] { k.break_(); }) == "no-loop");
}

TEST_CASE("arrays and values that make no sense are refused") {
  const std::vector<std::byte> three(3);
  check_place([&](auto& k) { k.variable("const", u32, 1, "c", three); }, "bad-size", "3 bytes");
  check_place([](auto& k) { k.variable("global", u32, 0, "c"); }, "bad-size", "0 elements");
  check_place([](auto& k) { k.variable("local", u32, 1, "c"); }, "bad-space", ".local");
  check_place([](auto& k) { k.constant("a b", {1U}); }, "bad-name", "a b");
  check_place([](auto& k) { k.constant("twice", {1U}), k.global("twice", {1U}); }, "duplicate-name", "twice");
  check_place([](auto& k) { k.variable("const", e2m1, 1, "c"); }, "type-without-storage", "constant");
  check_place([](auto& k) { k.mbarriers(0, "b"); }, "bad-size", "mbarriers");
  check_place([](auto& k) { k.load(k.shared(u32, 4, "s")[k.reg(u64)]); }, "operand-type", "32-bit indices");
  check_place([](auto& k) { k.load(k.shared(u32, 4, "s")[k.reg(f32)]); }, "operand-type", "operand index");
  check_place([](auto& k) { k.load(Pointer{k.reg(u32), f32}[k.reg(u32)]); }, "operand-type", "u64");
  check_place([](auto& k) { k.load(k.pointer(f32, "x")[0], 3); }, "unknown-modifier", "v3");
  check_place([](auto& k) { k.store(k.pointer(f32, "x")[0], Vector{1.0F, k.reg(u32)}); }, "operand-type",
              "value");
  check_place([](auto& k) { k.store(k.pointer(u8, "x")[0], Vector{1, 256}); }, "operand-range", "256");
  check_place([](auto& k) { k.set(k.reg(f32), k.reg(u32)); }, "operand-type", "set: operand value");
  check_place([](auto& k) { k.bit_cast(u64, k.reg(f32)); }, "operand-type", "bit_cast");
  check_place([](auto& k) { k.shuffle(k.reg(f16), 0); }, "operand-type", "shuffle");
  check_place([](auto& k) { k.ballot(k.reg(u32)); }, "operand-type", "predicate");
  check_place([](auto& k) { k.barrier(16, 64); }, "operand-range", "bar.sync");
  check_place([](auto& k) { k.cp_async(k.at(k.reg(u32)), k.at(k.reg(u64)), 12); }, "operand-range",
              "cp.async");
  check_place([](auto& k) { k.exp2(k.reg(u32)); }, "unknown-modifier", "ex2.approx.u32");
}

TEST_CASE("functions and kernels of one module are told apart") {
  using Regs = std::vector<Reg>;
  check_place([](auto& k) { k.function("a b", {}, {}, [](auto) { return Regs{}; }); }, "bad-kernel-name",
              "a b");
  check_place([](auto& k) { k.function("weighted", {}, {}, [](auto) { return Regs{}; }); }, "duplicate-name",
              "'weighted'");
  const std::tuple<const char*, const char*, Work> bodies[] = {
      {"operand-count", "0 registers",
       [](auto& k) { k.function("f", {u32}, {}, [](auto) { return Regs{}; }); }},
      {"operand-type", "select", [](auto& k) { k.function("f", {pred}, {}, [](auto) { return Regs{}; }); }},
      {"operand-type", "set: operand value",
       [](auto& k) { k.function("f", {u32}, {f32}, [](auto x) { return Regs{x[0]}; }); }},
      {"missing-result", "ret",
       [](auto& k) { k.function("f", {u32}, {}, [&](auto) { return k.ret(), Regs{}; }); }}};
  const Work inside[] = {[](auto& k) { k.param(u32, "n"); },
                         [](auto& k) { k.pointer(u32, "x"); },
                         [](auto& k) { k.tensor_map("m"); },
                         [](auto& k) { k.require_block(32); },
                         [](auto& k) { k.max_block(32); },
                         [](auto& k) { k.require_cluster(2); },
                         [](auto& k) { k.min_blocks_per_sm(2); },
                         [](auto& k) { k.max_registers(32); },
                         [](auto& k) { k.next_kernel("n"); },
                         [](auto& k) { k.finish(); },
                         [](auto& k) { k.function("g", {}, {}, [](auto) { return Regs{}; }); }};
  std::vector<std::tuple<const char*, const char*, Work>> all(std::begin(bodies), std::end(bodies));
  for (const Work& work : inside)
    all.emplace_back("not-a-kernel", "function f",
                     [&](auto& k) { k.function("f", {}, {}, [&](auto) { return work(k), Regs{}; }); });
  for (const auto& [code, what, work] : all) {
    KernelBuilder tried = builder();
    const Error error = error_of([&, &run = work] { run(tried); });
    CHECK(error.diagnostics().front().code == code);
    CHECK_THAT(error.what(), ContainsSubstring("refusal_test.cpp:") && ContainsSubstring("function f") &&
                                 ContainsSubstring(what));
    CHECK(tried.finish().functions.size() == 1);  // what was refused is gone
  }
  KernelBuilder k = builder();
  const Reg x = k.reg(u32);
  CHECK(code_of([&] { k.function("f", {}, {}, [&](auto) { return k.add(x, 1), Regs{}; }); }) ==
        "foreign-operand");
  const Callee f = k.function("f", {u32}, {f32}, [&](auto) { return Regs{k.mov(u32, 1)}; });
  CHECK(code_of([&] { k.call(f, {}); }) == "operand-count");
  CHECK(code_of([&] { k.call(f, {x}); }) == "operand-type");
  CHECK(code_of([&] { k.call(f, {1}); }) == "operand-literal");
  CHECK(code_of([&] { k.call(f, {1.0F}); }) == "none");
  CHECK(code_of([&] { k.unroll(1, [&](int) { k.next_kernel("n"); }); }) == "open-loop");
  CHECK(code_of([&] { k.guarded(k.reg(pred), [&] { k.next_kernel("n"); }); }) == "nested-guard");
  CHECK(code_of([&] { k.next_kernel("weighted"); }) == "duplicate-name");
  k.next_kernel("second");
  CHECK(code_of([&] { k.add(x, 1); }) == "foreign-operand");
  CHECK(code_of([&] { k.call(f, {k.shared(f32, 1, "s")}); }) == "operand-kind");
  CHECK(code_of([&] { k.call(f, {1.0F}); }) == "none");
  const ir::Module module = k.finish();
  for (const Diagnostic& found : check(module)) UNSCOPED_INFO(to_string(found));
  CHECK(check(module).empty());
}

TEST_CASE("the file of a message has no folders, and stands first") {
  KernelBuilder k = builder();
  const int line = __LINE__ + 1;
  const Error error = error_of([&] { k.add(k.reg(f32), k.reg(u32)); });
  CHECK(error.diagnostics().front().message.starts_with("refusal_test.cpp:" + std::to_string(line) +
                                                        ": kernel weighted: add: operand b"));
  const Error name = error_of([] { KernelBuilder(shared_specs(), "1st", Target("sm_80")); });
  CHECK_THAT(name.diagnostics().front().message, Catch::Matchers::StartsWith("refusal_test.cpp:"));
  const Error emitted = error_of([&] { k.emit("add.u32", k.reg(u32), k.reg(f32), 1); });
  CHECK_THAT(emitted.diagnostics().front().message, Catch::Matchers::StartsWith("refusal_test.cpp:"));
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
