// SPDX-License-Identifier: Apache-2.0
// Thread blocks share tiles whose elements are known: every element is the sum over all k-blocks.
#include "ptxloom/kit/stream_k_reduction.hpp"

#include <algorithm>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;

namespace {

struct Portioned {
  const char* mma;  // its opcode
  Type type;
  std::uint32_t tiles, k_blocks, blocks, rows;  // rows that D has of a tile
  int warps = 2, down = 2, across = 3;          // instructions of a warp
};

/// A kernel whose thread blocks share tiles. Warps are side by side in a tile.
class SharedTiles {
 public:
  explicit SharedTiles(const Portioned& c)
      : c_(c),
        k_(kit_test::builder()),
        mma_(kit_test::specs()->match(c.mma).front()),
        map_(layout(mma_, "D")),
        tile_{.mma = mma_,
              .mma_rows = map_.rows,
              .type = c.type,
              .threads = 32 * c.warps,
              .part_rows = c.down * map_.rows,
              .part_columns = c.across * map_.cols},
        units_(tile_),
        workspace_(units_, c.tiles, c.blocks, 100) {
    params_.size("tiles", u32, c.tiles).size("k_blocks", u32, c.k_blocks).size("rows", u32, c.rows);
    params_.pointer("d", c.type).workspace(b8);
  }

  int columns() const { return c_.warps * tile_.part_columns; }
  std::size_t elements() const {
    return std::size_t{c_.tiles} * c_.rows * static_cast<std::size_t>(columns());
  }

  ir::Module kernel() {
    k_.require_block(static_cast<std::uint32_t>(tile_.threads));
    const kit::ParamRegs in = params_.declare(k_);
    rows_ = in["rows"], d_ = in["d"];
    const Reg thread = k_.special("tid.x");
    lane_ = k_.and_(thread, 31), warp_ = k_.shr(thread, 5);
    kit::StreamKDivision division(
        k_, k_.address_of(k_.shared(u32, kit::StreamKDivision::kBytes / 4, "division", 16)));
    k_.if_(k_.eq(thread, 0), [&] {
      division.divide(in["tiles"], in["k_blocks"], k_.special("ctaid.x"), k_.special("nctaid.x"));
    });
    k_.barrier();
    const auto slice = static_cast<std::uint64_t>(units_.slice_bytes());
    kit::StreamKReduction reduction(k_, tile_, workspace_, kit::StreamKReads::fitting(96, 3),
                                    {.workspace = in[kWorkspace],
                                     .shared = k_.address_of(k_.shared(b8, slice, "slice", 16)),
                                     .thread = thread,
                                     .barrier = 0});
    const Reg rows = KernelBuilder::as(s32, rows_), none = k_.mov(u32, 0);
    // guide stream_k {
    division.for_each([&](const kit::StreamKPortion& portion) {
      const kit::Accumulators accumulators = accumulators_of(portion);
      k_.if_(
          portion.whole, [&] { store(portion.tile, accumulators, none, none); },
          [&] { reduction.write_part(accumulators, division.shared(portion.tile), rows); });
    });
    division.for_each_shared([&](const kit::SharedTile& tile) {
      reduction.add(tile, rows, [&](const kit::Accumulators& unit, Reg row, Reg column) {
        store(tile.tile, unit, row, column);
      });
    });
    // }
    return k_.finish();
  }

  template <class T>
  void run(std::vector<T>& d, std::vector<std::uint64_t>& workspace, const ir::Module& kernel) const {
    kit_test::run(kernel,
                  {.grid = {c_.blocks, 1, 1},
                   .block = {static_cast<std::uint32_t>(tile_.threads), 1, 1},
                   .cooperative = true},
                  params_.arguments(), {kit_test::tensor("d", d), kit_test::tensor("workspace", workspace)});
  }

  const kit::StreamKWorkspace& workspace() const { return workspace_; }

 private:
  /// Row and column in the tile of a register of an instruction.
  std::pair<Reg, Reg> place_of(std::size_t i, std::size_t j, std::size_t reg) {
    const LayoutElement& place = map_.at(0, static_cast<int>(reg));
    const Reg row = k_.add(k_.shr(lane_, 2), static_cast<int>(i) * map_.rows + place.row);
    const Reg column = k_.fma(k_.and_(lane_, 3), 2, static_cast<int>(j) * map_.cols + place.col);
    return {row, k_.fma(warp_, tile_.part_columns, column)};
  }

