// SPDX-License-Identifier: Apache-2.0
// Accumulators with random values become a matrix: the host places them by the instruction's layout.
#include "ptxloom/kit/epilogue.hpp"

#include <algorithm>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <cmath>
#include <string>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/activation.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;
using Catch::Matchers::ContainsSubstring;

namespace {

constexpr const char* kWarpF32 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
constexpr const char* kWarpF64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
constexpr const char* kWarpS32 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";
constexpr const char* kWarpgroupF32 = "wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16";
constexpr double kNotStored = -80;  // which every type has

/// Two warps, or warpgroups, side by side; each has `down` x `across` instructions.
struct Stored {
  const char* opcode;
  Type accumulator, d;
  std::uint32_t rows, columns, pitch;  // of D
  std::uint32_t row, column;           // where the tile begins in the product
  int down = 2, across = 3;
};

struct Product {
  Layout map;
  std::size_t threads = 0, held = 0;  // of both parts; accumulators of a thread
  std::vector<double> registers;      // [thread][accumulator]
  /// Calls `body(row, column, value)` for each, with the place in the product.
  void each(const Stored& c, const std::function<void(std::size_t, std::size_t, double)>& body) const {
    const auto lanes = static_cast<std::size_t>(map.lanes), of_one = static_cast<std::size_t>(map.registers);
    const auto rows = static_cast<std::size_t>(map.rows), columns = static_cast<std::size_t>(map.cols),
               across = static_cast<std::size_t>(c.across);
    for (std::size_t thread = 0; thread < threads; ++thread)
      for (std::size_t i = 0; i < held; ++i) {
        const LayoutElement& e = map.at(static_cast<int>(thread % lanes), static_cast<int>(i % of_one));
        const std::size_t one = i / of_one, part = thread / lanes;
        body(c.row + one / across * rows + static_cast<std::size_t>(e.row),
             c.column + (part * across + one % across) * columns + static_cast<std::size_t>(e.col),
             registers[thread * held + i]);
      }
  }
};

Variant variant_of(const char* opcode) { return kit_test::specs()->match(opcode).front(); }

Product random_product(const Stored& c) {
  Product made{.map = layout(variant_of(c.opcode), "D"), .registers = {}};
  made.threads = 2 * static_cast<std::size_t>(made.map.lanes);
  made.held = static_cast<std::size_t>(made.map.registers * c.down * c.across);
  made.registers.resize(made.threads * made.held);
  for (double& value : made.registers) {
    value = kit_test::random_value(4);
    if (c.accumulator == s32) value = std::round(1000 * value);
  }
  return made;
}

std::vector<std::byte> encoded(Type type, const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * static_cast<std::size_t>(type.bytes()));
  encode(type, values, bytes);
  return bytes;
}

kit::Accumulators load_all(KernelBuilder& k, const Stored& c, int registers, Reg from) {
  kit::Accumulators all(static_cast<std::size_t>(c.down));
  int at = 0;
  for (auto& row : all)
    for (int j = 0; j < c.across; ++j) {
      auto& one = row.emplace_back();
      for (int i = 0; i < registers; ++i)
        one.push_back(k.load("global", c.accumulator, k.at(from, c.accumulator.bytes() * at++)));
    }
  return all;
}

struct Operands {
  std::vector<double> bias, c;  // f16 and bf16; of D's columns, and D's size
};
using Emit = std::function<void(KernelBuilder&, const kit::ParamRegs&, const kit::EpiloguePart&,
                                const kit::EpilogueMatrix&)>;

