// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include <functional>

#include "exec/harness.hpp"

// Device functions, jumps by index and the stack.
namespace ptxloom::exec::test::call_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using U32 = std::uint32_t;

/// What `statements` leave in %x of each thread; `functions` stand before the kernel.
std::vector<U32> result_of(const std::string& functions, const std::string& statements, U32 threads = 64) {
  const Program program = program_of(
      kOutIn,
      ".reg .u64 %o, %f; .reg .u32 %t, %x, %y; .reg .pred %p, %q; ld.param.u64 %o, [out]; mov.u32 %t, "
      "%tid.x; mad.wide.u32 %o, %t, 4, %o; mov.u32 %x, 5;\n" +
          statements + "\nst.global.u32 [%o], %x;\n",
      functions);
  return run<U32>(program, threads, threads);
}

// What nvcc writes: parameters and results in .param.
const std::string kTimesPlus =
    ".func (.param .b32 r) times_plus(.param .b32 a, .param .align 4 .b8 bc[8])\n"
    "{ .reg .b32 %x, %y, %z; ld.param.b32 %x, [a]; ld.param.b32 %y, [bc]; ld.param.b32 %z, [bc+4];\n"
    "mad.lo.u32 %x, %x, %y, %z; st.param.b32 [r], %x; ret; }\n";
const std::string kCallTimesPlus =
    "{ .param .b32 p0; .param .align 4 .b8 p1[8]; .param .b32 ret; st.param.b32 [p0], %t; st.param.b32 [p1], "
    "7; "
    "st.param.b32 [p1+4], %x; call (ret), times_plus, (p0, p1); ld.param.b32 %x, [ret]; }\n";

}  // namespace

TEST_CASE("a call passes parameters in memory and takes the result") {
  const auto out = result_of(kTimesPlus, kCallTimesPlus + "add.u32 %x, %x, 1000;" + kCallTimesPlus);
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == i * 7 + i * 7 + 5 + 1000);
}

TEST_CASE("a call passes registers and numbers") {
  const auto out =
      result_of(".func (.reg .u32 %r) minus(.reg .u32 %a, .reg .u32 %b) { sub.u32 %r, %a, %b; ret; }\n",
                "call (%x), minus, (%t, 3); call (%y), minus, (%x, %t); call (_), minus, (%t, %t); "
                "mad.lo.u32 %x, %y, 100, %x;");
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == (0u - 3) * 100 + i - 3);
}

TEST_CASE("a call passes predicates") {
  const auto out =
      result_of(".func (.reg .pred %r) differ(.reg .pred %a, .reg .pred %b) { xor.pred %r, %a, %b; ret; }\n",
                "and.b32 %y, %t, 1; setp.eq.u32 %p, %y, 1; setp.gt.u32 %q, %t, 20; call (%p), differ, (%p, "
                "%q); selp.u32 "
                "%x, 1, 2, %p;");
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == ((i % 2 == 1) != (i > 20) ? 1 : 2));
}

TEST_CASE("threads that call meet the others behind the call") {
  // Lanes of three paths: no call, one call, a call within a call; then they shuffle together.
  const std::string functions =
      ".func (.reg .u32 %r) twice(.reg .u32 %a) { add.u32 %r, %a, %a; ret; }\n"
      ".func (.reg .u32 %r) four_times(.reg .u32 %a) { .reg .u32 %b; call (%b), twice, (%a); call (%r), "
      "twice, (%b); }\n";
  const auto out = result_of(functions,
                             "mov.u32 %x, %t; and.b32 %y, %t, 3; setp.eq.u32 %p, %y, 1; setp.eq.u32 %q, %y, "
                             "2; @%p call (%x), twice, (%t);\n"
                             "@%q call (%x), four_times, (%t); shfl.sync.bfly.b32 %y, %x, 1, 31, 0xffffffff; "
                             "mad.lo.u32 %x, %y, 1000, %x;",
                             32);
  const auto alone = [](U32 i) { return i % 4 == 1 ? 2 * i : i % 4 == 2 ? 4 * i : i; };
  for (U32 i = 0; i < 32; ++i) CHECK(out[i] == alone(i ^ 1) * 1000 + alone(i));
}

