// SPDX-License-Identifier: Apache-2.0
// Conformance without a GPU: the kernels can be made, linked and run, and differences are found. With one:
// the executor computes what the hardware computes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <fstream>
#include <optional>
#include <set>

#include "conform/compare.hpp"
#include "conform/inputs.hpp"
#include "conform/profile.hpp"
#include "conform/subject.hpp"
#include "conform/subjects.hpp"
#include "conform/tolerance.hpp"
#include "ptxloom/conform.hpp"
#include "ptxloom/jit.hpp"
#include "support/folders.hpp"
#include "support/require.hpp"

using namespace ptxloom;
using namespace ptxloom::conform_kernels;
using test::subject_of;

namespace {

using State = ConformResult::State;

std::optional<Context> gpu() {
  try {
    return Context({.device = "gpu"});
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::set<std::string> open_forms() {
  std::ifstream file(test::source_folder() + "/tests/golden/conform_open.txt");
  REQUIRE(file);
  std::set<std::string> forms;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with('#')) forms.insert(line);
  }
  return forms;
}

}  // namespace

TEST_CASE("the conformance kernels run in the executor, twice with the same result", "[slow]") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const char* family : {"add",
                             "cvt",
                             "mma.sync",
                             "shfl",
                             "ldmatrix",
                             "setp",
                             "prmt",
                             "alloca",
                             "cvta",
                             "isspacep",
                             "mapa",
                             "getctarank",
                             "mbarrier",
                             "fns",
                             "approx",
                             "cp.async",
                             "cp.reduce.async.bulk",
                             "red.async",
                             "barrier",
                             "barrier.cluster",
                             "control",
                             "mov.special.vector"}) {
    const std::vector<ConformResult> results = conform(cpu, {.selection = family, .elements = 64});
    CHECK(std::ranges::any_of(results, [](const auto& r) { return r.state == State::agrees; }));
    for (const ConformResult& result : results) {
      INFO(result.opcode << ": " << result.note);
      CHECK((result.state == State::agrees || result.state == State::skipped));
      if (result.state == State::agrees) CHECK(result.operand_sets >= 64);
    }
  }
}

TEST_CASE("the kernels of conformance link", "[slow]") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const Linker linker{Libraries()};
  Version newest;
  try {
    newest = find_toolkit(linker.version())->ptx;
  } catch (const Error& error) {
    test::skip_without("nvjitlink", error.diagnostics()[0].message);
  }
  constexpr std::size_t kOfForm = 4;  // the first, the last, and some between
  for (const std::string_view form : cpu.specs().forms()) {
    std::vector<Subject> all = subjects(cpu.specs(), form, cpu.target());
    std::erase_if(all, [&](const Subject& subject) {
      return !subject.why_not.empty() || *subject.variant.since(cpu.target()) > newest;
    });
    if (all.empty()) continue;
    std::set<std::size_t> some;
    for (std::size_t i = 0; i < kOfForm; ++i) some.insert((all.size() - 1) * i / (kOfForm - 1));
    const std::string text = module_text(all, std::vector(some.begin(), some.end()), cpu.target());
    INFO(text);
    CHECK_NOTHROW(linker.link(text, {.target = "sm_90a"}));
  }
}

TEST_CASE("a difference is found and shown with the operands of its lane") {
  const Context cpu({.device = "cpu"});
  const Subject subject = subject_of(cpu, "add.int", "add.u32");
  const std::size_t threads = threads_for(subject, 1000);
  const std::vector<std::byte> in = inputs(subject, threads, 1);
  Outcome one{.records = std::vector<std::byte>(threads * static_cast<std::size_t>(subject.out.bytes)),
              .slots = {}};
  Outcome other = one;
  other.records[37 * static_cast<std::size_t>(subject.out.bytes)] = std::byte{1};
  ConformResult result;
  compare(subject, Turns(subject, 1), in, one, other, result);
  CHECK(result.state == State::differs);
  CHECK(result.differing == 1);
  CHECK(result.note.find(
            "lane 5 of warp 1, D: device D=0x00000000, executor D=0x00000001; operands of the lane: A=") ==
        0);
  ConformResult same;
  compare(subject, Turns(subject, 1), in, one, one, same);
  CHECK(same.state == State::agrees);
  CHECK(same.elements == threads);
}