/// D with all elements between its rows.
std::vector<double> stored(const Stored& c, const Product& product, const Operands& operands,
                           const Emit& emit) {
  kit::Params params;
  params.size("rows", u32, c.rows).size("columns", u32, c.columns).size("pitch", u32, c.pitch);
  params.pointer("in", c.accumulator).pointer("d", c.d).pointer("bias", f16).pointer("c", bf16);
  KernelBuilder k = kit_test::builder();
  k.require_block(static_cast<std::uint32_t>(product.threads));
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x"), part = k.div(thread, product.map.lanes);
  const Reg from = k.mad_wide(thread, static_cast<int>(product.held) * c.accumulator.bytes(), in["in"]);
  emit(k, in,
       {.mma = variant_of(c.opcode),
        .accumulators = load_all(k, c, product.map.registers, from),
        .row = k.mov(u32, c.row),
        .column = k.fma(part, product.map.cols * c.across, k.mov(u32, c.column)),
        .thread = k.rem(thread, product.map.lanes)},
       {.d = in.pointer("d"),
        .rows = in["rows"],
        .columns = in["columns"],
        .pitch = in["pitch"],
        .vector = kit::EpilogueMatrix::vector_of(c.pitch, c.columns)});
  std::vector<std::byte> registers = encoded(c.accumulator, product.registers);
  std::vector<std::byte> d =
      encoded(c.d, std::vector<double>(std::size_t{c.rows - 1} * c.pitch + c.columns, kNotStored));
  std::vector<std::byte> bias = encoded(f16, operands.bias), matrix = encoded(bf16, operands.c);
  kit_test::run(k.finish(), {.block = {static_cast<std::uint32_t>(product.threads), 1, 1}},
                params.arguments(),
                {kit_test::tensor("in", registers), kit_test::tensor("d", d), kit_test::tensor("bias", bias),
                 kit_test::tensor("c", matrix)});
  std::vector<double> values(d.size() / static_cast<std::size_t>(c.d.bytes()));
  decode(c.d, d, values);
  return values;
}

/// The nearest value of the type; of 8 bits, its largest for those beyond its range.
double rounded(Type type, double value) {
  const double most = type == e4m3 ? 448 : type == e5m2 ? 57344 : INFINITY;
  return decode(type, encode(type, std::clamp(value, -most, most)));
}

std::vector<double> poisoned(const Stored& c) {
  return std::vector<double>(std::size_t{c.rows - 1} * c.pitch + c.columns, kNotStored);
}

std::string refusal_by(const Stored& c, const Emit& emit) {
  try {
    stored(c, random_product(c), {{0}, {0}}, emit);
  } catch (const Error& error) {
    return error.what();
  }
  return "nothing was thrown";
}

const Stored kSmall{kWarpF32, f32, f16, 20, 30, 31, 0, 0};

}  // namespace

TEST_CASE("a tile is stored as the instruction holds it") {
  for (const Stored& c :
       {Stored{kWarpF32, f32, f32, 21, 37, 41, 0, 0}, Stored{kWarpF32, f32, f16, 44, 90, 96, 13, 46},
        Stored{kWarpF32, f32, bf16, 32, 48, 48, 0, 0, 1, 2}, Stored{kWarpF64, f64, f64, 9, 30, 33, 3, 8},
        Stored{kWarpS32, s32, s32, 50, 47, 60, 20, 8}, Stored{kWarpS32, s32, f32, 11, 40, 40, 2, 0, 1, 5},
        Stored{kWarpgroupF32, f32, bf16, 111, 70, 72, 8, 0, 2, 1},
        Stored{kWarpgroupF32, f32, f32, 70, 119, 121, 10, 24, 1, 2},
        Stored{kWarpF32, f32, e4m3, 27, 42, 44, 3, 6}, Stored{kWarpF32, f32, e5m2, 19, 41, 45, 0, 5},
        Stored{kWarpS32, s32, e4m3, 50, 47, 60, 20, 8},
        Stored{kWarpgroupF32, f32, e5m2, 70, 38, 40, 0, 0, 1, 2}}) {
    CAPTURE(c.opcode, c.d.name, c.rows, c.columns);
    const Product product = random_product(c);
    std::vector<double> expected = poisoned(c);
    std::size_t outside = 0;
    product.each(c, [&](std::size_t row, std::size_t column, double value) {
      if (row < c.rows && column < c.columns)
        expected[row * c.pitch + column] = rounded(c.d, decode(c.accumulator, encode(c.accumulator, value)));
      else
        ++outside;
    });
    CHECK(stored(c, product, {{0}, {0}},
                 [](KernelBuilder& k, const kit::ParamRegs&, const kit::EpiloguePart& part,
                    const kit::EpilogueMatrix& d) { kit::store_tile(k, part, d); }) == expected);
    CHECK((outside > 0 || c.rows == 32));
  }
}

