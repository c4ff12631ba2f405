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
