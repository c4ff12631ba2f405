// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "exec/matrix/mma_harness.hpp"

// wmma: matrices go from memory to memory, in every layout and with strides; what comes out must be the exact
// product. Fragments are nobody's business.
namespace ptxloom::exec::test::wmma_test {
namespace {

struct Wmma {
  std::string target;
  int m, n, k;
  Type a, c, d;
  std::string mma = {};  // what stands between "wmma.mma" and the operands, but for layouts and shape
  std::string op = {};   // ".xor.popc"

  std::string shape() const {
    return "m" + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k);
  }
};

/// A matrix in memory: `stride` elements from a row (column) to the next.
struct Stored {
  bool row_major;
  int stride;
  std::vector<std::byte> bytes;
  std::string layout() const { return row_major ? "row" : "col"; }
};

std::size_t place(const Stored& stored, int row, int col) {
  return static_cast<std::size_t>(stored.row_major ? row * stored.stride + col : col * stored.stride + row);
}

Stored empty(Random& random, const Matrix& matrix, bool row_major) {
  const int length = row_major ? matrix.cols : matrix.rows, lines = row_major ? matrix.rows : matrix.cols;
  // Rows begin at multiples of 16 bytes.
  const int unit = std::max(128 / matrix.type.bits, 1);
  const int stride = (length + unit - 1) / unit * unit + static_cast<int>(random.below(3)) * unit;
  Stored stored{row_major, stride, {}};
  stored.bytes.assign(static_cast<std::size_t>(lines * stride * matrix.type.bits / 8), std::byte{0xa5});
  return stored;
}
Stored store(Random& random, const Matrix& matrix, bool row_major) {
  Stored stored = empty(random, matrix, row_major);
  for (int row = 0; row < matrix.rows; ++row)
    for (int col = 0; col < matrix.cols; ++col)
      narrow::store(matrix.type, stored.bytes, place(stored, row, col), matrix(row, col));
  return stored;
}

int registers(const Wmma& form, char matrix, const Type& type) {
  if (form.a == f16 && (matrix == 'a' || matrix == 'b')) return 8;
  const int elements = matrix == 'a' ? form.m * form.k : matrix == 'b' ? form.k * form.n : form.m * form.n;
  return elements / 32 * type.bits / (type == f64 ? 64 : 32);
}

void check(Random& random, const Wmma& form, bool a_row, bool b_row) {
  const Matrix a = exact_matrix(random, form.a, form.m, form.k),
               b = exact_matrix(random, form.a, form.k, form.n),
               c = exact_matrix(random, form.c, form.m, form.n);
  Matrix d{form.d, form.m, form.n};
  Stored in_a = store(random, a, a_row), in_b = store(random, b, b_row),
         in_c = store(random, c, random.below(2) == 0), out = empty(random, d, random.below(2) == 0);
  std::string parameters, body = ".reg .u64 %p;\n";
  Memory memory;
  std::vector<std::uint64_t> addresses;
  const auto operand = [&](char name, Stored& stored, const Type& type) {
    parameters += std::string(addresses.empty() ? "" : ", ") + ".param .u64 p_" + name;
    addresses.push_back(memory.map(stored.bytes.data(), stored.bytes.size()));
    const std::string letter(1, name), prefix = name == 'd' ? "wmma.store.d" : "wmma.load." + letter;
    Registers r{.count = registers(form, name, type)};
    body += ".reg ." +
            std::string(type == f64   ? "f64"
                        : type == f32 ? "f32"
                                      : "b32") +
            " %" + letter + "<" + std::to_string(r.count) + ">; ld.param.u64 %p, [p_" + letter + "];\n";
    const std::string opcode = prefix + ".sync.aligned." + stored.layout() + "." + form.shape() + ".global." +
                               std::string(type.name) + " ",
                      stride = std::to_string(stored.stride);
    if (name == 'd') return opcode + "[%p], " + names(name, r) + ", " + stride + ";\n";
    body += opcode + names(name, r) + ", [%p], " + stride + ";\n";
    return std::string();
  };
  operand('a', in_a, form.a);
  operand('b', in_b, form.a);
  operand('c', in_c, form.c);
  const std::string last = operand('d', out, form.d);
  body += "wmma.mma" + form.op + ".sync.aligned." + in_a.layout() + "." + in_b.layout() + "." + form.shape() +
          form.mma + " " + names('d', {.count = registers(form, 'd', form.d)}) + ", " +
          names('a', {.count = registers(form, 'a', form.a)}) + ", " +
          names('b', {.count = registers(form, 'b', form.a)}) + ", " +
          names('c', {.count = registers(form, 'c', form.c)}) + ";\n" + last;
  const Program program = program_of(parameters, body, {}, form.target);
  program.run(memory, {.block = {32, 1, 1},
                       .parameters = pack({addresses[0], addresses[1], addresses[2], addresses[3]})});
  for (int row = 0; row < form.m; ++row) {
    for (int col = 0; col < form.n; ++col) {
      double sum = form.c.is_float() ? c.value(row, col) : static_cast<std::int32_t>(c(row, col));
      for (int k = 0; k < form.k; ++k) {
        const double x = a.value(row, k), y = b.value(k, col);
        sum += form.op == ".xor.popc" ? static_cast<double>(x != y) : x * y;
      }
      const std::uint64_t got = narrow::load(form.d, out.bytes, place(out, row, col));
      CAPTURE(form.shape(), form.mma, form.op, in_a.layout(), in_b.layout(), row, col, sum, got);
      const auto wrapped = static_cast<std::uint32_t>(static_cast<std::int64_t>(sum));
      REQUIRE(got == (form.d == s32 ? wrapped : narrow::encode(form.d, sum)));
    }
  }
  // Nothing beside the matrix is touched.
  for (int row = 0; row < form.m; ++row)
    for (int col = 0; col < form.n; ++col) narrow::store(form.d, out.bytes, place(out, row, col), 0);
  const auto left = std::ranges::count_if(out.bytes, [](std::byte b_) { return b_ != std::byte{0}; });
  REQUIRE(static_cast<std::size_t>(left) ==
          out.bytes.size() - static_cast<std::size_t>(form.m * form.n * form.d.bits / 8));
}

std::vector<Wmma> forms() {
  std::vector<Wmma> all;
  const auto types = [](const Type& d, const Type& a, const char* tail = "") {
    return "." + std::string(d.name) + "." + std::string(a.name) + "." + std::string(a.name) + "." +
           std::string(d.name) + tail;
  };
  for (const auto& [m, n] : {std::pair(16, 16), {32, 8}, {8, 32}}) {
    for (const std::string target : {"sm_75", "sm_80", "sm_90a"}) {
      for (const Type d : {f16, f32}) {
        for (const Type c : {f16, f32})
          all.push_back({target, m, n, 16, f16, c, d, "." + std::string(d.name) + "." + std::string(c.name)});
      }
    }
    all.push_back({"sm_80", m, n, 16, bf16, f32, f32, types(f32, bf16)});
    for (const Type a : {s8, u8}) all.push_back({"sm_80", m, n, 16, a, s32, s32, types(s32, a)});
  }
  all.push_back({"sm_90a", 16, 16, 8, tf32, f32, f32, types(f32, tf32)});
  all.push_back({"sm_90a", 8, 8, 4, f64, f64, f64, ".rz" + types(f64, f64)});
  for (const Type a : {s4, u4}) all.push_back({"sm_80", 8, 8, 32, a, s32, s32, types(s32, a)});
  for (const std::string op : {".xor.popc", ".and.popc"})
    all.push_back({"sm_80", 8, 8, 128, b1, s32, s32, types(s32, b1), op});
  return all;
}

}  // namespace

