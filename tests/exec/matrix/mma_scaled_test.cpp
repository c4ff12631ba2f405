// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/mma_harness.hpp"

// Block-scaled mma, dense and sparse: fragments, scale factors and their selectors as the PTX manual has them
// (9.7.14.3, 9.7.14.5, 9.7.14.6), compared with a sum in double that is exact.
namespace ptxloom::exec::test::mma_scaled_test {
namespace {

struct Scaled {
  std::string kind;
  Type a, b, scale;
  int k, blocks;
  bool sparse = false;

  int pack() const { return kind == "mxf8f6f4" ? 4 : 8; }
  std::string opcode() const {
    return std::string("mma") + (sparse ? ".sp::ordered_metadata" : "") + ".sync.aligned.m16n8k" +
           std::to_string(k) + ".row.col.kind::" + kind +
           ".block_scale.scale_vec::" + std::to_string(blocks) + "X.f32." + std::string(a.name) + "." +
           std::string(b.name) + ".f32." + std::string(scale.name);
  }
};

struct Selectors {
  int byte, thread;
  std::string text() const { return ", {" + std::to_string(byte) + ", " + std::to_string(thread) + "}"; }
};

Selectors selectors(Random& random, const Scaled& form, std::uint32_t threads) {
  const auto byte = static_cast<int>(random.below(static_cast<std::uint32_t>(4 / form.blocks))) * form.blocks;
  return {byte, static_cast<int>(random.below(threads))};
}

Matrix random_scales(Random& random, const Scaled& form, int rows) {
  static constexpr double kValues[] = {0.25, 0.5, 1, 2, 4, 1.5, 3};
  Matrix scales{form.scale, rows, form.blocks};
  for (std::uint64_t& bits : scales.bits)
    bits = narrow::encode(form.scale, kValues[random.below(form.scale == ue8m0 ? 5 : 7)]);
  return scales;
}

/// A register of every lane with the factors where the selectors say, and anything elsewhere.
Registers scale_registers(Random& random, const Matrix& scales, Selectors at, bool of_a) {
  Registers registers{.count = 1, .braces = false};
  for (int lane = 0; lane < 32; ++lane) registers.values.push_back(random.bits() & 0xffff'ffff);
  for (int row = 0; row < scales.rows; ++row) {
    const int lane = of_a ? row % 8 * 4 + 2 * at.thread + row / 8 : row * 4 + at.thread;
    std::uint64_t& word = registers.values[static_cast<std::size_t>(lane)];
    for (int block = 0; block < scales.cols; ++block) {
      const int bit = 8 * (at.byte + block);
      word = (word & ~(0xffull << bit)) | scales(row, block) << bit;
    }
  }
  registers.after = at.text();
  return registers;
}

/// A dense A as it is stored, and the metadata: of each four neighbours (pairs, of 4-bit types) two.
struct Stored {
  Matrix values;
  Registers metadata;
};
Stored store_half(Random& random, const Scaled& form, Matrix& dense) {
  const int pair = form.pack() / 4, chunk = 4 * pair;
  Stored stored{{form.a, 16, form.k / 2}, {.count = 1, .braces = false}};
  stored.metadata.values.resize(32);
  for (int row = 0; row < 16; ++row) {
    for (int c = 0; c < form.k / chunk; ++c) {
      const int first = static_cast<int>(random.below(3)),
                second = first + 1 + static_cast<int>(random.below(static_cast<std::uint32_t>(3 - first)));
      stored.metadata.values[static_cast<std::size_t>(row % 8 * 4 + row / 8 + 2 * (c / 8))] |=
          static_cast<std::uint64_t>(first | second << 2) << (4 * (c % 8));
      for (int i = 0; i < chunk; ++i) {
        const int index = i / pair, k = c * chunk + i;
        if (index == first) stored.values(row, c * chunk / 2 + i % pair) = dense(row, k);
        if (index == second) stored.values(row, c * chunk / 2 + pair + i % pair) = dense(row, k);
        if (index != first && index != second) dense(row, k) = 0;
      }
    }
  }
  stored.metadata.after = ", 0";
  return stored;
}

Registers run_scaled(const Scaled& form, const Matrix& a, const Matrix& b, const Matrix& c,
                     const std::vector<Registers>& rest, const std::string& before = {}) {
  const int p = form.pack();
  const bool bytes = p == 4;
  const auto place_a = [p](int l, int i) {
    return At{group(l) + i / p % 2 * 8, p * member(l) + i % p + i / p / 2 * 4 * p};
  };
  const auto place_b = [p](int l, int i) { return At{p * member(l) + i % p + i / p * 4 * p, group(l)}; };
  std::vector<Registers> in{spread(a, place_a, a.cols / 2, packing(form.a, bytes)),
                            spread(b, place_b, b.rows / 4, packing(form.b, bytes)),
                            spread(c, result, 4, {32})};
  in.insert(in.end(), rest.begin(), rest.end());
  return execute("sm_120a", before + form.opcode(), {.count = 4}, in);
}

void check(Random& random, const Scaled& form) {
  Matrix a = exact_matrix(random, form.a, 16, form.k);
  const Matrix b = exact_matrix(random, form.b, form.k, 8), c = exact_matrix(random, f32, 16, 8),
               scales_a = random_scales(random, form, 16), scales_b = random_scales(random, form, 8);
  const Selectors by_a = selectors(random, form, 2), by_b = selectors(random, form, 4);
  std::vector<Registers> rest;
  Matrix stored = a;
  if (form.sparse) {
    auto [values, metadata] = store_half(random, form, a);
    stored = values;
    rest.push_back(metadata);
  }
  rest.push_back(scale_registers(random, scales_a, by_a, true));
  rest.push_back(scale_registers(random, scales_b, by_b, false));
  const Matrix d = collect(run_scaled(form, stored, b, c, rest), f32, 16, 8, result, 4);
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      double sum = c.value(row, col);
      for (int k = 0; k < form.k; ++k) {
        const int block = k * form.blocks / form.k;
        sum += a.value(row, k) * scales_a.value(row, block) * b.value(k, col) * scales_b.value(col, block);
      }
      CAPTURE(form.opcode(), by_a.text(), by_b.text(), row, col, d.value(row, col), sum);
      REQUIRE(d(row, col) == narrow::encode(f32, sum));
    }
  }
}

std::vector<Scaled> forms() {
  std::vector<Scaled> all;
  for (const bool sparse : {false, true}) {
    for (const Type a : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
      for (const Type b : {e4m3, e5m2, e3m2, e2m3, e2m1})
        all.push_back({"mxf8f6f4", a, b, ue8m0, sparse ? 64 : 32, 1, sparse});
    }
    const int k = sparse ? 128 : 64;
    all.push_back({"mxf4", e2m1, e2m1, ue8m0, k, 2, sparse});
    all.push_back({"mxf4nvf4", e2m1, e2m1, ue8m0, k, 2, sparse});
    all.push_back({"mxf4nvf4", e2m1, e2m1, ue4m3, k, 4, sparse});
  }
  return all;
}

}  // namespace

