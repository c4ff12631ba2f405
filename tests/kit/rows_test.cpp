// SPDX-License-Identifier: Apache-2.0
// Rows of every length, pitch and alignment are read and written once, and nothing around them is.
#include "ptxloom/kit/rows.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cmath>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;
using kit::Team;

namespace {

struct Copy {
  std::uint32_t rows, length;
  std::uint64_t pitch_x, pitch_y;
  Type x, y;
  int vector;
  Team team;
  int block_threads;
  int slots = 0;  // of a part; 0: the row as a whole
  Type w = f32;
};

constexpr std::uint16_t kPoison = 0xa5a5;

std::vector<std::byte> buffer(Type type, std::uint64_t elements) {
  return {elements * static_cast<std::size_t>(type.bytes()), std::byte{0xa5}};
}

/// y = x + w, for w a vector that all rows share.
void emit_row(KernelBuilder& k, const Copy& c, const kit::RowWindow& window, const kit::ParamRegs& in) {
  const kit::RowTensor x(k, window, in.pointer("x"), c.pitch_x), y(k, window, in.pointer("y"), c.pitch_y);
  const kit::RowTensor w(k, window, in.pointer("w"), 0, kit::RowCaching::kept, true);
  const auto all = x.load_all();
  for (int slot = 0; slot < window.slots(); ++slot) {
    const auto a = kit::unpack_values(k, c.x, c.vector, all[static_cast<std::size_t>(slot)]);
    const auto b = kit::unpack_values(k, c.w, c.vector, w.load(slot));
    std::vector<Reg> sums;
    for (std::size_t i = 0; i < a.size(); ++i) sums.push_back(k.add(a[i], b[i]));
    y.store(slot, sums);
  }
}

void emit_rows(KernelBuilder& k, const Copy& c, const kit::ParamRegs& in) {
  const Reg row = team_in_grid(k, c.team, c.block_threads);
  const kit::RowShape shape{.length = c.length, .pitch = c.pitch_x, .vector = c.vector, .team = c.team};
  std::optional<Reg> present;
  if (c.team.in_warp()) present = k.lt(row, in["rows"]);
  const kit::RowWindow window(k, shape, row, present);
  if (c.slots == 0) return emit_row(k, c, window, in);
  const int parts = (window.slots() + c.slots - 1) / c.slots;
  k.for_(k.mov(u32, 0), parts, 1, [&](Reg part) { emit_row(k, c, window.part(part, c.slots), in); });
}

void check(const Copy& c, const char* target = "sm_90a") {
  INFO(fmt::format(
      "{} rows of {}, pitches {} and {}, {} and {} to {}, vector {}, {} x {} x {}, parts of {}, seed {}",
      c.rows, c.length, c.pitch_x, c.pitch_y, c.x.name, c.w.name, c.y.name, c.vector, c.team.lanes,
      c.team.warps, c.team.blocks, c.slots, Catch::getSeed()));
  kit::Params params;
  params.size("rows", u32, c.rows).pointer("x", c.x).pointer("y", c.y).pointer("w", c.w);
  KernelBuilder k = kit_test::builder(target);
  k.require_block(static_cast<std::uint32_t>(c.block_threads));
  if (c.team.blocks > 1) k.require_cluster(static_cast<std::uint32_t>(c.team.blocks));
  emit_rows(k, c, params.declare(k));

  // The last row has no padding: the buffers end with it.
  const std::uint64_t x_elements = (c.rows - 1) * c.pitch_x + c.length,
                      y_elements = (c.rows - 1) * c.pitch_y + c.length;
  std::vector<std::byte> x = buffer(c.x, x_elements), y = buffer(c.y, y_elements);
  std::vector<std::byte> w = buffer(c.w, c.length);
  for (std::uint64_t i = 0; i < c.length; ++i)
    store_element(c.w, w, i, encode(c.w, kit_test::random_value()));
  for (std::uint64_t i = 0; i < x_elements; ++i)
    if (i % c.pitch_x < c.length) store_element(c.x, x, i, encode(c.x, kit_test::random_value()));
  const std::uint64_t threads = std::uint64_t{c.rows} * static_cast<std::uint64_t>(c.team.threads());
  const auto block = static_cast<std::uint64_t>(c.block_threads);
  const exec::Launch launch{.grid = {static_cast<std::uint32_t>((threads + block - 1) / block), 1, 1},
                            .block = {static_cast<std::uint32_t>(block), 1, 1}};
  kit_test::run(k.finish(), launch, params.arguments(), {{"x", x}, {"y", y}, {"w", w}});

  for (std::uint64_t i = 0; i < y_elements; ++i) {
    const std::uint64_t row = i / c.pitch_y, column = i % c.pitch_y;
    const std::uint64_t got = load_element(c.y, y, i);
    if (column >= c.length) {
      REQUIRE((got & 0xffff) == kPoison);
      continue;
    }
    const auto from = static_cast<float>(decode(c.x, load_element(c.x, x, row * c.pitch_x + column)));
    const auto added = static_cast<float>(decode(c.w, load_element(c.w, w, column)));
    REQUIRE(got == encode(c.y, from + added));
  }
}

}  // namespace

