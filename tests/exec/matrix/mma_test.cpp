// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>

#include "exec/harness.hpp"

// mma.sync of every shape and type on random matrices, no two dimensions alike. Where elements lie is written
// here as the PTX manual has it (9.7.14.5, "Matrix fragments for mma"), and not taken from our maps; what
// comes out is compared with sums in double, integers exactly.
namespace ptxloom::exec::test::mma_test {
namespace {

struct At {
  int row, col;
};
/// Element i of a fragment in a lane.
using Place = std::function<At(int lane, int i)>;

int group(int lane) { return lane / 4; }
int member(int lane) { return lane % 4; }

struct Shape {
  std::string words;  // of the opcode, from the shape on
  std::string a, b, d;
  int m, n, k;
  Place place_a, place_b, place_d;
};

/// A matrix element as a number and as bits.
struct Element {
  std::string type;
  int bits;
};
Element element(const std::string& type) {
  if (type == "f64") return {type, 64};
  if (type == "tf32" || type == "f32" || type == "s32") return {type, 32};
  if (type == "f16" || type == "bf16") return {type, 16};
  return {type, 8};
}

std::uint64_t encode_test(const std::string& type, double value) {
  if (type == "f64") return std::bit_cast<std::uint64_t>(value);
  if (type == "f32") return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (type == "f16") return std::bit_cast<std::uint16_t>(static_cast<_Float16>(value));
  if (type == "bf16") return std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16;
  if (type == "tf32") return std::bit_cast<std::uint32_t>(static_cast<float>(value)) & ~0x1fffu;
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) &
         (type.ends_with("32") ? 0xffff'ffffu : 0xffu);
}
double decode_test(const std::string& type, std::uint64_t bits) {
  if (type == "f64") return std::bit_cast<double>(bits);
  if (type == "f32" || type == "tf32") return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  if (type == "f16") return static_cast<double>(std::bit_cast<_Float16>(static_cast<std::uint16_t>(bits)));
  if (type == "bf16") return std::bit_cast<float>(static_cast<std::uint32_t>(bits << 16));
  if (type == "s32") return static_cast<std::int32_t>(bits);
  return type == "s8" ? static_cast<double>(static_cast<std::int8_t>(bits))
                      : static_cast<double>(bits & 0xff);
}

struct Matrix {
  std::string type;
  int rows, cols;
  std::vector<double> values;
  double& operator()(At at) { return values[static_cast<std::size_t>(at.row * cols + at.col)]; }
};

Matrix random_matrix(Random& random, const std::string& type, int rows, int cols) {
  Matrix matrix{type, rows, cols, std::vector<double>(static_cast<std::size_t>(rows * cols))};
  for (double& value : matrix.values) {
    double wanted = random.uniform(-2, 2);
    if (type == "s8") wanted = static_cast<std::int8_t>(random.bits());
    if (type == "u8") wanted = static_cast<std::uint8_t>(random.bits());
    if (type == "s32") wanted = static_cast<std::int32_t>(random.bits()) >> 4;
    value = decode_test(type, encode_test(type, wanted));
  }
  return matrix;
}

/// Registers of 32 (f64: 64) bits a lane holds, as the kernel loads them: by lane, then register.
std::vector<std::uint64_t> to_registers(Matrix& matrix, const Place& place, int count) {
  const int bits = element(matrix.type).bits, per = std::max(1, 32 / bits);
  std::vector<std::uint64_t> registers(static_cast<std::size_t>(32 * count / per));
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count; ++i) {
      registers[static_cast<std::size_t>(lane * (count / per) + i / per)] |=
          encode_test(matrix.type, matrix(place(lane, i))) << (i % per * bits);
    }
  }
  return registers;
}

