// SPDX-License-Identifier: Apache-2.0
// Rows that begin anywhere are loaded and stored through aligned vectors, and nothing around them is touched.
#include "ptxloom/kit/realigned.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

constexpr std::uint32_t kRowThreads = 64, kWarps = 2, kRows = 3;

/// Where rows lie, in elements.
struct Place {
  std::uint64_t skipped, pitch;
  std::uint64_t begin(std::uint64_t row) const { return skipped + row * pitch; }
};

struct RowsCase {
  Type element;
  int vector, slots;
  std::uint32_t length;
  Place from, to;

  std::size_t size() const { return static_cast<std::size_t>(element.bytes()); }
  std::size_t words() const { return static_cast<std::size_t>(vector) * size() / 4; }
  std::size_t bytes(const Place& place) const { return (place.begin(kRows - 1) + length) * size(); }
};

/// Copies rows, one to a thread block, and writes the words of all threads. The last thread block has no row.
ir::Module copy_kernel(const RowsCase& c, const kit::Params& params) {
  KernelBuilder k = kit_test::builder("sm_75");
  k.require_block(kRowThreads);
  const kit::ParamRegs in = params.declare(k);
  const Reg row = k.special("ctaid.x"), thread = k.special("tid.x"), present = k.lt(row, kRows);
  const Reg position = k.fma(k.shr(thread, 5), 32 * c.vector * c.slots, k.mul(k.and_(thread, 31), c.vector));
  const auto chunks = [&](const char* tensor, const Place& place) {
    const Reg begin = k.fma(row, place.pitch, k.mov(u32, place.skipped));
    return kit::Realigned(k, {.element = c.element,
                              .vector = c.vector,
                              .slots = c.slots,
                              .length = c.length,
                              .position = KernelBuilder::as(s32, position),
                              .offset = k.and_(begin, c.vector - 1),
                              .first = k.mad_wide(k.add(begin, position), c.element.bytes(), in[tensor]),
                              .present = present});
  };
  const kit::Realigned from = chunks("in", c.from), to = chunks("out", c.to);
  const std::vector<std::vector<Reg>> all = from.load_all();
  const std::size_t of_thread = all.size() * c.words() * 4;
  const Reg dump = k.mad_wide(k.fma(row, kRowThreads, thread), of_thread, in["words"]);
  std::int64_t at = 0;
  for (const std::vector<Reg>& slot : all)
    for (const Reg& word : slot) k.store("global", b32, k.at(dump, 4 * at++), word);
  to.store_all(all);
  return k.finish();
}

/// The elements of the threads' chunks, zero outside of the row.
std::vector<std::byte> chunks_of(const RowsCase& c, const std::vector<std::byte>& in) {
  std::vector<std::byte> all;
  for (std::uint32_t row = 0; row <= kRows; ++row)
    for (std::uint32_t thread = 0; thread < kRowThreads; ++thread)
      for (int slot = 0; slot < c.slots; ++slot)
        for (int i = 0; i < c.vector; ++i) {
          const int chunk =
              static_cast<int>(thread / 32) * c.slots * 32 + slot * 32 + static_cast<int>(thread % 32);
          const auto column = static_cast<std::size_t>(chunk * c.vector + i);
          for (std::size_t byte = 0; byte < c.size(); ++byte)
            all.push_back(row < kRows && column < c.length
                              ? in[(c.from.begin(row) + column) * c.size() + byte]
                              : std::byte{0});
        }
  return all;
}