TEST_CASE("rows of all lengths and pitches are copied") {
  const Team small = Team::part_of_warp(4), warp = Team::warp(), block = Team::block(96);
  check({5, 64, 64, 64, f16, f16, 8, small, 64});
  check({37, 7, 7, 7, bf16, bf16, 1, Team::part_of_warp(8), 64});
  check({37, 33, 33, 35, bf16, f32, 2, small, 32});
  check({3, 1, 1, 1, f32, bf16, 1, Team::part_of_warp(1), 32});
  check({9, 1, 3, 2, f16, f16, 8, Team::part_of_warp(1), 32});
  check({7, 1000, 1000, 1000, bf16, bf16, 8, warp, 64});
  check({7, 1023, 1023, 1023, f16, bf16, 8, warp, 128});
  check({3, 777, 801, 779, f16, f16, 4, warp, 32});
  check({5, 1001, 1004, 1001, f32, f16, 4, block, 96});
  check({5, 1001, 1001, 1007, bf16, f32, 8, block, 96});
  check({4, 2998, 3002, 3002, f32, f32, 4, Team::cluster(64, 2), 64});
  check({3, 3001, 3001, 3001, bf16, bf16, 8, Team::cluster(32, 4), 32});
}

TEST_CASE("long rows are copied in parts") {
  for (const int slots : {1, 3}) {
    check({3, 1023, 1023, 1023, f16, bf16, 8, Team::warp(), 64, slots});
    check({3, 2051, 2052, 2051, f32, f16, 4, Team::block(64), 64, slots});
    check({2, 4096, 4096, 4096, bf16, bf16, 8, Team::cluster(32, 2), 32, slots});
    check({11, 40, 41, 48, bf16, bf16, 4, Team::part_of_warp(2), 32, slots});
  }
}

// The largest row of a tensor in f32 has 2^30 elements, whose addresses need more than 32 bits. Only the
// pages that are touched take memory.
TEST_CASE("the end of a row of 4 GB is copied") {
  constexpr std::uint64_t kLength = (std::uint64_t{1} << 30) - 3, kBytes = kLength * sizeof(float);
  constexpr int kVector = 4, kSlots = 2;
  void* const memory =
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  const std::span x(static_cast<float*>(memory), kLength);
  const kit::RowShape shape{.length = kLength, .pitch = kLength, .vector = kVector, .team = Team::warp()};
  const int each = shape.team.threads() * kVector * kSlots;
  const std::uint64_t part = kLength / static_cast<std::uint64_t>(each);
  const std::uint64_t first = part * static_cast<std::uint64_t>(each);
  REQUIRE(first < kLength);
  for (std::uint64_t i = first; i < kLength; ++i) x[i] = static_cast<float>(i - first) + 1;
  kit::Params params;
  params.pointer("x", f32).pointer("y", f32);
  KernelBuilder k = kit_test::builder();
  const kit::ParamRegs in = params.declare(k);
  const kit::RowWindow row(k, shape, k.mov(u32, 0));
  const kit::RowWindow end = row.part(k.mov(u32, part), kSlots);
  const auto chunks = kit::RowTensor(k, end, in.pointer("x"), kLength).load_all();
  // y is the same place of a row whose first element is at y.
  const kit::RowWindow begin = row.part(k.mov(u32, 0), kSlots);
  for (int slot = 0; slot < kSlots; ++slot)
    kit::RowTensor(k, begin, in.pointer("y"), kLength)
        .store(slot, kit::unpack_values(k, f32, kVector, chunks[static_cast<std::size_t>(slot)]));
  std::vector<float> y(static_cast<std::size_t>(each), -1);
  kit_test::run(k.finish(), {.grid = {1, 1, 1}, .block = {32, 1, 1}}, params.arguments(),
                {{"x", std::as_writable_bytes(x)}, kit_test::tensor("y", y)});
  for (std::uint64_t i = 0; i < y.size(); ++i)
    REQUIRE(y[i] == (first + i < kLength ? static_cast<float>(i) + 1 : 0));
  munmap(memory, kBytes);
}