TEST_CASE("block-scaled mma is the scaled product, for every type, scale and selector") {
  Random random;
  INFO("seed " << random.seed);
  for (const Scaled& form : forms()) {
    for (int i = 0; i < 12; ++i) check(random, form);
  }
}

TEST_CASE("a scale factor of NaN makes its row NaN, and only it") {
  Random random;
  INFO("seed " << random.seed);
  for (const Scaled& form : {forms()[3], forms()[25], forms()[27]}) {
    const Matrix a = exact_matrix(random, form.a, 16, form.k), b = exact_matrix(random, form.b, form.k, 8),
                 c = exact_matrix(random, f32, 16, 8), scales_b = random_scales(random, form, 8);
    Matrix scales_a = random_scales(random, form, 16);
    scales_a(11, form.blocks - 1) = form.scale == ue8m0 ? 0xff : 0x7f;
    const Matrix d = collect(run_scaled(form, a, b, c,
                                        {scale_registers(random, scales_a, {0, 1}, true),
                                         scale_registers(random, scales_b, {0, 3}, false)}),
                             f32, 16, 8, result, 4);
    for (int row = 0; row < 16; ++row) {
      CAPTURE(form.opcode(), row);
      CHECK((d(row, 5) == 0x7fff'ffff) == (row == 11));
    }
  }
}

TEST_CASE("selectors may be registers, and are a fault out of range") {
  Random random;
  const Scaled form = forms()[25];  // mxf4, scale_vec::2X
  const Matrix a = exact_matrix(random, e2m1, 16, 64), b = exact_matrix(random, e2m1, 64, 8),
               c = exact_matrix(random, f32, 16, 8), scales_a = random_scales(random, form, 16),
               scales_b = random_scales(random, form, 8);
  Registers of_a = scale_registers(random, scales_a, {2, 1}, true);
  const Registers of_b = scale_registers(random, scales_b, {2, 2}, false);
  const auto with = [&](int byte) {
    of_a.after = ", {%s0, %s1}";
    return run_scaled(form, a, b, c, {of_a, of_b},
                      ".reg .b16 %s<2>; mov.b16 %s0, " + std::to_string(byte) + "; mov.b16 %s1, 1; ")
        .values;
  };
  const auto got = with(2);
  of_a.after = ", {2, 1}";
  CHECK(got == run_scaled(form, a, b, c, {of_a, of_b}).values);
  CHECK(fault_of([&] { with(1); }).code == "mma-selector");
}

TEST_CASE("fp4 keeps 35 bits below the largest scale, other block-scaled sums 25 below the largest product") {
  // 2^30 - 2^30 + 1/4, in blocks of their own.
  const auto sum = [](const Scaled& form, int far) {
    Matrix a{form.a, 16, form.k}, b{form.b, form.k, 8}, c{f32, 16, 8}, scales_a{form.scale, 16, form.blocks},
        scales_b{form.scale, 8, form.blocks};
    for (std::uint64_t& bits : b.bits) bits = narrow::encode(form.b, 0.5);
    for (Matrix* scales : {&scales_a, &scales_b})
      for (std::uint64_t& bits : scales->bits) bits = narrow::encode(form.scale, 1);
    scales_a(3, 0) = narrow::encode(form.scale, 0x1p31);
    a(3, 0) = narrow::encode(form.a, 1);
    a(3, 16) = narrow::encode(form.a, -1);
    a(3, far) = narrow::encode(form.a, 0.5);
    if (form.blocks == 1) {  // one block: the small one is small itself
      a(3, far) = narrow::encode(form.a, 0x1p-16);
      a(3, 0) = narrow::encode(form.a, 0x1p15);
      a(3, 16) = narrow::encode(form.a, -0x1p15);
    }
    Random random;
    return collect(run_scaled(form, a, b, c,
                              {scale_registers(random, scales_a, {0, 0}, true),
                               scale_registers(random, scales_b, {0, 0}, false)}),
                   f32, 16, 8, result, 4)
        .value(3, 2);
  };
  CHECK(sum({"mxf4", e2m1, e2m1, ue8m0, 64, 2}, 32) == 0.25);
  CHECK(sum({"mxf8f6f4", e5m2, e2m1, ue8m0, 32, 1}, 8) == 0);
}

}  // namespace ptxloom::exec::test::mma_scaled_test