TEST_CASE("a function ends its threads, returns early, and is called by address") {
  const std::string functions =
      ".func (.reg .u32 %r) first(.reg .u32 %a) { .reg .pred %p; add.u32 %r, %a, 1; setp.lt.u32 %p, %a, 20; "
      "@%p ret; "
      "add.u32 %r, %r, 100; setp.gt.u32 %p, %a, 60; @%p exit; }\n"
      ".func (.reg .u32 %r) second(.reg .u32 %a) { mul.lo.u32 %r, %a, 3; ret; }\n";
  const std::string address =
      "and.b32 %y, %t, 1; setp.eq.u32 %p, %y, 0; .reg .u64 %g; mov.u64 %f, first; mov.u64 %g, second; "
      "selp.b64 %f, %f, %g, %p;\n";
  const auto check = [](const std::vector<U32>& out) {
    for (U32 i = 0; i < 64; ++i) {
      CAPTURE(i);
      if (i % 2 == 1) CHECK(out[i] == 3 * i);
      if (i % 2 == 0) CHECK(out[i] == (i > 60 ? 0xa5a5'a5a5 : i < 20 ? i + 1 : i + 101));
    }
  };
  check(result_of(
      functions,
      address + "proto: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%x), %f, (%t), proto;"));
  check(result_of(functions, address + "list: .calltargets first, second; call (%x), %f, (%t), list;"));
  const Diagnostic d = fault_of([&] {
    result_of(
        functions,
        "mov.u64 %f, 16; proto: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%x), %f, (%t), proto;");
  });
  CHECK(d.code == "call-address");
  // As many parameters, but no result.
  const Diagnostic none = fault_of([&] {
    result_of(functions + ".func silent(.reg .u32 %a) { ret; }\n",
              "mov.u64 %f, silent; proto: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%x), %f, (%t), "
              "proto;");
  });
  CHECK(none.code == "call-address");
  CHECK(none.message.find("1 parameters and 1 results") != std::string::npos);
}

TEST_CASE("tables hold addresses of functions and variables") {
  const std::string outside =
      ".func (.reg .u32 %r) first(.reg .u32 %a) { add.u32 %r, %a, 1; ret; }\n"
      ".func (.reg .u32 %r) second(.reg .u32 %a) { mul.lo.u32 %r, %a, 3; ret; }\n"
      ".global .u64 table[2] = {first, second}; .const .u64 ctable[2] = {second, first};\n"
      ".global .u32 values[3] = {4, 5, 6}; .global .u64 pointers[2] = {0, generic(values)+8};\n"
      ".const .u32 numbers[2] = {7, 8}; .global .u64 number = generic(numbers);\n";
  const auto out = result_of(
      outside,
      "and.b32 %y, %t, 1; .reg .u64 %g; mov.u64 %f, table; mad.wide.u32 %f, %y, 8, %f; ld.global.u64 %f, "
      "[%f];\n"
      "proto: .callprototype (.reg .u32 _) _ (.reg .u32 _); call (%x), %f, (%t), proto;\n"
      "mov.u64 %f, ctable; mad.wide.u32 %f, %y, 8, %f; ld.const.u64 %f, [%f]; call (%y), %f, (%t), proto;\n"
      "mad.lo.u32 %x, %y, 1000, %x; ld.global.u64 %g, [pointers+8]; ld.u32 %y, [%g]; mad.lo.u32 %x, %y, "
      "1000000, %x; "
      "ld.global.u64 %g, [number]; ld.u32 %y, [%g+4]; mad.lo.u32 %x, %y, 10000000, %x;");
  for (U32 i = 0; i < 64; ++i) {
    const U32 plus = i + 1, times = 3 * i;
    CHECK(out[i] == 86'000'000 + (i % 2 == 0 ? times * 1000 + plus : plus * 1000 + times));
  }
}

TEST_CASE("a function has other names") {
  const auto out = result_of(
      ".func (.reg .u32 %r) first(.reg .u32 %a) { add.u32 %r, %a, 1; ret; }\n"
      ".visible .func (.reg .u32 %r) other(.reg .u32 %a);\n.alias other, first;\n",
      "call (%x), first, (%t); call (%x), other, (%x);");
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == i + 2);
}

TEST_CASE("variables of functions are each thread's own") {
  const auto out = result_of(
      ".func (.reg .u32 %r) sum(.reg .u32 %a) { .local .align 4 .b32 l[2]; .reg .u64 %p; mov.u64 %p, l; "
      "st.local.u32 [%p], %a; "
      "st.local.u32 [l+4], 9; ld.local.u32 %r, [l]; ld.local.u32 %a, [%p+4]; add.u32 %r, %r, %a; ret; }\n",
      ".local .align 4 .b32 l[2]; st.local.u32 [l], %t; call (%x), sum, (%t); ld.local.u32 %y, [l]; "
      "mad.lo.u32 %x, %y, 1000, %x;");
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == i * 1000 + i + 9);
}