TEST_CASE("a difference in memory is found") {
  const Context cpu({.device = "cpu"});
  const Subject subject = subject_of(cpu, "st", "st.shared.b32");
  CHECK(subject.around.shared);
  CHECK(!subject.around.global);
  Outcome one{.records = {}, .slots = std::vector<std::byte>(128 * std::size_t{kSlotBytes})};
  Outcome other = one;
  other.slots[3 * std::size_t{kSlotBytes} + 9] = std::byte{2};
  ConformResult result;
  compare(subject, Turns(subject, 1), inputs(subject, 128, 1), one, other, result);
  CHECK(result.differing == 1);
  CHECK(result.note.find("lane 3 of warp 0, memory at byte 8") == 0);
}

TEST_CASE("global memory and shared memory are compared apart where an instruction has both") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const Subject subject =
      subject_of(cpu, "cp.async.bulk.shared_to_global", "cp.async.bulk.global.shared::cta.bulk_group");
  CHECK((subject.around.global && subject.around.shared));
  const std::vector<std::byte> memory(128 * std::size_t{kSlotBytes});
  const Outcome one{.records = {}, .slots = memory, .tiles = memory};
  Outcome other = one;
  other.tiles[5 * std::size_t{kSlotBytes} + 17] = std::byte{3};
  ConformResult result;
  compare(subject, Turns(subject, 1), inputs(subject, 128, 1), one, other, result);
  CHECK(result.differing == 1);
  CHECK(result.note.find("lane 5 of warp 0, shared memory at byte 16") == 0);
}

TEST_CASE("variants that differ only by hints are compared once") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const Subject& subject : subjects(cpu.specs(), "ld", cpu.target())) {
    INFO(subject.variant.opcode());
    CHECK(subject.variant.opcode().find("L2::") == std::string_view::npos);
    CHECK(subject.variant.opcode().find(".cg") == std::string_view::npos);
  }
}

TEST_CASE("approximations may be off by what the specs allow, zeros, infinities and NaN by nothing") {
  const Tolerance exact("");
  CHECK(exact.allows(f32, 4, 0x3f80'0000, 0x3f80'0000));
  CHECK(!exact.allows(f32, 4, 0x3f80'0001, 0x3f80'0000));
  const Tolerance two("ulp:2");
  CHECK(two.allows(f32, 4, 0x3f80'0002, 0x3f80'0000));
  CHECK(two.allows(f32, 4, 0x3f7f'fffd, 0x3f80'0000));  // below a power of two they are half as large
  CHECK(!two.allows(f32, 4, 0x3f80'0003, 0x3f80'0000));
  CHECK(!two.allows(f32, 4, 0x0000'0001, 0x0000'0000));
  CHECK(!two.allows(f32, 4, 0x8000'0000, 0x0000'0000));
  CHECK(!two.allows(f32, 4, 0x7f80'0000, 0x7f7f'ffff));
  CHECK(!two.allows(f32, 4, 0x7fc0'0000, 0x7fff'ffff));
  const Tolerance either("abs:-10/rel:-10");
  CHECK(either.allows(f32, 4, 0x4480'0000 + 0x2000, 0x4480'0000));  // 1025 and 1024
  CHECK(!either.allows(f32, 4, 0x4480'0000 + 0x2004, 0x4480'0000));
  CHECK(either.allows(f32, 4, 0x3a80'0000, 0x3500'0000));  // 2^-10 beside 2^-21
  CHECK(!either.allows(f32, 4, 0x3a82'0000, 0x3500'0000));
  CHECK(!either.allows(u32, 4, 1, 2));
  const Tolerance half("rel:-10");
  CHECK(half.allows(f16, 4, 0x3c01'3c00, 0x3c00'3c01));
  CHECK(!half.allows(f16, 4, 0x3c02'3c00, 0x3c00'3c00));
  CHECK(!half.allows(f16, 4, 0x3c00'3c02, 0x3c00'3c00));
}

