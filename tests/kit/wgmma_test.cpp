// SPDX-License-Identifier: Apache-2.0
// Products of a warpgroup: wgmma reads tiles as their descriptors say, contiguous along k and not.
#include "ptxloom/kit/wgmma.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/pipeline.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/sparse_layout.hpp"
#include "ptxloom/layout.hpp"
#include "ptxloom/numeric.hpp"

using namespace ptxloom;

namespace {

struct WarpgroupCase {
  Type type;
  const char* types;  // of D, A and B, as in the opcode
  bool a_along_k, b_along_k;
  int n, depth;  // of a tile; it has 64 rows
  int mma_k;

  kit::MatrixOperand operand(bool along_k, int extent) const {
    const auto deep = static_cast<std::uint64_t>(2 * depth), wide = static_cast<std::uint64_t>(extent);
    const std::uint64_t cols = along_k ? deep : wide;
    return {type, along_k, along_k ? wide : deep, cols, (cols + 15) / 16 * 16, 0};
  }
  kit::MatrixOperand a() const { return operand(a_along_k, 64); }
  kit::MatrixOperand b() const { return operand(b_along_k, n); }
};

Variant wgmma_variant(const std::string& opcode) {
  const std::vector<Variant> found = kit_test::specs()->match(opcode);
  REQUIRE(!found.empty());
  return found.front();
}

/// D = A * B^T, over two stages that are filled at once.
ir::Module wgmma_kernel(const WarpgroupCase& c, const kit::TmaTile& tile_a, const kit::TmaTile& tile_b,
                        const kit::Params& params) {
  const Variant mma =
      wgmma_variant(fmt::format("wgmma.mma_async.sync.aligned.m64n{}k{}.{}", c.n, c.mma_k, c.types));
  kit::SharedLayout stage;
  stage.add("a", tile_a.bytes(), 1024).add("b", tile_b.bytes(), 1024);
  KernelBuilder k = kit_test::builder();
  k.require_block(128);
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x"), zero = k.mov(u32, 0);
  const Reg stages =
      k.address_of(k.shared(b8, 2 * static_cast<std::uint64_t>(stage.pitch()), "stages", 1024));
  kit::Pipeline pipeline(k, 2, k.address_of(k.mbarriers(4, "barriers")));
  k.if_(k.eq(thread, 0), [&] { pipeline.initialise(1); });
  k.barrier();
  const kit::Pipeline::Cursor writes = pipeline.producer(), reads = pipeline.consumer();
  k.if_(k.eq(thread, 0), [&] {
    kit::TmaTileLoads loads(k, 1);
    for (int i = 0; i < 2; ++i) {
      const Reg begin = k.add(stages, i * stage.pitch()), from = k.mov(u32, i * c.depth);
      pipeline.expect(pipeline.full(writes), tile_a.bytes() + tile_b.bytes());
      loads.load(tile_a, in["a"], {zero, from}, stage.address(k, begin, "a"), pipeline.full(writes));
      loads.load(tile_b, in["b"], {zero, from}, stage.address(k, begin, "b"), pipeline.full(writes));
      pipeline.advance(writes);
    }
  });
  const std::vector<Reg> accumulators = kit::wgmma_accumulators(k, mma);
  // guide wgmma {
  const kit::WgmmaOperand a(k, tile_a, stages), b(k, tile_b, stage.address(k, stages, "b"));
  const Reg add = k.reg(pred);
  for (int i = 0; i < 2; ++i) {
    pipeline.await(pipeline.full(reads), reads);
    const Reg distance = k.mul(reads.stage, stage.pitch() / kit::WgmmaOperand::kUnit);
    const Reg low_a = a.low(k, distance), low_b = b.low(k, distance);
    kit::wgmma_fence(k);
    for (int depth = 0; depth < c.depth; depth += c.mma_k) {
      k.emit("setp.ne.u32", add, i + depth, 0);  // the first instruction overwrites the accumulators
      kit::wgmma(k, mma, accumulators, a.descriptor(k, low_a, 0, depth), b.descriptor(k, low_b, 0, depth),
                 add, a.transposed(), b.transposed());
    }
    kit::wgmma_commit(k);
    pipeline.advance(reads);
  }
  kit::wgmma_wait(k);
  // }
  const Reg lane = k.and_(thread, 31);
  const Reg row = k.fma(k.shr(thread, 5), 16, k.shr(lane, 2)), column = k.mul(k.and_(lane, 3), 2);
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(mma);
  for (std::size_t i = 0; i < accumulators.size(); ++i) {
    const Reg at = k.fma(k.add(row, places[i].row), c.n, k.add(column, places[i].column));
    k.store(in.pointer("d")[at], accumulators[i]);
  }
  return k.finish();
}

std::vector<std::byte> small_integers(const kit::MatrixOperand& m) {
  std::vector<std::byte> data(m.rows * m.pitch_bytes());
  for (std::uint64_t i = 0; i < m.rows * m.ld; ++i)
    store_element(m.type, data, i, encode(m.type, static_cast<int>(kit_test::random_word() % 17) - 8));
  return data;
}

double element(const kit::MatrixOperand& m, const std::vector<std::byte>& data, std::uint64_t extent,
               std::uint64_t depth) {
  const std::uint64_t at = m.k_contiguous ? extent * m.ld + depth : depth * m.ld + extent;
  return static_cast<double>(decode(m.type, load_element(m.type, data, at)));
}

/// D = A * B^T for one tile of B, with the fragments of A in memory: four words of each thread for each 16 of
/// k.
ir::Module register_kernel(Variant mma, const kit::TmaTile& tile_b, int depth, const kit::Params& params) {
  KernelBuilder k = kit_test::builder();
  k.require_block(128);
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x"), zero = k.mov(u32, 0);
  const Reg stage = k.address_of(k.shared(b8, static_cast<std::uint64_t>(tile_b.bytes()), "stage", 1024));
  kit::Pipeline pipeline(k, 1, k.address_of(k.mbarriers(2, "barriers")));
  k.if_(k.eq(thread, 0), [&] { pipeline.initialise(1); });
  k.barrier();
  const kit::Pipeline::Cursor reads = pipeline.consumer();
  k.if_(k.eq(thread, 0), [&] {
    pipeline.expect(pipeline.full(reads), tile_b.bytes());
    kit::TmaTileLoads(k, 1).load(tile_b, in["b"], {zero, zero}, stage, pipeline.full(reads));
  });
  std::vector<std::vector<Reg>> a;
  for (int step = 0; step < depth / 16; ++step)
    a.push_back(k.load(in.pointer("a")[k.mul(k.add(thread, 128 * step), 4)], 4));
  pipeline.await(pipeline.full(reads), reads);
  const std::vector<Reg> accumulators = kit::wgmma_accumulators(k, mma);
  const kit::WgmmaOperand b(k, tile_b, stage);
  const Reg low = b.low(k, zero), add = k.reg(pred);
  kit::wgmma_fence(k);
  for (int step = 0; step < depth / 16; ++step) {
    k.emit("setp.ne.u32", add, step, 0);
    kit::wgmma(k, mma, accumulators, std::span<const Reg>(a[static_cast<std::size_t>(step)]),
               b.descriptor(k, low, 0, 16 * step), add, b.transposed());
  }
  kit::wgmma_commit(k);
  kit::wgmma_wait(k);
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    k.store(in.pointer("d")[k.fma(thread, accumulators.size(), i)], accumulators[i]);
  return k.finish();
}

/// The form that takes A in registers.
Variant register_variant(const std::string& opcode) {
  for (const Variant& one : kit_test::specs()->match(opcode))
    if (one.operand("A").registers() == 4) return one;
  FAIL("no form with A in registers");
  return {};
}

template <class Sum>
void check_wgmma(const WarpgroupCase& c) {
  INFO(fmt::format("{}, {} and {}, 64 x {} x {}, seed {}", c.types, c.a_along_k ? "along k" : "across k",
                   c.b_along_k ? "along k" : "across k", c.n, 2 * c.depth, Catch::getSeed()));
  const kit::MatrixOperand a = c.a(), b = c.b();
  const kit::TmaTile tile_a(a, 64, 64, c.depth), tile_b(b, c.n, c.n, c.depth);
  kit::Params params;
  params.map("a", "a", tile_a.map()).map("b", "b", tile_b.map()).pointer("d", type_of<Sum>());
  std::vector<std::byte> of_a = small_integers(a), of_b = small_integers(b);
  std::vector<Sum> d(64 * static_cast<std::size_t>(c.n), Sum{-123456});
  kit_test::run(wgmma_kernel(c, tile_a, tile_b, params), {.block = {128, 1, 1}}, params.arguments(),
                {{"a", of_a}, {"b", of_b}, kit_test::tensor("d", d)});
  for (std::size_t i = 0; i < 64; ++i)
    for (std::size_t j = 0; j < static_cast<std::size_t>(c.n); ++j) {
      double expected = 0;  // exact: integers
      for (std::size_t l = 0; l < static_cast<std::size_t>(2 * c.depth); ++l)
        expected += element(a, of_a, i, l) * element(b, of_b, j, l);
      REQUIRE(static_cast<double>(d[i * static_cast<std::size_t>(c.n) + j]) == expected);
    }
}

struct SparseCase {
  Type type;
  const char* form;  // shape and types, as in the opcode
  int n;

