// SPDX-License-Identifier: Apache-2.0
// Cooperative launches, and variables that the host writes.
#include <catch2/matchers/catch_matchers_string.hpp>

#include "exec/harness.hpp"

namespace ptxloom::exec::test::cooperative_test {
namespace {

using Catch::Matchers::ContainsSubstring;
using Words = std::vector<std::uint32_t>;

const std::string kHead =
    ".reg .u64 %out, %w; .reg .u32 %x, %y, %i, %n; .reg .pred %p; ld.param.u64 %out, [out]; mov.u32 %i, "
    "%ctaid.x; mov.u32 %n, %nctaid.x;\n";

Words run_blocks(const Program& program, std::uint32_t blocks, std::size_t size, bool cooperative) {
  Memory memory;
  Words out(size, 0xa5a5'a5a5);
  const auto parameters = pack({memory.map(out.data(), 4 * size, "out"), 0});
  program.run(
      memory,
      {.grid = {blocks, 1, 1}, .block = {1, 1, 1}, .cooperative = cooperative, .parameters = parameters});
  return out;
}

}  // namespace

TEST_CASE("%envreg1 and %envreg2 are the workspace of a cooperative grid, and 0 in any other") {
  const Program program = program_of(
      kOutIn,
      kHead +
          "mov.u32 %x, %envreg1; st.global.u32 [%out], %x; mov.u32 %y, %envreg2; st.global.u32 [%out+4], "
          "%y;\nmov.b64 %w, {%y, %x}; setp.eq.u64 %p, %w, 0; @%p bra done;\nld.global.u32 %x, [%w]; "
          "st.global.u32 [%out+8], %x; ld.global.u32 %x, [%w+4]; st.global.u32 [%out+12], %x;\ndone:");
  CHECK(run_blocks(program, 1, 4, false) == Words{0, 0, 0xa5a5'a5a5, 0xa5a5'a5a5});
  const Words there = run_blocks(program, 1, 4, true);
  CHECK((there[0] != 0 || there[1] != 0));
  CHECK(there[2] == 8);  // bytes of it
  CHECK(there[3] == 0);  // nobody is at the barrier
  CHECK(run_blocks(program, 1, 4, true)[3] == 0);
}

TEST_CASE("all blocks of a cooperative grid run at once") {
  // Each block adds one to a word and waits until all have.
  const Program program = program_of(
      kOutIn, kHead +
                  "atom.add.release.gpu.global.u32 %x, [%out], 1;\nagain: ld.acquire.gpu.global.u32 "
                  "%x, [%out];\nsetp.ne.u32 %p, %x, 4224; @%p bra again;\n");
  Memory memory;
  Words out(1, 0);
  const auto parameters = pack({memory.map(out.data(), 4, "out"), 0});
  program.run(memory,
              {.grid = {4224, 1, 1}, .block = {1, 1, 1}, .cooperative = true, .parameters = parameters});
  CHECK(out[0] == 4224);
}

TEST_CASE("a cooperative grid of more blocks than run at once is refused") {
  const Program h200 = program_of(kOutIn, "", {}, "sm_90a"), a100 = program_of(kOutIn, "", {}, "sm_80");
  const auto fault_on = [&](const Program& program, std::uint32_t blocks, std::uint32_t threads,
                            std::uint32_t shared) {
    return fault_of([&] {
      Memory memory;
      const auto parameters = pack({0, 0});
      program.run(memory, {.grid = {blocks, 1, 1},
                           .block = {threads, 1, 1},
                           .shared_bytes = shared,
                           .cooperative = true,
                           .parameters = parameters});
      throw Error(ErrorKind::usage, "ran", "");
    });
  };
  const auto fault = [&](std::uint32_t blocks, std::uint32_t threads, std::uint32_t shared) {
    return fault_on(h200, blocks, threads, shared);
  };
  CHECK(fault_on(a100, 216, 1024, 0).code == "ran");
  CHECK(fault_on(a100, 217, 1024, 0).code == "launch-cooperative");
  CHECK(fault(264, 1024, 0).code == "ran");
  CHECK(fault(265, 1024, 0).code == "launch-cooperative");
  CHECK(fault(4224, 64, 0).code == "ran");
  CHECK(fault(4225, 64, 0).code == "launch-cooperative");
  CHECK(fault(132, 32, 232448).code == "ran");
  CHECK(fault(133, 32, 232448).code == "launch-cooperative");
  CHECK(fault(264, 32, 113 * 1024).code == "ran");
  CHECK_THAT(fault(265, 32, 114 * 1024).hint, ContainsSubstring("132 SMs hold 132 of them"));
}

TEST_CASE("variables are written by name, for the runs to come") {
  const Program program = program_of(
      kOutIn,
      kHead +
          "ld.const.u32 %x, [coef+4]; st.global.u32 [%out], %x; ld.global.u32 %x, [count]; "
          "st.global.u32 [%out+4], %x;\nadd.u32 %x, %x, 1; st.global.u32 [count], %x;\nld.global.u64 %w, "
          "[where]; cvt.u32.u64 %x, %w; st.global.u32 [%out+8], %x;\n",
      ".const .b8 other[3];\n.const .align 4 .b8 coef[8];\n.global .u32 count = 3;\n.global .u64 where = "
      "count;\n");
  const auto bytes = [](std::initializer_list<int> values) {
    std::vector<std::byte> all;
    for (const int value : values) all.push_back(static_cast<std::byte>(value));
    return all;
  };
  const Words before = run_blocks(program, 1, 3, false);
  CHECK(before[0] == 0);
  CHECK(before[1] == 3);
  CHECK(run_blocks(program, 1, 3, false)[1] == 4);
  program.write_variable("coef", bytes({0, 0, 0, 0, 1, 2, 3, 4}));
  program.write_variable("count", bytes({9, 0, 0, 0}));
  program.write_variable("where", bytes({5, 0, 0, 0, 0, 0, 0, 0}));
  CHECK(run_blocks(program, 1, 3, false) == Words{0x0403'0201, 9, 5});
  CHECK(run_blocks(program, 1, 3, false) == Words{0x0403'0201, 10, 5});
  CHECK(fault_of([&] { program.write_variable("cuont", bytes({1, 2, 3, 4})); }).code == "unknown-variable");
  CHECK(fault_of([&] { program.write_variable("count", bytes({1, 2, 3})); }).code == "variable-size");
}

}  // namespace ptxloom::exec::test::cooperative_test
