// SPDX-License-Identifier: Apache-2.0
// Where NaN, infinities and underflow begin, on request.
#include <catch2/matchers/catch_matchers_string.hpp>

#include <bit>
#include <cmath>
#include <limits>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::arithmetic_test {
namespace {

using Catch::Matchers::ContainsSubstring;

const std::string kHead =
    ".reg .u64 %o, %i; .reg .u32 %t; .reg .f32 %a, %b, %c, %d, %e; .reg .f64 %w; .reg .b16 %h, %g; .reg .b32 "
    "%p, %q, %r; "
    ".reg .pred %skip; ld.param.u64 %o, [out]; ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; mad.wide.u32 %o, "
    "%t, 4, %o; "
    "ld.global.f32 %a, [%i]; ld.global.f32 %b, [%i+4]; ld.global.f32 %c, [%i+8];\n";
const std::string kStore = "st.global.f32 [%o], %d;";

/// What is found with these %a, %b and %c.
std::vector<Finding> findings_of(const std::string& body, float a, float b = 1, float c = 1,
                                 bool asked = true) {
  INFO(body);
  Memory memory;
  std::vector<std::uint32_t> out(32);
  std::vector<float> in{a, b, c};
  const auto parameters = pack({memory.map(out.data(), 128), memory.map(in.data(), 12)});
  Findings findings;
  program_of(kOutIn, kHead + body, {}, "sm_90a")
      .run(memory,
           {.block = {32, 1, 1}, .parameters = parameters, .arithmetic = asked, .findings = &findings});
  return findings.all();
}

std::string code(const std::string& body, float a, float b = 1, float c = 1) {
  const auto findings = findings_of(body, a, b, c);
  std::string codes;
  for (const Finding& finding : findings) codes += (codes.empty() ? "" : " ") + finding.code;
  return codes;
}

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("NaN is reported at the instruction that makes it, and nowhere after") {
  const std::string body = "sub.f32 %d, %a, %b; mul.f32 %d, %d, 0f3f000000; add.f32 %d, %d, %c;" + kStore;
  const auto findings = findings_of(body, kInf, kInf);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "arithmetic-nan");
  CHECK(findings[0].at.text == "sub.f32 %d, %a, %b;");
  CHECK(findings[0].count == 32);
  CHECK_THAT(findings[0].what, ContainsSubstring("computed from inf, inf"));
  CHECK(code(body, kNan, kInf).empty());  // it was there before
  CHECK(code(body, 1, 2).empty());
  CHECK(findings_of(body, kInf, kInf, 1, false).empty());  // nobody asked
  CHECK(code("sqrt.rn.f32 %d, %a;", -1) == "arithmetic-nan");
  CHECK(code("lg2.approx.f32 %d, %a;", -1) == "arithmetic-nan");
  CHECK(code("div.rn.f32 %d, %a, %b;", 0, 0) == "arithmetic-nan");
  CHECK(code("fma.rn.f32 %d, %a, %b, %c;", 0, kInf) == "arithmetic-nan");
  CHECK(code("fma.rn.f32 %d, %a, %b, %c;", 2, 3, kNan).empty());
  CHECK(code("mov.f32 %d, 0f7fffffff; mul.f32 %d, %d, %a;", 2).empty());  // a constant
  CHECK(code("cvt.f64.f32 %w, %a; sqrt.rn.f64 %w, %w;", -4) == "arithmetic-nan");
  CHECK(code("cvt.rn.f16.f32 %h, %a; cvt.rn.f16.f32 %g, %b; mov.b32 %p, {%g, %h}; mov.b32 %q, {%h, %h}; "
             "sub.f16x2 %r, "
             "%p, %q;",
             kInf, 5) == "arithmetic-nan");
}