  static constexpr std::uint64_t kRows = 61, kDepth = 110;
  static constexpr int kStages = 2;

  kit::SparseLayout layout() const { return {type, kRows, kDepth}; }
  int depth() const { return 2 * static_cast<int>(layout().stored()); }  // with what is filled up
  int stage_depth() const { return depth() / kStages; }
  int mma_depth() const { return 512 / type.bits; }
  kit::MatrixOperand a() const {
    const std::uint64_t stored = layout().stored();
    return {type, true, kRows, stored, stored, 0};
  }
  kit::MatrixOperand b() const {
    const auto deep = static_cast<std::uint64_t>(depth());
    return {type, true, static_cast<std::uint64_t>(n), deep, deep, 0};
  }
};

/// D = A * B^T in stages that are all loaded at once. A thread reads its word of each tile of metadata.
ir::Module sparse_kernel(const SparseCase& c, const kit::TmaTile& tile_a, const kit::TmaTile& tile_b,
                         const kit::Params& params) {
  const Variant mma = wgmma_variant(fmt::format("wgmma.mma_async.sp.sync.aligned.{}", c.form));
  kit::SharedLayout stage;
  stage.add("a", tile_a.bytes(), 1024).add("b", tile_b.bytes(), 1024);
  KernelBuilder k = kit_test::builder();
  k.require_block(128);
  const kit::ParamRegs in = params.declare(k);
  const Reg thread = k.special("tid.x"), zero = k.mov(u32, 0);
  const Reg stages = k.address_of(
      k.shared(b8, SparseCase::kStages * static_cast<std::uint64_t>(stage.pitch()), "stages", 1024));
  kit::Pipeline pipeline(k, 1, k.address_of(k.mbarriers(2, "barriers")));
  k.if_(k.eq(thread, 0), [&] { pipeline.initialise(1); });
  k.barrier();
  const kit::Pipeline::Cursor reads = pipeline.consumer();
  const Reg full = pipeline.full(reads);
  k.if_(k.eq(thread, 0), [&] {
    kit::TmaTileLoads loads(k, 1);
    pipeline.expect(full, SparseCase::kStages * (tile_a.bytes() + tile_b.bytes()));
    for (int i = 0; i < SparseCase::kStages; ++i) {
      const Reg begin = k.add(stages, i * stage.pitch()), from = k.mov(u32, i * c.stage_depth());
      loads.load(tile_a, in["a"], {zero, k.shr(from, 1)}, stage.address(k, begin, "a"), full);
      loads.load(tile_b, in["b"], {zero, from}, stage.address(k, begin, "b"), full);
    }
  });
  pipeline.await(full, reads);
  const std::vector<Reg> accumulators = kit::wgmma_accumulators(k, mma);
  const kit::WgmmaOperand a(k, tile_a, stages), b(k, tile_b, stage.address(k, stages, "b"));
  const Reg add = k.reg(pred);
  const int tile_depth = c.layout().tile_depth(), unit = stage.pitch() / kit::WgmmaOperand::kUnit;
  for (int at = 0; at < c.depth(); at += c.mma_depth()) {
    const Reg distance = k.mov(u32, at / c.stage_depth() * unit);
    const int depth = at % c.stage_depth();
    const Reg word = k.load(in.pointer("metadata")[k.add(thread, at / tile_depth * 128)]);
    kit::wgmma_fence(k);
    k.emit("setp.ne.u32", add, at, 0);
    kit::wgmma_sparse(k, mma, accumulators, a.descriptor(k, a.low(k, distance), 0, depth / 2),
                      b.descriptor(k, b.low(k, distance), 0, depth), word, at % tile_depth / c.mma_depth(),
                      add);
    kit::wgmma_commit(k);
    kit::wgmma_wait(k);
  }
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    k.store(in.pointer("d")[k.fma(thread, accumulators.size(), i)], accumulators[i]);
  return k.finish();
}

/// Small integers, of which each group of four has at most two that are not zero.
std::vector<std::byte> sparse_integers(const kit::MatrixOperand& m) {
  std::vector<std::byte> data = small_integers(m);
  for (std::uint64_t row = 0; row < m.rows; ++row)
    for (std::uint64_t begin = 0; begin < m.ld; begin += 4) {
      const std::uint64_t step = 1 + kit_test::random_word() % 3;
      for (std::uint64_t zero = kit_test::random_word() % 4, i = 0; i < 2; ++i, zero = (zero + step) % 4)
        if (begin + zero < m.ld) store_element(m.type, data, row * m.ld + begin + zero, 0);
    }
  return data;
}

template <class Sum>
void check_sparse(const SparseCase& c) {
  INFO(fmt::format("{}, seed {}", c.form, Catch::getSeed()));
  const kit::SparseLayout sparse = c.layout();
  const kit::MatrixOperand dense{c.type, true, SparseCase::kRows, SparseCase::kDepth, SparseCase::kDepth, 0};
  const std::vector<std::byte> of_dense = sparse_integers(dense);
  std::vector<std::byte> values(sparse.value_bytes()), metadata(sparse.metadata_bytes());
  kit::compress_rows(sparse, of_dense, dense.ld, values, metadata);
  const kit::MatrixOperand b = c.b();
  std::vector<std::byte> of_b = small_integers(b);
  const kit::TmaTile tile_a(c.a(), 64, 64, c.stage_depth() / 2), tile_b(b, c.n, c.n, c.stage_depth());
  kit::Params params;
  params.map("a", "a", tile_a.map()).map("b", "b", tile_b.map()).pointer("metadata", b32);
  params.pointer("d", type_of<Sum>());
  std::vector<Sum> d(64 * static_cast<std::size_t>(c.n), Sum{-123456});
  kit_test::run(
      sparse_kernel(c, tile_a, tile_b, params), {.block = {128, 1, 1}}, params.arguments(),
      {{"a", values}, {"b", of_b}, kit_test::tensor("metadata", metadata), kit_test::tensor("d", d)});
  const Layout map = layout(wgmma_variant(fmt::format("wgmma.mma_async.sp.sync.aligned.{}", c.form)), "D");
  for (const LayoutElement& at : map.elements()) {
    double expected = 0;  // exact: integers; rows that A does not have are zero
    const auto row = static_cast<std::uint64_t>(at.row), column = static_cast<std::uint64_t>(at.col);
    for (std::uint64_t l = 0; row < SparseCase::kRows && l < SparseCase::kDepth; ++l)
      expected += element(dense, of_dense, row, l) * element(b, of_b, column, l);
    REQUIRE(static_cast<double>(d[static_cast<std::size_t>(at.lane * map.registers + at.reg)]) == expected);
  }
}

}  // namespace

