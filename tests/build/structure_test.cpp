// SPDX-License-Identifier: Apache-2.0
// Programs that the builder refuses: use after finish(), names, results, loops, arrays, functions, targets.
#include <algorithm>
#include <optional>

#include "build/refusal.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::refusal_test {

TEST_CASE("a finished builder refuses further use") {
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
                               ContainsSubstring("structure_test.cpp:" + std::to_string(line)));
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

TEST_CASE("invalid predicates, labels, names and sizes are refused") {
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
  for (const char* name : {"", "1st", "a b", "a-b", "_", "$", "%", "x;", "%r0", "%results", "WARP_SZ"}) {
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
  CHECK_THAT(error.what(), ContainsSubstring("$nowhere") &&
                               ContainsSubstring("structure_test.cpp:" + std::to_string(line)));
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

TEST_CASE("a target that lacks the instruction of a short name is reported") {
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
    CHECK_THAT(error.what(), ContainsSubstring(uses[i].second) && ContainsSubstring("structure_test.cpp:") &&
                                 ContainsSubstring("kernel old"));
  }
  CHECK(code_of([&] { k.require_cluster(2); }) == "launch-bounds");
  KernelBuilder newer = builder();
  CHECK(code_of([&] { newer.require_cluster(4, 5); }) == "launch-bounds");
  CHECK(code_of([&] { newer.require_cluster(0); }) == "launch-bounds");
  CHECK(code_of([&] { newer.require_cluster(4, 4); }) == "none");
}

TEST_CASE("invalid loops are refused") {
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

TEST_CASE("empty bodies are refused") {
  check_place([](auto& k) { k.if_(k.reg(pred), nullptr); }, "empty-body", "if_");
  check_place([](auto& k) { k.if_(k.reg(pred), nullptr, [] {}); }, "empty-body", "if_");
  check_place([](auto& k) { k.if_(k.reg(pred), [] {}, nullptr); }, "empty-body", "if_");
  check_place([](auto& k) { k.guarded(k.reg(pred), nullptr); }, "empty-body", "guarded");
  check_place([](auto& k) { k.guarded_not(k.reg(pred), nullptr); }, "empty-body", "guarded_not");
  check_place([](auto& k) { k.for_(0, 4, 1, nullptr); }, "empty-body", "for_");
  check_place([](auto& k) { k.while_(nullptr, [] {}); }, "empty-body", "while_");
  check_place([](auto& k) { k.while_([&] { return k.reg(pred); }, nullptr); }, "empty-body", "while_");
  check_place([](auto& k) { k.do_while(nullptr); }, "empty-body", "do_while");
  check_place([](auto& k) { k.unroll(2, nullptr); }, "empty-body", "unroll");
  check_place([](auto& k) { k.unroll(2, 0, k.reg(u32), 1, nullptr); }, "empty-body", "unroll");
  check_place([](auto& k) { k.function("f", {}, {}, nullptr); }, "empty-body", "function");
}

TEST_CASE("bounds that no kernel can have are refused") {
  check_place([](auto& k) { k.min_blocks_per_sm(0); }, "launch-bounds", "min_blocks_per_sm");
  check_place([](auto& k) { k.max_registers(0); }, "launch-bounds", "max_registers");
  check_place([](auto& k) { k.shared(u32, -1, "s"); }, "bad-size", "static shared memory has 232448 bytes");
  check_place([](auto& k) { k.shared(u64, 29057, "s"); }, "bad-size", "29057 elements");
  KernelBuilder k = builder();
  CHECK(code_of([&] { k.shared(u64, 29056, "s"); }) == "none");
  ir::Module module = k.finish();
  CHECK(check(module).empty());
  module.functions[0].minnctapersm = 0;
  REQUIRE(check(module).size() == 1);
  CHECK(check(module)[0].code == "launch-bounds");
  module.functions[0].minnctapersm = 1;
  module.functions[0].maxnreg = 0;
  REQUIRE(check(module).size() == 1);
  CHECK(check(module)[0].code == "launch-bounds");
}

TEST_CASE("an address in one state space is refused as one in another") {
  check_place([](auto& k) { k.op("ld.shared.u32", &k.pointer(u32, "x")[1]); }, "address-space",
              "operand A is an address in .global, but the instruction addresses .shared");
  check_place([](auto& k) { k.op("ld.global.u32", &k.constant("c", {1U})[k.reg(u32)]); }, "address-space",
              "in .const");
  check_place([](auto& k) { k.emit("st.shared.u32", &k.pointer(u32, "x")[k.reg(u32)], 1); }, "address-space",
              "st.shared.u32");
  check_place([](auto& k) { k.mbarrier_init(&k.pointer(b64, "x")[0], 1); }, "address-space", "mbarrier.init");
  check_place([](auto& k) { k.cp_async(&k.pointer(b8, "x")[0], &k.pointer(b8, "y")[0], 16); },
              "address-space", "cp.async");
  KernelBuilder k = builder();
  const Pointer x = k.pointer(u32, "x");
  const Shared s = k.shared(u32, 8, "s", 16);
  k.op("ld.u32", &x[3]);  // generic
  k.cp_async(&s[0], &x[0], 16);
  k.op("ld.shared::cta.u32", &s[k.reg(u32)]);
  CHECK(check(k.finish()).empty());
}

TEST_CASE("invalid arrays and values are refused") {
  const std::vector<std::byte> three(3);
  check_place([&](auto& k) { k.variable("const", u32, 1, "c", three); }, "bad-size", "3 bytes");
  check_place([](auto& k) { k.variable("global", u32, 0, "c"); }, "bad-size", "0 elements");
  check_place([](auto& k) { k.variable("local", u32, 1, "c"); }, "bad-space", ".local");
  check_place([](auto& k) { k.constant("a b", {1U}); }, "bad-name", "a b");
  check_place([](auto& k) { k.constant("twice", {1U}), k.global("twice", {1U}); }, "duplicate-name", "twice");
  check_place([](auto& k) { k.param(u32, "size"), k.shared(u32, 4, "size"); }, "duplicate-name", "size");
  check_place([](auto& k) { k.pointer(f32, "x"), k.param(u32, "x"); }, "duplicate-name", "x");
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
  check_place([](auto& k) { k.shuffle(k.reg(u32), k.reg(f32)); }, "operand-type", "shuffle: operand from");
  check_place([](auto& k) { k.shuffle_up(k.reg(u32), k.reg(u64)); }, "operand-type", "operand delta");
  check_place([](auto& k) { k.shuffle_down(k.reg(u64), k.reg(f32)); }, "operand-type", "operand delta");
  check_place([](auto& k) { k.shuffle_xor(k.reg(u32), k.reg(f32)); }, "operand-type", "operand lane_mask");
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
    CHECK_THAT(error.what(), ContainsSubstring("structure_test.cpp:") && ContainsSubstring("function f") &&
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
  CHECK(code_of([&] { k.unroll(1, [&](int) { k.finish(); }); }) == "open-loop");
  KernelBuilder in_loop = builder();
  CHECK(code_of([&] { in_loop.for_(0, 4, 1, [&](Reg) { in_loop.finish(); }); }) == "open-loop");
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

TEST_CASE("barriers are refused in code that not all threads reach") {
  const std::vector<Work> barriers{
      [](auto& b) { b.barrier(); },
      [](auto& b) { b.barrier(1, 64); },
      [](auto& b) { b.barrier_arrive(1, 64); },
      [](auto& b) { b.cluster_barrier(); },
      [](auto& b) { b.emit("barrier.cta.red.popc.u32", b.reg(u32), 0, b.reg(pred)); },
      [](auto& b) { b.emit("barrier.cluster.wait.aligned"); },
  };
  for (const Work& barrier : barriers) {
    CHECK(code_of([&] {
            KernelBuilder k = builder();
            k.without_barriers([&] { barrier(k); });
          }) == "no-barrier-here");
    KernelBuilder k = builder();
    const Reg p = k.reg(pred);
    CHECK(code_of([&] { k.if_(p, [&] { k.without_barriers([&] { barrier(k); }); }); }) == "no-barrier-here");
    CHECK(code_of([&] { barrier(k); }) == "none");  // the refusal ends with the body
  }
  KernelBuilder k = builder();
  CHECK(code_of([&] {
          k.without_barriers([&] {
            k.without_barriers([] {});
            k.warp_barrier();
            k.shuffle(k.mov(u32, 1), 0);
          });
        }) == "none");
  CHECK(code_of([&] {
          k.without_barriers([&] {
            k.without_barriers([] {});
            k.barrier();
          });
        }) == "no-barrier-here");
  check_place([](auto& b) { b.without_barriers([&] { b.barrier(); }); }, "no-barrier-here", "bar.sync");
  CHECK(check(k.finish()).empty());
}

TEST_CASE("the file name in a message has no folders, and comes first") {
  KernelBuilder k = builder();
  const int line = __LINE__ + 1;
  const Error error = error_of([&] { k.add(k.reg(f32), k.reg(u32)); });
  CHECK(error.diagnostics().front().message.starts_with("structure_test.cpp:" + std::to_string(line) +
                                                        ": kernel weighted: add: operand b"));
  const Error name = error_of([] { KernelBuilder(shared_specs(), "1st", Target("sm_80")); });
  CHECK_THAT(name.diagnostics().front().message, Catch::Matchers::StartsWith("structure_test.cpp:"));
  const Error emitted = error_of([&] { k.emit("add.u32", k.reg(u32), k.reg(f32), 1); });
  CHECK_THAT(emitted.diagnostics().front().message, Catch::Matchers::StartsWith("structure_test.cpp:"));
}

TEST_CASE("a kernel returns, even if its last return is guarded") {
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
