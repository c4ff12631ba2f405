// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/exec.hpp"
#include "ptxloom/ptx.hpp"

// What is kept of the findings of several launches.
namespace ptxloom::test::judge_test {
namespace {

// Each thread reads what another warp writes to shared memory.
std::string racing(const std::string& name) {
  return ".version 9.0 .target sm_90a .address_size 64 .visible .entry " + name +
         "(.param .u64 out) { .shared .b8 s[256]; .reg .u32 %t, %a, %b, %x; mov.u32 %t, %tid.x; mov.u32 %a, "
         "s; "
         "mad.lo.u32 %a, %t, 4, %a; xor.b32 %b, %a, 128;\nst.shared.u32 [%a], %t;\nld.shared.u32 %x, "
         "[%b];\nret; }";
}

void run(const std::string& name, exec::Findings& findings) {
  const ParseResult parsed = parse(racing(name), std::make_shared<const Specs>());
  REQUIRE(parsed.ok());
  const exec::Program program(parsed.module, name);
  exec::Memory memory;
  const std::array<std::uint64_t, 1> address{0};
  program.run(memory, {.grid = {1, 1, 1},
                       .block = {64, 1, 1},
                       .parameters = std::as_bytes(std::span(address)),
                       .findings = &findings});
}

}  // namespace

TEST_CASE("findings at the same lines of two kernels are two, and those of one kernel are counted") {
  exec::Findings findings;
  for (const char* name : {"first", "second", "second"}) run(name, findings);
  const std::vector<exec::Finding> all = findings.all();
  REQUIRE(all.size() == 2);
  CHECK(all[0].kernel == "first");
  CHECK(all[1].kernel == "second");
  CHECK(all[0].at.line == all[1].at.line);
  CHECK(all[0].code == "data-race");
  CHECK(all[1].count == 2 * all[0].count);
}

}  // namespace ptxloom::test::judge_test
