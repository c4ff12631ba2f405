// SPDX-License-Identifier: Apache-2.0
// Elements of 8 bits and less: every code is widened exactly and narrowed back, ties are rounded to even, and
// rows of any length are read and written without anything around them.
#include "ptxloom/kit/narrow.hpp"

#include <fmt/format.h>

#include <cmath>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/scaled_format.hpp"
#include "support/errors.hpp"
#include "support/narrow.hpp"

using namespace ptxloom;
namespace narrow = ptxloom::test::narrow;

namespace {

constexpr Type kNarrowTypes[] = {s8, s4, e4m3, e5m2, e2m3, e3m2, e2m1};

/// Narrows f32 values, `vector` of them in each thread, and widens them again.
struct Converted {
  std::vector<std::byte> codes;
  std::vector<float> values;
};

Converted convert_all(Type type, int vector, std::vector<float> values) {
  const auto chunk = static_cast<std::size_t>(vector);
  values.resize((values.size() + chunk - 1) / chunk * chunk);
  const auto words = static_cast<std::size_t>(kit::narrow_words(type, vector));
  std::vector<std::uint32_t> codes(values.size() / chunk * words, 0xa5a5a5a5);
  std::vector<float> back(values.size());
  kit::Params params;
  params.pointer("x", f32).pointer("codes", b32).pointer("back", f32);
  KernelBuilder k = kit_test::builder("sm_100a");
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("ctaid.x");
  std::vector<Reg> x;
  for (int i = 0; i < vector; ++i) x.push_back(k.load(in.pointer("x")[k.fma(thread, vector, i)]));
  const std::vector<Reg> made = kit::narrow_values(k, type, x);
  REQUIRE(made.size() == words);
  for (std::size_t i = 0; i < words; ++i) k.store(in.pointer("codes")[k.fma(thread, words, i)], made[i]);
  const std::vector<Reg> again = kit::widen_values(k, type, vector, made);
  for (int i = 0; i < vector; ++i)
    k.store(in.pointer("back")[k.fma(thread, vector, i)], again[static_cast<std::size_t>(i)]);
  exec::Launch launch;
  launch.grid = {static_cast<std::uint32_t>(values.size() / chunk), 1, 1};
  kit_test::run(
      k.finish(), launch, params.arguments(),
      {kit_test::tensor("x", values), kit_test::tensor("codes", codes), kit_test::tensor("back", back)});
  Converted result{.codes = {}, .values = back};
  const auto bytes = std::as_bytes(std::span(codes));
  result.codes.assign(bytes.begin(), bytes.end());
  return result;
}

/// All values of a type, what is halfway between two, and what is beyond.
std::vector<float> tried_values(Type type) {
  std::vector<float> values{0.0F, -0.0F, 1e30F, -1e30F, INFINITY, -INFINITY, 1e-30F, -1e-30F, 0x1p-149F};
  const std::uint64_t codes = std::uint64_t{1} << type.bits;
  for (std::uint64_t code = 0; code < codes; ++code) {
    const double one = narrow::decode(type, code), next = narrow::decode(type, (code + 1) % codes);
    if (!std::isfinite(one) || !std::isfinite(next)) continue;
    const double tie = (one + next) / 2;
    for (const double value : {one, tie, tie * (1 + 0x1p-20), tie * (1 - 0x1p-20)})
      values.push_back(static_cast<float>(value));
  }
  return values;
}

struct RowsCase {
  Type type;
  std::uint32_t rows, length;
  std::uint64_t pitch_x, pitch_y;  // in elements
  int vector, lanes;
  int slots = 0;         // of a part; 0: the row as a whole
  bool shifted = false;  // chunks begin where x is aligned
};

/// y = x, from rows to rows.
void check_rows(const RowsCase& c) {
  INFO(fmt::format("{} rows of {} {}, pitches {} and {}, vector {}, {} lanes, parts of {}, seed {}", c.rows,
                   c.length, c.type.name, c.pitch_x, c.pitch_y, c.vector, c.lanes, c.slots,
                   Catch::getSeed()));
  const auto bytes_of = [&](std::uint64_t pitch) { return c.rows * pitch * c.type.bits / 8; };
  std::vector<std::byte> x = kit_test::random_bytes(bytes_of(c.pitch_x)),
                         y(bytes_of(c.pitch_y), std::byte{0xa5});
  kit::Params params;
  params.size("rows", u32, c.rows).pointer("x", b8).pointer("y", b8);
  KernelBuilder k = kit_test::builder("sm_90a");
  const kit::ParamRegs in = params.declare(k);
  const kit::Team team = kit::Team::part_of_warp(c.lanes);
  const auto chunk = static_cast<std::uint64_t>(c.vector);
  const kit::RowShape shape{c.length, c.shifted ? c.pitch_x : (c.length + chunk - 1) / chunk * chunk,
                            c.vector, team};
  const Reg row = kit::team_in_grid(k, team, 32);
  const kit::RowWindow whole(k, shape, row, k.lt(row, in["rows"]));
  const auto copy = [&](const kit::RowWindow& window) {
    const kit::NarrowRows from(k, window, row, in.pointer("x"), c.pitch_x, c.type);
    const kit::NarrowRows to(k, window, row, in.pointer("y"), c.pitch_y, c.type);
    for (int slot = 0; slot < window.slots(); ++slot) to.store(slot, from.load(slot));
  };
  if (c.slots == 0)
    copy(whole);
  else
    k.for_(k.mov(u32, 0), (whole.slots() + c.slots - 1) / c.slots, 1,
           [&](Reg part) { copy(whole.part(part, c.slots)); });
  exec::Launch launch;
  launch.grid = {c.rows, 1, 1};
  launch.block = {32, 1, 1};
  kit_test::run(k.finish(), launch, params.arguments(), {kit_test::tensor("x", x), kit_test::tensor("y", y)});
  const std::uint64_t unit = c.type.bits == 6 ? 4 : 8 / c.type.bits;
  for (std::uint64_t r = 0; r < c.rows; ++r)
    for (std::uint64_t i = 0; i < c.pitch_y; ++i) {
      const std::uint64_t got = narrow::load(c.type, y, r * c.pitch_y + i);
      const std::uint64_t filled = (c.length + unit - 1) / unit * unit;
      std::vector<std::byte> poison(24, std::byte{0xa5});
      const std::uint64_t wanted = i < c.length ? narrow::load(c.type, x, r * c.pitch_x + i)
                                   : i < filled ? 0
                                                : narrow::load(c.type, poison, (r * c.pitch_y + i) % 8);
      if (got != wanted) FAIL("element " << r << ", " << i << " is " << got << " in place of " << wanted);
    }
}

}  // namespace

