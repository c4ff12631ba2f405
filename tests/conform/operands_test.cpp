// SPDX-License-Identifier: Apache-2.0
// What conformance kernels are given: operands that hold what the specs ask, and tensor maps.
#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <random>
#include <set>

#include "conform/demand.hpp"
#include "conform/inputs.hpp"
#include "conform/replaced.hpp"
#include "conform/subjects.hpp"
#include "conform/tensors.hpp"
#include "ptxloom/conform.hpp"

using namespace ptxloom;
using namespace ptxloom::conform_kernels;
using test::subject_of;

namespace {

std::uint32_t word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint32_t value = 0;
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

}  // namespace

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

TEST_CASE("operands of the demanded magnitude are floats as before, the others their rest") {
  std::mt19937_64 random(1);
  const Demand demand("<=314", f32);
  CHECK(demand.meet(0x4380'0000, 0, random) == 0x4380'0000);  // 256
  CHECK(demand.meet(0xc39d'8000, 0, random) == 0xbf80'0000);  // -315
  CHECK(demand.meet(0x7f80'0000, 0, random) == 0x7f80'0000);
  CHECK(demand.meet(0x7fff'ffff, 0, random) == 0x7fff'ffff);
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