/// Loads, multiplies and stores: every register of a fragment is 8 bytes in memory.
std::vector<std::uint64_t> multiply(const Shape& shape, const std::string& target,
                                    const std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b,
                                    const std::vector<std::uint64_t>& c) {
  const auto bits = [](const std::string& type) {
    return type == "f64" ? std::string("f64") : std::string("b32");
  };
  std::string body = ".reg .u64 %p; .reg .u32 %t; mov.u32 %t, %tid.x;\n";
  const auto vector = [](char name, std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i)
      text += (i == 0 ? "%" : ", %") + std::string(1, name) + std::to_string(i);
    return text + "}";
  };
  const auto load = [&](char name, const std::vector<std::uint64_t>& values, const std::string& type) {
    const std::size_t count = values.size() / 32;
    body += ".reg ." + bits(type) + " %" + name + "<" + std::to_string(count) + ">; ld.param.u64 %p, [" +
            name + "]; mad.wide.u32 %p, %t, " + std::to_string(8 * count) + ", %p;\n";
    for (std::size_t i = 0; i < count; ++i)
      body += "ld.global." + bits(type) + " %" + name + std::to_string(i) + ", [%p+" + std::to_string(8 * i) +
              "];\n";
  };
  load('a', a, shape.a);
  load('b', b, shape.b);
  load('c', c, shape.d);
  const std::size_t count = c.size() / 32;
  body += ".reg ." + bits(shape.d) + " %d<" + std::to_string(count) + ">; mma.sync.aligned." + shape.words +
          " " + vector('d', count) + ", " + vector('a', a.size() / 32) + ", " + vector('b', b.size() / 32) +
          ", " + vector('c', count) + ";\n";
  body += "ld.param.u64 %p, [d]; mad.wide.u32 %p, %t, " + std::to_string(8 * count) + ", %p;\n";
  for (std::size_t i = 0; i < count; ++i)
    body +=
        "st.global." + bits(shape.d) + " [%p+" + std::to_string(8 * i) + "], %d" + std::to_string(i) + ";\n";
  const Program program =
      program_of(".param .u64 a, .param .u64 b, .param .u64 c, .param .u64 d", body, {}, target);

  Memory memory;
  std::vector<std::uint64_t> d(c.size());
  const auto map = [&](const std::vector<std::uint64_t>& v) {
    return memory.map(const_cast<std::uint64_t*>(v.data()), v.size() * 8);
  };
  const auto parameters = pack({map(a), map(b), map(c), map(d)});
  program.run(memory, {.block = {32, 1, 1}, .parameters = parameters});
  return d;
}

void check(const Shape& shape, const std::string& target = "sm_90a") {
  Random random;
  INFO("seed " << random.seed << " " << shape.words << " on " << target);
  Matrix a = random_matrix(random, shape.a, shape.m, shape.k),
         b = random_matrix(random, shape.b, shape.k, shape.n),
         c = random_matrix(random, shape.d, shape.m, shape.n);
  const auto registers = multiply(shape, target, to_registers(a, shape.place_a, shape.m * shape.k / 32),
                                  to_registers(b, shape.place_b, shape.k * shape.n / 32),
                                  to_registers(c, shape.place_d, shape.m * shape.n / 32));
  const int count = shape.m * shape.n / 32, bits = element(shape.d).bits, per = std::max(1, 32 / bits);
  const double unit = shape.d == "s32"   ? 0
                      : shape.d == "f64" ? 0x1p-52
                      : shape.d == "f16" ? 0x1p-11
                                         : 0x1p-22;
  for (int lane = 0; lane < 32; ++lane) {
    for (int i = 0; i < count; ++i) {
      const At at = shape.place_d(lane, i);
      double sum = c(at), magnitude = std::abs(sum);
      for (int k = 0; k < shape.k; ++k) {
        const double product = a({at.row, k}) * b({k, at.col});
        sum += product;
        magnitude += std::abs(product);
      }
      const std::uint64_t whole = registers[static_cast<std::size_t>(lane * (count / per) + i / per)];
      const double got = decode_test(shape.d, bits == 64 ? whole : whole >> (i % per * bits));
      CAPTURE(lane, i, at.row, at.col, got, sum);
      REQUIRE(std::abs(got - sum) <= magnitude * unit * 2);
    }
  }
}