TEST_CASE("kit: narrow elements are converted from f32 and back, bit by bit") {
  for (const Type type : kNarrowTypes)
    for (const int vector : {1, 2, 4, 8, 16, 32}) {
      INFO(type.name << ", vectors of " << vector);
      const std::vector<float> values = tried_values(type);
      const Converted made = convert_all(type, vector, values);
      const auto chunk = static_cast<std::size_t>(vector);
      const std::size_t stride = static_cast<std::size_t>(kit::narrow_words(type, vector)) * 32;
      for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint64_t wanted = narrow::encode(type, values[i], narrow::Overflow::finite);
        std::uint64_t got = 0;
        for (unsigned bit = 0; bit < type.bits; ++bit) {
          const std::size_t at = i / chunk * stride + i % chunk * type.bits + bit;
          got |= (std::to_integer<std::uint64_t>(made.codes[at / 8]) >> (at % 8) & 1) << bit;
        }
        CAPTURE(values[i]);
        REQUIRE(got == wanted);
        REQUIRE(static_cast<double>(made.values[i]) == narrow::decode(type, wanted));
      }
    }
}

TEST_CASE("kit: NaN becomes NaN, the largest element where there is none, and 0 of integers") {
  for (const Type type : kNarrowTypes) {
    const float back = convert_all(type, 4, {NAN, 1}).values[0];
    if (type == e4m3 || type == e5m2)
      CHECK(std::isnan(back));
    else
      CHECK(back == (type == e2m3 ? 7.5F : type == e3m2 ? 28.F : type == e2m1 ? 6.F : 0.F));
  }
}

TEST_CASE("kit: rows of narrow elements, and nothing around them") {
  for (const Type type : kNarrowTypes) {
    const std::uint64_t unit = type.bits == 6 ? 4 : 8 / type.bits;
    for (const std::uint32_t length : {1U, 5U, 31U, 64U, 100U, 333U})
      for (const int vector : {4, 8, 16, 32}) {
        const std::uint64_t least = (length + unit - 1) / unit * unit;
        for (const std::uint64_t more : {std::uint64_t{0}, unit, 3 * unit, 16 * unit}) {
          check_rows({type, 5, length, least + more, least + 2 * unit, vector, 8});
          check_rows({type, 3, length, least, least + more, vector, 32, 2});
        }
      }
  }
}

TEST_CASE("kit: chunks of elements of 8 bits begin where rows are aligned, before the rows begin") {
  for (const Type type : {s8, e4m3})
    for (const int vector : {2, 4, 8, 16, 32})
      for (const std::uint32_t length : {1U, 7U, 100U, 333U})
        for (const std::uint64_t more : {0U, 1U, 6U}) {
          const std::uint64_t pitch = length + more;
          check_rows({type, 7, length, pitch, pitch, vector, 8, 0, true});
          check_rows({type, 7, length, pitch, pitch + 3, vector, 4, 0, true});
          check_rows(
              {type, 5, length, pitch, pitch + static_cast<std::uint64_t>(vector), vector, 32, 2, true});
        }
}

