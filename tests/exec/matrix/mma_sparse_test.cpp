// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/matrix/mma_harness.hpp"

// mma.sp on random metadata. The dense A is made first; what is stored of it, and the metadata, follow from
// the manual (PTX ISA 9.7.14.6). All sums are exact, so that D must be the dense product to the bit.
namespace ptxloom::exec::test::mma_sparse_test {
namespace {

struct Sparse {
  std::string target;
  Type a, b, d;
  int k;
  int selectors;  // legal values of F
  std::string kind = {};
  std::string sp = "sp::ordered_metadata";

  int wide() const { return kind.empty() ? packing(a).stride : 8; }  // bits that an element takes
  int pack() const { return 32 / wide(); }
  int pair() const { return wide() == 4 ? 2 : 1; }          // elements that an index stands for
  int chunk() const { return a == tf32 ? 2 : 4 * pair(); }  // neighbours, half of which are stored
  std::string opcode() const {
    const auto word = [](Type type) { return "." + std::string(type.name); };
    return "mma." + sp + ".sync.aligned.m16n8k" + std::to_string(k) + ".row.col" + kind + word(d) + word(a) +
           word(b) + word(d);
  }
};

/// Which lane holds the four bits of metadata of a row and chunk, and where.
struct Held {
  int lane, bit;
};
Held held(const Sparse& form, int row, int chunk, int f) {
  const int quad = row % 8 * 4, upper = row / 8, chunks = form.k / form.chunk();
  if (form.wide() >= 16) {
    const int lane = form.selectors == 4 ? f : 2 * f + chunk / 4;
    return {quad + lane, 16 * upper + 4 * (chunk % 4)};
  }
  if (chunks == 16) return {quad + upper + 2 * (chunk / 8), 4 * (chunk % 8)};
  return {quad + upper + 2 * f, 4 * chunk};
}

/// The places of the stored elements of a chunk, and their four bits.
struct Choice {
  std::vector<int> places;
  std::uint32_t bits;
};
Choice choose(Random& random, const Sparse& form) {
  if (form.a == tf32) {
    const bool second = random.below(2) == 1;
    return {{second ? 1 : 0}, second ? 0b1110u : 0b0100u};
  }
  const std::uint32_t first = random.below(3), second = first + 1 + random.below(3 - first);
  Choice choice{{}, first | second << 2};
  for (const std::uint32_t index : {first, second})
    for (int i = 0; i < form.pair(); ++i) choice.places.push_back(static_cast<int>(index) * form.pair() + i);
  return choice;
}

Registers run_sparse(const Sparse& form, const Matrix& stored, const Matrix& b, const Matrix& c, Registers e,
                     int f) {
  const int p = form.pack(), per = 32 / (form.d == f16 ? 16 : 32);
  const auto place_a = [p](int l, int i) {
    return At{group(l) + i / p % 2 * 8, p * member(l) + i % p + i / p / 2 * 4 * p};
  };
  const auto place_b = [p](int l, int i) { return At{p * member(l) + i % p + i / p * 4 * p, group(l)}; };
  e.after = ", " + std::to_string(f);
  return execute(form.target, form.opcode(), {.count = 4 / per},
                 {spread(stored, place_a, form.k / 4, packing(form.a, !form.kind.empty())),
                  spread(b, place_b, form.k / 4, packing(form.b, !form.kind.empty())),
                  spread(c, result, 4, {form.d.bits}), std::move(e)});
}

void check(Random& random, const Sparse& form, int f) {
  const Matrix dense = exact_matrix(random, form.a, 16, form.k), b = exact_matrix(random, form.b, form.k, 8),
               c = exact_matrix(random, form.d, 16, 8);
  Matrix stored{form.a, 16, form.k / 2}, wanted{form.d, 16, 8};
  Registers e{.count = 1, .bits = 32, .braces = false};
  for (int lane = 0; lane < 32; ++lane) e.values.push_back(random.bits() & 0xffff'ffff);
  std::vector<double> sums(128);
  for (int row = 0; row < 16; ++row) {
    for (int chunk = 0; chunk < form.k / form.chunk(); ++chunk) {
      const Choice choice = choose(random, form);
      const Held at = held(form, row, chunk, f);
      std::uint64_t& word = e.values[static_cast<std::size_t>(at.lane)];
      word = (word & ~(0xfull << at.bit)) | std::uint64_t{choice.bits} << at.bit;
      for (std::size_t i = 0; i < choice.places.size(); ++i) {
        const int k = chunk * form.chunk() + choice.places[i];
        stored(row, chunk * form.chunk() / 2 + static_cast<int>(i)) = dense(row, k);
        for (int col = 0; col < 8; ++col)
          sums[static_cast<std::size_t>(row * 8 + col)] += dense.value(row, k) * b.value(k, col);
      }
    }
  }
  const Registers d = run_sparse(form, stored, b, c, e, f);
  const Matrix got = collect(d, form.d, 16, 8, result, 4);
  for (int row = 0; row < 16; ++row) {
    for (int col = 0; col < 8; ++col) {
      const double sum = sums[static_cast<std::size_t>(row * 8 + col)] + c.value(row, col);
      CAPTURE(form.opcode(), form.target, f, row, col, sum, got.value(row, col));
      const auto wrapped = static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
      REQUIRE(got(row, col) == (form.d == s32 ? wrapped : narrow::encode(form.d, sum)));
    }
  }
}

std::vector<Sparse> forms() {
  std::vector<Sparse> all;
  for (const std::string target : {"sm_80", "sm_90a", "sm_120a"}) {
    all.push_back({target, f16, f16, f32, 16, 4});
    all.push_back({target, f16, f16, f16, 16, 4});
    all.push_back({target, f16, f16, f16, 32, 2});
    all.push_back({target, bf16, bf16, f32, 16, 4});
    all.push_back({target, bf16, bf16, f32, 32, 2, "", "sp"});
    all.push_back({target, tf32, tf32, f32, 8, 4});
    all.push_back({target, tf32, tf32, f32, 16, 2});
  }
  for (const auto& [a, b] : {std::pair(s8, u8), {u8, s8}, {u8, u8}}) {
    all.push_back({"sm_90a", a, b, s32, 32, 2});
    all.push_back({"sm_90a", a, b, s32, 64, 1});
  }
  for (const auto& [a, b] : {std::pair(s4, u4), {u4, s4}, {s4, s4}}) {
    all.push_back({"sm_90a", a, b, s32, 64, 2});
    all.push_back({"sm_90a", a, b, s32, 128, 1});
  }
  for (const std::string target : {"sm_89", "sm_90a", "sm_100a", "sm_120a"}) {
    all.push_back({target, e4m3, e5m2, f32, 64, 1});
    all.push_back({target, e5m2, e4m3, f32, 64, 1, "", "sp"});
  }
  for (const Type a : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
    for (const Type b : {e4m3, e5m2, e3m2, e2m3, e2m1}) {
      for (const Type d : {f32, f16}) all.push_back({"sm_120a", a, b, d, 64, 1, ".kind::f8f6f4"});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("mma.sp is the product of the matrix that its metadata describe, for every type and selector") {
  Random random;
  INFO("seed " << random.seed);
  for (const Sparse& form : forms()) {
    for (int f = 0; f < form.selectors; ++f) check(random, form, f);
  }
}

TEST_CASE("metadata without a meaning are a fault that names the row and the thread") {
  Random random;
  const auto code = [&](const Sparse& form, int lane, std::uint32_t word) {
    const Matrix a = exact_matrix(random, form.a, 16, form.k / 2),
                 b = exact_matrix(random, form.b, form.k, 8), c = exact_matrix(random, form.d, 16, 8);
    Registers e{.count = 1, .braces = false};
    e.values.assign(32, form.a == tf32 ? 0x4e4e'4e4e : 0x4444'4444);
    e.values[static_cast<std::size_t>(lane)] = word;
    return fault_of([&] {
      run_sparse(form, a, b, c, e, 0);
      throw Error(ErrorKind::usage, "none", "no fault", "");
    });
  };
  const Sparse ordered{"sm_90a", f16, f16, f32, 32, 2}, plain{"sm_90a", f16, f16, f32, 32, 2, "", "sp"},
      single{"sm_90a", tf32, tf32, f32, 8, 4};
  for (const std::uint32_t bits : {0x0u, 0x5u, 0xau, 0xfu}) {
    CHECK(code(ordered, 4, 0x4444'4444 ^ (bits ^ 4) << 20).code == "sparse-metadata");
    CHECK(code(plain, 4, 0x4444'4444 ^ (bits ^ 4) << 20).code == "sparse-metadata");
  }
  CHECK(code(ordered, 4, 0x4444'1444).code == "sparse-metadata");
  CHECK(code(plain, 4, 0x4444'1444).code == "none");
  CHECK(code(ordered, 6, 0x4444'1444).code == "none");  // of the other selector
  CHECK(code(single, 4, 0x4e4e'4e44).code == "none");
  CHECK(code(single, 4, 0x4e4e'4e46).code == "sparse-metadata");
  const std::string message = code(ordered, 5, 0x4444'4444 ^ 0x0040'0000).message;
  CHECK(message.find("0b0000 of row 9") != std::string::npos);
  CHECK(message.find("lane 5") != std::string::npos);
}

}  // namespace ptxloom::exec::test::mma_sparse_test
