// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <bit>
#include <cmath>

#include "exec/matrix/mma_harness.hpp"
#include "ptxloom/numeric.hpp"

// mma of the narrow types, of single bits and with rounding of f64, and how targets sum 8-bit floats and
// m8n8k4. Fragments as the manual has them (PTX ISA 9.7.14.5).
namespace ptxloom::exec::test::mma_types_test {
namespace {

struct Dense {
  std::string target;
  Type a, b, d;
  int m, k;
  std::string words = {};  // ".kind::f8f6f4", ".satfinite"
  std::string op = {};     // ".xor.popc"

  int pack() const { return words.starts_with(".kind") ? 4 : std::max(1, 32 / a.bits); }
  std::string opcode() const {
    const auto word = [](Type type) { return "." + std::string(type.name); };
    return "mma.sync.aligned.m" + std::to_string(m) + "n8k" + std::to_string(k) + ".row.col" + words +
           word(d) + word(a) + word(b) + word(d) + op;
  }
};

/// D of the instruction.
Matrix multiply(const Dense& form, const Matrix& a, const Matrix& b, const Matrix& c) {
  const int p = form.pack(), high = form.m / 8;
  const bool bytes = form.words.starts_with(".kind");
  const Place place_a = [p, high](int l, int i) {
    return At{group(l) + i / p % high * 8, p * member(l) + i % p + i / p / high * 4 * p};
  };
  const Place place_b = [p](int l, int i) { return At{p * member(l) + i % p + i / p * 4 * p, group(l)}; };
  const int width = form.d == f64 ? 64 : 32, count = form.m / 4;
  const Registers d = execute(
      form.target, form.opcode(), {.count = count * form.d.bits / width, .bits = width},
      {spread(a, place_a, form.m * form.k / 32, packing(form.a, bytes)),
       spread(b, place_b, form.k / 4, packing(form.b, bytes)), spread(c, result, count, {form.d.bits})});
  return collect(d, form.d, form.m, 8, result, count);
}

void check(Random& random, const Dense& form) {
  const Matrix a = exact_matrix(random, form.a, form.m, form.k), b = exact_matrix(random, form.b, form.k, 8),
               c = exact_matrix(random, form.d, form.m, 8), d = multiply(form, a, b, c);
  for (int row = 0; row < form.m; ++row) {
    for (int col = 0; col < 8; ++col) {
      double sum = c.value(row, col);
      for (int k = 0; k < form.k; ++k) {
        const double x = a.value(row, k), y = b.value(k, col);
        sum += form.op == ".xor.popc" ? static_cast<double>(x != y) : x * y;
      }
      CAPTURE(form.opcode(), form.target, row, col, sum, d.value(row, col));
      auto whole = static_cast<std::int64_t>(sum);
      if (form.words == ".satfinite") whole = std::clamp<std::int64_t>(whole, INT32_MIN, INT32_MAX);
      REQUIRE(d(row, col) ==
              (form.d == s32 ? static_cast<std::uint32_t>(whole) : narrow::encode(form.d, sum)));
    }
  }
}

std::vector<Dense> forms() {
  std::vector<Dense> all;
  for (const std::string target : {"sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    for (const Type a : {e4m3, e5m2}) {
      for (const int k : {16, 32}) {
        all.push_back({target, a, e5m2, f32, 16, k});
        all.push_back({target, a, e4m3, f16, 16, k});
      }
    }
  }
  for (const Type a : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
    for (const Type b : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
      all.push_back({"sm_120a", a, b, f32, 16, 32, ".kind::f8f6f4"});
      all.push_back({"sm_120a", a, b, f16, 16, 32, ".kind::f8f6f4"});
    }
  }
  for (const std::string words : {"", ".satfinite"}) {
    for (const auto& [a, b] : {std::pair(s4, s4), {s4, u4}, {u4, s4}, {u4, u4}}) {
      all.push_back({"sm_90a", a, b, s32, 8, 32, words});
      all.push_back({"sm_90a", a, b, s32, 16, 32, words});
      all.push_back({"sm_90a", a, b, s32, 16, 64, words});
    }
    for (const auto& [a, b] : {std::pair(s8, u8), {u8, s8}})
      all.push_back({"sm_80", a, b, s32, 16, 32, words});
  }
  for (const std::string op : {".xor.popc", ".and.popc"}) {
    all.push_back({"sm_80", b1, b1, s32, 8, 128, "", op});
    all.push_back({"sm_80", b1, b1, s32, 16, 128, "", op});
    all.push_back({"sm_80", b1, b1, s32, 16, 256, "", op});
  }
  return all;
}

/// One row of A against ones (of B), plus c, in f32.
float dot(const std::string& target, const Type& type, int k, std::vector<std::pair<int, double>> row,
          float c) {
  Matrix a{type, 16, k}, b{type, k, 8}, addend{f32, 16, 8};
  for (const auto& [at, value] : row) a(5, at) = narrow::encode(type, value);
  for (std::uint64_t& bits : b.bits) bits = narrow::encode(type, 1);
  addend(5, 3) = std::bit_cast<std::uint32_t>(c);
  const Matrix d = multiply({target, type, type, f32, 16, k}, a, b, addend);
  return std::bit_cast<float>(static_cast<std::uint32_t>(d(5, 3)));
}

}  // namespace

TEST_CASE("sm_89 aligns fp8 for f16 however small all products are") {
  // 2^-12 * 2^-13 is a tie between zero and the least f16, and 2^-14 * 2^-14 decides it.
  const Dense form{"sm_89", e5m2, e5m2, f16, 16, 32};
  Matrix a{e5m2, 16, 32}, b{e5m2, 32, 8};
  a(5, 1) = narrow::encode(e5m2, 0x1p-12);
  b(1, 3) = narrow::encode(e5m2, 0x1p-13);
  CHECK(multiply(form, a, b, {f16, 16, 8})(5, 3) == 0);
  a(5, 14) = b(14, 3) = narrow::encode(e5m2, 0x1p-14);
  CHECK(multiply(form, a, b, {f16, 16, 8})(5, 3) == 1);

  Random random;
  INFO("seed " << random.seed);
  using ptxloom::test::MmaModelRow;
  int apart = 0;  // from the model that aligns nothing below f16's least exponent
  for (const Type x : {e5m2, e4m3}) {
    for (const Type y : {e5m2, e4m3}) {
      for (int i = 0; i < 16; ++i) {
        const Matrix left = tiny_matrix(random, x, 16, 32), right = tiny_matrix(random, y, 32, 8);
        const Matrix c = i % 4 == 3 ? tiny_matrix(random, f16, 16, 8) : Matrix{f16, 16, 8};
        const Matrix d = multiply({"sm_89", x, y, f16, 16, 32}, left, right, c);
        CHECK(differing(MmaModelRow({.window = 13, .chunk = 16}, x.name, y.name, "f16"), left, right, c, d) ==
              0);
        apart += differing(MmaModelRow({.window = 13, .least = -14, .chunk = 16}, x.name, y.name, "f16"),
                           left, right, c, d);
      }
    }
  }
  CHECK(apart > 0);
}

TEST_CASE("mma of narrow types and of bits is the exact product") {
  Random random;
  INFO("seed " << random.seed);
  for (const Dense& form : forms()) {
    for (int i = 0; i < 3; ++i) check(random, form);
  }
}

TEST_CASE("mma of f64 rounds each fma as it is told") {
  Random random;
  INFO("seed " << random.seed);
  struct Way {
    std::string word;
    Rounding rounding;
  };
  for (const Way& way : {Way{"", Rounding::rn}, Way{".rz", Rounding::rz}, Way{".rm", Rounding::rm},
                         Way{".rp", Rounding::rp}}) {
    Dense form{"sm_90a", f64, f64, f64, 16, 8};
    Matrix a{f64, 16, 8}, b{f64, 8, 8}, c{f64, 16, 8};
    for (Matrix* matrix : {&a, &b, &c})
      for (std::uint64_t& bits : matrix->bits) bits = std::bit_cast<std::uint64_t>(random.uniform(-1, 1));
    const Place place_a = [](int l, int i) { return At{group(l) + i % 2 * 8, i / 2 * 4 + member(l)}; };
    const Place place_b = [](int l, int i) { return At{member(l) + i * 4, group(l)}; };
    const Registers registers = execute(
        "sm_90a", "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64" + way.word, {.count = 4, .bits = 64},
        {spread(a, place_a, 4, {64}), spread(b, place_b, 2, {64}), spread(c, result, 4, {64})});
    const Matrix d = collect(registers, f64, 16, 8, result, 4);
    for (int row = 0; row < 16; ++row) {
      for (int col = 0; col < 8; ++col) {
        // The steps of the chain in twice the width, rounded by the conversion.
        double sum = c.value(row, col);
        for (int k = 0; k < 8; ++k) {
          const __float128 exact = static_cast<__float128>(a.value(row, k)) * b.value(k, col) + sum;
          const auto nearest = static_cast<double>(exact);
          const bool below = nearest<exact, above = nearest> exact;
          sum = nearest;
          const bool up = way.rounding == Rounding::rp || (way.rounding == Rounding::rz && exact < 0);
          const bool down = way.rounding == Rounding::rm || (way.rounding == Rounding::rz && exact > 0);
          if (up && below) sum = std::nextafter(nearest, INFINITY);
          if (down && above) sum = std::nextafter(nearest, -INFINITY);
        }
        CAPTURE(way.word, row, col);
        REQUIRE(d.value(row, col) == sum);
      }
    }
  }
}

TEST_CASE("8-bit floats are summed as each target sums them") {
  const double tiny = 0x1p-9, large = 256;  // 17 bits apart
  // All at once, 25 bits: nothing is lost. 13 bits, by sixteens: what is small beside the large is.
  const std::vector<std::pair<int, double>> near{{0, large}, {4, -large}, {8, tiny}};
  CHECK(dot("sm_120a", e4m3, 32, near, 0) == tiny);
  CHECK(dot("sm_90a", e4m3, 32, near, 0) == tiny);
  CHECK(dot("sm_89", e4m3, 32, near, 0) == 0);
  const std::vector<std::pair<int, double>> later{{0, large}, {4, -large}, {16, tiny}};
  CHECK(dot("sm_89", e4m3, 32, later, 0) == static_cast<float>(tiny));
  // sm_89 keeps 13 bits of mantissa.
  CHECK(dot("sm_89", e4m3, 32, {{0, 1}}, 0x1p13f) == 0x1p13f + 1);
  CHECK(dot("sm_89", e4m3, 32, {{0, 1}}, 0x1p14f) == 0x1p14f);
  CHECK(dot("sm_120a", e4m3, 32, {{0, 1}}, 0x1p14f) == 0x1p14f + 1);
  // Also where 14 were kept of the terms: 16383 + 8192 is odd.
  CHECK(dot("sm_89", e5m2, 16, {{0, 8192}}, 16383) == 24574);
  CHECK(dot("sm_120a", e5m2, 16, {{0, 8192}}, 16383) == 24575);
}

TEST_CASE("sm_90 to sm_110 sum 8-bit floats as f16: pairs of neighbours apart, the addend last") {
  const double large = 0x1p15, small = 0x1p-14;  // 29 bits apart
  for (const int k : {16, 32}) {
    // The first two of all fours are one step, in which the small is lost; the other two are the next.
    CHECK(dot("sm_90a", e5m2, k, {{0, large}, {k - 3, -large}, {5, small}}, 0) == 0);
    CHECK(dot("sm_90a", e5m2, k, {{0, large}, {k - 3, -large}, {2, small}}, 0) == static_cast<float>(small));
    CHECK(dot("sm_90a", e5m2, k, {{2, large}, {k - 1, -large}, {0, small}}, 0) == 0);
    for (const std::string target : {"sm_100a", "sm_110a"}) {
      CHECK(dot(target, e5m2, k, {{0, large}, {k - 3, -large}, {2, small}}, 0x1p-30f) ==
            static_cast<float>(small + 0x1p-30));
    }
    CHECK(dot("sm_120a", e5m2, k, {{0, large}, {k - 3, -large}, {2, small}}, 0) == 0);
    // The addend is no part of any step, and is rounded to the nearest.
    CHECK(dot("sm_90a", e5m2, k, {{0, large}, {k - 3, -large}}, 0x1p-40f) == 0x1p-40f);
    CHECK(dot("sm_120a", e5m2, k, {{0, large}, {k - 3, -large}}, 0x1p-40f) == 0);
    CHECK(dot("sm_90a", e5m2, k, {{0, 1.75}}, 0x1p24f) == 0x1p24f + 2);
    CHECK(dot("sm_120a", e5m2, k, {{0, 1.75}}, 0x1p24f) == 0x1p24f);
  }
}

// Rows and columns of which an H200 gave these sums: subnormals of e4m3 are normal numbers of f16, and so
// aligned by their own leading bit.
TEST_CASE("sm_90 sums e4m3 with e5m2 as numbers of f16") {
  struct Fact {
    Type a, b;
    std::array<std::uint32_t, 4> row, col;
    std::uint32_t addend, sum;
  };
  const Fact facts[] = {{e4m3,
                         e5m2,
                         {0x8080'0000, 0x8000'4100, 0x8000'003b, 0x8116'0000},
                         {0xe387'0000, 0x0009'bf00, 0x8080'0000, 0xfb83'8080},
                         0xaf9e'08ec,
                         0x42d8'1fff},
                        {e5m2,
                         e4m3,
                         {0x80dc'1200, 0xdd3b'00fb, 0x6280'8000, 0x80b9'9600},
                         {0x2e80'807e, 0x804e'8082, 0xa500'8080, 0x00fe'19bb},
                         0xb183'3669,
                         0x43b1'0ffc}};
  for (const Fact& fact : facts) {
    Matrix a{fact.a, 16, 16}, b{fact.b, 16, 8}, c{f32, 16, 8};
    for (int k = 0; k < 16; ++k) {
      a(12, k) = fact.row[static_cast<std::size_t>(k / 4)] >> (k % 4 * 8) & 0xff;
      b(k, 6) = fact.col[static_cast<std::size_t>(k / 4)] >> (k % 4 * 8) & 0xff;
    }
    c(12, 6) = fact.addend;
    const Dense form{.target = "sm_90a", .a = fact.a, .b = fact.b, .d = f32, .m = 16, .k = 16};
    CHECK(multiply(form, a, b, c)(12, 6) == fact.sum);
  }
}

TEST_CASE("m8n8k4 beyond sm_75 is a chain of f32 fma, and f16 sums are rounded once") {
  // Lane 0 holds row 0 of A and column 0 of B of product 0, and element (0, 0) of C and D.
  const auto d = [](const std::string& target, const Type& type, std::vector<double> a, double c) {
    Registers ra{.count = 2, .values = std::vector<std::uint64_t>(64)},
        rb = ra,
        rc{.count = type == f16 ? 4 : 8, .values = std::vector<std::uint64_t>(type == f16 ? 128u : 256u)};
    for (std::size_t i = 0; i < 4; ++i) {
      ra.values[i / 2] |= narrow::encode(f16, a[i]) << (i % 2 * 16);
      rb.values[i / 2] |= narrow::encode(f16, 1) << (i % 2 * 16);
    }
    rc.values[0] = narrow::encode(type, c);
    const std::string word(type.name);
    const Registers out = execute(target, "mma.sync.aligned.m8n8k4.row.col." + word + ".f16.f16." + word,
                                  {.count = rc.count}, {ra, rb, rc});
    return narrow::decode(type, out.values[0] & (type == f16 ? 0xffffu : 0xffff'ffffu));
  };
  // Rounded to the nearest at each step, where tensor cores cut off.
  CHECK(d("sm_90a", f32, {0x1p-24, 0x1p-24, 1, 0}, 0) == 1 + 0x1p-23);
  CHECK(d("sm_90a", f32, {1, 0x1p-24, 0x1p-24, 0}, 0) == 1);
  CHECK(d("sm_90a", f32, {1, 0x1p-14, 0, 0}, 0x1p11) == 0x1p11 + 1);
  CHECK(d("sm_75", f32, {1, 0x1p-24, 0x1p-24, 0}, 0) == 1 + 0x1p-23);
  CHECK(d("sm_75", f32, {1.5 * 0x1p-13, 0, 0, 0}, 0x1p11) == 0x1p11);
  CHECK(d("sm_90a", f32, {1.5 * 0x1p-13, 0, 0, 0}, 0x1p11) == 0x1p11 + 0x1p-12);
  // (c + (a0 + a1)) + (a2 + a3) in f32, then f16.
  CHECK(d("sm_90a", f16, {0x1p-11, 0, 0x1p-23, 0}, 1) == 1 + 0x1p-10);
  CHECK(d("sm_90a", f16, {0x1p-11, 0, 0, 0}, 1) == 1);
  CHECK(d("sm_90a", f16, {0x1p-24, 0x1p-24, 0x1p-11, 0}, 1) == 1 + 0x1p-10);
  CHECK(d("sm_90a", f16, {0x1p-24, 0, 0x1p-24, 0x1p-11}, 1) == 1);
  CHECK(d("sm_90a", f16, {0x1p-24, 0, 0x1p-11, 0}, 1) == 1);
}

}  // namespace ptxloom::exec::test::mma_types_test
