// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/builder.hpp"

#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "ptxloom/check.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/tensor_map.hpp"
#include "support/errors.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;

namespace {

std::shared_ptr<const Specs> specs() {
  static const auto instance = std::make_shared<const Specs>();
  return instance;
}

template <class Work>
std::string message_of(const Work& work) {
  return error_of(work).what();
}

KernelBuilder builder(std::string_view target = "sm_80") { return {specs(), "test", Target(target)}; }

}  // namespace

TEST_CASE("a kernel reads as PTX with the lowest version that has all its instructions") {
  KernelBuilder k = builder("sm_90a");
  const Pointer x = k.pointer(f32, "x");
  const Reg i = k.global_thread_x();
  k.store(x[i], k.add(k.load(x[i]), 1.0F));
  const std::string before = print(k.finish());
  CHECK_THAT(before, ContainsSubstring(".version 8.0\n.target sm_90a"));  // the target's own
  CHECK_THAT(before, ContainsSubstring("add.rn.f32 %f1, %f0, 0f3F800000;"));

  KernelBuilder older = builder("sm_75");
  older.emit("mov.u32", older.reg(u32), 1);
  CHECK_THAT(print(older.finish()), ContainsSubstring(".version 6.3\n.target sm_75"));
  KernelBuilder newer = builder("sm_75");
  newer.emit("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", newer.regs(f32, 4), newer.regs(b32, 2),
             newer.regs(b32, 1), newer.regs(f32, 4));
  CHECK_THAT(print(newer.finish()), ContainsSubstring(".version 6.5\n.target sm_75"));

  // So does what is no instruction: a pragma.
  KernelBuilder hinted = builder("sm_75");
  hinted.pragma("\"frequency 4\"");
  CHECK_THAT(print(hinted.finish()), ContainsSubstring(".version 9.0\n.target sm_75"));
}

TEST_CASE("an operand that does not fit is refused on the line that emits it, with what would fit") {
  KernelBuilder k = builder();
  const Reg r = k.reg(u32), f = k.reg(f32), wide = k.reg(u64);
  CHECK_THAT(message_of([&] { k.emit("add.u32", r, r, wide); }), ContainsSubstring("operand B"));
  CHECK_THAT(message_of([&] { k.emit("add.u32", r, r, f); }), ContainsSubstring("operand B"));
  CHECK_THAT(message_of([&] { k.emit("add.f32", f, f, 1); }), ContainsSubstring("decimal point"));
  CHECK_THAT(message_of([&] { k.emit("add.u32", r, r); }), ContainsSubstring("add.u32"));
  k.emit("add.u32", r, r, 7);  // and the builder goes on
  CHECK_THAT(print(k.finish()), ContainsSubstring("add.u32 %r0, %r0, 7;"));
}

TEST_CASE("among several forms of an opcode the first that fits is used, as by resolve") {
  // Specs of its own: forms are asked, and compiled, one after the other here.
  KernelBuilder k(std::make_shared<const Specs>(), "test", Target("sm_90a"));
  const Reg r = k.reg(u32), wide = k.reg(u64), bits = k.reg(b64), half = k.reg(b32);
  const Shared array = k.shared(b32, 16, "array");
  k.emit("mov.u32", r, array);
  k.emit("mov.u32", r, 7);
  k.emit("mov.u64", wide, array);
  k.emit("mov.b64", bits, std::vector<Reg>{half, half});
  k.emit("cvt.u64.u32", wide, r);
  k.emit("ld.shared.u32", r, KernelBuilder::at(array, 4));
  CHECK(k.has("cvt.u64.u32"));
  CHECK_FALSE(k.has("cvt.u64.u33"));
  CHECK_FALSE(k.has("cvt.u64.u33"));
  CHECK_FALSE(k.has("tcgen05.fence::before_thread_sync"));  // on other targets
  const ir::Module module = k.finish();
  const ir::Kernel& kernel = module.functions.front();
  std::vector<std::string> forms;
  for (const ir::Instruction& instruction : kernel.instructions) {
    const Variant variant = instruction.variant;
    const auto operands =
        std::span(kernel.operands).subspan(instruction.first_operand, instruction.operand_count);
    const auto candidates = module.specs->match(variant.opcode());
    CHECK(resolve(kernel, candidates, operands, Target("sm_90a")).variant == variant);
    forms.emplace_back(variant.form());
  }
  CHECK(forms ==
        std::vector<std::string>{"mov.address.32", "mov", "mov.address", "mov.pack", "cvt", "ld", "ret"});
}

