// SPDX-License-Identifier: Apache-2.0
#include "exec/harness.hpp"

// Facts: what an H200 gave (`ptxloom conform`), or must give by the machine code of ptxas, where the manual
// leaves it open or says otherwise. The rules made of them are told in src/exec and src/base.
namespace ptxloom::exec::test::measured_test {
namespace {

/// A statement with operands %a, %b, %c and what it leaves in %d.
template <class D, class In>
struct Fact {
  const char* statement;
  In a, b, c;
  D result;
};

template <class D, class In>
void check(std::initializer_list<Fact<D, In>> facts) {
  constexpr std::size_t kThreads = 64;
  for (const Fact<D, In>& fact : facts) {
    const auto all = [](In value) { return std::vector<In>(kThreads, value); };
    const D got = each_thread<D>(fact.statement, all(fact.a), all(fact.b), all(fact.c))[0];
    CAPTURE(fact.statement, +fact.a, +fact.b, +fact.c);
    CHECK(+got == +fact.result);
  }
}

using U16 = std::uint16_t;
using U32 = std::uint32_t;
using U64 = std::uint64_t;

/// One atomic instruction of 64 bits on memory that holds `held`.
U64 left_in_memory(const std::string& space, U64 held, U64 value) {
  const std::string at = space == "shared" ? "%s" : "%o";
  const Program program = program_of(kOutIn,
                                     ".reg .u64 %o, %i, %s; .reg .b64 %a, %b; .shared .b64 cell;\n"
                                     "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u64 %s, cell;\n"
                                     "ld.global.b64 %a, [%i]; ld.global.b64 %b, [%i+8];\n"
                                     "st." +
                                         space + ".b64 [" + at +
                                         "], %a;\n"
                                         "red." +
                                         space + ".add.f64 [" + at +
                                         "], %b;\n"
                                         "ld." +
                                         space + ".b64 %a, [" + at + "]; st.global.b64 [%o], %a;\n");
  return run<U64, U64>(program, 1, 1, {held, value})[0];
}

}  // namespace

TEST_CASE("video arithmetic of words is that of 64 bits, as an H200 has it") {
  check<U32, U32>({
      {"vadd.u32.u32.u32.sat %d, %a, %b;", 0xffff'ffff, 0x0000'0002, 0, 0x0000'0001},
      {"vadd.u32.u32.s32.sat %d, %a, %b;", 0xf341'8000, 0x6a10'e000, 0, 0x5d52'6000},
      {"vsub.u32.u32.s32.sat %d, %a, %b;", 0xffff'ffff, 0xffff'ffff, 0, 0x0000'0000},
      {"vadd.u32.s32.u32.sat %d, %a, %b;", 0x0000'001f, 0xffff'ffff, 0, 0x0000'001e},
      {"vabsdiff.u32.u32.s32.sat %d, %a, %b;", 0xffff'ffff, 0x8000'0001, 0, 0x7fff'fffe},
      {"vshl.u32.u32.u32.sat.wrap %d, %a, %b;", 0x0000'0035, 0x0000'003c, 0, 0x0000'0000},
      {"vshl.s32.u32.u32.sat.wrap %d, %a, %b;", 0x0000'0004, 0x0000'003f, 0, 0x8000'0000},
      {"vshl.u32.s32.u32.sat.clamp %d, %a, %b;", 0x0000'002c, 0x0000'0029, 0, 0x0000'0000},
      {"vshl.s32.s32.u32.sat.clamp %d, %a, %b;", 0x0000'001a, 0x0000'002a, 0, 0x8000'0000},
      {"vset.s32.u32.eq.min %d, %a, %b, %c;", 0x8000'0001, 0xffff'ffff, 0x8000'0001, 0x8000'0001},
      {"vset.s32.u32.lt.max %d, %a, %b, %c;", 0x0000'0000, 0xffff'ffff, 0xffff'ffff, 0x0000'0001},
      {"vsub.u32.u32.u32.min %d, %a, %b, %c;", 0x0000'001a, 0x0000'003e, 0x0000'0037, 0x0000'0037},
      {"vadd.u32.s32.u32.min %d, %a, %b, %c;", 0x8000'0001, 0x0000'001f, 0x8000'0001, 0x8000'0001},
      {"vadd.s32.s32.s32.max %d, %a, %b, %c;", 0x53ad'b389, 0x71c4'3629, 0x0000'0fa1, 0x0000'0fa1},
      {"vmax.u32.s32.s32.max %d, %a, %b, %c;", 0x8000'0000, 0x8000'0001, 0x0000'0000, 0x8000'0001},
      {"vmin.u32.s32.s32.min %d, %a, %b, %c;", 0x80be'4617, 0x174d'a919, 0x0000'1ef9, 0x0000'1ef9},
      {"vsub.u32.u32.s32.sat.min %d, %a, %b, %c;", 0x8000'0001, 0x8000'0000, 0x0000'0002, 0x0000'0001},
      {"vadd.u32.u32.s32.sat.max %d, %a, %b, %c;", 0xffff'ffff, 0x8000'0001, 0x8000'0001, 0x8000'0000},
      {"vabsdiff.u32.u32.s32.sat.max %d, %a, %b, %c;", 0x8000'0000, 0x8000'0000, 0x0000'001f, 0x0000'0000},
      {"vshl.s32.u32.u32.clamp.min %d, %a, %b, %c;", 0xffff'ffff, 0x7fff'ffff, 0x0000'0001, 0x0000'0000},
      {"vshl.u32.s32.u32.wrap.max %d, %a, %b, %c;", 0xddd4'8e92, 0x0010'41c7, 0x598e'0085, 0xea47'4900},
      {"vshr.u32.u32.u32.sat.wrap.min %d, %a, %b, %c;", 0x9a80'0000, 0x9000'0000, 0xb2d3'e000, 0xb2d3'e000},
      {"vshl.s32.s32.u32.sat.wrap.add %d, %a, %b, %c;", 0x0000'0014, 0x0000'001f, 0x0000'0021, 0x8000'0021},
      {"vshl.u32.u32.u32.sat.clamp.min %d, %a, %b, %c;", 0x0000'002c, 0x0000'0029, 0x0000'002e, 0x0000'0000},
      {"vmad.u32.u32.u32.sat %d, %a, %b, %c;", 0x0001'aaf7, 0xad76'f66b, 0x0000'0088, 0x0000'0000},
      {"vmad.u32.u32.s32.sat %d, %a, %b, %c;", 0x80be'4617, 0x174d'a919, 0x0000'1ef9, 0x8000'0000},
      {"vmad.s32.u32.u32.sat %d, %a, %b, %c;", 0xddd4'8e92, 0x0010'41c7, 0x598e'0085, 0x0000'0000},
      {"vmad.s32.s32.u32.sat %d, %a, %b, %c;", 0x0000'199a, 0xc468'1bbc, 0x000a'7af3, 0x8000'0000},
      {"vmad.u32.u32.u32.shr7 %d, %a, %b, %c;", 0x0000'0000, 0x0003'4139, 0x920f'4d38, 0xff24'1e9a},
      {"vmad.s32.u32.s32.shr15 %d, %a, %b, %c;", 0x8000'0001, 0x0000'0001, 0x0000'001f, 0xffff'0000},
      {"vmad.s32.u32.s32.po.sat %d, %a, %b, %c;", 0x8000'0001, 0x8000'0000, 0x7fff'ffff, 0x7fff'ffff},
      {"vmad.u32.u32.u32.sat.shr7 %d, %a, %b, %c;", 0x0000'0001, 0x0000'0000, 0x8000'0001, 0xffff'ffff},
      {"vmad.u32.u32.u32.po.sat.shr15 %d, %a, %b, %c;", 0x0000'0000, 0x0003'4139, 0x920f'4d38, 0xffff'ffff},
      {"vmad.u32.s32.u32.po.sat.shr15 %d, %a, %b, %c;", 0xffff'ffff, 0xffff'ffff, 0x0000'0001, 0x0000'0000},
      {"vmad.s32.s32.u32.po.shr7 %d, %a, %b, %c;", 0x0000'199a, 0xc468'1bbc, 0x000a'7af3, 0x14a2'c10c},
  });
}

// Not measured, but read off the machine code of ptxas.
TEST_CASE("video results in a half are not those of the manual") {
  check<U32, U32>({
      {"vadd.s32.s32.u32 %d.h1, %a, %b, %c;", 0x0000'7fff, 0x8000'0001, 0x0000'007f, 0x8000'007f},
      {"vadd.s32.s32.s32.sat %d.h0, %a.h0, %b.h0, %c;", 0x6956'a994, 0x0015'a0a6, 0x003c'9a93, 0x003c'7fff},
      {"vshl.s32.s32.u32.sat.clamp %d.h0, %a.b1, %b.h0, %c;", 0x0003'c6b0, 0xf251'48f9, 0x0000'0005,
       0x0000'0000},
  });
}

TEST_CASE("a clear carry flag is a borrow, and a carry is none") {
  check<U32, U32>({
      {"add.cc.u32 %d, %c, -16; subc.u32 %d, %a, %b;", 0x37, 0x0e, 0, 0x28},
      {"add.cc.u32 %d, %c, -16; subc.u32 %d, %a, %b;", 0x37, 0x0e, 16, 0x29},
      {"sub.cc.u32 %d, %a, %b; addc.u32 %d, %a, %c;", 5, 3, 7, 13},
      {"sub.cc.u32 %d, %a, %b; addc.u32 %d, %a, %c;", 3, 5, 7, 10},
  });
}

TEST_CASE("fns with the least offset gives 0") {
  check<U32, U32>({{"fns.b32 %d, %a, %b, %c;", 0x1f, 0x1f, 0x8000'0000, 0}});
}

TEST_CASE("NaN keeps its payload where f64 takes part, and where bits are moved") {
  check<U64, U16>({
      {"cvt.f64.f16 %d, %a;", 0x7cab, 0, 0, 0x7ffa'ac00'0000'0000},
      {"cvt.f64.f16 %d, %a;", 0xfffe, 0, 0, 0xffff'f800'0000'0000},
      {"cvt.f64.bf16 %d, %a;", 0xff95, 0, 0, 0xfffa'a000'0000'0000},
  });
  check<U64, U32>({
      {"cvt.f64.f32 %d, %a;", 0x7fbf'11ce, 0, 0, 0x7fff'e239'c000'0000},
      {"cvt.ftz.f64.f32 %d, %a;", 0xffff'ffff, 0, 0, 0x7fff'ffff'e000'0000},
  });
  check<U32, U64>({
      {"cvt.rn.f32.f64 %d, %a;", 0xffff'ffff'ffff'ffff, 0, 0, 0xffff'ffff},
      {"cvt.rp.ftz.f32.f64 %d, %a;", 0xfff8'0000'0000'0000, 0, 0, 0xffc0'0000},
  });
  check<U16, U64>({
      {"cvt.rz.f16.f64 %d, %a;", 0xfff8'0000'0000'0000, 0, 0, 0xfe00},
      {"cvt.rm.bf16.f64 %d, %a;", 0xfff8'0000'0000'0000, 0, 0, 0xffc0},
  });
  check<U64, U64>({
      {"cvt.f64.f64 %d, %a;", 0xffff'ffff'ffff'fffe, 0, 0, 0xffff'ffff'ffff'fffe},
      {"rsqrt.approx.f64 %d, %a;", 0xffff'ffff'ffff'ffff, 0, 0, 0xffff'ffff'ffff'ffff},
      {"cvt.rmi.f64.f64 %d, %a;", 0xffff'ffff'ffff'fffe, 0, 0, 0xffff'ffff'ffff'fffe},
  });
  check<U32, U32>({{"cvt.f32.f32 %d, %a;", 0xff97'd98d, 0, 0, 0xff97'd98d}});
  check<U32, U16>({{"cvt.f32.bf16 %d, %a;", 0xfffe, 0, 0, 0xfffe'0000}});
}

TEST_CASE("NaN becomes one NaN of tf32, but where it is cut off") {
  check<U32, U32>({
      {"cvt.rn.tf32.f32 %d, %a;", 0xff85'1b8e, 0, 0, 0x7fff'e000},
      {"cvt.rz.relu.tf32.f32 %d, %a;", 0xfffb'74b3, 0, 0, 0x7fff'e000},
      {"cvt.rna.tf32.f32 %d, %a;", 0xffe1'55fd, 0, 0, 0xffe1'4000},
      {"cvt.rna.satfinite.tf32.f32 %d, %a;", 0x7f92'b6ce, 0, 0, 0x7f92'8000},
      {"cvt.rna.satfinite.tf32.f32 %d, %a;", 0xffc5'1cc6, 0, 0, 0xffc4'e000},
  });
}

TEST_CASE("of several NaN of f64 the second operand's wins, then the third's") {
  check<U64, U64>({
      {"add.rm.f64 %d, %a, %b;", 0xffff'ffff'ffff'fffe, 0xfff8'0000'0000'0000, 0, 0xfff8'0000'0000'0000},
      {"mul.rm.f64 %d, %a, %b;", 0xffff'ffff'ffff'ffff, 0x7fff'ffff'ffff'ffff, 0, 0x7fff'ffff'ffff'ffff},
      {"mad.rn.f64 %d, %a, %b, %c;", 0xc044'9f9b'1200'0001, 0xffff'ffff'ffff'ffff, 0x7fff'ffff'ffff'ffff,
       0xffff'ffff'ffff'ffff},
      {"fma.rp.f64 %d, %a, %b, %c;", 0xffff'ffff'ffff'ffff, 0xc00c'63fb'6186'a6de, 0xfff8'0000'0000'0000,
       0xfff8'0000'0000'0000},
      {"fma.rp.f64 %d, %a, %b, %c;", 0x7fff'ffff'ffff'ffff, 0xffff'ffff'ffff'ffff, 0x4025'c03e'fc6e'3aea,
       0xffff'ffff'ffff'ffff},
      {"div.rp.f64 %d, %a, %b;", 0xffff'ffff'ffff'ffff, 0xfff8'0000'0000'0000, 0, 0xffff'ffff'ffff'ffff},
      {"min.f64 %d, %a, %b;", 0xffff'ffff'ffff'ffff, 0xffff'ffff'ffff'fffe, 0, 0xffff'ffff'ffff'fffe},
      {"max.f64 %d, %a, %b;", 0xffff'ffff'ffff'fffe, 0x7ff4'0000'0000'0000, 0, 0x7ffc'0000'0000'0000},
  });
}

TEST_CASE("a factor out of bounds makes a zero, also with a sign") {
  check<U32, U32>(
      {{"fma.rn.oob.bf16x2 %d, %a, %b, %c;", 0x85a4'fff7, 0x86f2'4e98, 0x1044'ab32, 0x1044'0000}});
}

TEST_CASE("a reduction of f64 keeps the NaN of global memory, and makes that of shared memory quiet") {
  constexpr U64 kSignalling = 0x7ff3'2629'dc31'5e8e, kNumber = 0x0d25'6d5f'436b'2986;
  CHECK(left_in_memory("global", kSignalling, kNumber) == kSignalling);
  CHECK(left_in_memory("global", kNumber, 0xfff0'675f'5532'2bb9) == 0xfff0'675f'5532'2bb9);
  CHECK(left_in_memory("shared", 0xffff'ffff'ffff'ffff, 0xfff8'0000'0000'0000) == 0xffff'ffff'ffff'ffff);
  CHECK(left_in_memory("shared", kSignalling, kNumber) == 0x7ffb'2629'dc31'5e8e);
}

TEST_CASE("a reducing copy of f32 keeps subnormals, where red on global memory flushes them") {
  const auto sum = [](const std::string& add) {
    const Program program =
        program_of(kOutIn,
                   ".reg .u64 %o, %i; .reg .u32 %s; .reg .b32 %a, %b; .shared .align 16 .b32 cells[4];\n"
                   "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %s, cells;\n"
                   "ld.global.b32 %a, [%i]; ld.global.b32 %b, [%i+4];\n"
                   "st.global.v4.b32 [%o], {%a, %a, %a, %a}; st.shared.v4.b32 [%s], {%b, %b, %b, %b};\n"
                   "fence.proxy.async;\n" +
                       add);
    return run<U32, U32>(program, 1, 4, {0x8080'0001, 0x0080'0000})[0];
  };
  CHECK(sum("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%o], [%s], 16;\n"
            "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n") == 0x8000'0001);
  CHECK(sum("red.global.add.f32 [%o], %b;\n") == 0x8000'0000);
}

TEST_CASE(".ftz flushes what would be subnormal before it is rounded up") {
  check<U16, U16>({
      {"mul.ftz.f16 %d, %a, %b;", 0x07ff, 0x3800, 0, 0x0000},
      {"mul.rn.ftz.f16 %d, %a, %b;", 0xa7ff, 0x1800, 0, 0x8000},
      {"fma.rn.ftz.relu.f16 %d, %a, %b, %c;", 0x8fff, 0xb000, 0x0000, 0x0000},
  });
  check<U32, U32>({
      {"mul.rn.ftz.f32 %d, %a, %b;", 0x9fff'ffff, 0xa000'0000, 0, 0x0000'0000},
      {"mul.ftz.f16x2 %d, %a, %b;", 0x8701'13ff, 0x5500'ac00, 0, 0xa061'8000},
  });
}

}  // namespace ptxloom::exec::test::measured_test