TEST_CASE("infinities by overflow and by division, and in conversions") {
  CHECK(code("mul.f32 %d, %a, %b; add.f32 %d, %d, %c;", 1e30f, 1e30f) == "arithmetic-infinity");
  CHECK(code("rcp.rn.f32 %d, %a;", 0) == "arithmetic-infinity");
  CHECK(code("ex2.approx.f32 %d, %a;", 1000) == "arithmetic-infinity");
  CHECK(code("mul.f32 %d, %a, %b;", kInf, 2).empty());
  CHECK(code("cvt.rn.f16.f32 %h, %a;", 65519).empty());
  CHECK(code("cvt.rn.f16.f32 %h, %a;", 65520) == "arithmetic-overflow");
  CHECK(code("cvt.rn.f16.f32 %h, %a;", kInf).empty());
  CHECK(code("cvt.rn.f16x2.f32 %p, %a, %b;", 1, -1e6f) == "arithmetic-overflow");
  CHECK(code("cvt.rn.bf16.f32 %h, %a;", 3.4e38f) == "arithmetic-overflow");
  CHECK(code("cvt.rn.satfinite.e4m3x2.f32 %h, %a, %b;", 1000, 1).empty());  // saturates on purpose
  CHECK(code("cvt.f64.f32 %w, %a; mul.f64 %w, %w, %w; cvt.rn.f32.f64 %d, %w;", 1e30f) ==
        "arithmetic-overflow");
  const auto findings = findings_of("cvt.rn.f16.f32 %h, %a;", 70000);
  REQUIRE(findings.size() == 1);
  CHECK_THAT(findings[0].what, ContainsSubstring("infinite in .f16, converted from 70000"));
}

TEST_CASE("underflow of products, quotients and conversions, and operands that are flushed") {
  CHECK(code("mul.f32 %d, %a, %b;", 1e-30f, 1e-30f) == "arithmetic-underflow");
  CHECK(code("mul.f32 %d, %a, %b;", 1e-30f, 1e-10f) == "arithmetic-underflow");  // subnormal
  CHECK(code("mul.f32 %d, %a, %b;", 0, 1e-30f).empty());
  CHECK(code("mul.f32 %d, %a, %b;", 1e-20f, 1e-10f).empty());
  CHECK(code("div.rn.f32 %d, %a, %b;", 1e-30f, 1e30f) == "arithmetic-underflow");
  CHECK(code("sub.f32 %d, %a, %b;", 1e-30f, 1e-30f).empty());  // exact
  CHECK(code("cvt.rn.f16.f32 %h, %a;", 1e-6f) == "arithmetic-underflow");
  CHECK(code("cvt.rn.f16.f32 %h, %a;", 1e-9f) == "arithmetic-underflow");
  CHECK(code("cvt.rn.f16.f32 %h, %a;", 0x1p-20f).empty());  // exact, though subnormal
  CHECK(code("cvt.rn.f16.f32 %h, %a;", 0).empty());
  CHECK(code("cvt.rn.f32.s32 %d, %t;", 1).empty());  // %t counts from 0
  CHECK(code("add.ftz.f32 %d, %a, %b;", 1e-40f, 1) == "arithmetic-underflow");
  CHECK(code("add.f32 %d, %a, %b;", 1e-40f, 1).empty());
  CHECK_THAT(findings_of("mul.f32 %d, %a, %b;", 1e-30f, 1e-30f).at(0).what,
             ContainsSubstring("its result is 0 in .f32"));
}

TEST_CASE("a finite value divided by infinity is 0, which is no underflow") {
  for (const char* body : {"div.rn.f32 %d, %a, %b;", "div.full.f32 %d, %a, %b;", "rcp.approx.f32 %d, %b;"}) {
    CAPTURE(body);
    CHECK(code(body, 1, kInf).empty());
    CHECK(code(body, 1, -kInf).empty());
  }
  CHECK(code("div.rn.f32 %d, %a, %b;", 1e-30f, 1e30f) == "arithmetic-underflow");
}

TEST_CASE("matrix products begin a NaN only if no operand of the warp has one") {
  const std::string mma =
      ".reg .f32 %f<4>; cvt.rn.f16x2.f32 %p, %a, %a; cvt.rn.f16x2.f32 %q, %b, %b; mov.f32 %f0, 0f00000000; "
      "mov.f32 %f1, "
      "%f0; mov.f32 %f2, %c; mov.f32 %f3, %f0;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%p, %p}, {%q}, {%f0, %f1, "
      "%f2, %f3};";
  CHECK(code(mma, 1, 2, 3).empty());
  CHECK(code(mma, kInf, 0, 3) == "arithmetic-nan");
  CHECK(code(mma, 1, kNan, 3).empty());
  CHECK(code(mma, 1, 2, kNan).empty());
}

TEST_CASE("only lanes that execute count, and the first to do so is named") {
  const auto findings = findings_of("setp.lt.u32 %skip, %t, 7; @!%skip sqrt.rn.f32 %d, %a;", -1);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].at.lane == 7);
  CHECK(findings[0].count == 25);
}

}  // namespace ptxloom::exec::test::arithmetic_test
