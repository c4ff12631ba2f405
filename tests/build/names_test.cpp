// SPDX-License-Identifier: Apache-2.0
// What the short names emit, what `op` chooses, and that ptxas takes it on every target that has it.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/builder.hpp"
#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "support/ptxas.hpp"
#include "support/require.hpp"

namespace ptxloom::names_test {
namespace {

using Catch::Matchers::ContainsSubstring;

std::shared_ptr<const Specs> shared_specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

KernelBuilder builder(std::string_view target) { return {shared_specs(), "names", Target(target)}; }

void memory(KernelBuilder& k) {
  const Pointer x = k.pointer(f32, "x");
  const Shared tile = k.shared(f32, 64, "tile", 16);
  const Global table = k.constant("table", {1.5F, 2.5F, 3.5F, 4.5F}), counter = k.global("counter", {7U});
  const Reg i = k.special("tid.x");
  const std::vector<Reg> four = k.load(x[k.mul(i, 4)], 4);
  k.store(tile[k.mul(i, 4)], Vector{four[0], 0.5F, four[2], four[3]});
  k.barrier();
  k.store(x[i], k.add(k.load(tile[i]), k.load(table[k.and_(i, 3)])));
  k.emit("ld.global.v2.f32", Vector{_, four[0]}, &x[2]);
  k.emit("red.global.add.u32", &counter[0], 1);
  k.address_of(table);
}

void control(KernelBuilder& k) {
  k.max_block(256);
  k.max_registers(64);
  const Reg n = k.param(u32, "n"), sum = k.mov(u32, 0);
  k.for_(0, n, 1,
         [&](Reg i) { k.continue_if(k.eq(i, 3)), k.set(sum, k.add(sum, i)), k.break_if(k.gt(sum, 99)); });
  k.while_([&] { return k.lt(sum, 1000); }, [&] { k.set(sum, k.mul(sum, 3)); });
  k.unroll(4, 0, n, 1, [&](Reg i) { k.set(sum, k.add(sum, i)); });
  const Callee square = k.function("square", {f32, u32}, {f32}, [&](std::span<const Reg> a) {
    return std::vector<Reg>{k.mul(a[0], a[0]), k.bit_cast(u32, a[0])};
  });
  k.guarded(k.eq(sum, 7), [&] { k.call(square, {2.0F}); });
  k.next_kernel("also");
  const Pointer out = k.pointer(f32, "out");
  k.store(out[0], k.call(square, {k.load(out[0])})[0]);
}

void warp(KernelBuilder& k) {
  const Reg x = k.param(u32, "x"), f = k.param(f32, "f"), p = k.eq(x, 3);
  k.shuffle(x, 3), k.shuffle_up(f, x), k.shuffle_down(k.convert(u64, x), 4), k.shuffle_xor(x, 16);
  k.vote_all(p), k.vote_any(p), k.vote_uni(p), k.ballot(p), k.active_mask(), k.match_any(x), k.match_all(x);
  k.exp2(f), k.log2(f), k.rcp(f), k.sqrt(f), k.rsqrt(f), k.sin(f), k.cos(f), k.tanh(f), k.neg(f), k.abs(f);
  k.neg(k.as(s32, x)), k.abs(k.as(s32, x)), k.rcp(k.convert(f64, f)), k.exp2(k.convert(f16, f));
  k.warp_barrier(), k.barrier(1, 64), k.barrier_arrive(2, 64), k.barrier(k.and_(x, 7), 64);
}

void since_sm_80(KernelBuilder& k) {
  const Pointer x = k.pointer(f32, "x");
  const Shared tile = k.shared(f32, 64, "tile", 16), full = k.mbarriers(2, "full");
  const Reg i = k.special("tid.x");
  k.redux_add(i), k.redux_min(i), k.redux_max(k.as(s32, i)), k.redux_and(i), k.redux_or(i), k.redux_xor(i);
  k.cp_async(&tile[i], &x[i], 4), k.cp_async(&tile[4], &x[4], 16), k.cp_async(&tile[8], &x[8], 16, i);
  k.cp_async_commit(), k.cp_async_wait(1), k.cp_async_wait();
  k.mbarrier_init(&full[0], 32), k.mbarrier_arrive(&full[0]), k.mbarrier_arrive_copies(&full[i]);
  k.mbarrier_wait(&full[0], 0), k.mbarrier_test_wait(&full[0], i), k.mbarrier_invalidate(&full[0]);
}

void since_sm_90(KernelBuilder& k) {
  k.require_cluster(2);
  const Shared full = k.mbarriers(1, "full");
  k.elect(), k.cluster_barrier(), k.tanh(k.convert(bf16, k.mov(f32, 1.0F))),
      k.exp2(k.convert(bf16, k.mov(f32, 1.0F)));
  k.mbarrier_expect_tx(&full[0], 16), k.mbarrier_arrive_expect_tx(&full[0], 16),
      k.mbarrier_try_wait(&full[0], 1);
}

ir::Module made_by(void (*emit)(KernelBuilder&), std::string_view target, bool lines = false) {
  KernelBuilder k = builder(target);
  k.source_lines(lines);
  emit(k);
  return k.finish();
}

struct Part {
  const char* name;
  void (*emit)(KernelBuilder&);
  int since;
};
const Part kParts[] = {{"memory", memory, 75},
                       {"control", control, 75},
                       {"warp", warp, 75},
                       {"since_sm_80", since_sm_80, 80},
                       {"since_sm_90", since_sm_90, 90}};
const char* const kTargets[] = {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120a"};

}  // namespace

TEST_CASE("what the short names emit is legal, and read back as it was printed") {
  for (const Part& part : kParts)
    for (const char* target : kTargets)
      for (const bool lines : {false, true}) {
        if (Target(target).number() < part.since) continue;
        const ir::Module module = made_by(part.emit, target, lines);
        const std::string text = print(module);
        CAPTURE(part.name, target, lines, text);
        for (const Diagnostic& found : check(module)) UNSCOPED_INFO(to_string(found));
        CHECK(check(module).empty());
        const ParseResult read = parse(text, shared_specs());
        CHECK(read.ok());
        CHECK(print(read.module) == text);
      }
}

TEST_CASE("ptxas assembles what the short names emit, with the C++ lines and without", "[oracle]") {
  const std::optional<std::string> path = find_cuda_tool("ptxas");
  if (!path) test::skip_without("ptxas", "ptxas is not installed");
  const Ptxas ptxas(*path);
  for (const Part& part : kParts)
    for (const char* target : kTargets) {
      if (Target(target).number() < part.since) continue;
      const CommandResult result = ptxas.assemble(print(made_by(part.emit, target, true)), target);
      CAPTURE(part.name, target, result.output);
      CHECK(result.status == 0);
    }
}

TEST_CASE("short names choose these opcodes") {
  const std::string warps = print(made_by(warp, "sm_75"));
  for (const char* line : {"shfl.sync.idx.b32 %r1, %r0, 3, 31, 4294967295",
                           "shfl.sync.up.b32",
                           "shfl.sync.bfly.b32",
                           "vote.sync.all.pred",
                           "vote.sync.any.pred",
                           "vote.sync.uni.pred",
                           "vote.sync.ballot.b32",
                           "activemask.b32",
                           "match.any.sync.b32",
                           "match.all.sync.b32",
                           "ex2.approx.f32",
                           "lg2.approx.f32",
                           "rcp.approx.f32",
                           "sqrt.approx.f32",
                           "rsqrt.approx.f32",
                           "sin.approx.f32",
                           "cos.approx.f32",
                           "tanh.approx.f32",
                           "neg.f32",
                           "abs.s32",
                           "rcp.approx.ftz.f64",
                           "ex2.approx.f16",
                           "bar.warp.sync",
                           "bar.sync 1, 64;",
                           "bar.arrive 2, 64;"})
    CHECK_THAT(warps, ContainsSubstring(line));
  CHECK_THAT(print(made_by(since_sm_80, "sm_80")),
             ContainsSubstring("mbarrier.test_wait.parity.shared.b64") && !ContainsSubstring("try_wait"));
  CHECK_THAT(print(made_by(since_sm_80, "sm_90a")), ContainsSubstring("mbarrier.try_wait.parity.shared.b64"));
  const std::string recent = print(made_by(since_sm_90, "sm_90a"));
  CHECK_THAT(recent, ContainsSubstring("elect.sync _|%p0, 4294967295") &&
                         ContainsSubstring(".reqnctapercluster 2, 1, 1") &&
                         ContainsSubstring("tanh.approx.bf16") && ContainsSubstring("ex2.approx.ftz.bf16"));
  const std::string loops = print(made_by(control, "sm_80"));
  CHECK_THAT(loops, ContainsSubstring(".maxntid 256, 1, 1") && ContainsSubstring(".maxnreg 64") &&
                        ContainsSubstring(".func (.param .align 4 .b8 %results[8]) square"));
  CHECK(loops.find(".func") < loops.find(".entry names"));
  const std::string arrays = print(made_by(memory, "sm_80"));
  CHECK_THAT(arrays, ContainsSubstring(".visible .const .f32 table[4] = {") &&
                         ContainsSubstring("ld.global.v2.f32 {_, %f") && ContainsSubstring("ld.const.f32") &&
                         ContainsSubstring("0f3F000000"));
}

TEST_CASE("op makes registers of the destination's type") {
  KernelBuilder k = builder("sm_90a");
  const Reg u = k.reg(u32), f = k.reg(f32);
  const Pointer x = k.pointer(f32, "x");
  CHECK(k.op("add.u32", u, 1).type == u32);
  CHECK(k.op("setp.lt.u32", u, 5).type == pred);
  CHECK(k.op("cvt.rn.f16.f32", f).type == f16);
  CHECK(k.op("mul.wide.u32", u, u).type == u64);
  CHECK(k.op("ld.global.nc.L1::no_allocate.f32", &x[u]).type == f32);
  CHECK(k.op("atom.global.add.f32", &x[1], 1.0F).type == f32);
  CHECK(k.op("popc.b32", u).type == u32);
  CHECK(k.op("ld.global.u8", &x[0]).type == u8);
  CHECK(k.op("shfl.sync.idx.b32", u, 3, 31, -1).type == b32);
  const std::vector<Reg> four = k.ops("ld.global.v4.f32", &x[4]), halves = k.ops("mov.b64", k.reg(b64));
  CHECK(four.size() == 4);
  CHECK(std::ranges::all_of(four, [](const Reg& r) { return r.type == f32; }));
  CHECK(halves.size() >= 1);
  const Variant mma = shared_specs()->select(
      "mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f32"}}, k.target());
  const std::vector<Reg> d = k.ops(mma, k.regs(b32, 4), k.regs(b32, 2), Vector{0.0F, 0.0F, 0.0F, 0.0F});
  CHECK(d.size() == 4);
  CHECK(k.ops("ldmatrix.sync.aligned.m8n8.x4.shared.b16", k.at(u)).size() == 4);
  const std::string text = print(k.finish());
  CHECK_THAT(text, ContainsSubstring("{0f00000000, 0f00000000, 0f00000000, 0f00000000}"));
  CHECK(parse(text, shared_specs()).ok());
}

}  // namespace ptxloom::names_test
