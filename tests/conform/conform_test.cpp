// SPDX-License-Identifier: Apache-2.0
// Conformance without a GPU: the kernels can be made, linked and run, differences are found, operands hold
// what the specs ask. With one: the executor computes what the hardware computes.
#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>

#include "conform/compare.hpp"
#include "conform/demand.hpp"
#include "conform/inputs.hpp"
#include "conform/profile.hpp"
#include "conform/replaced.hpp"
#include "conform/subject.hpp"
#include "conform/tensors.hpp"
#include "conform/tolerance.hpp"
#include "ptxloom/conform.hpp"
#include "ptxloom/jit.hpp"
#include "support/folders.hpp"
#include "support/require.hpp"

using namespace ptxloom;
using namespace ptxloom::conform_kernels;

namespace {

using State = ConformResult::State;

std::optional<Context> gpu() {
  try {
    return Context({.device = "gpu"});
  } catch (const Error&) {
    return std::nullopt;
  }
}

Subject subject_of(const Context& context, std::string_view form, std::string_view opcode) {
  for (const Subject& subject : subjects(context.specs(), form, context.target())) {
    if (subject.variant.opcode() == opcode) return subject;
  }
  FAIL("no subject " << opcode);
  return {};
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

std::uint32_t word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

TEST_CASE("the conformance kernels run in the executor, twice with the same result") {
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

TEST_CASE("the kernels of conformance link") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const Linker linker{Libraries()};
  try {
    linker.version();
  } catch (const Error& error) {
    test::skip_without("nvjitlink", error.diagnostics()[0].message);
  }
  constexpr std::size_t kOfForm = 4;  // the first, the last, and some between
  for (const std::string_view form : cpu.specs().forms()) {
    std::vector<Subject> all = subjects(cpu.specs(), form, cpu.target());
    std::erase_if(all, [](const Subject& subject) { return !subject.why_not.empty(); });
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

TEST_CASE("tensor maps are legal, and their boxes lie in the memory of a warp") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  std::set<TensorSwizzle> swizzles;
  for (const char* form : {"cp.async.bulk.tensor.global_to_shared", "cp.reduce.async.bulk.tensor"}) {
    for (const Subject& subject : subjects(cpu.specs(), form, cpu.target())) {
      INFO(subject.variant.opcode());
      CHECK((subject.around.maps && subject.around.global && subject.around.shared));
      for (const TensorMap& map : tensor_maps(subject, 64, 7)) {
        CHECK_NOTHROW(map.check());
        CHECK(map.rank == static_cast<std::uint32_t>(subject.variant.slot("dim")->front() - '0'));
        CHECK(map.image.has_value() == subject.variant.slot("mode")->starts_with("im2col"));
        CHECK(box_bytes(map) % 16 == 0);
        swizzles.insert(map.swizzle);
      }
    }
  }
  CHECK(swizzles.size() == 4);
}

TEST_CASE(
    "a map whose field is replaced differs in that field, which gets the value of the map that is meant") {
  const TensorMap meant{.type = f16,
                        .rank = 3,
                        .address = 0x4000,
                        .dims = {24, 6, 5},
                        .strides = {64, 640},
                        .box = {8, 2, 1},
                        .element_strides = {1, 2, 1},
                        .swizzle = TensorSwizzle::by_32_bytes,
                        .fill = TensorFill::nan};
  using Changed = BeforeReplacing;
  const auto change = [&](std::string_view name, std::uint32_t number = 0) {
    return before_replacing(meant, {.name = name, .number = number});
  };
  // Puts back what was replaced, which must give the whole map again.
  const auto restored = [&](const Changed& changed, const auto& put) {
    TensorMap map = changed.map;
    CHECK(map != meant);
    put(map, changed.value);
    CHECK(map == meant);
  };
  restored(change("global_address"), [](TensorMap& map, std::uint64_t value) { map.address = value; });
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto number = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    CAPTURE(i);
    restored(change("global_dim", i), [&](TensorMap& map, std::uint64_t value) { map.dims[i] = value; });
    restored(change("box_dim", i), [&](TensorMap& map, std::uint64_t value) { map.box[i] = number(value); });
    if (i > 0)
      restored(change("element_stride", i),
               [&](TensorMap& map, std::uint64_t value) { map.element_strides[i] = number(value); });
    if (i < 2)
      restored(change("global_stride", i),
               [&](TensorMap& map, std::uint64_t value) { map.strides[i] = value; });
  }
  restored(change("swizzle_mode", 1),
           [](TensorMap& map, std::uint64_t value) { map.swizzle = static_cast<TensorSwizzle>(value); });
  restored(change("fill_mode", 1),
           [](TensorMap& map, std::uint64_t value) { map.fill = static_cast<TensorFill>(value); });
  const Changed rank = change("rank");
  CHECK(rank.map.rank == 4);
  CHECK(rank.value + 1 == meant.rank);
  CHECK_NOTHROW(rank.map.check());
  // What the rank leaves out takes any value.
  CHECK(change("global_dim", 4).map == meant);
}

TEST_CASE("an unknown demand is refused") {
  for (const char* text : {"registers", "1,two", "0..7x", "warp x"})
    CHECK_THROWS_AS(Demand(text, u32), Error);
}

TEST_CASE("lanes of a warp hold the same value where the specs say so") {
  const Demand demand("warp 32..48/8", u32);
  std::mt19937_64 random(1);
  CHECK(demand.is_of_warp());
  std::set<std::uint64_t> seen;
  for (std::uint64_t value = 0; value < 50; ++value) seen.insert(demand.meet(value, 0, random));
  CHECK(seen == std::set<std::uint64_t>{32, 40, 48});
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const Subject& load : subjects(cpu.specs(), "wmma.load", cpu.target())) {
    const std::vector<std::byte> in = inputs(load, 128, 1);
    const auto record = static_cast<std::size_t>(load.in.bytes);
    for (std::size_t thread = 0; thread < 128 && !load.in.fields.empty(); ++thread)
      REQUIRE(word(in, thread * record) == word(in, thread / 32 * 32 * record));
  }
}

TEST_CASE("operands hold what the specs demand") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  const Subject shuffle = subject_of(cpu, "shfl.sync", "shfl.sync.idx.b32");
  const std::vector<std::byte> in = inputs(shuffle, 128, 1);
  for (const Field& field : shuffle.in.fields) {
    std::set<std::uint32_t> seen;
    for (std::size_t thread = 0; thread < 128; ++thread)
      seen.insert(word(
          in, thread * static_cast<std::size_t>(shuffle.in.bytes) + static_cast<std::size_t>(field.offset)));
    const bool mask = shuffle.variant.operands()[static_cast<std::size_t>(field.operand)].name == "MASK";
    CHECK((seen == std::set<std::uint32_t>{0xffffffff}) == mask);
  }
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

TEST_CASE("operands of the demanded magnitude are floats as before, the others their rest") {
  std::mt19937_64 random(1);
  const Demand demand("<=314", f32);
  CHECK(demand.meet(0x4380'0000, 0, random) == 0x4380'0000);  // 256
  CHECK(demand.meet(0xc39d'8000, 0, random) == 0xbf80'0000);  // -315
  CHECK(demand.meet(0x7f80'0000, 0, random) == 0x7f80'0000);
  CHECK(demand.meet(0x7fff'ffff, 0, random) == 0x7fff'ffff);
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

TEST_CASE("operands follow from the seed, and only from it") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const auto& [form, opcode] :
       {std::pair("mma", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        std::pair("wmma.mma", "wmma.mma.sync.aligned.row.col.m16n16k8.f32.tf32.tf32.f32")}) {
    const Subject subject = subject_of(cpu, form, opcode);
    CHECK(inputs(subject, 512, 9) == inputs(subject, 512, 9));
    CHECK(slots(subject, 512, 9) == slots(subject, 512, 9));
    if (subject.around.global) {
      CHECK(slots(subject, 512, 9) != slots(subject, 512, 10));
    } else {
      CHECK(inputs(subject, 512, 9) != inputs(subject, 512, 10));
    }
  }
}

TEST_CASE("A of wgmma in registers is not zero") {
  const Context cpu({.device = "cpu", .cpu_target = "sm_90a"});
  for (const Subject& subject : subjects(cpu.specs(), "wgmma.mma_async", cpu.target())) {
    if (!subject.why_not.empty() || subject.variant.slot("source") != "registers") continue;
    if (subject.variant.slot("N") != "64") continue;
    const std::vector<std::byte> in = inputs(subject, 512, 3);
    std::set<std::uint32_t> seen;
    for (const Field& field : subject.in.fields) {
      if (subject.variant.operands()[static_cast<std::size_t>(field.operand)].name != "A") continue;
      for (std::size_t thread = 0; thread < 512; ++thread)
        seen.insert(word(in, thread * static_cast<std::size_t>(subject.in.bytes) +
                                 static_cast<std::size_t>(field.offset)));
    }
    INFO(subject.variant.opcode());
    CHECK(seen.size() > 16);
  }
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
