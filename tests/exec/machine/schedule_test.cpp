// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::schedule_test {
namespace {

using Words = std::vector<std::uint32_t>;
const std::string kHead =
    ".reg .u64 %out, %in, %a; .reg .u32 %t, %x, %i, %n, %y; .reg .f32 %f, %g; .reg .pred %p; ld.param.u64 "
    "%out, "
    "[out]; ld.param.u64 %in, [in]; mov.u32 %t, %tid.x; mov.u32 %i, %ctaid.x; mov.u32 %n, %nctaid.x;\n";

/// `in` after a grid has run.
Words run_grid(const std::string& body, std::uint32_t blocks, std::uint32_t threads, Words in,
               unsigned jobs = 0) {
  const Program program = program_of(kOutIn, kHead + body);
  Memory memory;
  Words out(blocks, 0xa5a5'a5a5);
  const auto parameters =
      pack({memory.map(out.data(), out.size() * 4), memory.map(in.data(), in.size() * 4)});
  program.run(memory,
              {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .parameters = parameters, .jobs = jobs});
  in.insert(in.end(), out.begin(), out.end());
  return in;
}

}  // namespace

TEST_CASE("thread blocks that wait for each other through global memory all make progress") {
  // A barrier of the whole grid: the last block to be numbered could never come if the first ran to its end.
  for (const char* look : {"ld.acquire.gpu.global.u32", "ld.volatile.global.u32"}) {
    const Words out = run_grid(
        std::string("setp.ne.u32 %p, %t, 0; @%p bra meet; atom.global.add.u32 %x, [%in], 1; l: ") + look +
            " %x, [%in]; setp.lt.u32 %p, %x, %n; @%p bra l; meet: bar.sync 0; mad.wide."
            "u32 %out, %i, 4, %out; ld.global.u32 %x, [%in]; st.global.u32 [%out], %x;",
        64, 64, {0});
    CHECK(out == Words(65, 64));
  }
  // The same, looking by an atom.
  CHECK(run_grid(
            "atom.global.add.u32 %x, [%in], 1; l: atom.global.or.b32 %x, [%in], 0; setp.lt.u32 %p, %x, %n; "
            "@%p bra l;",
            64, 1, {0})[0] == 64);
}

TEST_CASE("a thread block may wait for the previous one, in any numbering") {
  // Look-back: each adds to what the one before it left, and the last number must come first.
  const Words out = run_grid(
      "sub.u32 %y, %n, %i; mad.wide.u32 %a, %y, 4, %in; l: ld.relaxed.gpu.global.u32 %x, [%a+-4]; "
      "setp.eq.u32 %p, "
      "%x, 0; @%p bra l; add.u32 %x, %x, %y; st.release.gpu.global.u32 [%a], %x;",
      32, 1, [] {
        Words in(33);
        in[0] = 1;
        return in;
      }());
  for (std::uint32_t i = 0; i < 33; ++i) CHECK(out[i] == 1 + i * (i + 1) / 2);
}

TEST_CASE("float sums of many blocks come in the same order in every run") {
  Random random;
  INFO("seed " << random.seed);
  Words in(1 + 4096);
  for (std::size_t i = 1; i < in.size(); ++i)
    in[i] = std::bit_cast<std::uint32_t>(static_cast<float>(random.uniform(-1, 1)));
  const std::string body =
      "mov.u32 %y, %ntid.x; mad.lo.u32 %x, %i, %y, %t; mad.wide.u32 %a, %x, 4, %in; ld.global.f32 %f, "
      "[%a+4]; "
      "red.global.add.f32 [%in], %f;";
  const auto sum = [&](unsigned jobs) { return run_grid(body, 128, 32, in, jobs)[0]; };
  const std::uint32_t first = sum(0);
  for (const unsigned jobs : {0u, 1u, 2u, 7u}) CHECK(sum(jobs) == first);
  CHECK(first != 0);
}

TEST_CASE("results are the same on any number of host threads") {
  Random random;
  INFO("seed " << random.seed);
  // Blocks of very different lengths, each of which mixes its number into a number of the input.
  Words in(200);
  for (std::uint32_t& word : in) word = random.below(2000);
  const auto mix = [&](unsigned jobs) {
    return run_grid(
        "mad.wide.u32 %a, %i, 4, %in; ld.global.u32 %y, [%a]; mov.u32 %x, 1; l: mad.lo.u32 %x, %x, 1664525, "
        "%i; "
        "sub.u32 %y, %y, 1; setp.gt.s32 %p, %y, 0; @%p bra l; mad.wide.u32 %out, %i, 4, %out; "
        "st.global.u32 [%out], %x;",
        200, 64, in, jobs);
  };
  const Words alone = mix(1);
  for (std::uint32_t i = 0; i < 200; ++i) {
    std::uint32_t x = 1;
    for (std::uint32_t step = 0; step < std::max(in[i], 1u); ++step) x = x * 1664525 + i;
    REQUIRE(alone[200 + i] == x);
  }
  for (const unsigned jobs : {2u, 2u, 7u}) CHECK(mix(jobs) == alone);
}

TEST_CASE("communicating thread blocks take turns in the order of their numbers") {
  for (const unsigned jobs : {1u, 2u, 7u}) {
    // The first look at a counter is the first turn; the second comes after all others had theirs.
    const Words out = run_grid(
        "atom.global.add.u32 %x, [%in], 1; l: ld.volatile.global.u32 %y, [%in]; setp.lt.u32 %p, %y, %n; @%p "
        "bra l; "
        "atom.global.add.u32 %y, [%in], 1; mad.lo.u32 %x, %x, 1000, %y; mad.wide.u32 %out, %i, 4, %out; "
        "st.global.u32 [%out], %x;",
        50, 1, {0}, jobs);
    for (std::uint32_t i = 0; i < 50; ++i) CHECK(out[1 + i] / 1000 == i);
    static const Words first = out;
    CHECK(out == first);
  }
}

TEST_CASE("threads of one warp that wait for each other all make progress") {
  // A lock that each lane takes in turn; who has it is behind those that try.
  CHECK(run_grid("lock: atom.global.cas.b32 %x, [%in], 0, 1; setp.ne.u32 %p, %x, 0; @%p bra lock; "
                 "ld.volatile.global.u32 "
                 "%y, [%in+4]; add.u32 %y, %y, 1; st.volatile.global.u32 [%in+4], %y; atom.global.exch.b32 "
                 "%x, [%in], 0;",
                 2, 32, {0, 0})[1] == 64);
  // The first lane waits for what the others do behind it, by an mbarrier, with a nap between looks.
  CHECK(run_grid(".shared .align 8 .b64 bar; setp.eq.u32 %p, %t, 0; @%p mbarrier.init.shared.b64 [bar], 31; "
                 "bar.sync 0; "
                 "@!%p bra others; l: mbarrier.test_wait.parity.shared.b64 %p, [bar], 0; nanosleep.u32 20; "
                 "@!%p bra l; "
                 "bra done; others: mbarrier.arrive.shared.b64 _, [bar]; bra end; done: st.global.u32 [%in], "
                 "5; end:",
                 1, 32, {0})[0] == 5);
}

TEST_CASE("nanosleep in a polling loop does not hide a deadlock") {
  const Program program = program_of(kOutIn, kHead +
                                                 ".shared .align 8 .b64 bar; mbarrier.init.shared.b64 [bar], "
                                                 "1; l: mbarrier.test_wait.parity.shared.b64 "
                                                 "%p, [bar], 0; nanosleep.u32 20; @!%p bra l;");
  CHECK(fault_of([&] { run<std::uint32_t>(program, 1, 1, Words{0}); }).code == "mbarrier-deadlock");
}

TEST_CASE("more thread blocks than are resident at once") {
  CHECK(run_grid("atom.global.add.u32 %x, [%in], 1;", 5000, 1, {0})[0] == 5000);
}

TEST_CASE("a grid that spins forever meets the step limit") {
  const Program program =
      program_of(kOutIn, kHead + "l: ld.volatile.global.u32 %x, [%in]; setp.eq.u32 %p, %x, 0; @%p bra l;");
  const auto run_it = [&] { run<std::uint32_t>(program, 1, 1, Words{0}, Launch{.step_limit = 100'000}); };
  CHECK(fault_of(run_it).code == "step-limit");
}

TEST_CASE("a thread that spins on a word that nobody changes is a deadlock, if its registers stay the same") {
  const auto code_of = [](const std::string& counts) {
    const Program program =
        program_of(kOutIn, kHead + "mov.u32 %y, 0; l: ld.volatile.global.u32 %x, [%in]; " + counts +
                               "setp.eq.u32 %p, %x, 0; @%p bra l;");
    Findings findings;
    run<std::uint32_t>(program, 1, 1, Words{0}, Launch{.step_limit = 100'000, .findings = &findings});
    REQUIRE(findings.all().size() == 1);
    return findings.all().front().code;
  };
  CHECK(code_of("") == "spin-deadlock");
  CHECK(code_of("add.u32 %y, %y, 1; ") == "step-limit");
}

TEST_CASE("thread blocks that wait for more than are resident never go on") {
  // 200,000 bytes of shared memory let an SM of sm_90a hold one.
  const Program program = program_of(
      kOutIn, kHead +
                  "atom.global.add.u32 %x, [%in], 1; l: ld.acquire.gpu.global.u32 %x, [%in]; setp.lt.u32 "
                  "%p, %x, %n; @%p bra l;");
  const auto findings_of = [&](std::uint32_t blocks) {
    Findings findings;
    run<std::uint32_t>(program, 1, 1, Words{0},
                       Launch{.grid = {blocks, 1, 1}, .shared_bytes = 200'000, .findings = &findings});
    return findings.all();
  };
  CHECK(findings_of(132).empty());
  const auto findings = findings_of(133);
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "spin-deadlock");
  CHECK(findings[0].what.find("1 of 133 clusters have not started") != std::string::npos);
}

TEST_CASE("a schedule of another launch is refused") {
  const Program program = program_of(kOutIn, kHead + "st.global.u32 [%out], %t;");
  Memory memory;
  Words out(1);
  const auto parameters = pack({memory.map(out.data(), 4), memory.map(out.data(), 4)});
  const auto refusal = [&](Launch launch) {
    launch.grid = {2, 1, 1};
    launch.block = {64, 1, 1};
    launch.parameters = parameters;
    try {
      program.run(memory, launch);
    } catch (const Error& error) {
      return error.code();
    }
    return std::string();
  };
  Findings findings;
  const auto with = [&](const Delay& delay) {
    return refusal({.findings = &findings, .schedule = Schedule(0, delay)});
  };
  CHECK(with({.cluster = 1, .warp = 1, .until_cluster = 1}).empty());
  CHECK(with({.cluster = 2}) == "launch-schedule");
  CHECK(with({.warp = 2}) == "launch-schedule");
  CHECK(with({.until_warp = 2}) == "launch-schedule");
  CHECK(with({.until_warp = Delay::kCopies}).empty());
  CHECK(with({.until_operation = 1'000}) == "launch-schedule");
  CHECK(refusal({.judge = false, .schedule = Schedule(0, Delay())}) == "launch-schedule");
  Reversals reversals;
  CHECK(refusal({.reversals = &reversals}) == "launch-schedule");
}

}  // namespace ptxloom::exec::test::schedule_test