  // Element (row, column) of tile t gets (1 + (5 t + 3 row + 7 column) % 64) * (i + 1) from k-block i.
  kit::Accumulators accumulators_of(const kit::StreamKPortion& portion) {
    const auto until = [&](Reg end) { return k_.shr(k_.mul(end, k_.add(end, 1)), 1); };
    const Reg weight = k_.sub(until(portion.end), until(portion.begin));
    kit::Accumulators accumulators(static_cast<std::size_t>(c_.down));
    for (std::size_t i = 0; i < accumulators.size(); ++i)
      for (std::size_t j = 0; j < static_cast<std::size_t>(c_.across); ++j) {
        auto& registers = accumulators[i].emplace_back();
        for (std::size_t r = 0; r < static_cast<std::size_t>(map_.registers); ++r) {
          const auto [row, column] = place_of(i, j, r);
          const Reg mixed = k_.fma(column, 7, k_.fma(row, 3, k_.mul(portion.tile, 5)));
          registers.push_back(k_.convert(c_.type, k_.mul(k_.add(k_.and_(mixed, 63), 1), weight)));
        }
      }
    return accumulators;
  }

  void store(Reg tile, const kit::Accumulators& accumulators, Reg down, Reg across) {
    for (std::size_t i = 0; i < accumulators.size(); ++i)
      for (std::size_t j = 0; j < accumulators[i].size(); ++j)
        for (std::size_t r = 0; r < accumulators[i][j].size(); ++r) {
          const auto [row, column] = place_of(i, j, r);
          const Reg of_d = k_.add(row, down);
          const Reg at = k_.fma(k_.fma(tile, rows_, of_d), columns(), k_.add(column, across));
          const Reg to = k_.mad_wide(at, c_.type.bytes(), d_), inside = k_.lt(of_d, rows_);
          k_.guarded(inside, [&] {
            k_.emit("st.global." + std::string(c_.type.name), k_.at(to), accumulators[i][j][r]);
          });
        }
  }

  Portioned c_;
  KernelBuilder k_;
  Variant mma_;
  Layout map_;
  kit::StreamKTile tile_;
  kit::StreamKUnits units_;
  kit::StreamKWorkspace workspace_;
  kit::Params params_;
  Reg rows_, d_, lane_, warp_;
};

template <class T>
void check_sums(const Portioned& c) {
  CAPTURE(c.tiles, c.k_blocks, c.blocks, c.rows);
  SharedTiles tiles(c);
  const ir::Module kernel = tiles.kernel();
  std::vector<std::uint64_t> workspace(tiles.workspace().bytes / 8);
  for (int launch = 0; launch < 2; ++launch) {  // the second finds the counters at zero again
    std::vector<T> d(tiles.elements(), T(-1));
    tiles.run(d, workspace, kernel);
    const auto columns = static_cast<std::uint32_t>(tiles.columns());
    const std::uint32_t weight = c.k_blocks * (c.k_blocks + 1) / 2;
    for (std::uint32_t i = 0; i < d.size(); ++i) {
      const std::uint32_t column = i % columns, row = i / columns % c.rows, tile = i / columns / c.rows;
      REQUIRE(d[i] == T((1 + (5 * tile + 3 * row + 7 * column) % 64) * weight));
    }
  }
}

constexpr const char* kF32 = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
constexpr const char* kF64 = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64";
constexpr const char* kS32 = "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32";

}  // namespace

TEST_CASE("thread blocks add up the tiles that they share") {
  check_sums<float>({kF32, f32, 3, 7, 5, 32});
  check_sums<float>({kF32, f32, 1, 40, 7, 21});  // seven parts of one tile, and rows that D does not have
  check_sums<float>({kF32, f32, 5, 9, 4, 1, 1, 3, 1});
  check_sums<double>({kF64, f64, 2, 13, 5, 13, 3, 2, 2});
  check_sums<std::int32_t>({kS32, s32, 4, 11, 3, 30});
}

TEST_CASE("what a thread reads at once fits into its registers") {
  for (const int registers : {64, 96, 128, 168, 255})
    for (const double parts : {1.0, 2.5, 9.0, 100.0}) {
      const kit::StreamKReads reads = kit::StreamKReads::fitting(registers, parts);
      CHECK(reads.parts >= 1);
      CHECK(reads.units >= 1);
      CHECK(4 * reads.units * (reads.parts + 1) <= std::max(8, registers - 72));
    }
}

TEST_CASE("tiles without a unit of stream-K are refused") {
  const auto units = [](Type type, int mma_rows, int part_threads) {
    return kit_test::verdict([&] {
      kit::StreamKUnits({.mma_rows = mma_rows,
                         .type = type,
                         .threads = 128,
                         .part_threads = part_threads,
                         .part_rows = 64,
                         .part_columns = 24});
    });
  };
  for (const Type type : {f32, s32, f64}) CHECK(units(type, 16, 32) == "accepted");
  CHECK(units(f32, 64, 128) == "accepted");
  for (const Type type : {f16, b32, pred}) CHECK(units(type, 16, 32) == "bad-reduction");
  CHECK(units(f32, 0, 32) == "bad-reduction");
  CHECK(units(f32, 8, 128) == "bad-reduction");
  CHECK(units(f32, 16, 0) == "bad-reduction");
}
