// SPDX-License-Identifier: Apache-2.0
// Rows that are sparse 2:4: what is compressed comes back by the fragment maps of mma.sp and wgmma.sp, which
// know nothing of the layout, and rows that are not sparse are refused with their place.
#include "ptxloom/kit/sparse_layout.hpp"

#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <random>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/specs.hpp"
#include "support/narrow.hpp"

namespace ptxloom::kit {
namespace {

using Catch::Matchers::ContainsSubstring;

/// Random rows with at most half of each group not zero, in rows of `pitch`.
std::vector<std::byte> sparse_rows(const SparseLayout& layout, std::size_t pitch, std::mt19937_64& random) {
  const auto size = static_cast<std::size_t>(layout.element().bytes());
  const auto group = static_cast<std::size_t>(layout.group());
  std::vector<std::byte> dense(layout.rows() * pitch * size);
  for (std::size_t row = 0; row < layout.rows(); ++row)
    for (std::size_t begin = 0; begin < layout.depth(); begin += group)
      for (std::size_t left = random() % (group / 2 + 1); left > 0; --left) {
        const std::size_t k = begin + random() % group;
        if (k < layout.depth())
          test::narrow::store(layout.element(), dense, row * pitch + k,
                              test::narrow::encode(layout.element(), double(1 + random() % 7)));
      }
  return dense;
}

/// What an instruction multiplies instead of rows 16 * tile to 16 * tile + 15 and its part `step` of k, by
/// the fragment map of its metadata.
double element_of(const SparseLayout& layout, const Layout& map, const std::vector<std::byte>& values,
                  const std::vector<std::byte>& metadata, std::size_t row, std::size_t k, int selector_bits) {
  const auto group = static_cast<std::size_t>(layout.group()), kept = group / 2;
  const std::size_t step_depth = static_cast<std::size_t>(map.cols) * 2;
  const std::size_t unit = k / static_cast<std::size_t>(layout.tile_depth());
  const std::size_t step = k % static_cast<std::size_t>(layout.tile_depth()) / step_depth;
  const std::size_t tile = row / 64 * layout.depth_tiles() + unit;
  for (std::size_t i = 0; i < kept; ++i) {
    // The index of the stored element, as the map of this step places it.
    const int column = static_cast<int>(k % step_depth / group * kept + i),
              in_tile = static_cast<int>(row % 16);
    for (int lane = 0; lane < 32; ++lane)
      for (const LayoutElement& one : map.lane(lane)) {
        if (one.row != in_tile || one.col != column) continue;
        const std::size_t real = static_cast<std::size_t>(lane) + (step << selector_bits);
        const std::size_t word = tile * 128 + row % 64 / 16 * 32 + real;
        unsigned bits = 0;
        for (std::size_t byte = 0; byte < 4; ++byte)
          bits |= std::to_integer<unsigned>(metadata[word * 4 + byte]) << 8 * byte;
        const unsigned width = layout.element() == tf32 ? 4 : 2;
        const unsigned code = bits >> one.bit & ((1U << width) - 1);
        const std::size_t position = layout.element() == tf32 ? (code == 4 ? 0 : 1) : code;
        if (position == k % group)
          return test::narrow::decode(
              layout.element(),
              test::narrow::load(layout.element(), values, row * layout.stored() + k / group * kept + i));
      }
  }
  return 0;
}

}  // namespace

TEST_CASE("sparse layout: the fragment maps of mma.sp find what was compressed") {
  std::mt19937_64 random(Catch::getSeed());
  const Specs specs;
  struct Form {
    Type element;
    const char* opcode;
    int selector_bits;  // lanes of a step begin here
  };
  for (const Form& form :
       {Form{f16, "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32", 1},
        Form{tf32, "mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32", 1},
        Form{s8, "mma.sp::ordered_metadata.sync.aligned.m16n8k64.row.col.s32.s8.s8.s32", 0}}) {
    INFO(form.opcode << ", seed " << Catch::getSeed());
    const SparseLayout layout(form.element, 75, 150);
    const std::size_t pitch = 157;
    const std::vector<std::byte> dense = sparse_rows(layout, pitch, random);
    std::vector<std::byte> values(layout.value_bytes(), std::byte{0xff}), metadata(layout.metadata_bytes());
    compress_rows(layout, dense, pitch, values, metadata);
    const Layout map = ptxloom::layout(specs.match(form.opcode).front(), "E");
    for (std::size_t row = 0; row < 75; ++row)
      for (std::size_t k = 0; k < 150; ++k) {
        INFO("row " << row << ", k " << k);
        REQUIRE(element_of(layout, map, values, metadata, row, k, form.selector_bits) ==
                test::narrow::decode(form.element, test::narrow::load(form.element, dense, row * pitch + k)));
      }
  }
}

TEST_CASE("sparse layout: rows that are not sparse are refused with their place") {
  const SparseLayout layout(f16, 3, 22);
  std::vector<std::byte> dense(3 * 22 * 2), values(layout.value_bytes()), metadata(layout.metadata_bytes());
  const auto set = [&](std::size_t row, std::size_t k, std::uint64_t bits) {
    test::narrow::store(f16, dense, row * 22 + k, bits);
  };
  const auto refusal = [&] {
    try {
      compress_rows(layout, dense, 22, values, metadata);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("it was accepted");
  };
  set(1, 8, 0x3c00), set(1, 11, 0x3c00), set(1, 9, 0x8000);  // a negative zero is one
  set(2, 20, 0x3c00), set(2, 21, 0x3c00);                    // a group of two elements
  CHECK(refusal() == "it was accepted");
  set(1, 10, 0x7e00);  // NaN is not
  CHECK_THAT(refusal(), ContainsSubstring("row 1, columns 8 to 11: 3 elements"));
  CHECK_THAT(refusal(), ContainsSubstring("at most 2 of 4"));
}

TEST_CASE("sparse layout: as the documentation quotes it") {
  const std::uint64_t n = 5, k = 12, pitch = 12;
  const std::vector<std::byte> dense(n * pitch * 2);
  // guide compress {
  const kit::SparseLayout layout(f16, n, k);
  std::vector<std::byte> values(layout.value_bytes()), metadata(layout.metadata_bytes());
  kit::compress_rows(layout, dense, pitch, values, metadata);
  // }
  CHECK(values.size() == 5 * 64 * 2);
  CHECK(metadata.size() == 2 * 512);
  CHECK(metadata.front() == std::byte{0x44});
}

TEST_CASE("sparse layout: types and sizes that it does not have, and buffers that are too small") {
  CHECK_THROWS_AS(SparseLayout(f32, 1, 1), Error);
  CHECK_THROWS_AS(SparseLayout(s4, 1, 1), Error);
  CHECK_THROWS_AS(SparseLayout(f16, 0, 1), Error);
  const SparseLayout layout(f16, 2, 4);
  std::vector<std::byte> dense(16), values(layout.value_bytes()), metadata(layout.metadata_bytes());
  CHECK_NOTHROW(compress_rows(layout, dense, 4, values, metadata));
  CHECK_THROWS_AS(compress_rows(layout, std::span(dense).first(15), 4, values, metadata), Error);
  CHECK_THROWS_AS(compress_rows(layout, dense, 4, std::span(values).first(10), metadata), Error);
  CHECK_THROWS_AS(compress_rows(layout, dense, 4, values, std::span(metadata).first(10)), Error);
}

TEST_CASE("sparse layout: a pitch shorter than a row is refused") {
  const SparseLayout layout(s8, 3, 9);
  std::vector<std::byte> dense(40), values(layout.value_bytes()), metadata(layout.metadata_bytes());
  CHECK_NOTHROW(compress_rows(layout, dense, 9, values, metadata));
  for (const std::uint64_t pitch : {0, 4, 8}) try {
      compress_rows(layout, dense, pitch, values, metadata);
      FAIL("a pitch of " << pitch << " was accepted");
    } catch (const Error& error) {
      CHECK(error.code() == "bad-stride");
    }
}

}  // namespace ptxloom::kit
