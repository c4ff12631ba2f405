// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

// Generic addresses, special registers, and what is said to caches.
namespace ptxloom::exec::test::generic_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using U32 = std::uint32_t;

/// What `statements` leave in %x of each thread, with %i the address of `in`.
std::vector<U32> result_of(const std::string& statements, const Launch& launch = {}, U32 threads = 64,
                           std::vector<U32> in = std::vector<U32>(128, 9)) {
  const Program program = program_of(kOutIn,
                                     ".shared .align 8 .b32 s[4]; .local .align 8 .b32 l[4]; .reg .u64 %o, "
                                     "%i, %w; .reg .u32 %t, %x, %y; .reg .pred %p; "
                                     "ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; "
                                     "mad.wide.u32 %o, %t, 4, %o; mov.u32 %x, 0;\n" +
                                         statements + "\nst.global.u32 [%o], %x;\n",
                                     ".global .align 8 .b32 g[4]; .const .align 8 .b32 c[4] = {1, 2, 3, 4};");
  return run<U32>(program, threads, threads, std::move(in), launch);
}

}  // namespace

TEST_CASE("the generic address of a variable is told by its space, and leads to it") {
  // Bits of the result: is it in global, shared::cta, shared::cluster, local, const, param.
  std::string ask;
  for (const std::string space :
       {"global", "shared::cta", "shared::cluster", "local", "const", "param::entry"})
    ask += "isspacep." + space + " %p, %w; selp.u32 %y, 1, 0, %p; shl.b32 %x, %x, 1; or.b32 %x, %x, %y;\n";
  CHECK(result_of("cvta.global.u64 %w, g;" + ask)[0] == 0b100000);
  CHECK(result_of("cvta.shared.u64 %w, s;" + ask)[9] == 0b011000);
  CHECK(result_of("cvta.shared::cluster.u64 %w, s;" + ask)[9] == 0b011000);
  CHECK(result_of("cvta.local.u64 %w, l;" + ask)[9] == 0b000100);
  CHECK(result_of("cvta.const.u64 %w, c;" + ask)[9] == 0b000010);
  CHECK(result_of("cvta.param.u64 %w, in;" + ask)[9] == 0b100001);
  CHECK(result_of("mov.u64 %w, %i;" + ask)[9] == 0b100000);
  CHECK(result_of("istypep.texref %p, %i; selp.u32 %x, 1, 2, %p;")[0] == 2);

  CHECK(result_of("cvta.const.u64 %w, c; ld.u32 %x, [%w+8];")[1] == 3);
  CHECK(result_of("cvta.shared.u64 %w, s; st.u32 [%w+4], 5; ld.shared.u32 %x, [s+4];", {}, 32)[1] == 5);
  CHECK(
      result_of("cvta.local.u64 %w, l; st.u32 [%w+4], %t; cvta.to.local.u64 %w, %w; ld.local.u32 %x, [%w+4];")
          [33] == 33);
  CHECK(result_of("cvta.global.u64 %w, g; st.u32 [%w+4], 6; ld.global.u32 %x, [g+4];")[1] == 6);
  const auto parameter = result_of("cvta.param.u64 %w, in; ld.u64 %w, [%w]; ld.u32 %x, [%w];");
  CHECK(parameter[7] == 9);
}