TEST_CASE("kit: 16 elements of 6 bits in 16 bytes") {
  for (const Type type : {e2m3, e3m2})
    for (const std::uint32_t length : {1U, 16U, 40U, 333U})
      for (const int vector : {16, 32}) {
        const std::uint64_t pitch = (length + 15) / 16 * 16 + 32;
        std::vector<std::byte> x = kit_test::random_bytes(3 * pitch * 6 / 8),
                               padded(3 * pitch, std::byte{0xa5}), y(x.size(), std::byte{0xa5});
        kit::Params params;
        params.size("rows", u32, 3).pointer("x", b8).pointer("padded", b8).pointer("y", b8);
        KernelBuilder k = kit_test::builder();
        const kit::ParamRegs in = params.declare(k);
        const kit::Team team = kit::Team::part_of_warp(4);
        const auto chunk = static_cast<std::uint32_t>(vector);
        const kit::RowShape shape{length, (length + chunk - 1) / chunk * chunk, vector, team};
        const Reg row = kit::team_in_grid(k, team, 32);
        const kit::RowWindow window(k, shape, row, k.lt(row, in["rows"]));
        const auto rows = [&](const char* name, kit::NarrowPacking packing) {
          return kit::NarrowRows(k, window, row, in.pointer(name), pitch, type, packing);
        };
        for (int slot = 0; slot < window.slots(); ++slot) {
          rows("padded", kit::NarrowPacking::padded)
              .store(slot, rows("x", kit::NarrowPacking::dense).load(slot));
          rows("y", kit::NarrowPacking::dense)
              .store(slot, rows("padded", kit::NarrowPacking::padded).load(slot));
        }
        exec::Launch launch;
        launch.block = {32, 1, 1};
        kit_test::run(
            k.finish(), launch, params.arguments(),
            {kit_test::tensor("x", x), kit_test::tensor("padded", padded), kit_test::tensor("y", y)});
        for (std::size_t r = 0; r < 3; ++r)
          for (std::size_t i = 0; i < pitch; ++i) {
            CAPTURE(type.name, length, vector, r, i);
            const std::uint64_t wanted = i < length ? narrow::load(type, x, r * pitch + i) : 0;
            if (i < length) REQUIRE(narrow::load(type, y, r * pitch + i) == wanted);
            const auto unit = std::span(padded).subspan(r * pitch + i / 16 * 16, 16);
            if (i < (length + 15) / 16 * 16)
              REQUIRE(narrow::load(type, unit, i % 16) == wanted);
            else
              REQUIRE(padded[r * pitch + i] == std::byte{0xa5});
            if (i < (length + 15) / 16 * 16 && i % 16 >= 12) REQUIRE(padded[r * pitch + i] == std::byte{0});
          }
      }
}

TEST_CASE("kit: the table of formats agrees with the types") {
  for (const kit::ScaledFormat& format : kit::scaled_formats()) {
    INFO(format.name);
    CHECK(kit::find_scaled_format(format.name) == &format);
    CHECK(std::ilogb(format.largest) == format.largest_exponent);
    const std::uint64_t infinite = narrow::encode(format.element, 1e30, narrow::Overflow::finite);
    CHECK(narrow::decode(format.element, infinite) == format.largest);
    if (format.element.is_integer()) continue;
    // The least subnormal has the code 1.
    CHECK(narrow::decode(format.element, 1) == std::ldexp(1.0, format.least_exponent - format.mantissa_bits));
    CHECK(narrow::decode(format.element, std::uint64_t{1} << format.mantissa_bits) ==
          std::ldexp(1.0, format.least_exponent));
  }
  CHECK(kit::find_scaled_format("mxfp5") == nullptr);
}

TEST_CASE("kit: all targets convert narrow elements; scales are no elements") {
  const Specs specs;
  for (const char* target : {"sm_75", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120a"})
    for (const Type type : {s8, s4, e4m3, e5m2, e2m3, e3m2, e2m1}) {
      CHECK(kit::can_narrow(specs, Target(target), type));
      CHECK(kit::can_widen(specs, Target(target), type));
    }
  CHECK_FALSE(kit::can_narrow(specs, Target("sm_120a"), ue8m0));
  KernelBuilder k = kit_test::builder("sm_90a");
  const std::vector<Reg> values = {k.mov(f32, 1.0F), k.mov(f32, 2.0F)};
  CHECK(error_of([&] { kit::narrow_values(k, ue8m0, values); }).code() == "operand-type");
}