TEST_CASE("wgmma reads tiles as their descriptors say") {
  check_wgmma<float>({bf16, "f32.bf16.bf16", true, true, 24, 64, 16});
  check_wgmma<float>({bf16, "f32.bf16.bf16", true, false, 40, 32, 16});
  check_wgmma<float>({f16, "f32.f16.f16", false, true, 16, 48, 16});
  check_wgmma<float>({bf16, "f32.bf16.bf16", false, false, 72, 16, 16});
  check_wgmma<float>({e4m3, "f32.e4m3.e4m3", true, true, 32, 64, 32});
  check_wgmma<std::int32_t>({s8, "s32.s8.s8", true, true, 48, 128, 32});
}

TEST_CASE("wgmma takes A from registers, and B in either layout") {
  for (const bool along_k : {true, false}) {
    const WarpgroupCase c{bf16, "f32.bf16.bf16", true, along_k, 24, 32, 16};
    const Variant mma = register_variant("wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16");
    const kit::TmaTile tile_b(c.b(), c.n, c.n, c.depth);
    kit::Params params;
    params.pointer("a", b32).map("b", "b", tile_b.map()).pointer("d", f32);
    const std::vector<std::byte> of_a = small_integers(c.a());
    std::vector<std::byte> of_b = small_integers(c.b());
    const Layout map = layout(mma, "A"), map_d = layout(mma, "D");
    std::vector<std::uint32_t> fragments;
    for (std::uint64_t step = 0; step < 2; ++step) {
      std::vector<std::uint16_t> part;
      for (std::uint64_t i = 0; i < 64 * 16; ++i)
        part.push_back(
            static_cast<std::uint16_t>(load_element(bf16, of_a, i / 16 * c.a().ld + 16 * step + i % 16)));
      const std::vector<std::uint32_t> packed = map.pack(part);
      fragments.insert(fragments.end(), packed.begin(), packed.end());
    }
    std::vector<float> d(64 * 24, -123456);
    kit_test::run(register_kernel(mma, tile_b, c.depth, params), {.block = {128, 1, 1}}, params.arguments(),
                  {kit_test::tensor("a", fragments), {"b", of_b}, kit_test::tensor("d", d)});
    for (const LayoutElement& at : map_d.elements()) {
      double expected = 0;
      for (std::uint64_t l = 0; l < 32; ++l)
        expected += element(c.a(), of_a, static_cast<std::uint64_t>(at.row), l) *
                    element(c.b(), of_b, static_cast<std::uint64_t>(at.col), l);
      REQUIRE(d[static_cast<std::size_t>(at.lane * map_d.registers + at.reg)] == expected);
    }
  }
}