TEST_CASE("variables of every program lie below the windows of the other spaces") {
  // Their place depends on the program.
  for (U32 i = 0; i < 16; ++i) {
    const std::string name = "mov.u32 %y, " + std::to_string(i) + ";";
    const auto high_word = [&](const std::string& variable) {
      return result_of(name + "cvta." + variable + "; shr.u64 %w, %w, 32; cvt.u32.u64 %x, %w;")[0];
    };
    const U32 global = high_word("global.u64 %w, g");
    CAPTURE(i, global);
    CHECK(global >= 0x4000'0000);
    for (const char* other : {"shared.u64 %w, s", "local.u64 %w, l", "const.u64 %w, c"})
      CHECK(global < high_word(other));
  }
}

TEST_CASE("special registers are read at any width, by mov and cvt") {
  const Launch launch{.grid = {3, 2, 1}, .shared_bytes = 300};
  const auto last = [&](const std::string& statements) { return result_of(statements, launch)[63]; };
  CHECK(last("mov.u32 %x, %ntid.x;") == 64);
  CHECK(last("mov.u32 %x, %nctaid.x;") == 3);
  CHECK(last("mov.u32 %x, %tid.w;") == 0);
  CHECK(last("mov.u32 %x, %laneid;") == 31);
  CHECK(last("mov.u32 %x, %lanemask_lt;") == 0x7fff'ffff);
  CHECK(last("mov.u32 %x, %lanemask_gt;") == 0);
  CHECK(last("mov.u32 %x, %dynamic_smem_size;") == 300);
  CHECK(last("mov.u32 %x, %cluster_nctarank;") == 1);
  CHECK(last("mov.u32 %x, %nclusterid.x;") == 3);
  CHECK(last("mov.pred %p, %is_explicit_cluster; selp.u32 %x, 1, 2, %p;") == 2);
  CHECK(last("mov.u32 %x, %envreg7; mov.u32 %y, %pm3; or.b32 %x, %x, %y;") == 0);
  CHECK(last(".reg .b32 %v<4>; mov.v4.u32 {%v0, %v1, %v2, %v3}, %nctaid; mad.lo.u32 %x, %v0, 100, %v1;") ==
        302);
  // cvt takes the low part of the register as its source type says, and gives it as its own says.
  CHECK(last("cvt.u32.u8 %x, %lanemask_ge;") == 0);
  CHECK(last("cvt.u32.s32 %x, %lanemask_eq;") == 0x8000'0000);
  CHECK(last("cvt.s64.s32 %w, %lanemask_ge; shr.u64 %w, %w, 32; cvt.u32.u64 %x, %w;") == 0xffff'ffff);
  CHECK(last("cvt.u64.u32 %w, %lanemask_ge; shr.u64 %w, %w, 32; cvt.u32.u64 %x, %w;") == 0);
  CHECK(last("cvt.sat.u32.s32 %x, %lanemask_ge;") == 0);
  CHECK(last("cvt.sat.s8.u32 %x, %lanemask_lt;") == 127);
  CHECK(last("cvt.s8.u32 %x, %lanemask_lt;") == 0xffff'ffff);
  CHECK(last("cvt.s32.s8 %x, %lanemask_lt;") == 0xffff'ffff);
}

TEST_CASE("mov reads a special register in parts") {
  // lanemask_gt of lane 5 is ffffffc0.
  const auto fifth = [](const std::string& statements) { return result_of(statements)[37]; };
  CHECK(fifth(".reg .b16 %h, %g; mov.b32 {%h, %g}, %lanemask_gt; cvt.u32.u16 %x, %h;") == 0xffc0);
  CHECK(fifth(".reg .b16 %h, %g; mov.b32 {%h, %g}, %tid.x; mov.b32 %x, {%g, %h};") == 37U << 16);
  CHECK(fifth(".reg .b8 %a, %b, %c, %d; mov.b32 {%a, %b, %c, %d}, %lanemask_gt; cvt.u32.u8 %x, %a;") == 0xc0);
  CHECK(fifth("mov.b64 {%x, %y}, %clock64; mov.u64 %w, %clock64; cvt.u32.u64 %y, %w; sub.u32 %x, %y, %x;") <
        100);
  CHECK(fifth("mov.b64 {%y, %x}, %clock64;") == 0);
}

TEST_CASE("a clock advances") {
  const auto out =
      result_of("mov.u32 %y, %clock; mov.u64 %w, %clock64; cvt.u32.u64 %x, %w; sub.u32 %x, %x, %y;");
  CHECK(out[0] >= 1);
  CHECK(out[0] < 100);
}

TEST_CASE("fences, prefetches and similar hints change nothing") {
  CHECK(result_of(
            "fence.acq_rel.gpu; fence.sc.sys; membar.gl; fence.proxy.async; "
            "fence.mbarrier_init.release.cluster; pmevent 3; "
            "nanosleep.u32 100; griddepcontrol.wait; griddepcontrol.launch_dependents; "
            "setmaxnreg.inc.sync.aligned.u32 64; "
            "prefetch.global.L2 [%i+4000000]; prefetchu.L1 [%i]; applypriority.global.L2::evict_normal [%i], "
            "128; "
            "createpolicy.fractional.L2::evict_first.b64 %w, 0.5; ld.global.L2::cache_hint.u32 %x, [%i], %w; "
            "createpolicy.cvt.L2.b64 %w, %w; createpolicy.range.L2::evict_last.L2::evict_first.b64 %w, [%i], "
            "64, 128; add.u32 %x, %x, 1;")[5] == 10);
  CHECK(result_of("discard.global.L2 [%i], 128; ld.global.u32 %x, [%i+124]; ld.global.u32 %y, [%i+128]; "
                  "sub.u32 %x, %x, %y;",
                  {}, 1)[0] == 0xa5a5'a5a5 - 9);
}

TEST_CASE("what the manual asks of the operands of hints is checked") {
  const auto code = [](const std::string& statements, U32 threads = 64) {
    return fault_of([&] { result_of(statements, {}, threads); }).code;
  };
  CHECK(code("discard.global.L2 [%i+64], 128;") == "misaligned");
  CHECK(code("discard.L2 [%i+512], 128;") == "out-of-bounds");
  CHECK(code("applypriority.L2::evict_normal [%i+4], 128;") == "misaligned");
  CHECK(code("createpolicy.range.L2::evict_last.b64 %w, [%i], 256, 128;") == "cache-policy");
  CHECK(code(".reg .f32 %f; mov.f32 %f, 0f40000000; createpolicy.fractional.L2::evict_last.b64 %w, %f;") ==
        "cache-policy");
  CHECK(code("setp.lt.u32 %p, %t, 4; @%p setmaxnreg.dec.sync.aligned.u32 40;") == "warp-divergence");
}

}  // namespace ptxloom::exec::test::generic_test