TEST_CASE("a callback computes each result, and reads only inside") {
  for (const Stored& c :
       {Stored{kWarpF32, f32, f32, 21, 37, 41, 0, 0}, Stored{kWarpS32, s32, bf16, 44, 90, 96, 13, 46},
        Stored{kWarpgroupF32, f32, f16, 50, 61, 64, 0, 0, 1, 2}}) {
    const Product product = random_product(c);
    Operands operands{std::vector<double>(c.columns), poisoned(c)};
    for (auto* list : {&operands.bias, &operands.c})
      for (double& value : *list) value = decode(bf16, encode(bf16, kit_test::random_value(0.5F)));
    std::vector<double> expected = poisoned(c);
    const double scale = c.accumulator == s32 ? 0x1p-10 : 1;
    product.each(c, [&](std::size_t row, std::size_t column, double value) {
      if (row >= c.rows || column >= c.columns) return;
      const double x = decode(c.accumulator, encode(c.accumulator, value)) * scale * operands.bias[column] +
                       operands.bias[column];
      expected[row * c.pitch + column] =
          x / (1 + std::exp(-x)) - 2 * operands.c[row * c.pitch + column] + static_cast<double>(row);
    });
    const std::vector<double> d = stored(
        c, product, operands,
        [&](KernelBuilder& k, const kit::ParamRegs& in, const kit::EpiloguePart& part,
            const kit::EpilogueMatrix& matrix) {
          kit::store_tile(k, part, matrix, [&](KernelBuilder&, Reg accumulator, Reg row, Reg column) {
            Reg x = accumulator.type == s32 ? k.mul(k.convert(f32, accumulator), 0x1p-10F) : accumulator;
            x = kit::scale_by(k, x, in.pointer("bias"), column);
            x = kit::silu(k, kit::add_bias(k, x, in.pointer("bias"), column));
            x = kit::add_residual(k, x, in.pointer("c"), in["pitch"], row, column, -2.0F);
            return k.add(x, k.convert(f32, row));
          });
        });
    const double tolerance = c.d == f32 ? 1e-5 : c.d == f16 ? 2e-3 : 1e-2;
    for (std::size_t i = 0; i < d.size(); ++i) {
      CAPTURE(i, c.d.name);
      REQUIRE(std::abs(d[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
    }
  }
}

TEST_CASE("pairs of columns give one result: SwiGLU") {
  for (const Stored& c :
       {Stored{kWarpF32, f32, f32, 21, 19, 23, 0, 0}, Stored{kWarpF32, f32, f16, 44, 37, 38, 13, 46},
        Stored{kWarpgroupF32, f32, bf16, 50, 33, 40, 0, 0, 1, 2}}) {
    const Product product = random_product(c);
    std::vector<double> gates(std::size_t{200} * 200), expected = poisoned(c);
    product.each(
        c, [&](std::size_t row, std::size_t column, double value) { gates[row * 200 + column] = value; });
    product.each(c, [&](std::size_t row, std::size_t column, double value) {
      const double gate = static_cast<float>(gates[row * 200 + column - 1 + (column + 1) % 2]);
      if (column % 2 == 1 && row < c.rows && column / 2 < c.columns)
        expected[row * c.pitch + column / 2] =
            gate / (1 + std::exp(-gate)) * static_cast<float>(value) + 0.25 * double(column / 2);
    });
    const std::vector<double> d =
        stored(c, product, {{0}, {0}},
               [](KernelBuilder& k, const kit::ParamRegs&, const kit::EpiloguePart& part,
                  const kit::EpilogueMatrix& matrix) {
                 // guide epilogue {
                 kit::store_pairs(k, part, matrix, [&](KernelBuilder&, Reg gate, Reg value, Reg, Reg column) {
                   return k.fma(k.convert(f32, column), 0.25F, k.mul(kit::silu(k, gate), value));
                 });
                 // }
               });
    const double tolerance = c.d == f32 ? 1e-5 : c.d == f16 ? 2e-3 : 1e-2;
    for (std::size_t i = 0; i < d.size(); ++i)
      REQUIRE(std::abs(d[i] - expected[i]) <= tolerance * (1 + std::abs(expected[i])));
  }
}

TEST_CASE("callbacks that cannot be an epilogue are refused") {
  const auto with = [](const kit::Epilogue& epilogue) -> Emit {
    return [epilogue](KernelBuilder& k, const kit::ParamRegs&, const kit::EpiloguePart& part,
                      const kit::EpilogueMatrix& d) { kit::store_tile(k, part, d, epilogue); };
  };
  const auto barrier = [&](const std::function<void(KernelBuilder&)>& emit) {
    return refusal_by(kSmall, with([emit](KernelBuilder& k, Reg x, Reg, Reg) {
                        emit(k);
                        return x;
                      }));
  };
  CHECK_THAT(refusal_by(kSmall, with([](KernelBuilder& k, Reg x, Reg, Reg) { return k.convert(f16, x); })),
             ContainsSubstring("the callback returns f16, and a D of f16 needs f32") &&
                 ContainsSubstring("return k.convert(f32, result)"));
  CHECK_THAT(refusal_by(kSmall, with([](KernelBuilder&, Reg, Reg, Reg) { return Reg(); })),
             ContainsSubstring("the callback returns no register") &&
                 ContainsSubstring("return the result in a register of type f32"));
  CHECK_THAT(
      barrier([](KernelBuilder& k) { k.barrier(); }),
      ContainsSubstring("no-barrier-here") && ContainsSubstring("put the barrier where all threads pass"));
  CHECK_THAT(barrier([](KernelBuilder& k) { k.emit("barrier.cluster.arrive.aligned"); }),
             ContainsSubstring("no-barrier-here"));
  CHECK_THAT(barrier([](KernelBuilder& k) { k.emit("bar.arrive", 1, 64); }),
             ContainsSubstring("no-barrier-here"));
  CHECK(barrier([](KernelBuilder& k) { k.warp_barrier(); }) == "nothing was thrown");
  CHECK_THAT(refusal_by({kWarpS32, s32, f64, 9, 9, 9, 0, 0}, with({})),
             ContainsSubstring("accumulators of s32 for a D of f64"));
  CHECK_THAT(refusal_by({kWarpF32, f32, s8, 9, 9, 9, 0, 0}, with({})),
             ContainsSubstring("a D is f32, f16, bf16, e4m3, e5m2, s32 or f64"));
  CHECK_THAT(refusal_by(kSmall, [](KernelBuilder& k, const kit::ParamRegs&, const kit::EpiloguePart& part,
                                   const kit::EpilogueMatrix& d) { kit::store_pairs(k, part, d, {}); }),
             ContainsSubstring("pairs without a callback"));
  const Variant packed = variant_of("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16");
  CHECK_THAT(refusal_by(kSmall,
                        [&](KernelBuilder& k, const kit::ParamRegs&, kit::EpiloguePart part,
                            const kit::EpilogueMatrix& d) {
                          part.mma = packed;
                          kit::store_tile(k, part, d);
                        }),
             ContainsSubstring("not held in pairs of adjacent columns"));
}

TEST_CASE("interleaved fragments are refused by the epilogue") {
  const kit::FragmentOrder interleaved = kit::fragment_order(s8, false);
  for (const bool of_a : {false, true})
    for (const bool pairs : {false, true})
      CHECK_THAT(refusal_by(kSmall,
                            [&](KernelBuilder& k, const kit::ParamRegs&, kit::EpiloguePart part,
                                const kit::EpilogueMatrix& d) {
                              (of_a ? part.row_order : part.column_order) = interleaved;
                              if (!pairs) return kit::store_tile(k, part, d);
                              kit::store_pairs(k, part, d,
                                               [](KernelBuilder&, Reg x, Reg, Reg, Reg) { return x; });
                            }),
                 ContainsSubstring(of_a ? "the fragments of A are interleaved"
                                        : "the fragments of B are interleaved") &&
                     ContainsSubstring("contiguous along k"));
}

TEST_CASE("a D has a type that results may have") {
  KernelBuilder k = kit_test::builder("sm_75");
  const kit::EpilogueMatrix d{
      .d = k.pointer(u8, "d"), .rows = k.mov(u32, 1), .columns = k.mov(u32, 1), .pitch = k.mov(u32, 1)};
  const kit::EpiloguePart part{.mma = variant_of(kWarpF32),
                               .accumulators = {{k.regs(f32, 4)}},
                               .row = k.mov(u32, 0),
                               .column = k.mov(u32, 0),
                               .thread = k.special("laneid")};
  CHECK_THROWS_WITH(kit::store_tile(k, part, d),
                    ContainsSubstring("a D is f32, f16, bf16, e4m3, e5m2, s32 or f64"));
}

TEST_CASE("pairs of elements are stored together only where they are aligned") {
  CHECK(kit::EpilogueMatrix::vector_of(64, 48) == 2);
  CHECK(kit::EpilogueMatrix::vector_of(64, 47) == 1);
  CHECK(kit::EpilogueMatrix::vector_of(63, 48) == 1);
}