TEST_CASE("wmma multiplies matrices of memory, in every shape, type and layout") {
  Random random;
  INFO("seed " << random.seed);
  for (const Wmma& form : forms()) {
    const bool narrow = form.a.bits < 8;  // these have one layout
    for (const bool a_row : {true, false}) {
      for (const bool b_row : {true, false}) {
        if (!narrow || (a_row && !b_row)) check(random, form, a_row, b_row);
      }
    }
  }
}

TEST_CASE("wmma.load takes rows next to each other where no stride is given") {
  const Program program = program_of(
      kOutIn,
      ".reg .u64 %p; .reg .f32 %c<8>; ld.param.u64 %p, [in]; "
      "wmma.load.c.sync.aligned.row.m16n16k16.global.f32 "
      "{%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7}, [%p]; ld.param.u64 %p, [out];\n"
      "wmma.store.d.sync.aligned.col.m16n16k16.global.f32 [%p], {%c0, %c1, %c2, %c3, %c4, %c5, %c6, %c7};");
  std::vector<std::uint32_t> in(256);
  for (std::uint32_t i = 0; i < 256; ++i) in[i] = 1000 + i;
  const auto out = run<std::uint32_t>(program, 32, 256, in);
  for (std::uint32_t i = 0; i < 256; ++i) CHECK(out[i] == 1000 + i % 16 * 16 + i / 16);
}