TEST_CASE("endless recursion and functions without a body are faults that name the call") {
  const Diagnostic recursion =
      fault_of([&] { result_of(".func f(.reg .u32 %a) { call f, (%a); ret; }\n", "call f, (%t);"); });
  CHECK(recursion.code == "stack-overflow");
  CHECK_THAT(recursion.message, ContainsSubstring("call f, (%a)") &&
                                    ContainsSubstring("function f of kernel k") &&
                                    ContainsSubstring("the thread is in 1024 calls"));
  const std::string outside = ".extern .func f(.param .b32 a);\n",
                    call = "{ .param .b32 p; st.param.b32 [p], %t; call f, (p); }";
  CHECK(fault_of([&] { result_of(outside, call); }).code == "no-function");
  CHECK(result_of(outside, "setp.gt.u32 %p, %t, 64; @!%p bra DONE; " + call + " DONE:")[7] ==
        5);  // not reached
}

TEST_CASE("a function with registers as parameters calls itself, and has its registers back afterwards") {
  // The parameters change places, and both are needed after the call, as is a predicate.
  const std::string f =
      ".func (.reg .u32 %r) f(.reg .u32 %a, .reg .u32 %b) { .reg .pred %p, %q; .reg .u32 %c; .reg .u64 %w;\n"
      "setp.eq.u32 %p, %b, 0; mov.u32 %r, %a; @%p ret; rem.u32 %c, %a, %b; setp.gt.u32 %q, %c, 3; "
      "cvt.u64.u32 %w, "
      "%a; mad.lo.u64 %w, %w, 5, %w;\ncall (%r), f, (%b, %c); mad.lo.u32 %r, %r, 7, %b; add.u32 %r, %r, %a; "
      "@%q add.u32 %r, %r, 1000; cvt.u32.u64 %c, %w; add.u32 %r, %r, %c; ret; }\n";
  const std::function<U32(U32, U32)> expected = [&](U32 a, U32 b) -> U32 {
    return b == 0 ? a : expected(b, a % b) * 7 + b + a + (a % b > 3 ? 1000 : 0) + a * 6;
  };
  const auto out = result_of(f, "mad.lo.u32 %x, %t, 37, 11; add.u32 %y, %t, 1; call (%x), f, (%x, %y);");
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == expected(i * 37 + 11, i + 1));
}

TEST_CASE("brx.idx takes each thread to the label of its index") {
  const std::string branch =
      "list: .branchtargets A, B, C; and.b32 %y, %t, 3; setp.lt.u32 %p, %y, 3; @%p brx.idx %y, list; add.u32 "
      "%x, %x, 1; "
      "bra END; A: mov.u32 %x, 10; bra END; B: mov.u32 %x, 20; C: add.u32 %x, %x, 30; END:\n";
  const auto out =
      result_of("", branch + "shfl.sync.bfly.b32 %y, %x, 1, 31, 0xffffffff; mad.lo.u32 %x, %y, 1000, %x;");
  const std::vector<U32> alone{10, 50, 35, 6};
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == alone[(i ^ 1) % 4] * 1000 + alone[i % 4]);
  const Diagnostic d = fault_of([&] { result_of("", "list: .branchtargets A; brx.idx %t, list; A:"); });
  CHECK(d.code == "branch-index");
  CHECK_THAT(d.message, ContainsSubstring("the list has 1 labels"));
}

TEST_CASE("alloca takes memory from the stack until it is restored") {
  const auto out = result_of(
      ".func (.reg .u32 %r) f(.reg .u32 %a) { .reg .u64 %p; alloca.u64 %p, 100, 64; st.local.u32 [%p], %a; "
      "ld.local.u32 %r, [%p]; ret; }\n",
      ".reg .u64 %a, %b, %c, %s; stacksave.u64 %s; alloca.u64 %a, 12; alloca.u64 %b, 8, 32; st.local.u32 "
      "[%a], 1; "
      "st.local.u32 [%b], %t; call (%y), f, (7); alloca.u64 %c, 4; sub.s64 %c, %b, %c; cvt.u32.u64 %x, %c; "
      "stackrestore.u64 %s; "
      "stacksave.u64 %c; setp.eq.u64 %p, %c, %s; @!%p mov.u32 %x, 99; and.b64 %c, %b, 31; cvt.u32.u64 %y, "
      "%c; add.u32 %x, %x, %y; "
      "ld.local.u32 %y, [%b]; mad.lo.u32 %x, %y, 1000, %x;");
  for (U32 i = 0; i < 64; ++i) CHECK(out[i] == i * 1000 + 8);  // 4 bytes, aligned to 8, right below %b
  CHECK(fault_of([] { result_of("", ".reg .u32 %a; alloca.u32 %a, 1000000;"); }).code == "stack-overflow");
  CHECK(fault_of([] { result_of("", ".reg .u32 %a; LOOP: alloca.u32 %a, 64; bra LOOP;"); }).code ==
        "stack-overflow");
  CHECK(fault_of([] { result_of("", ".reg .u32 %a; mov.u32 %a, 0; stackrestore.u32 %a;"); }).code ==
        "stack-pointer");
}

}  // namespace ptxloom::exec::test::call_test