TEST_CASE("addresses take positive and negative offsets, and a predicate may be negated as an operand") {
  KernelBuilder k = builder();
  const Pointer x = k.pointer(u32, "x");
  const Reg a = k.reg(u32), p = k.reg(pred), q = k.reg(pred);
  k.emit("ld.global.u32", a, KernelBuilder::at(x.base) + 8 + -4);
  k.emit("st.global.u32", KernelBuilder::at(x.base) + -12, a);
  k.emit("setp.eq.and.u32", p, a, 0, Arg::negated(q));
  k.emit("setp.eq.and.u32", p, a, 0, q);
  const std::string text = print(k.finish());
  CHECK_THAT(text, ContainsSubstring("+4];"));
  CHECK_THAT(text, ContainsSubstring("-12], ") || ContainsSubstring("+-12], "));
  CHECK_THAT(text, ContainsSubstring("0, !%p") && ContainsSubstring("0, %p"));
}

TEST_CASE("an opcode that does not exist names its neighbours") {
  KernelBuilder k = builder();
  const Reg r = k.reg(u32);
  CHECK_THAT(message_of([&] { k.emit("add.u33", r, r, r); }), ContainsSubstring("add.u32"));
  CHECK_THAT(message_of([&] { k.emit("mma.sync.aligned.m16n8k16.row.col.f32.bf16.f16.f32", r, r, r, r); }),
             ContainsSubstring("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"));
}

TEST_CASE("a missing instruction is reported with the targets that have it") {
  KernelBuilder k = builder("sm_75");
  const std::vector<Reg> d = k.regs(f32, 4), a = k.regs(b32, 4), b = k.regs(b32, 2);
  CHECK_THAT(message_of([&] { k.emit("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", d, a, b, d); }),
             ContainsSubstring("sm_80"));
  CHECK_FALSE(k.has("cp.async.cg.shared.global"));
  CHECK(builder("sm_80").has("cp.async.cg.shared.global"));
  // A variant that was refused once is refused again.
  const Variant mma = specs()->select(
      "mma.sync", {{"shape", "m16n8k16"}, {"a", "bf16"}, {"b", "bf16"}, {"d", "f32"}}, Target("sm_80"));
  for (int turn = 0; turn < 2; ++turn)
    CHECK_THAT(message_of([&] { k.emit(mma, d, a, b, d); }), ContainsSubstring("sm_80"));
}

TEST_CASE("select gives variants with their register counts, and emits them") {
  KernelBuilder k = builder();
  const Variant mma = k.specs().select(
      "mma.sync", {{"shape", "m16n8k8"}, {"a", "tf32"}, {"b", "tf32"}, {"d", "f32"}}, k.target());
  CHECK(mma.operand("A").registers() == 4);
  CHECK(mma.operand("B").registers() == 2);
  const std::vector<Reg> d = k.regs(f32, 4), a = k.regs(b32, 4), b = k.regs(b32, 2);
  k.emit(mma, d, a, b, d);
  CHECK_THAT(print(k.finish()), ContainsSubstring("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
                                                  "{%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, "
                                                  "{%f0, %f1, %f2, %f3};"));
}

TEST_CASE("short names choose opcodes by type") {
  KernelBuilder k = builder();
  const Reg i = k.reg(s32), u = k.reg(u32), f = k.reg(f32), d = k.reg(f64);
  k.mul(i, 3), k.mul(f, 2.0F), k.mul_wide(u, u), k.shr(i, 2), k.shr(u, 2), k.lt(i, 0), k.min(d, d),
      k.convert(f16, f), k.convert(s32, f), k.convert(f32, i), k.convert(u64, u), k.select(k.lt(u, 5), u, 0);
  const std::string text = print(k.finish());
  for (const char* line :
       {"mul.lo.s32", "mul.rn.f32", "mul.wide.u32", "shr.s32", "shr.u32", "setp.lt.s32", "min.f64",
        "cvt.rn.f16.f32", "cvt.rzi.s32.f32", "cvt.rn.f32.s32", "cvt.u64.u32", "selp.b32"})
    CHECK_THAT(text, ContainsSubstring(line));
  CHECK_THAT(message_of([&] { builder().add(1, 2); }), ContainsSubstring("literals"));
}

TEST_CASE("tf32 is a type as others are: 32 bits that mma takes") {
  for (const char* target : {"sm_80", "sm_90a", "sm_120a"}) {
    CAPTURE(target);
    KernelBuilder k(specs(), "test", Target(target));
    const Pointer x = k.pointer(tf32, "x");
    const std::vector<Reg> a = k.regs(tf32, 4), d = k.regs(f32, 4);
    const std::vector<Reg> b = {k.convert(tf32, k.reg(f32)), k.load(x[k.reg(u32)])};
    k.emit("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", d, a, b, d);
    k.store(x[0], b[0]);
    k.add(k.bit_cast(f32, b[1]), 1.0F);
    const ir::Module module = k.finish();
    CHECK(check(module).empty());
    CHECK_THAT(print(module), ContainsSubstring("cvt.rn") || ContainsSubstring("cvt.rna.tf32.f32"));
  }
}