TEST_CASE("misuse of wmma.load and wmma.store is found") {
  const auto code = [](const std::string& before, const std::string& stride, std::size_t size = 256) {
    const Program program =
        program_of(kOutIn,
                   ".reg .u64 %p, %q; .reg .u32 %t; .reg .f32 %c<8>; mov.u32 %t, %tid.x; ld.param.u64 "
                   "%p, [in]; " +
                       before +
                       " wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%c0, %c1, %c2, %c3, %c4, "
                       "%c5, %c6, %c7}, [%p], " +
                       stride + ";");
    return fault_of([&] {
             run<std::uint32_t>(program, 32, 1, std::vector<std::uint32_t>(size));
             throw Error(ErrorKind::usage, "none", "no fault", "");
           })
        .code;
  };
  CHECK(code("", "16") == "none");
  CHECK(code("", "20") == "out-of-bounds");
  CHECK(code("", "20", 320) == "none");
  CHECK(code("", "18", 320) == "misaligned");
  CHECK(code("", "12") == "matrix-stride");
  CHECK(code("", "%t") == "warp-operands");
  CHECK(code("cvt.u64.u32 %q, %t; add.u64 %p, %p, %q;", "16") == "warp-operands");
  CHECK(code("add.u64 %p, %p, 4;", "16", 320) == "misaligned");
}