void check_rows(const RowsCase& c) {
  INFO(fmt::format("{} x {} x {}, rows of {}, from {} + {}, to {} + {}, seed {}", c.element.name, c.vector,
                   c.slots, c.length, c.from.skipped, c.from.pitch, c.to.skipped, c.to.pitch,
                   Catch::getSeed()));
  std::vector<std::byte> in = kit_test::random_bytes(c.bytes(c.from));
  std::vector<std::byte> out = kit_test::random_bytes(c.bytes(c.to)), expected = out;
  const std::vector<std::byte> chunks = chunks_of(c, in);
  std::vector<std::byte> words = kit_test::random_bytes(chunks.size());
  for (std::uint64_t row = 0; row < kRows; ++row)
    std::memcpy(expected.data() + c.to.begin(row) * c.size(), in.data() + c.from.begin(row) * c.size(),
                c.length * c.size());
  kit::Params params;
  params.pointer("in", c.element).pointer("out", c.element).pointer("words", b32);
  kit_test::run(copy_kernel(c, params), {.grid = {kRows + 1, 1, 1}, .block = {kRowThreads, 1, 1}},
                params.arguments(),
                {kit_test::tensor("in", in), kit_test::tensor("out", out), kit_test::tensor("words", words)});
  REQUIRE(words == chunks);
  REQUIRE(out == expected);
}

/// Chunks of registers whose values do not matter.
kit::Realigned chunks_in(KernelBuilder& k, Type element, int vector, int slots) {
  return {k,
          {.element = element,
           .vector = vector,
           .slots = slots,
           .length = 10,
           .position = k.mov(s32, 0),
           .offset = k.mov(u32, 0),
           .first = k.mov(u64, 0),
           .present = k.eq(k.mov(u32, 0), 0)}};
}

}  // namespace

TEST_CASE("rows that begin anywhere are loaded and stored through aligned vectors") {
  for (const Type element : {b8, b16, b32})
    for (const int chunk : {4, 8, 16})
      for (const int slots : {1, 3}) {
        const int vector = chunk / element.bytes(), whole = 32 * vector * slots;
        for (const int length : {1, vector, 2 * vector - 1, 2 * vector, 2 * vector + 1, whole - 1, whole + 1,
                                 static_cast<int>(kWarps) * whole}) {
          const auto place = [&] {
            return Place{kit_test::random_word() % static_cast<unsigned>(vector),
                         static_cast<std::uint64_t>(length) + kit_test::random_word() % 7};
          };
          check_rows({element, vector, slots, static_cast<std::uint32_t>(length), place(), place()});
        }
      }
}

TEST_CASE("chunks that aligned vectors do not hold are refused") {
  const auto built = [](Type element, int vector, int slots = 1) {
    return kit_test::verdict([&] {
      KernelBuilder k = kit_test::builder("sm_75");
      chunks_in(k, element, vector, slots).load_all();
    });
  };
  for (const auto& [element, vector] : {std::pair(b8, 4), {b8, 16}, {b16, 2}, {b16, 8}, {b32, 1}, {b32, 4}})
    CHECK(built(element, vector) == "accepted");
  for (const auto& [element, vector] : {std::pair(b8, 2),
                                        {b8, 32},
                                        {b16, 1},
                                        {b16, 3},
                                        {b16, 16},
                                        {b32, 0},
                                        {b32, -1},
                                        {b32, 8},
                                        {b64, 1},
                                        {b64, 2},
                                        {e2m1, 8}})
    CHECK(built(element, vector) == "bad-chunks");
  CHECK(built(b16, 4, 0) == "bad-chunks");
}

TEST_CASE("other words than those of the chunks are not stored") {
  const auto stored = [](const std::vector<std::size_t>& words) {
    return kit_test::verdict([&] {
      KernelBuilder k = kit_test::builder("sm_75");
      std::vector<std::vector<Reg>> all;
      for (const std::size_t count : words) all.emplace_back(k.regs(b32, static_cast<int>(count)));
      chunks_in(k, b16, 4, 2).store_all(all);
    });
  };
  CHECK(stored({2, 2}) == "accepted");
  for (const std::vector<std::size_t>& words :
       std::vector<std::vector<std::size_t>>{{}, {2}, {2, 2, 2}, {2, 1}, {0, 2}, {2, 3}})
    CHECK(stored(words) == "operand-count");
}