TEST_CASE("chip-specific addresses and handles are not compared") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const char* form : {"stacksave", "istypep", "mov.function"}) {
    INFO(form);
    for (const Subject& subject : subjects(cpu.specs(), form, cpu.target())) CHECK(!subject.why_not.empty());
  }
  for (const ConformResult& result : conform(cpu, {.selection = "mapa", .elements = 64})) {
    const bool generic = result.opcode == "mapa.u32";
    if (result.form == "mapa") CHECK(result.state == (generic ? State::skipped : State::agrees));
  }
}

TEST_CASE("every form of products is compared on every profile, and a difference counts in its own",
          "[slow]") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  std::set<std::string_view> names;
  for (const Profile& profile : profiles()) names.insert(profile.name);
  CHECK(names.size() == 12);
  const Context blackwell({.device = "cpu", .cpu_target = "sm_120a"});
  const std::pair<const Context*, const char*> all[] = {
      {&cpu, "mma"},
      {&cpu, "mma.m8n8k4"},
      {&cpu, "wmma.mma.f16"},
      {&cpu, "wgmma.mma_async.sync.aligned.m64n8k"},
      {&cpu, "wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16"},
      {&blackwell, "mma.block_scale"},
      {&blackwell, "mma.sp.block_scale"}};
  for (const auto& [context, selection] : all) {
    for (const ConformResult& result : conform(*context, {.selection = selection, .elements = 1})) {
      if (result.form != selection && !result.opcode.starts_with(selection)) continue;
      INFO(result.opcode << ": " << result.note);
      CHECK(result.state == State::agrees);
      std::set<std::string_view> reached;
      std::uint64_t elements = 0;
      for (const auto& profile : result.profiles) {
        reached.insert(profile.profile);
        elements += profile.elements;
        CHECK(profile.elements >= 512);
      }
      CHECK(reached == names);
      CHECK(elements == result.elements);
    }
  }
  const Subject subject = subject_of(cpu, "mma", "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32");
  const std::size_t threads = threads_for(subject, 1);
  Outcome one{.records = std::vector<std::byte>(threads * static_cast<std::size_t>(subject.out.bytes)),
              .slots = {}};
  Outcome other = one;
  other.records[777 * static_cast<std::size_t>(subject.out.bytes)] = std::byte{1};
  const Turns turns(subject, 5);
  ConformResult result;
  compare(subject, turns, inputs(subject, threads, 5), one, other, result);
  for (const auto& profile : result.profiles)
    CHECK(profile.differing == (profile.profile == profiles()[turns.profile_of(777)].name ? 1 : 0));
}

TEST_CASE("an unknown selection is told with the nearest name") {
  const Context cpu({.device = "cpu"});
  CHECK_THROWS_AS(conform(cpu, {.selection = "mma.snyc"}), Error);
}

TEST_CASE("the GPU and the executor agree bit by bit", "[gpu]") {
  const std::optional<Context> device = gpu();
  if (!device) test::skip_without("gpu", "there is no GPU");
  const std::set<std::string> open = open_forms();
  for (const std::string_view form : device->specs().forms()) {
    const bool here = !subjects(device->specs(), form, device->target()).empty();
    if (!here || open.contains(std::string(form))) continue;
    for (const ConformResult& result : conform(*device, {.selection = std::string(form), .elements = 1000})) {
      if (result.form != form) continue;  // another form of the family of this name
      INFO(result.opcode << ": " << result.note);
      CHECK((result.state == State::agrees || result.state == State::skipped));
    }
  }
}