TEST_CASE("wgmma_sparse multiplies what compress_rows has stored") {
  check_sparse<float>({bf16, "m64n24k32.f32.bf16.bf16", 24});
  check_sparse<float>({f16, "m64n40k32.f32.f16.f16", 40});
  check_sparse<float>({e4m3, "m64n16k64.f32.e4m3.e4m3", 16});
  check_sparse<std::int32_t>({s8, "m64n32k64.s32.s8.s8", 32});
}

TEST_CASE("an operand that wgmma cannot transpose is refused") {
  KernelBuilder k = kit_test::builder();
  const Variant mma = wgmma_variant("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8");
  const std::vector<Reg> accumulators = kit::wgmma_accumulators(k, mma);
  const Reg none = k.mov(u64, 0), add = k.eq(none, 0);
  CHECK_THROWS_AS(kit::wgmma(k, mma, accumulators, none, none, add, false, true), Error);
  CHECK_NOTHROW(kit::wgmma(k, mma, accumulators, none, none, add));
  const std::vector<Reg> registers = k.regs(b32, 4);
  const Variant in_registers = register_variant("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8");
  const std::span<const Reg> a(registers);
  CHECK_THROWS_AS(kit::wgmma(k, in_registers, accumulators, a, none, add, true), Error);
  CHECK_NOTHROW(kit::wgmma(k, in_registers, accumulators, a, none, add));
}