// The fragments of the manual, by shape. Results: two columns side by side, rows eight apart.
At result(int lane, int i) { return {group(lane) + i / 2 * 8, member(lane) * 2 + i % 2}; }

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const std::string type : {"f16", "bf16"}) {
    for (const std::string d : {"f32", "f16"}) {
      if (type == "bf16" && d == "f16") continue;
      const std::string types = d + "." + type + "." + type + "." + d;
      all.push_back({"m16n8k8.row.col." + types, type, type, d, 16, 8, 8,
                     [](int l, int i) { return At{group(l) + (i < 2 ? 0 : 8), member(l) * 2 + i % 2}; },
                     [](int l, int i) { return At{member(l) * 2 + i, group(l)}; }, result});
      all.push_back({"m16n8k16.row.col." + types, type, type, d, 16, 8, 16,
                     [](int l, int i) {
                       return At{group(l) + (i < 2 || (i >= 4 && i < 6) ? 0 : 8),
                                 member(l) * 2 + i % 2 + (i >= 4 ? 8 : 0)};
                     },
                     [](int l, int i) { return At{member(l) * 2 + i % 2 + (i >= 2 ? 8 : 0), group(l)}; },
                     result});
    }
  }
  all.push_back({"m16n8k4.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 16, 8, 4,
                 [](int l, int i) { return At{group(l) + i * 8, member(l)}; },
                 [](int l, int) { return At{member(l), group(l)}; }, result});
  all.push_back(
      {"m16n8k8.row.col.f32.tf32.tf32.f32", "tf32", "tf32", "f32", 16, 8, 8,
       [](int l, int i) { return At{group(l) + (i == 0 || i == 2 ? 0 : 8), member(l) + (i < 2 ? 0 : 4)}; },
       [](int l, int i) { return At{member(l) + i * 4, group(l)}; }, result});
  all.push_back({"m8n8k4.row.col.f64.f64.f64.f64", "f64", "f64", "f64", 8, 8, 4,
                 [](int l, int) { return At{group(l), member(l)}; },
                 [](int l, int) { return At{member(l), group(l)}; },
                 [](int l, int i) { return At{group(l), member(l) * 2 + i}; }});
  for (const int k : {4, 8, 16}) {
    all.push_back({"m16n8k" + std::to_string(k) + ".row.col.f64.f64.f64.f64", "f64", "f64", "f64", 16, 8, k,
                   [](int l, int i) { return At{group(l) + i % 2 * 8, i / 2 * 4 + member(l)}; },
                   [](int l, int i) { return At{member(l) + i * 4, group(l)}; }, result});
  }
  for (const std::string a : {"s8", "u8"}) {
    for (const std::string b : {"s8", "u8"}) {
      const std::string types = ".row.col.s32." + a + "." + b + ".s32";
      all.push_back({"m8n8k16" + types, a, b, "s32", 8, 8, 16,
                     [](int l, int i) { return At{group(l), member(l) * 4 + i}; },
                     [](int l, int i) { return At{member(l) * 4 + i, group(l)}; },
                     [](int l, int i) { return At{group(l), member(l) * 2 + i}; }});
      all.push_back({"m16n8k16" + types, a, b, "s32", 16, 8, 16,
                     [](int l, int i) { return At{group(l) + (i < 4 ? 0 : 8), member(l) * 4 + i % 4}; },
                     [](int l, int i) { return At{member(l) * 4 + i, group(l)}; }, result});
      all.push_back({"m16n8k32" + types, a, b, "s32", 16, 8, 32,
                     [](int l, int i) {
                       return At{group(l) + (i < 4 || (i >= 8 && i < 12) ? 0 : 8),
                                 member(l) * 4 + i % 4 + (i >= 8 ? 16 : 0)};
                     },
                     [](int l, int i) { return At{member(l) * 4 + i % 4 + (i >= 4 ? 16 : 0), group(l)}; },
                     result});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("mma of every shape and type is the product of the matrices") {
  for (const Shape& shape : shapes()) check(shape);
}

TEST_CASE("mma is right on targets that sum in another way") {
  for (const Shape& shape : shapes()) {
    if (!shape.words.starts_with("m16n8") || shape.a == "f64") continue;
    check(shape, "sm_80");
    check(shape, "sm_120a");
  }
}

TEST_CASE("m8n8k4 of f16 is four products, each of eight lanes") {
  // Lanes l and l + 16 of quad q (l / 4) hold product q; the manual gives row and column by layout.
  Random random;
  INFO("seed " << random.seed);
  for (const bool a_row : {true, false}) {
    for (const bool b_row : {true, false}) {
      const auto upper = [](int l) { return l >= 16 ? 4 : 0; };
      const Place place_a = [=](int l, int i) {
        return a_row ? At{l % 4 + upper(l), i} : At{i % 4 + upper(l), l % 4};
      };
      const Place place_b = [=](int l, int i) {
        return b_row ? At{l % 4, i + upper(l)} : At{i, l % 4 + upper(l)};
      };
      const Place place_d = [=](int l, int i) {
        return At{(l & 1) + (i & 2) + upper(l), (i & 4) + (l & 2) + (i & 1)};
      };
      std::vector<Matrix> a, b, c;
      for (int q = 0; q < 4; ++q) {
        a.push_back(random_matrix(random, "f16", 8, 4));
        b.push_back(random_matrix(random, "f16", 4, 8));
        c.push_back(random_matrix(random, "f32", 8, 8));
      }
      std::vector<std::uint64_t> ra(64), rb(64), rc(256);
      for (int l = 0; l < 32; ++l) {
        const auto q = static_cast<std::size_t>(l % 16 / 4), lane = static_cast<std::size_t>(l);
        for (int i = 0; i < 4; ++i) {
          ra[lane * 2 + static_cast<std::size_t>(i / 2)] |= encode_test("f16", a[q](place_a(l, i)))
                                                            << (i % 2 * 16);
          rb[lane * 2 + static_cast<std::size_t>(i / 2)] |= encode_test("f16", b[q](place_b(l, i)))
                                                            << (i % 2 * 16);
        }
        for (int i = 0; i < 8; ++i)
          rc[lane * 8 + static_cast<std::size_t>(i)] = encode_test("f32", c[q](place_d(l, i)));
      }
      Shape shape;
      shape.words =
          std::string("m8n8k4.") + (a_row ? "row." : "col.") + (b_row ? "row" : "col") + ".f32.f16.f16.f32";
      shape.a = shape.b = "f16";
      shape.d = "f32";
      const auto d = multiply(shape, "sm_75", ra, rb, rc);
      for (int l = 0; l < 32; ++l) {
        const auto q = static_cast<std::size_t>(l % 16 / 4);
        for (int i = 0; i < 8; ++i) {
          const At at = place_d(l, i);
          double sum = c[q](at);
          for (int k = 0; k < 4; ++k) sum += a[q]({at.row, k}) * b[q]({k, at.col});
          CAPTURE(shape.words, l, i);
          REQUIRE(std::abs(decode_test("f32", d[static_cast<std::size_t>(l * 8 + i)]) - sum) < 1e-5);
        }
      }
    }
  }
}

TEST_CASE("integer sums wrap, or saturate where asked") {
  Shape shape = shapes().back();  // u8 * u8
  const std::vector<std::uint64_t> a(128, 0xffff'ffff), b(64, 0xffff'ffff), c(128, 0x7fff'ffff);
  CHECK(multiply(shape, "sm_90a", a, b, c)[0] % 0x1'0000'0000 == 0x7fff'ffffu + 32u * 255 * 255);
  shape.words.replace(shape.words.find(".s32"), 4, ".satfinite.s32");
  CHECK(multiply(shape, "sm_90a", a, b, c)[0] % 0x1'0000'0000 == 0x7fff'ffff);
}

TEST_CASE("the target's way of summing shows in the last bits") {
  // 1 and fifteen times 2^-25: Ampere keeps 24 bits below the largest exponent, and none of them; Hopper
  // keeps 25.
  const auto shape = shapes()[1];  // m16n8k16 f32 of f16
  std::vector<std::uint64_t> a(128, 0x0010'0010), b(64, 0x1000'1000), c(128, 0);
  REQUIRE(shape.k == 16);
  const auto sum = [&](const std::string& target) {
    std::vector<std::uint64_t> ones = c;
    std::ranges::fill(ones, std::bit_cast<std::uint32_t>(1.0f));
    return std::bit_cast<float>(static_cast<std::uint32_t>(multiply(shape, target, a, b, ones)[0]));
  };
  const double product = decode_test("f16", 0x10) * decode_test("f16", 0x1000);
  REQUIRE(product == 0x1p-31);
  CHECK(sum("sm_90a") == 1.0f);
  std::ranges::fill(a, 0x0400'0400u);  // 2^-14 * 2^-11 = 2^-25
  CHECK(sum("sm_80") == 1.0f);
  CHECK(sum("sm_90a") == 1.0f + 0x1p-21f);
}

TEST_CASE("Ampere sums k in two halves") {
  // 2^24 - 2^24 in the first half, 1/4 in the second: in one go it is cut off, as on Hopper.
  const auto shape = shapes()[1];  // m16n8k16 f32 of f16
  Matrix left{"f16", 16, 16, std::vector<double>(256)}, right{"f16", 16, 8, std::vector<double>(128, 4096)};
  for (int row = 0; row < 16; ++row) {
    left({row, 0}) = 4096;
    left({row, 1}) = -4096;
    left({row, 8}) = 0x1p-14;
  }
  const auto a = to_registers(left, shape.place_a, 8), b = to_registers(right, shape.place_b, 4);
  const auto sum = [&](const std::string& target) {
    return std::bit_cast<float>(
        static_cast<std::uint32_t>(multiply(shape, target, a, b, std::vector<std::uint64_t>(128))[0]));
  };
  CHECK(sum("sm_80") == 0.25f);
  CHECK(sum("sm_90a") == 0.0f);
}

TEST_CASE("mma needs the whole warp") {
  const auto code = [](std::uint32_t threads, const std::string& guard) {
    const Program program = program_of(
        ".param .u64 p",
        ".reg .b32 %r<8>; .reg .u32 %t; .reg .pred %p; mov.u32 %t, %tid.x; setp.lt.u32 %p, %t, 30;\n" +
            guard +
            " mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%r6}, "
            "{%r0, %r1, %r2, %r3};\n");
    Memory memory;
    const auto parameters = pack({0});
    return fault_of([&] { program.run(memory, {.block = {threads, 1, 1}, .parameters = parameters}); }).code;
  };
  CHECK(code(32, "@%p") == "warp-divergence");
  CHECK(code(31, "") == "warp-divergence");
}

}  // namespace ptxloom::exec::test::mma_test
