// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "exec/harness.hpp"
#include "ptxloom/schedule.hpp"

// Schedules and their text; what runs record to be reversed. tests/judge/pairs/orders.txt has kernels.
namespace ptxloom::exec::test::reversal_test {
namespace {

const Delay kOne{
    .cluster = 3, .warp = 1, .step = 120, .until_cluster = 4, .until_warp = 2, .until_operation = 44};

Delay to_copies(std::uint32_t warp) {
  return {.cluster = 7, .warp = warp, .step = 9, .until_cluster = 7, .until_warp = Delay::kCopies};
}

}  // namespace

TEST_CASE("a schedule is read back from its text") {
  for (const Schedule& schedule : {Schedule(), Schedule(~std::uint64_t{0}), Schedule(5, kOne),
                                   Schedule(Schedule(0, to_copies(0)), kOne)}) {
    CAPTURE(to_string(schedule));
    CHECK(parse_schedule(to_string(schedule)) == schedule);
  }
  CHECK(to_string(Schedule(Schedule(5, kOne), to_copies(6))) == "5/3.1@120-4.2@44/7.6@9-copies");
}

TEST_CASE("text that is no schedule is refused, with the position") {
  for (const char* text :
       {"", "x", "-1", "1/", "1/2", "1/2.3", "1/2.3@4", "1/2.3@4-", "1/2.3@4-5", "1/2.3@4-5.6",
        "1/2.3@4-5.6@", "1/2.3@4-copie", "1/2.3@4-copies/", "1 ", "18446744073709551616"}) {
    CAPTURE(text);
    try {
      parse_schedule(text);
      FAIL("it is taken");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::usage);
      CHECK(error.diagnostics().front().code == "bad-option");
    }
  }
}

TEST_CASE("each pair of operations is reversed once before any is a second time") {
  Reversals reversals;
  Delay delay = kOne;
  for (std::uint32_t step = 0; step < 200; ++step) {
    delay.step = step;
    delay.until_operation = step < 190 ? 1 : 2;
    reversals.add({}, delay, 5);
  }
  reversals.add({}, to_copies(0), 5);
  std::vector<std::uint64_t> steps;
  while (const auto schedule = reversals.next()) steps.push_back(schedule->delays.back().step);
  REQUIRE(steps.size() == 64 + 10 + 1);
  CHECK(steps[0] == 0);
  CHECK(steps[1] == 190);
  CHECK(steps[2] == to_copies(0).step);
  CHECK(steps[3] == 1);
  CHECK(steps[4] == 191);
}

TEST_CASE("what barriers order is not reversed") {
  const std::string head =
      ".reg .u64 %in; .reg .u32 %t, %x; .reg .pred %p, %q; .shared .u32 s; ld.param.u64 %in, [in]; "
      "mov.u32 %t, %tid.x; setp.eq.u32 %p, %t, 0; setp.eq.u32 %q, %t, 32; ";
  const auto recorded = [&](const std::string& between) {
    const Program program = program_of(kOutIn, head + "@%p st.relaxed.cta.shared.u32 [s], 1; " + between +
                                                   " @%q atom.relaxed.cta.shared.add.u32 %x, [s], 1;");
    Memory memory;
    std::vector<std::uint32_t> words(4);
    const auto parameters = pack({memory.map(words.data(), 16), memory.map(words.data(), 16)});
    Findings findings;
    Reversals reversals;
    program.run(
        memory,
        {.block = {64, 1, 1}, .parameters = parameters, .findings = &findings, .reversals = &reversals});
    return reversals.next();
  };
  CHECK(!recorded("bar.sync 0;"));
  const auto reversal = recorded("");
  REQUIRE(reversal);
  CHECK(reversal->delays.size() == 1);
  CHECK(reversal->delays.front().warp == 0);
  CHECK(reversal->delays.front().until_warp == 1);
}

}  // namespace ptxloom::exec::test::reversal_test
