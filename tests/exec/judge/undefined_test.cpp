// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

// Bits that were never given a value, on their way to where they matter.
namespace ptxloom::exec::test::undefined_test {
namespace {

using Catch::Matchers::ContainsSubstring;

// %u, %v, %w, %h and %q have no value.
const std::string kHead =
    ".shared .align 8 .b8 s[256]; .reg .u64 %out, %in, %g, %w; .reg .u32 %t, %x, %y, %u, %v, %a; "
    ".reg .b16 %h, %lo, %hi; .reg .pred %p, %q; .reg .f32 %d<4>, %c<4>; .reg .b64 %wide; ld.param.u64 %out, "
    "[out]; "
    "ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mov.u32 %a, s; mad.lo.u32 %a, %t, 4, %a;\n";

void run_it(const std::string& body, std::uint32_t threads = 32) {
  INFO(body);
  run<std::uint32_t>(program_of(kOutIn, kHead + body), threads, 64, std::vector<std::uint32_t>(64));
}
std::string code(const std::string& body, std::uint32_t threads = 32) {
  INFO(body);
  try {
    run_it(body, threads);
  } catch (const Error& error) {
    return error.diagnostics().at(0).code;
  }
  return "none";
}

const std::string kStore = "st.global.u32 [%out], %x;";

}  // namespace

TEST_CASE("an undefined value is reported where it decides something, and not before") {
  CHECK(code("add.u32 %x, %u, 1; mul.lo.u32 %y, %x, %x; mov.b32 %v, %y;") == "none");
  CHECK(code("add.u32 %x, %u, 1;" + kStore) == "undefined-value");
  CHECK(code("st.global.u32 [%out], %u;") == "undefined-value");
  CHECK(code("ld.global.u32 %x, [%w];") == "undefined-value");
  CHECK(code("ld.shared.u32 %x, [%u];") == "undefined-value");
  CHECK(code("setp.eq.u32 %p, %u, 1; @%p bra end; end:") == "undefined-value");
  CHECK(code("@%q mov.u32 %x, 1;") == "undefined-value");
  CHECK(code("atom.global.add.u32 %x, [%out], %u;") == "undefined-value");
  const Diagnostic d =
      fault_of([&] { run_it("setp.lt.u32 %p, %t, 5; @!%p mov.u32 %u, 7; st.global.u32 [%out], %u;"); });
  CHECK_THAT(d.message, ContainsSubstring("`st.global.u32 [%out], %u;`") &&
                            ContainsSubstring("thread (0,0,0)") &&
                            ContainsSubstring("stores %u, of which bits 0xffffffff"));
}

TEST_CASE("padding of a struct may be copied to global memory, and nothing may depend on it") {
  const std::string head =
      ".local .align 16 .b8 l[16]; .reg .u64 %m, %n, %b; .reg .u32 %k, %c; mov.u64 %b, l; mov.u32 %a, s; "
      "mad.lo.u32 "
      "%a, %t, 16, %a; mad.wide.u32 %g, %t, 16, %out; cvt.u16.u32 %lo, %t;";
  const auto of = [&](const std::string& members, const std::string& copy) {
    return code(head + members + "bar.sync 0;" + copy, 8);
  };
  const std::string word_long = "st.shared.u32 [%a], %t; st.shared.u64 [%a+8], %out;";
  const std::string long_word = "st.shared.u64 [%a], %out; st.shared.u32 [%a+8], %t;";
  const std::string byte_half_long =
      "st.shared.u8 [%a], %t; st.shared.u16 [%a+2], %lo; st.shared.u64 [%a+8], %out;";
  const std::string load = "ld.shared.v2.u64 {%m, %n}, [%a];", store = "st.global.v2.u64 [%g], {%m, %n};";
  const std::string words =
      "ld.shared.v4.u32 {%x, %y, %k, %c}, [%a]; st.global.v4.u32 [%g], {%x, %y, %k, %c};";
  for (const std::string& members : {word_long, long_word, byte_half_long}) {
    CHECK(of(members, load + store) == "none");
    CHECK(of(members, words) == "none");
    CHECK(of(members, load + "st.local.v2.u64 [%b], {%m, %n}; ld.local.v2.u64 {%n, %m}, [%b];" + store) ==
          "none");
    CHECK(of(members, load + "mov.b64 {%x, %y}, %m; st.global.v2.u32 [%g], {%x, %y};") == "none");
    CHECK(of(members, load + "mov.u64 %b, %n; mov.u64 %n, %m; mov.u64 %m, %b;" + store) == "none");
    CHECK(of(members, load + "add.u64 %m, %m, %n;" + store) == "undefined-value");
    CHECK(of(members, load + "setp.lt.u64 %p, %m, %n; setp.lt.and.u64 %p, %n, %m, %p; @%p bra end; end:") ==
          "undefined-value");
    CHECK(of(members,
             "ld.shared.u64 %m, [%a]; ld.shared.u64 %n, [%a+8]; fence.proxy.async; setp.eq.u32 %p, %t, 0; "
             "bar.sync "
             "0; mov.u32 %a, s; @%p cp.async.bulk.global.shared::cta.bulk_group [%out], [%a], 128; @%p "
             "cp.async.bulk.commit_group; @%p cp.async.bulk.wait_group 0;") == "none");
  }
  CHECK(of("st.shared.v2.u32 [%a], {%t, %t}; st.shared.u32 [%a+12], %t;", load + store) == "undefined-value");
  CHECK(of("st.shared.u32 [%a], %t; st.shared.u32 [%a+8], %t;", load + store) == "undefined-value");
  CHECK(of("setp.ne.u32 %p, %t, 5; @%p st.shared.u32 [%a], %t; st.shared.u64 [%a+8], %out;", load + store) ==
        "undefined-value");
  CHECK(of(word_long, "ld.shared.u32 %x, [%a+4]; st.global.u32 [%g], %x;") == "undefined-value");
  // What an atomic operation leaves undefined is a member.
  for (const char* update : {"atom.shared.add.u32 %x, [%a+12], 1;", "red.shared.add.u32 [%a+12], 1;",
                             "atom.shared.exch.b32 %x, [%a+12], %u;"}) {
    CAPTURE(update);
    CHECK(of(long_word + update, load + store) == "undefined-value");
  }
  CHECK(of(long_word + "atom.shared.exch.b32 %x, [%a+12], %t;", load + store) == "none");
}

TEST_CASE("lanes and ways through the code are told apart") {
  CHECK(code("setp.lt.u32 %p, %t, 5; @%p mov.u32 %u, 7; @%p st.global.u32 [%out], %u;") == "none");
  CHECK(code("setp.lt.u32 %p, %t, 5; @%p mov.u32 %u, 7; @!%p mov.u32 %u, 8; st.global.u32 [%out], %u;") ==
        "none");
  CHECK(
      code(
          "setp.lt.u32 %p, %t, 5; @%p mov.u32 %u, 7; setp.lt.u32 %p, %t, 6; @%p st.global.u32 [%out], %u;") ==
      "undefined-value");
}

TEST_CASE("a predicate may have a value in some lanes only") {
  const std::string some = "setp.lt.u32 %p, %t, 5; @%p setp.eq.u32 %q, %t, 3; ";
  CHECK(code(some + "@%q mov.u32 %x, 1;") == "undefined-value");
  CHECK(code(some + "@!%p setp.ne.u32 %q, %t, %t; @%q mov.u32 %x, 1;") == "none");
  CHECK(code(some + "selp.u32 %x, 1, 2, %q; @%p st.global.u32 [%out], %x;") == "none");
  CHECK(code(some + "selp.u32 %x, 1, 2, %q;" + kStore) == "undefined-value");
}

TEST_CASE("what does not depend on the undefined bits is defined") {
  for (const char* body :
       {"and.b32 %x, %u, 0;", "or.b32 %x, %u, -1;", "xor.b32 %x, %u, %u;", "selp.b32 %x, 5, %u, 1;",
        "setp.eq.u32 %p, %t, %t; selp.b32 %x, %t, %u, %p;", "mov.u32 %y, 3; prmt.b32 %x, %u, %y, 0x4444;",
        "and.b32 %x, %u, 0xff; and.b32 %x, %x, 0xff00;",
        "mov.b16 %lo, 1; mov.b32 %x, {%lo, %h}; and.b32 %x, %x, 65535;",
        "mov.b16 %lo, 1; mov.b32 %x, {%lo, %h}; mov.b32 {%hi, %h}, %x; mov.b32 %x, {%hi, %lo};"}) {
    CAPTURE(body);
    CHECK(code(body + kStore) == "none");
  }
  for (const char* body :
       {"and.b32 %x, %u, 1;", "or.b32 %x, %u, 0;", "xor.b32 %x, %u, %v;", "selp.b32 %x, 5, %u, %q;",
        "selp.b32 %x, %u, 5, 1;", "mov.u32 %y, 3; prmt.b32 %x, %u, %y, 0x4440;",
        "mov.b16 %lo, 1; mov.b32 %x, {%lo, %h}; and.b32 %x, %x, 65536;"}) {
    CAPTURE(body);
    CHECK(code(body + kStore) == "undefined-value");
  }
  // Only what is stored counts.
  CHECK(code("mov.b16 %lo, 1; mov.b32 %x, {%lo, %h}; st.global.u16 [%out], %x;") == "none");
  CHECK(code("mov.b16 %lo, 1; mov.b32 %x, {%h, %lo}; st.global.u16 [%out], %x;") == "undefined-value");
}

// %x has 16 defined bits below 16 undefined ones, or the other way round.
const std::string kLow = "mov.b16 %lo, 1; mov.b32 %x, {%lo, %h};",
                  kHigh = "mov.b16 %hi, 1; mov.b32 %x, {%h, %hi};";

TEST_CASE("undefined bits move with shifts, fields and permutations") {
  const std::string u16 = "st.global.u16 [%out], %x;";
  // What moves, and whether the low half of the result is defined after it: if the low half was, if the high
  // one was.
  struct Case {
    const char* body;
    bool from_low, from_high;
  };
  const Case cases[] = {{"not.b32 %x, %x;", true, false},
                        {"cnot.b32 %x, %x;", false, false},
                        {"shl.b32 %x, %x, 4;", true, false},
                        {"shl.b32 %x, %x, 16;", true, true},
                        {"shl.b32 %x, %x, 99;", true, true},
                        {"shr.u32 %x, %x, 16;", false, true},
                        {"shr.u32 %x, %x, 1;", false, false},
                        {"shr.u32 %x, %x, 40;", true, true},
                        {"shr.s32 %x, %x, 40;", false, true},
                        {"shr.u32 %x, %x, %v;", false, false},
                        {"shf.l.wrap.b32 %x, %x, %t, 16;", false, true},
                        {"shf.l.wrap.b32 %x, %x, %t, 0;", true, true},
                        {"shf.l.wrap.b32 %x, %t, %x, 8;", true, false},
                        {"shf.r.clamp.b32 %x, %x, %t, 16;", false, true},
                        {"shf.r.clamp.b32 %x, %x, %t, 32;", true, true},
                        {"bfe.u32 %x, %x, 8, 8;", true, false},
                        {"bfe.s32 %x, %x, 20, 4;", false, true},
                        {"bfe.u32 %x, %x, 12, 5;", false, false},
                        {"bfi.b32 %x, %t, %x, 0, 16;", true, true},
                        {"bfi.b32 %x, %t, %x, 1, 15;", true, false},
                        {"bfi.b32 %x, %x, %t, 8, 8;", true, false},
                        {"bfi.b32 %x, %x, %t, 16, 16;", true, true},
                        {"szext.wrap.s32 %x, %x, 9;", true, false},
                        {"brev.b32 %x, %x;", false, true},
                        {"popc.b32 %x, %x;", false, false},
                        {"prmt.b32.rc16 %x, %x, %t, 0;", true, false},
                        {"prmt.b32.rc16 %x, %x, %t, 1;", false, true},
                        {"prmt.b32.f4e %x, %x, %t, 2;", false, true},
                        {"prmt.b32 %x, %x, %t, 0xaa11;", true, false},
                        {"mov.b32 %y, %x; mov.v2.b32 {%x, %v}, {%y, %u};", true, false},
                        {"cvt.u32.u16 %x, %x;", true, false},
                        {"cvt.s32.s8 %x, %x;", true, false},
                        {"cvt.sat.u16.u32 %lo, %x; cvt.u32.u16 %x, %lo;", false, false},
                        {"lop3.b32 %x, %x, 0xffff0000, %u, 0xc0;", true, true},
                        {"lop3.b32 %x, %x, %t, 7, 0x96;", true, false},
                        {"lop3.b32 %x, %u, %u, %x, 0x3c;", true, true},
                        {"lop3.b32 %x, %u, %v, %x, 0xaa;", true, false}};
  for (const auto& [body, from_low, from_high] : cases) {
    CAPTURE(body);
    CHECK(code(kLow + body + u16) == (from_low ? "none" : "undefined-value"));
    CHECK(code(kHigh + body + u16) == (from_high ? "none" : "undefined-value"));
  }
  // All 32 bits: a sign that is undefined spreads, one that is defined does not.
  CHECK(code(kHigh + "shr.s32 %x, %x, 16;" + kStore) == "none");
  CHECK(code(kLow + "bfe.s32 %x, %x, 4, 8;" + kStore) == "none");
  CHECK(code(kLow + "bfe.s32 %x, %x, 4, 13;" + kStore) == "undefined-value");
  CHECK(code(kLow + "cvt.s32.s16 %x, %x;" + kStore) == "none");
  CHECK(code(kLow + "shl.b32 %x, %x, 16;" + kStore) == "none");
  CHECK(code("lop3.or.b32 %x|%p, %u, 0, %t, 0xc0, 0; @%p mov.u32 %y, 1;" + kStore) == "none");
  CHECK(code("lop3.or.b32 %x|%p, %u, 1, %t, 0xc0, 0; @%p mov.u32 %y, 1;") == "undefined-value");
}

TEST_CASE("of a pair, each half is undefined for itself") {
  const std::string low = "st.global.u16 [%out], %x;", head = ".reg .f32 %f; mov.f32 %f, 0f3f800000;";
  for (const char* add : {"add.f16x2 %x, %x, %x;", "fma.rn.bf16x2 %x, %x, %x, %t;", "min.f16x2 %x, %x, %t;",
                          "neg.f16x2 %x, %x;", "ex2.approx.f16x2 %x, %x;", "add.u16x2 %x, %x, %t;"}) {
    CAPTURE(add);
    CHECK(code(kLow + add + low) == "none");
    CHECK(code(kHigh + add + low) == "undefined-value");
    CHECK(code(kHigh + add + "shr.u32 %x, %x, 16;" + low) == "none");
  }
  CHECK(code(head + "cvt.rn.f16x2.f32 %x, %d0, %f;" + low) == "none");
  CHECK(code(head + "cvt.rn.f16x2.f32 %x, %f, %d0;" + low) == "undefined-value");
  CHECK(code(head + "cvt.rn.bf16x2.f32 %x, %f, %d0; shr.u32 %x, %x, 16;" + kStore) == "none");
  CHECK(code(head + "cvt.rn.satfinite.e4m3x2.f32 %h, %d0, %f; st.global.u8 [%out], %h;") == "none");
  CHECK(code(head + "cvt.rn.satfinite.e4m3x2.f32 %h, %f, %d0; st.global.u8 [%out], %h;") ==
        "undefined-value");
  CHECK(code(head + "cvt.rn.satfinite.e5m2x2.f32 %h, %f, %d0; shr.b16 %h, %h, 8; st.global.u8 [%out], %h;") ==
        "none");
  CHECK(code(kLow + "cvt.rn.satfinite.e5m2x2.f16x2 %h, %x; st.global.u8 [%out], %h;") == "none");
  CHECK(code(kHigh + "cvt.rn.satfinite.e5m2x2.f16x2 %h, %x; st.global.u8 [%out], %h;") == "undefined-value");
}

TEST_CASE("slct takes the bits of the operand that it chooses") {
  CHECK(code("slct.u32.s32 %x, %t, %u, 0;" + kStore) == "none");
  CHECK(code("slct.u32.s32 %x, %t, %u, -1;" + kStore) == "undefined-value");
  CHECK(code("slct.u32.s32 %x, %t, %t, %u;" + kStore) == "undefined-value");
  CHECK(code("slct.u32.f32 %x, %u, %t, 0fbf800000;" + kStore) == "none");
  CHECK(code("slct.ftz.u32.f32 %x, %t, %u, 0f80000001;" + kStore) == "none");
  CHECK(code("slct.u32.f32 %x, %t, %u, 0f80000001;" + kStore) == "undefined-value");
}

TEST_CASE("an undefined value that decides what an instruction does is reported there") {
  const std::string barrier = "setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [s], 1; bar.sync 0;";
  for (const std::string& body :
       {std::string("bar.sync %u;"), std::string("bar.sync 1, %u;"), std::string("barrier.arrive 1, %u;"),
        std::string("barrier.red.popc.u32 %x, 0, %q;"), std::string("bar.warp.sync %u;"),
        std::string("elect.sync %x|%p, %u;"), std::string("nanosleep.u32 %u;"),
        std::string("places: .branchtargets here, here; brx.idx %u, places; here:"),
        std::string("cp.async.ca.shared.global [%a], [%in], 4, %u;"),
        std::string("cp.async.ca.shared.global [%a], [%in], 4, %q;"),
        std::string("cp.async.bulk.prefetch.L2.global [%in], %u;"),
        std::string("mbarrier.init.shared.b64 [s], %u;"),
        barrier + "mbarrier.expect_tx.relaxed.cta.shared.b64 [s], %u;",
        barrier + "mbarrier.arrive.expect_tx.shared.b64 %wide, [s], %u;",
        barrier + "mbarrier.test_wait.parity.shared.b64 %p, [s], %u;",
        barrier +
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [s+16], [%in], %u, [s];"}) {
    CAPTURE(body);
    CHECK(code(body) == "undefined-value");
  }
}

TEST_CASE("shared memory keeps what bits were defined") {
  CHECK(code("ld.shared.u32 %x, [%a];" + kStore) == "undefined-value");
  CHECK(code("st.shared.u32 [%a], %u;") == "none");
  CHECK(code("st.shared.u32 [%a], %u; ld.shared.u32 %x, [%a];" + kStore) == "undefined-value");
  CHECK(code("st.shared.u32 [%a], %t; ld.shared.u32 %x, [%a];" + kStore) == "none");
  CHECK(code("st.shared.u8 [%a], %t; ld.shared.u32 %x, [%a]; and.b32 %x, %x, 255;" + kStore) == "none");
  CHECK(code("st.shared.u8 [%a], %t; ld.shared.u32 %x, [%a];" + kStore) == "undefined-value");
  CHECK(code("st.shared.v2.u32 [s], {%u, 1}; ld.shared.v2.u32 {%y, %x}, [s];" + kStore, 1) == "none");
  CHECK(code("st.shared.v2.u32 [s], {%u, 1}; ld.shared.v2.u32 {%x, %y}, [s];" + kStore, 1) ==
        "undefined-value");
  CHECK(code("cp.async.ca.shared.global [%a], [%in], 4; cp.async.wait_all; ld.shared.u32 %x, [%a];" +
             kStore) == "none");
  // Through a generic address.
  CHECK(code("cvta.shared.u64 %g, s; ld.u32 %x, [%g];" + kStore, 1) == "undefined-value");
}

TEST_CASE("a shuffle takes the bits of the lane it reads") {
  const std::string some = "setp.lt.u32 %p, %t, 16; @%p mov.u32 %u, 7;";
  CHECK(code(some + "shfl.sync.bfly.b32 %x, %u, 1, 31, -1; @%p st.global.u32 [%out], %x;") == "none");
  CHECK(code(some + "shfl.sync.bfly.b32 %x, %u, 16, 31, -1; @%p st.global.u32 [%out], %x;") ==
        "undefined-value");
  CHECK(code(some + "shfl.sync.idx.b32 %x, %u, 3, 31, -1;" + kStore) == "none");
  CHECK(code("setp.eq.u32 %p, %u, 0; vote.sync.ballot.b32 %x, %p, -1;" + kStore) == "undefined-value");
}

TEST_CASE("a matrix product is undefined where its addend is") {
  const std::string mma =
      ".reg .b32 %ma<4>, %mb<2>; mov.b32 %ma0, 0; mov.b32 %ma1, 0; mov.b32 %ma2, 0; mov.b32 %ma3, 0; mov.b32 "
      "%mb0, 0; "
      "mov.b32 %mb1, 0; mov.f32 %c0, 0f00000000; mov.f32 %c1, 0f00000000; mov.f32 %c2, 0f00000000; "
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%d0, %d1, %d2, %d3}, {%ma0, %ma1, %ma2, %ma3}, "
      "{%mb0, %mb1}, {%c0, %c1, %c2, %c3};";
  CHECK(code(mma + "st.global.f32 [%out], %d2;") == "none");
  CHECK(code(mma + "st.global.f32 [%out], %d3;") == "undefined-value");
}

TEST_CASE("integers are not divided by zero") {
  CHECK(code("mov.u32 %y, 0; div.u32 %x, %t, %y;") == "division-by-zero");
  CHECK(code("setp.ne.u32 %p, %t, 9; selp.u32 %y, 3, 0, %p; rem.s32 %x, %t, %y;") == "division-by-zero");
  CHECK(code("setp.ne.u32 %p, %t, 9; selp.u32 %y, 3, 0, %p; @%p rem.s32 %x, %t, %y;") == "none");
  CHECK(code("mov.b64 %wide, 0x100000000; div.u64 %g, %in, %wide;") == "none");
}

}  // namespace ptxloom::exec::test::undefined_test