TEST_CASE("tf32 of wmma is summed in two steps of k4, and f16 of sm_75 in two of k8") {
  // large - large in the first step, 1/4 in the second, where one go would cut it off.
  const auto sum = [](const std::string& target, const std::string& shape, const std::string& types, int k,
                      Type type) {
    Matrix a{type, 16, k}, b{type, k, 16};
    for (int i = 0; i < k; ++i)
      for (int j = 0; j < 16; ++j) b(i, j) = narrow::encode(type, 4096);
    for (int row = 0; row < 16; ++row) {
      a(row, 0) = narrow::encode(type, 4096);
      a(row, 1) = narrow::encode(type, -4096);
      a(row, k - 1) = narrow::encode(type, 0x1p-14);
    }
    Random random;
    Stored x{true, k, {}}, y{true, 16, {}};
    x.bytes.resize(a.bits.size() * type.bits / 8);
    y.bytes.resize(b.bits.size() * type.bits / 8);
    for (std::size_t i = 0; i < a.bits.size(); ++i) narrow::store(type, x.bytes, i, a.bits[i]);
    for (std::size_t i = 0; i < b.bits.size(); ++i) narrow::store(type, y.bytes, i, b.bits[i]);
    const int count = type == f16 ? 8 : 4;
    const std::string word(type.name), ra = names('a', {.count = count}), rb = names('b', {.count = count}),
                                       rc = names('c', {.count = 8});
    const Program program = program_of(
        ".param .u64 p_a, .param .u64 p_b, .param .u64 p_d",
        ".reg .u64 %p; .reg .b32 %a<8>, %b<8>; .reg .f32 %c<8>;\n"
        "mov.f32 %c0, 0f00000000; mov.f32 %c1, %c0; mov.f32 %c2, %c0; mov.f32 %c3, %c0; mov.f32 %c4, %c0; "
        "mov.f32 %c5, %c0; mov.f32 %c6, %c0; mov.f32 %c7, %c0;\n"
        "ld.param.u64 %p, [p_a]; wmma.load.a.sync.aligned.row." +
            shape + ".global." + word + " " + ra +
            ", [%p]; ld.param.u64 %p, [p_b]; wmma.load.b.sync.aligned.row." + shape + ".global." + word +
            " " + rb + ", [%p];\nwmma.mma.sync.aligned.row.row." + shape + types + " " + rc + ", " + ra +
            ", " + rb + ", " + rc + "; ld.param.u64 %p, [p_d]; wmma.store.d.sync.aligned.row." + shape +
            ".global.f32 [%p], " + rc + ";",
        {}, target);
    Memory memory;
    std::vector<float> d(256);
    program.run(memory, {.block = {32, 1, 1},
                         .parameters =
                             pack({memory.map(x.bytes.data(), x.bytes.size()),
                                   memory.map(y.bytes.data(), y.bytes.size()), memory.map(d.data(), 1024)})});
    return d[37];
  };
  CHECK(sum("sm_90a", "m16n16k8", ".f32.tf32.tf32.f32", 8, tf32) == 0.25f);
  CHECK(sum("sm_75", "m16n16k16", ".f32.f32", 16, f16) == 0.25f);
  CHECK(sum("sm_80", "m16n16k16", ".f32.f32", 16, f16) == 0.25f);
  CHECK(sum("sm_90a", "m16n16k16", ".f32.f32", 16, f16) == 0.0f);
}

TEST_CASE("wmma of f16 with .satfinite, which PTX 6.3 and 6.4 have, gives no infinity and no NaN") {
  std::string body =
      ".reg .u64 %p; .reg .b32 %a<8>, %x; .reg .f32 %c<8>; ld.param.u64 %p, [in]; mov.b32 %x, "
      "0x3c003c00; wmma.load.c.sync.aligned.row.m16n16k16.global.f32 {%c0, %c1, %c2, %c3, %c4, %c5, "
      "%c6, %c7}, [%p];\n";
  for (int i = 0; i < 8; ++i) body += "mov.b32 %a" + std::to_string(i) + ", %x; ";
  const std::string a = names('a', {.count = 8}), c = names('c', {.count = 8});
  body += "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32.satfinite " + c + ", " + a + ", " + a + ", " + c +
          "; ld.param.u64 %p, [out]; wmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%p], " + c + ";";
  const Program program(module_of(".version 6.4\n.target sm_75\n.address_size 64\n.visible .entry k(" +
                                  kOutIn + ")\n{\n" + body + "\nret;\n}\n"),
                        "k");
  std::vector<std::uint32_t> in(256);
  in[1] = 0x7f80'0000;
  in[2] = 0xff80'0000;
  in[3] = 0x7fc0'0000;
  const auto out = run<std::uint32_t>(program, 32, 256, in);
  CHECK(out[0] == 0x4180'0000);  // 16
  CHECK(out[1] == 0x7f7f'ffff);
  CHECK(out[2] == 0xff7f'ffff);
  CHECK(out[3] == 0);
}

}  // namespace ptxloom::exec::test::wmma_test