TEST_CASE("targets without packed conversions copy rows, too") {
  check({5, 333, 333, 333, f16, f16, 8, Team::warp(), 64}, "sm_75");
  check({5, 333, 336, 333, bf16, f32, 4, Team::block(64), 64}, "sm_75");
  check({5, 333, 333, 333, f32, bf16, 4, Team::block(64), 64}, "sm_75");
  check({5, 333, 333, 333, f32, bf16, 4, Team::block(64), 64}, "sm_80");
  KernelBuilder k = kit_test::builder("sm_75");
  CHECK(kit::can_unpack(bf16));
  CHECK(kit::can_pack(*kit_test::specs(), Target("sm_75"), bf16));
  CHECK_FALSE(kit::can_pack(*kit_test::specs(), Target("sm_75"), u8));
  CHECK_THROWS_AS(kit::pack_values(k, u8, std::vector{k.mov(f32, 1.0F)}), Error);
  CHECK_THROWS_AS(kit::unpack_values(k, e4m3, 1, std::vector{k.mov(b16, 1)}), Error);
  CHECK_THROWS_AS(kit::packed_constant(k, e4m3, 2, 1), Error);
  CHECK_THROWS_AS(kit::join_packed(k, e4m3, std::vector{k.mov(b16, 1), k.mov(b16, 1)}), Error);
}

TEST_CASE("rows that have no chunks as described are refused") {
  const auto built = [](std::uint32_t length, int vector, int slots = 1) {
    return kit_test::verdict([&] {
      KernelBuilder k = kit_test::builder();
      const kit::RowShape shape{.length = length, .pitch = 40, .vector = vector, .team = Team::warp()};
      kit::RowWindow(k, shape, k.mov(u32, 0)).part(k.mov(u32, 0), slots);
    });
  };
  CHECK(built(1, 8) == "accepted");
  CHECK(built(1U << 30, 1) == "accepted");
  for (const int vector : {0, 3, -4}) CHECK(built(37, vector) == "bad-rows");
  for (const std::uint32_t length : {0U, (1U << 30) + 1}) CHECK(built(length, 4) == "bad-rows");
  CHECK(built(37, 4, 0) == "bad-rows");
}

TEST_CASE("a chunk is stored with all of its values") {
  const auto stored = [](Type type, int count) {
    return kit_test::verdict([&] {
      KernelBuilder k = kit_test::builder();
      const kit::RowShape shape{.length = 37, .pitch = 40, .vector = 4, .team = Team::warp()};
      const kit::RowWindow window(k, shape, k.mov(u32, 0));
      const kit::RowTensor y(k, window, {k.mov(u64, 0), type}, 40);
      y.store(0, k.regs(f32, count));
    });
  };
  for (const Type type : {f32, f16}) {
    CHECK(stored(type, 4) == "accepted");
    for (const int count : {0, 2, 3, 8}) CHECK(stored(type, count) == "operand-count");
  }
}

TEST_CASE("rows of random shapes are copied") {
  auto& random = kit_test::random_bits();
  const auto pick = [&](std::initializer_list<int> list) { return *(list.begin() + random() % list.size()); };
  constexpr Type kTypes[] = {f32, f16, bf16};
  for (int i = 0; i < 60; ++i) {
    Copy c{};
    c.x = kTypes[random() % 3], c.y = kTypes[random() % 3], c.w = kTypes[random() % 3];
    c.vector = c.x == f32 ? pick({1, 2, 4}) : pick({1, 2, 4, 8});
    const int kind = pick({0, 1, 2, 3});
    c.block_threads = 32 * pick({1, 2, 3, 8});
    if (kind == 0) c.team = Team::part_of_warp(pick({1, 2, 4, 8, 16}));
    if (kind == 1) c.team = Team::warp();
    if (kind == 2) c.team = Team::block(c.block_threads);
    if (kind == 3) c.team = Team::cluster(c.block_threads, pick({2, 4}));
    c.length =
        1 + static_cast<std::uint32_t>(random() % static_cast<unsigned>(6 * c.vector * c.team.threads()));
    c.pitch_x = c.length + random() % 10, c.pitch_y = c.length + random() % 10;
    c.rows = 1 + static_cast<std::uint32_t>(random() % 5);
    c.slots = pick({0, 0, 1, 2});
    check(c);
  }
}
