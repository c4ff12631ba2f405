// SPDX-License-Identifier: Apache-2.0
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::mbarrier_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::uint32_t>;

const std::string kHead =
    ".shared .align 8 .b64 bar[2]; .shared .align 128 .b8 s[256]; .reg .u64 %out, %in, %st, %st2, %a64; .reg "
    ".u32 %t, %x, %n, %bar; .reg .pred %p, %q; ld.param.u64 %out, [out]; ld.param.u64 %in, [in]; mov.u32 %t, "
    "%tid.x; mov.u32 %bar, bar;\n";
// The first thread of the block makes a barrier of N arrivals.
std::string init(int arrivals) {
  return "setp.eq.u32 %q, %t, 0; @%q mbarrier.init.shared.b64 [bar], " + std::to_string(arrivals) +
         "; bar.sync 0;\n";
}
// Until the phase of a parity is complete.
std::string wait(int parity, const std::string& label) {
  return label + ": mbarrier.try_wait.parity.shared.b64 %p, [bar], " + std::to_string(parity) +
         "; @!%p bra " + label + ";\n";
}

Program program(const std::string& body) { return program_of(kOutIn, kHead + body, {}, "sm_90a"); }

Words run_body(const std::string& body, std::uint32_t threads, std::size_t size, const Launch& launch = {}) {
  Words in(256);
  for (std::uint32_t i = 0; i < 256; ++i) in[i] = i + 1;
  return run<std::uint32_t>(program(body), threads, size, in, launch);
}
Diagnostic fault_in(const std::string& body, std::uint32_t threads = 1, const Launch& launch = {}) {
  return fault_of([&] { run_body(body, threads, 64, launch); });
}

}  // namespace

TEST_CASE("threads wait for a phase of an mbarrier, and the next begins") {
  // Warps hand a value round a ring, twice, with two barriers used by parity.
  const auto out = run_body(init(64) + R"(
    .shared .align 4 .b32 v[64]; .reg .u32 %s, %o;
    mov.u32 %s, v; mad.lo.u32 %s, %t, 4, %s; st.shared.u32 [%s], %t;
    mbarrier.arrive.shared.b64 %st, [bar];
    w0: mbarrier.test_wait.shared.b64 %p, [bar], %st; @!%p bra w0;
    xor.b32 %o, %t, 32; mov.u32 %x, v; mad.lo.u32 %x, %o, 4, %x; ld.shared.u32 %n, [%x];
    mbarrier.arrive.shared.b64 %st2, [bar];
    w1: mbarrier.try_wait.shared.b64 %p, [bar], %st2, 100; @!%p bra w1;
    add.u32 %n, %n, 1000; st.shared.u32 [%s], %n;
    mbarrier.arrive.shared.b64 _, [bar];
  )" + wait(0, "w2") + R"(
    ld.shared.u32 %n, [%x]; mad.wide.u32 %out, %t, 4, %out; st.global.u32 [%out], %n;
  )",
                            64, 64);
  for (std::uint32_t i = 0; i < 64; ++i) CHECK(out[i] == i + 1000);
}

TEST_CASE("the state says which phase it is of and how many arrivals were pending") {
  const auto out = run_body(init(5) + R"(
    mbarrier.arrive.noComplete.shared.b64 %st, [bar], 2; mbarrier.pending_count.b64 %x, %st; st.global.u32 [%out], %x;
    mbarrier.arrive.noComplete.shared.b64 %st2, [bar], 1; mbarrier.pending_count.b64 %x, %st2; st.global.u32 [%out+4], %x;
    mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+8], %x;
    mbarrier.arrive.shared.b64 _, [bar], 2;
    mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+12], %x;
    mbarrier.arrive.noComplete.shared.b64 %st, [bar], 4; mbarrier.pending_count.b64 %x, %st; st.global.u32 [%out+16], %x;
    mbarrier.test_wait.parity.shared.b64 %p, [bar], 1; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+20], %x;
    mbarrier.test_wait.parity.shared.b64 %p, [bar], 0; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+24], %x;
  )",
                            1, 7);
  CHECK(out == Words{5, 3, 0, 1, 5, 0, 1});
}

TEST_CASE("arrive_drop lowers the count of later phases") {
  const auto out = run_body(init(3) + R"(
    mbarrier.arrive_drop.shared.b64 %st, [bar]; mbarrier.arrive.shared.b64 _, [bar], 2;
    mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p; st.global.u32 [%out], %x;
    mbarrier.arrive.shared.b64 %st, [bar]; mbarrier.pending_count.b64 %x, %st; st.global.u32 [%out+4], %x;
  )",
                            1, 2);
  CHECK(out == Words{1, 2});
}

