// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::async_test {
namespace {

constexpr std::uint32_t kPoisoned = 0xa5a5'a5a5;

/// What a thread reads from its 32 bytes of shared memory, all zero before, after `statements`.
std::vector<std::uint32_t> copied(const std::string& statements, const Launch& launch = {}) {
  const Program program = program_of(
      kOutIn,
      ".shared .align 16 .b8 s[32]; .reg .u64 %out, %in; .reg .u32 %v<4>, %n; .reg .pred %p;\n"
      "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; st.shared.v4.u32 [s], {0, 0, 0, 0}; "
      "st.shared.v4.u32 [s+16], {0, 0, 0, 0};\n" +
          statements +
          "\nld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [s]; st.global.v4.u32 [%out], {%v0, %v1, %v2, %v3};\n"
          "ld.shared.v4.u32 {%v0, %v1, %v2, %v3}, [s+16]; st.global.v4.u32 [%out+16], {%v0, %v1, %v2, "
          "%v3};\n");
  return run<std::uint32_t>(program, 1, 8, std::vector<std::uint32_t>{1, 2, 3, 4, 5, 6, 7, 8}, launch);
}

using Words = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("an asynchronous copy arrives at the wait that covers it") {
  const std::string copy = "cp.async.cg.shared.global [s], [%in], 16;";
  CHECK(copied(copy + "cp.async.commit_group; cp.async.wait_group 0;") == Words{1, 2, 3, 4, 0, 0, 0, 0});
  CHECK(copied(copy + "cp.async.wait_all;") == Words{1, 2, 3, 4, 0, 0, 0, 0});
}

TEST_CASE("without a wait, or with one that covers less, the bytes stay poisoned") {
  const std::string first = "cp.async.ca.shared.global [s], [%in], 8; cp.async.commit_group;";
  const std::string second = "cp.async.ca.shared.global [s+16], [%in+16], 4; cp.async.commit_group;";
  const auto unjudged = [](const std::string& statements) { return copied(statements, kUnjudged); };
  CHECK(unjudged(first) == Words{kPoisoned, kPoisoned, 0, 0, 0, 0, 0, 0});
  CHECK(unjudged(first + second + "cp.async.wait_group 2;") ==
        Words{kPoisoned, kPoisoned, 0, 0, kPoisoned, 0, 0, 0});
  CHECK(unjudged(first + second + "cp.async.wait_group 1;") == Words{1, 2, 0, 0, kPoisoned, 0, 0, 0});
  CHECK(copied(first + second + "cp.async.wait_group 0;") == Words{1, 2, 0, 0, 5, 0, 0, 0});
  // Not committed: no group covers it.
  CHECK(unjudged("cp.async.ca.shared.global [s], [%in], 4; cp.async.wait_group 0;") ==
        Words{kPoisoned, 0, 0, 0, 0, 0, 0, 0});
  // An empty group is a group.
  CHECK(copied(first + "cp.async.commit_group; cp.async.wait_group 1;") == Words{1, 2, 0, 0, 0, 0, 0, 0});
}

TEST_CASE("what the source size leaves out is zero, and its address may be anywhere") {
  CHECK(copied("mov.u32 %n, 6; cp.async.cg.shared.global [s], [%in], 16, %n; cp.async.wait_all;") ==
        Words{1, 2, 0, 0, 0, 0, 0, 0});
  CHECK(copied("cp.async.cg.shared.global [s], [%in+4096], 16, 0; cp.async.wait_all;") ==
        Words{0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(
      copied("setp.eq.u32 %p, 1, 1; cp.async.cg.shared.global [s], [%in+4096], 16, %p; cp.async.wait_all;") ==
      Words{0, 0, 0, 0, 0, 0, 0, 0});
  CHECK(copied("setp.ne.u32 %p, 1, 1; cp.async.cg.shared.global [s], [%in+16], 16, %p; cp.async.wait_all;") ==
        Words{5, 6, 7, 8, 0, 0, 0, 0});
}

TEST_CASE("a copy out of bounds, misaligned or too long is a fault where it is issued") {
  const auto code = [](const std::string& statements) { return fault_of([&] { copied(statements); }).code; };
  CHECK(code("cp.async.cg.shared.global [s], [%in+32], 16;") == "out-of-bounds");
  CHECK(code("cp.async.cg.shared.global [s+32], [%in], 16;") == "out-of-bounds");
  CHECK(code("cp.async.cg.shared.global [s+8], [%in], 16;") == "misaligned");
  CHECK(code("cp.async.ca.shared.global [s], [%in+2], 4;") == "misaligned");
  CHECK(code("mov.u32 %n, 17; cp.async.cg.shared.global [s], [%in], 16, %n;") == "copy-size");
}

TEST_CASE("each thread waits for its own copies") {
  // The odd threads do not wait.
  const Program program =
      program_of(kOutIn,
                 ".shared .align 16 .b8 s[128]; .reg .u64 %out, %in; .reg .u32 %t, %a, %x; .reg .pred %p;\n"
                 "ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mov.u32 %a, s; "
                 "mad.lo.u32 %a, %t, 4, %a;\n"
                 "mad.wide.u32 %in, %t, 4, %in; mad.wide.u32 %out, %t, 4, %out; cp.async.ca.shared.global "
                 "[%a], [%in], 4; cp.async.commit_group;\n"
                 "and.b32 %x, %t, 1; setp.eq.u32 %p, %x, 0; @%p cp.async.wait_group 0; bar.sync 0; "
                 "ld.shared.u32 %x, [%a]; st.global.u32 [%out], %x;\n");
  std::vector<std::uint32_t> in(32, 3);
  const auto out = run<std::uint32_t>(program, 32, 32, in, kUnjudged);
  for (std::size_t i = 0; i < 32; ++i) CHECK(out[i] == (i % 2 == 0 ? 3 : kPoisoned));
}

}  // namespace ptxloom::exec::test::async_test
