// SPDX-License-Identifier: Apache-2.0
// Operands that the builder refuses: their types, their values, and whose they are.
#include <algorithm>
#include <optional>
#include <sstream>

#include "build/refusal.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::refusal_test {

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

TEST_CASE("an element outside its array is refused, if its index is a literal") {
  const std::string code = "outside-array";
  const auto in_shared = [](auto use) {
    return [use](KernelBuilder& k) { use(k, k.shared(u16, 12, "tile")); };
  };
  check_place(in_shared([](auto& k, auto tile) { k.load(tile[12]); }), code,
              "load: element 12 of tile, which has 12 elements");
  check_place(in_shared([](auto& k, auto tile) { k.store(tile[-1], k.reg(u16)); }), code,
              "store: element -1 of tile");
  check_place(in_shared([](auto& k, auto tile) { k.load(tile[10], 4); }), code,
              "load: 4 elements from 10 on of tile");
  check_place(in_shared([](auto& k, auto tile) { k.store(tile[11], Vector{k.reg(u16), k.reg(u16)}); }), code,
              "store: 2 elements from 11 on of tile");
  check_place(in_shared([](auto& k, auto tile) { k.load(tile.as(u32, 8)[4]); }), code,
              "load: element 4 of tile, which has 4 elements");
  check_place(in_shared([](auto& k, auto tile) { k.emit("ld.shared.u16", k.reg(u16), &tile[13]); }), code,
              "ld.shared.u16: element 13 of tile");
  check_place([](auto& k) { k.load(k.constant("table", {1U, 2U, 3U})[3]); }, code,
              "load: element 3 of table, which has 3 elements");
  check_place([](auto& k) { k.load(k.dynamic_shared("rest")[-1]); }, code, "load: element -1 of rest");
}

TEST_CASE("the last element of an array is inside it") {
  KernelBuilder k = builder();
  const Shared tile = k.shared(u16, 12, "tile", 8);
  k.load(tile[11]);
  k.load(tile[8], 4);
  k.load(tile.as(u32, 8)[3]);
  k.load(tile.as(u32, 8)[-1]);  // before the view, inside the array
  k.load(k.dynamic_shared("rest")[100000]);
  k.load(k.constant("table", {1U, 2U, 3U})[2]);
  k.function("f", {}, {}, [&](auto) {
    k.load(k.shared(u32, 2, "own")[1]);
    return std::vector<Reg>{};
  });
  for (const Diagnostic& found : check(k.finish())) FAIL_CHECK(found.message);
}

TEST_CASE("a comment stays a comment, whatever is in it") {
  KernelBuilder k = builder();
  k.header("made by\nret;");
  k.section("first\rret;");
  k.comment("store 1\nret;\n\nend");
  const ir::Module module = k.finish();
  CHECK(module.functions[0].instructions.size() == 1);  // the ret at the end
  std::istringstream text(print(module));
  int statements = 0;
  for (std::string line; std::getline(text, line);)
    if (line.find("ret;") < line.find("//")) ++statements;
  CHECK(statements == 1);
  for (const char* pragma : {"nounroll", "\"nounroll", "\"a\"; ret; \"b\"", "\"a\nb\"", "", "\""})
    check_place([&](auto& other) { other.pragma(pragma); }, "bad-pragma", "pragma");
}

TEST_CASE("a vector that no instruction takes is refused by its length") {
  check_place([](auto& other) { other.store(other.pointer(u32, "x")[0], other.regs(u32, 65538)); },
              "unknown-modifier", "st.global.v65535.u32");
}

TEST_CASE("an mbarrier has at least one arrival") {
  check_place([](auto& other) { other.mbarrier_init(&other.shared(b64, 1, "bar")[0], 0); }, "operand-range",
              "mbarrier.init");
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
  for (const Diagnostic& found : check(k.finish())) FAIL_CHECK(found.message);
}

TEST_CASE("a missing instruction is named once, with the targets that have it in the hint") {
  KernelBuilder k(shared_specs(), "weighted", Target("sm_75"));
  const Diagnostic why = error_of([&] { k.redux_add(k.reg(u32)); }).diagnostics().front();
  CHECK(why.code == "not-on-target");
  CHECK_THAT(why.message, EndsWith("redux.sync.add.u32: not on sm_75"));
  CHECK(why.hint == "it needs sm_80 (PTX 7.0)");
}

TEST_CASE("operands of another builder are refused, by every helper that takes them") {
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
                       [&](auto& k) { k.address_of(&array[0]); },
                       [&](auto& k) { k.address_of(k.at(address, 4)); },
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
                       [&](auto& k) { k.address_of(&table[0]); },
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

}  // namespace ptxloom::refusal_test
