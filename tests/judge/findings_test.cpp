// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch_test_macros.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
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

void run_text(const std::string& ptx, const std::string& name, exec::Findings& findings) {
  const ParseResult parsed = parse(ptx, std::make_shared<const Specs>());
  REQUIRE(parsed.ok());
  const exec::Program program(parsed.module, name);
  exec::Memory memory;
  const std::array<std::uint64_t, 1> address{0};
  program.run(memory, {.grid = {1, 1, 1},
                       .block = {64, 1, 1},
                       .parameters = std::as_bytes(std::span(address)),
                       .findings = &findings});
}

void run(const std::string& name, exec::Findings& findings) { run_text(racing(name), name, findings); }

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

// All lanes execute the shfl.sync of the first line of the function. The even ones come back to it before the
// others.
TEST_CASE("lanes that come back to the first instruction of a module have not gone around it") {
  exec::Findings findings;
  run_text(
      ".version 9.0 .target sm_90a .address_size 64 .func turn(.reg .u32 %n) { .reg .u32 %v; .reg .pred %p, "
      "%q; loop: shfl.sync.bfly.b32 %v, %n, 1, 31, -1; sub.u32 %n, %n, 1; setp.gt.s32 %p, %n, 0; mov.u32 %v, "
      "%laneid; and.b32 %v, %v, 1; setp.eq.and.u32 %q, %v, 0, %p; @%q bra loop; @%p bra loop; ret; } "
      ".visible .entry k(.param .u64 out) { .reg .u32 %x; mov.u32 %x, 3; call turn, (%x); ret; }",
      "k", findings);
  CHECK(findings.all().empty());
}

TEST_CASE("a lane that has gone around a shuffle is named") {
  exec::Findings findings;
  run_text(
      ".version 9.0 .target sm_90a .address_size 64 .visible .entry k(.param .u64 out) { .reg .u32 %x, %y; "
      ".reg .pred %p; mov.u32 %x, %laneid; setp.eq.u32 %p, %x, 31; @%p bra done; shfl.sync.bfly.b32 %y, %x, "
      "1, 31, -1; done: add.u32 %x, %x, 1; ret; }",
      "k", findings);
  const std::vector<exec::Finding> all = findings.all();
  REQUIRE(!all.empty());
  CHECK(all.front().code == "warp-divergence");
  CHECK(all.front().what.starts_with("lane 31 is in the member mask, but has gone around this instruction"));
}

// Warp 1 goes on first, as the last one at the barrier.
TEST_CASE("a finding has what both warps did for their order between the two accesses, and nothing before") {
  exec::Findings findings;
  run_text(
      ".version 9.0 .target sm_90a .address_size 64 .visible .entry k(.param .u64 out) { .shared .b8 s[256]; "
      ".reg .u32 "
      "%t, %x; .reg .pred %p; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 32;\nbar.sync 0;\n@!%p bra "
      "reads;\nfence.acq_rel.cta;\nbar.sync 1, 32;\nst.shared.u32 [s], 1;\nbar.sync 1, 32;\nret;\nreads:\n"
      "bar.warp.sync -1;\nld.shared.u32 %x, [s];\nbar.sync 2, 32;\nret; }",
      "k", findings);
  const std::vector<exec::Finding> all = findings.all();
  REQUIRE(all.size() == 1);
  CHECK(all[0].at.line == 6);
  std::vector<std::pair<int, std::uint32_t>> between;
  for (const exec::Site& site : all[0].between) {
    between.emplace_back(site.line, site.warp);
    CHECK(site.lane == -1);
  }
  CHECK(between == std::vector<std::pair<int, std::uint32_t>>{{12, 1}, {4, 0}, {5, 0}});
}

TEST_CASE("a finding in an inlined function names the line of the kernel's source that calls it") {
  std::string ptx = racing("k");
  ptx.insert(
      ptx.find(" .visible"),
      "\n.file 1 \"kernel.cu\"\n.file 2 \"outer.h\"\n.file 3 \"inner.h\"\n.section .debug_str {\nname: .b8 "
      "102\n.b8 0\n}\n");
  // The same function twice, which calls another one that is inlined.
  const auto copy = [](int line) {
    return ".loc 2 10 3, function_name name, inlined_at 1 " + std::to_string(line) +
           " 5\nmov.u32 %x, 0;\n.loc 3 20 1, function_name name, inlined_at 2 10 3\n";
  };
  ptx.insert(ptx.find("st.shared"), copy(7));
  ptx.insert(ptx.find("ld.shared"), copy(12));
  ptx.insert(ptx.find("ret;"), ".loc 1 15 1\n" + copy(17));
  exec::Findings findings;
  run_text(ptx, "k", findings);
  const std::vector<exec::Finding> all = findings.all();
  REQUIRE(all.size() == 1);
  REQUIRE(all[0].other.has_value());
  const bool stores = all[0].at.text.starts_with("st.shared");
  const exec::Site &store = stores ? all[0].at : *all[0].other, &load = stores ? *all[0].other : all[0].at;
  for (const exec::Site* site : {&store, &load}) {
    CHECK(site->file == "inner.h");
    CHECK(site->file_line == 20);
    CHECK(site->call_file == "kernel.cu");
  }
  CHECK(store.call_line == 7);
  CHECK(load.call_line == 12);
}

TEST_CASE("a finding in the kernel's own source names no call") {
  std::string ptx = racing("k");
  ptx.insert(
      ptx.find(" .visible"),
      "\n.file 1 \"kernel.cu\"\n.file 2 \"outer.h\"\n.section .debug_str {\nname: .b8 102\n.b8 0\n}\n");
  ptx.insert(ptx.find("st.shared"),
             ".loc 2 10 3, function_name name, inlined_at 1 7 5\nmov.u32 %x, 0;\n.loc 1 9 1\n");
  exec::Findings findings;
  run_text(ptx, "k", findings);
  const std::vector<exec::Finding> all = findings.all();
  REQUIRE(all.size() == 1);
  CHECK(all[0].at.file == "kernel.cu");
  CHECK(all[0].at.file_line == 9);
  CHECK(all[0].at.call_file.empty());
}

}  // namespace ptxloom::test::judge_test