TEST_CASE("a phase waits for the bytes it expects") {
  const auto out = run_body(init(1) + R"(
    mbarrier.expect_tx.relaxed.cta.shared.b64 [bar], 32; mbarrier.arrive.expect_tx.shared.b64 %st, [bar], 16;
    mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p; st.global.u32 [%out], %x;
    mbarrier.complete_tx.shared.b64 [bar], 47;
    mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+4], %x;
    mbarrier.complete_tx.shared.b64 [bar], 1;
    mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+8], %x;
  )",
                            1, 3);
  CHECK(out == Words{0, 0, 1});
}

TEST_CASE("an mbarrier counts cp.async, which arrives when it is waited for") {
  const std::string copy = "cp.async.ca.shared.global [s], [%in], 16; cp.async.mbarrier.arrive";
  const std::string read = "ld.shared.u32 %x, [s+4]; st.global.u32 [%out], %x;\n";
  CHECK(run_body(
            init(1) + copy + ".shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];" + wait(0, "w") + read,
            1, 1) == Words{2});
  CHECK(run_body(init(2) + copy + ".noinc.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];" +
                     wait(0, "w") + read,
                 1, 1) == Words{2});
  // A copy behind the arrival is none of the barrier's.
  CHECK(run_body(init(1) + copy + ".noinc.shared.b64 [bar]; cp.async.ca.shared.global [s+16], [%in+8], 4;" +
                     wait(0, "w") + "ld.shared.u32 %x, [s+16]; st.global.u32 [%out], %x;",
                 1, 1, kUnjudged) == Words{0xa5a5'a5a5});
}

TEST_CASE("an mbarrier counts up to 2^20 - 1 arrivals and bytes") {
  const std::string most = "mov.u32 %n, 1048575; mbarrier.init.shared.b64 [bar], %n;";
  CHECK(run_body(
            most +
                "mbarrier.arrive.shared.b64 %st, [bar], %n; mbarrier.pending_count.b64 %x, %st; "
                "st.global.u32 [%out], %x; mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, "
                "%p; st.global.u32 [%out+4], %x;",
            1, 2) == Words{1048575, 1});
  CHECK(fault_in(most + "cp.async.mbarrier.arrive.shared.b64 [bar];").code == "mbarrier-count");
  // Bytes that come before they are expected, and the other way round.
  for (const char* order :
       {"mbarrier.expect_tx.shared.b64 [bar], %n; mbarrier.complete_tx.shared.b64 [bar], %n;",
        "mbarrier.complete_tx.shared.b64 [bar], %n; mbarrier.expect_tx.shared.b64 [bar], %n;"})
    CHECK(run_body(init(1) + "mov.u32 %n, 1048575;" + order +
                       "mbarrier.arrive.shared.b64 %st, [bar]; mbarrier.test_wait.shared.b64 %p, [bar], %st; "
                       "selp.u32 %x, 1, 0, %p; st.global.u32 [%out], %x;",
                   1, 1) == Words{1});
}

TEST_CASE("the parity of an mbarrier is that of the number of its phases") {
  std::string body = init(1);
  Words expected;
  for (int phase = 0; phase < 5; ++phase) {
    for (int parity = 0; parity < 2; ++parity) {
      body += "mbarrier.test_wait.parity.shared.b64 %p, [bar], " + std::to_string(parity) +
              "; selp.u32 %x, 1, 0, %p; st.global.u32 [%out+" + std::to_string(4 * expected.size()) +
              "], %x;";
      expected.push_back(parity != phase % 2 ? 1 : 0);
    }
    body += "mbarrier.arrive.shared.b64 _, [bar];";
  }
  CHECK(run_body(body, 1, expected.size()) == expected);
}

TEST_CASE("an arrive_drop of several lowers the count by as many") {
  CHECK(run_body(init(5) + R"(
    mov.u32 %n, 3; mbarrier.arrive_drop.shared.b64 _, [bar], %n; mbarrier.arrive.shared.b64 _, [bar], 2;
    mbarrier.arrive.shared.b64 %st, [bar]; mbarrier.pending_count.b64 %x, %st; st.global.u32 [%out], %x;
    mbarrier.arrive.shared.b64 %st, [bar]; mbarrier.test_wait.shared.b64 %p, [bar], %st; selp.u32 %x, 1, 0, %p;
    st.global.u32 [%out+4], %x;
  )",
                 1, 2) == Words{2, 1});
}

TEST_CASE("an mbarrier can be ended and its memory used again") {
  CHECK(run_body(init(1) +
                     "mbarrier.inval.shared.b64 [bar]; st.shared.b64 [bar], 7; mbarrier.init.shared.b64 "
                     "[bar], 3; mbarrier.arrive.shared.b64 %st, [bar]; mbarrier.pending_count.b64 %x, "
                     "%st; st.global.u32 [%out], %x;",
                 1, 1) == Words{3});
}

TEST_CASE("generic addresses of an mbarrier") {
  CHECK(run_body(
            "mov.u64 %a64, bar; cvta.shared.u64 %a64, %a64; mbarrier.init.b64 [%a64], 1; mbarrier.arrive.b64 "
            "%st, [%a64]; mbarrier.test_wait.b64 %p, [%a64], %st; selp.u32 %x, 1, 0, %p; st.global.u32 "
            "[%out], %x;",
            1, 1) == Words{1});
}

TEST_CASE("each misuse of an mbarrier has its own code") {
  CHECK(fault_in("mbarrier.arrive.shared.b64 %st, [bar];").code == "mbarrier-uninitialised");
  CHECK(fault_in("mbarrier.inval.shared.b64 [bar];").code == "mbarrier-uninitialised");
  CHECK(fault_in(init(1) + "mbarrier.arrive.shared.b64 %st, [bar+8];").code == "mbarrier-uninitialised");
  CHECK(fault_in(init(1) + "mbarrier.inval.shared.b64 [bar]; mbarrier.arrive.shared.b64 _, [bar];").code ==
        "mbarrier-uninitialised");
  CHECK(fault_in(init(1) + "mbarrier.init.shared.b64 [bar], 1;").code == "mbarrier-initialised");
  CHECK(fault_in("mbarrier.init.shared.b64 [bar], 1;", 2).code == "mbarrier-initialised");
  const std::string overwrite = init(1) + "st.shared.u32 [bar+4], 1; mbarrier.arrive.shared.b64 _, [bar];";
  CHECK(fault_in(overwrite).code == "mbarrier-as-data");
  CHECK(fault_in(overwrite, 1, kUnjudged).code == "mbarrier-overwritten");
  CHECK(fault_in("mov.u32 %n, 0; mbarrier.init.shared.b64 [bar], %n;").code == "mbarrier-count");
  CHECK(fault_in("mov.u32 %n, 1048576; mbarrier.init.shared.b64 [bar], %n;").code == "mbarrier-count");
  CHECK(fault_in(init(2) + "mbarrier.arrive.shared.b64 _, [bar], 3;").code == "mbarrier-count");
  CHECK(fault_in(init(2) + "mov.u32 %n, 0; mbarrier.arrive.shared.b64 _, [bar], %n;").code ==
        "mbarrier-count");
  CHECK(fault_in(init(2) + "mbarrier.arrive.noComplete.shared.b64 %st, [bar], 2;").code ==
        "mbarrier-completes");
  CHECK(fault_in(init(2) + "mov.u32 %n, 1048575; mbarrier.expect_tx.shared.b64 [bar], %n; mbarrier.expect_tx."
                           "shared.b64 [bar], 1;")
            .code == "mbarrier-bytes");
  CHECK(fault_in(init(2) + "mov.u32 %n, 1048576; mbarrier.complete_tx.shared.b64 [bar], %n;").code ==
        "mbarrier-bytes");
  CHECK(fault_in(init(1) + "mbarrier.arrive.shared.b64 %st, [bar]; mbarrier.arrive.shared.b64 _, [bar]; "
                           "mbarrier.test_wait.shared.b64 %p, [bar], %st;")
            .code == "mbarrier-phase");
  CHECK(fault_in(init(1) + "mov.u32 %n, 2; mbarrier.test_wait.parity.shared.b64 %p, [bar], %n;").code ==
        "mbarrier-phase");
  CHECK(fault_in(init(1) + "mov.u64 %st, 0; mbarrier.test_wait.shared.b64 %p, [bar], %st;").code ==
        "mbarrier-state");
  CHECK(fault_in(init(1) + "mov.u64 %st, 1; mbarrier.pending_count.b64 %x, %st;").code == "mbarrier-state");
  CHECK(fault_in("mbarrier.init.b64 [%in], 1;").code == "not-shared");
  CHECK(fault_in("mbarrier.init.shared.b64 [bar+4], 1;").code == "misaligned");
  CHECK(fault_in(init(1) + "cp.async.mbarrier.arrive.shared.b64 [bar]; mbarrier.inval.shared.b64 [bar];")
            .code == "mbarrier-busy");
}

TEST_CASE("a phase that nobody completes is a deadlock that says what it lacks") {
  const Diagnostic d =
      fault_in(init(3) + "mbarrier.arrive.expect_tx.shared.b64 _, [bar], 64;" + wait(0, "w"), 2);
  CHECK(d.code == "mbarrier-deadlock");
  CHECK_THAT(
      d.message,
      ContainsSubstring("phase 0 (parity 0) of the mbarrier at 0x0 lacks 1 of 3 arrivals and 128 bytes") &&
          ContainsSubstring("mbarrier.try_wait.parity"));
  // Warps at another barrier are named too.
  const Diagnostic both = fault_in(
      init(64) +
          "setp.lt.u32 %q, %t, 32; @%q bar.sync 1, 64; @%q bra end; mbarrier.arrive.shared.b64 _, [bar];" +
          wait(0, "w") + "end:",
      64);
  CHECK_THAT(both.message,
             ContainsSubstring("32 of 64 threads wait here") && ContainsSubstring("lacks 32 of 64"));
}

}  // namespace ptxloom::exec::test::mbarrier_test