TEST_CASE("an untyped register goes with a typed one in any order") {
  KernelBuilder k = builder();
  const Reg bits = k.reg(b32), u = k.reg(u32), f = k.reg(f32);
  CHECK(k.add(bits, u).type == u32);
  CHECK(k.add(u, bits).type == u32);
  CHECK(k.mul(bits, f).type == f32);
  CHECK(k.min(bits, k.reg(s32)).type == s32);
  CHECK(k.select(k.lt(bits, u), bits, u).type == u32);
  CHECK(k.and_(bits, bits).type == b32);
  const ir::Module module = k.finish();
  CHECK(check(module).empty());
  for (const char* line : {"add.u32", "mul.rn.f32", "min.s32", "setp.lt.u32"})
    CHECK_THAT(print(module), ContainsSubstring(line));
}

TEST_CASE("every special register is read by its name") {
  KernelBuilder k = builder("sm_90a");
  for (const char* name : {"tid.x", "envreg0", "envreg31", "pm7", "reserved_smem_offset_1", "clock_hi"}) {
    CAPTURE(name);
    CHECK(k.special(name).type == u32);
  }
  CHECK(k.special("pm3_64").type == u64);
  CHECK(k.special("clock64").type == u64);
  CHECK(k.special("is_explicit_cluster").type == pred);
  for (const char* name :
       {"", "envreg", "envreg32", "envreg03", "pm8", "pm_64", "tid.v", "tid.x3", "_64", "7"}) {
    CAPTURE(name);
    CHECK_THAT(message_of([&] { k.special(name); }), ContainsSubstring("no special register"));
  }
  const ir::Module module = k.finish();
  CHECK(check(module).empty());
  for (const char* line : {"%envreg31", "%pm7", "%pm3_64", "%reserved_smem_offset_1"})
    CHECK_THAT(print(module), ContainsSubstring(line));
}

TEST_CASE("an undocumented form is refused as that") {
  KernelBuilder k = builder("sm_90a");
  const Error error = error_of([&] { k.emit("mapa.s32", k.reg(u32), k.reg(u32), k.reg(u32)); });
  CHECK(error.code() == "undocumented");
  CHECK(error.diagnostics()[0].severity == Severity::error);
  CHECK_THAT(error.what(), ContainsSubstring("so the builder does not emit it"));
  const Error operand = error_of([&] { k.op("mapa.s32", k.reg(u32), k.reg(u32)); });
  CHECK(operand.code() == "undocumented");
  k.emit("mapa.u32", k.reg(u32), k.reg(u32), k.reg(u32));
  CHECK(check(k.finish()).empty());
}

TEST_CASE("control flow is labels, branches and guards") {
  KernelBuilder k = builder();
  const Reg n = k.param(s32, "n"), sum = k.mov(s32, 0);
  k.for_(0, n, 2, [&](Reg i) { k.emit("add.s32", sum, sum, i); });
  k.if_(k.gt(sum, 10), [&] { k.emit("mov.b32", sum, 1); }, [&] { k.emit("mov.b32", sum, 2); });
  k.guarded(k.eq(sum, 3), [&] { k.emit("mov.b32", sum, 4); });
  CHECK_THAT(message_of([&] { k.guarded(k.reg(pred), [&] { k.guarded(k.reg(pred), [] {}); }); }),
             ContainsSubstring("one guard"));
  const ParseResult read = parse(print(k.finish()), specs());
  INFO(read.diagnostics.size());
  CHECK(read.ok());
}

TEST_CASE("a tensor map parameter is 128 bytes whose generic address copies name") {
  KernelBuilder k = builder("sm_90a");
  const Reg map = k.tensor_map("a"), x = k.mov(s32, 0);
  k.emit("prefetch.tensormap", k.at(map));
  k.emit("cp.async.bulk.prefetch.tensor.2d.L2.global.tile", k.at(map), std::vector<Reg>{x, x});
  const ir::Module module = k.finish();
  const KernelParameter parameter = signature(module.functions[0]).parameters.at(0);
  CHECK(parameter.size == sizeof(EncodedTensorMap));
  CHECK(parameter.alignment == alignof(EncodedTensorMap));
  const std::string text = print(module);
  CHECK_THAT(text, ContainsSubstring(".param .align 64 .b8 a[128]"));
  CHECK_THAT(text, ContainsSubstring("mov.u64 %rd0, a;\n    cvta.param.u64 %rd0, %rd0;"));
  CHECK(parse(text, specs()).ok());
}

TEST_CASE("names PTX does not allow are refused") {
  CHECK_THAT(message_of([] { KernelBuilder(specs(), "1st", Target("sm_80")); }),
             ContainsSubstring("cannot be a name"));
  CHECK_THAT(message_of([] { builder().special("tid.q"); }), ContainsSubstring("tid.q"));
  CHECK(error_of([] { Target("sm_77"); }).kind() == ErrorKind::usage);
}
