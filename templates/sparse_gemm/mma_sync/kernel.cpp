// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/mma_sync/kernel.hpp"

#include <fmt/format.h>

#include <utility>

#include "ptxloom/kit/fragments.hpp"
#include "ptxloom/kit/mma.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/shared_layout.hpp"
#include "ptxloom/kit/tile_copy.hpp"
#include "ptxloom/kit/tile_scheduler.hpp"
#include "sparse_gemm/results.hpp"

namespace ptxloom::sparse_gemm::mma_sync {
namespace {

constexpr const char* kName = "sparse_gemm";
constexpr std::uint32_t kAlignment = 16;  // bytes
constexpr int kInstructionRows = 16, kInstructionColumns = 8;
constexpr int kOtherRegisters = 60;  // addresses, positions, the epilogue
constexpr int kWarpBytes = 128;      // of metadata for 16 rows of a tile

kit::SwizzledTile tile_of_values(const Problem& p, const Config& c) {
  return kit::fragment_tile(p.type, true, c.tile_n, c.tile_k / 2);
}

kit::SwizzledTile tile_of_a(const Problem& p, const Config& c) {
  return kit::fragment_tile(p.type, true, c.tile_m, c.tile_k);
}

kit::SharedLayout stage_of(const Problem& p, const Config& c) {
  kit::SharedLayout stage;
  stage.add("values", tile_of_values(p, c).bytes(), 128).add("a", tile_of_a(p, c).bytes(), 128);
  return stage;
}

kit::Params params_of(const Problem& p) {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k).size("lda", u32, p.lda);
  params.pointer("a", p.type).aligned(kAlignment).pointer("values", p.type).aligned(kAlignment);
  params.pointer("metadata", b8).aligned(kAlignment);
  add_result_params(params, p);
  return params;
}

/// One of the two operands of the product: its copy to shared memory, and its fragments of two steps, one in
/// use and one being loaded.
struct Operand {
  kit::TileCopy copy;
  kit::Fragments fragments;
  std::vector<kit::Fragments::Tiles> sets;
};

class Generator {
 public:
  Generator(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p, const Config& c)
      : k_(std::move(specs), kName, target),
        p_(p),
        c_(c),
        layout_(p.layout()),
        mma_(*find_mma(k_.specs(), target, p)),
        products_(k_, mma_, c.warp_n(), c.warp_m()),
        stage_(stage_of(p, c)) {}

  ir::Module run() {
    k_.require_block(static_cast<std::uint32_t>(c_.threads()));
    in_ = params_of(p_).declare(k_);
    thread_ = k_.special("tid.x");
    lane_ = k_.and_(thread_, 31);
    const Reg warp = k_.shr(thread_, 5);
    warp_row_ = k_.mul(k_.rem(warp, c_.warps_n), c_.warp_n());
    warp_column_ = k_.mul(k_.div(warp, c_.warps_n), c_.warp_m());
    shared_ = k_.address_of(k_.dynamic_shared("stages", 128));
    kit::TileScheduler tiles(k_, {.tile_m = c_.tile_n, .tile_n = c_.tile_m, .tile_k = c_.tile_k},
                             {.m = in_["n"], .n = in_["m"], .k = in_["k"]});
    const kit::TileOrigin tile = tiles.own();
    Operand values = sparse(tile), a = dense(tile);
    start_metadata(tile);
    multiply(values, a);
    store(tile);
    k_.ret();
    return k_.finish();
  }

 private:
  Operand sparse(const kit::TileOrigin& tile) {
    const Reg stored = k_.mov(u32, static_cast<std::int64_t>(layout_.stored()));
    return operand("A", p_.values(), tile_of_values(p_, c_),
                   {.pointer = in_["values"],
                    .ld = stored,
                    .origin = tile.row,
                    .extent = in_["n"],
                    .k = stored,
                    .shared = stage_.address(k_, shared_, "values"),
                    .thread = thread_},
                   warp_row_);
  }

  Operand dense(const kit::TileOrigin& tile) {
    return operand("B", p_.a(), tile_of_a(p_, c_),
                   {.pointer = in_["a"],
                    .ld = in_["lda"],
                    .origin = tile.column,
                    .extent = in_["m"],
                    .k = in_["k"],
                    .shared = stage_.address(k_, shared_, "a"),
                    .thread = thread_},
                   warp_column_);
  }

  Operand operand(std::string_view name, const kit::MatrixOperand& matrix, const kit::SwizzledTile& tile,
                  const kit::TileCopyInputs& in, Reg warp_origin) {
    const kit::TileCopyShape copied{.type = p_.type,
                                    .access = kit::copy_access(k_.specs(), k_.target(), matrix),
                                    .threads = c_.threads()};
    const kit::FragmentShape loaded{
        .mma = mma_, .operand = name, .type = p_.type, .extent = name == "A" ? c_.warp_n() : c_.warp_m()};
    Operand made{.copy = kit::TileCopy(k_, copied, tile, in),
                 .fragments = kit::Fragments(k_, loaded, tile, {in.shared, warp_origin, lane_}),
                 .sets = {}};
    for (int i = 0; i < 2; ++i) made.sets.push_back(made.fragments.allocate());
    return made;
  }

  // ---- metadata

  /// Tiles of metadata in a k-block.
  int units() const { return c_.tile_k / layout_.tile_depth(); }
  int row_tiles() const { return c_.warp_n() / kInstructionRows; }

  // Rows behind the last tile have the metadata of that tile, and zeros as values.
  void start_metadata(const kit::TileOrigin& tile) {
    const auto last = static_cast<std::int64_t>(layout_.row_tiles()) - 1;
    const Reg first = k_.shr(k_.add(tile.row, warp_row_), 4);
    for (int i = 0; i < row_tiles(); ++i) {
      const Reg number = k_.add(first, i), of_tile = k_.and_(number, 3);
      const Reg unit = k_.mul(k_.convert(u64, k_.min(k_.shr(number, 2), last)),
                              static_cast<std::int64_t>(layout_.depth_tiles()));
      const Reg own = k_.fma(of_tile, kWarpBytes, k_.shl(lane_, 2));
      words_from_.push_back(
          k_.add(k_.fma(unit, kit::SparseLayout::kTileBytes, in_["metadata"]), k_.convert(u64, own)));
      next_.push_back(k_.regs(b32, units()));
      current_.push_back(k_.regs(b32, units()));
    }
  }

  void load_metadata() {
    for (std::size_t i = 0; i < next_.size(); ++i) {
      for (std::size_t j = 0; j < next_[i].size(); ++j)
        k_.emit("ld.global.nc.b32", next_[i][j],
                k_.at(words_from_[i], static_cast<int>(j) * kit::SparseLayout::kTileBytes));
      k_.emit("add.u64", words_from_[i], words_from_[i],
              std::int64_t{units()} * kit::SparseLayout::kTileBytes);
    }
  }

  void advance_metadata() {
    for (std::size_t i = 0; i < next_.size(); ++i)
      for (std::size_t j = 0; j < next_[i].size(); ++j) k_.set(current_[i][j], next_[i][j]);
  }

  // ---- the main loop

  int steps() const { return c_.tile_k / instruction_depth(p_); }

  void multiply(Operand& values, Operand& a) {
    sums_ = products_.zeros();
    for (int stage = 0; stage + 1 < c_.stages; ++stage) copy(values, a, k_.mov(u32, stage * stage_.pitch()));
    load_metadata();
    const Reg reading = k_.mov(u32, 0), writing = k_.mov(u32, (c_.stages - 1) * stage_.pitch());
    k_.for_(k_.mov(u32, 0), in_["k"], c_.tile_k, [&](Reg depth) {
      k_.cp_async_wait(c_.stages - 2);
      k_.barrier();  // the stage has arrived for all threads, and nobody reads the one that is written next
      copy(values, a, writing);
      advance_metadata();
      k_.if_(k_.lt(k_.add(depth, c_.tile_k), in_["k"]), [&] { load_metadata(); });
      multiply_stage(values, a, reading);
      for (const Reg& stage : {reading, writing}) {
        const Reg after = k_.add(stage, stage_.pitch());
        k_.set(stage, k_.select(k_.eq(after, c_.stages * stage_.pitch()), k_.mov(u32, 0), after));
      }
    });
    k_.cp_async_wait();
  }

  void copy(Operand& values, Operand& a, Reg stage) {
    values.copy.issue(stage);
    a.copy.issue(stage);
    k_.cp_async_commit();
  }

  void multiply_stage(Operand& values, Operand& a, Reg stage) {
    const auto load = [&](int step) {
      for (Operand* const one : {&values, &a})
        one->fragments.load(step, one->sets[static_cast<std::size_t>(step % 2)]);
    };
    values.fragments.set_stage(stage);
    a.fragments.set_stage(stage);
    load(0);
    const int steps_of_word = layout_.tile_depth() / instruction_depth(p_);
    for (int step = 0; step < steps(); ++step) {
      if (step + 1 < steps()) load(step + 1);
      std::vector<Reg> metadata;
      for (const auto& words : current_)
        metadata.push_back(words[static_cast<std::size_t>(step / steps_of_word)]);
      const auto set = static_cast<std::size_t>(step % 2);
      products_.multiply_sparse(values.sets[set], a.sets[set], sums_, metadata, step % steps_of_word);
    }
  }

  // ---- the epilogue

  void store(const kit::TileOrigin& tile) {
    store_transposed(k_, p_, in_, tile,
                     {.mma = mma_,
                      .rows = kInstructionRows,
                      .columns = kInstructionColumns,
                      .accumulators = sums_,
                      .row = warp_row_,
                      .column = warp_column_,
                      .lane = lane_});
  }

  KernelBuilder k_;
  const Problem& p_;
  const Config& c_;
  kit::SparseLayout layout_;
  Variant mma_;
  kit::MmaTiles products_;
  kit::SharedLayout stage_;
  kit::ParamRegs in_;
  Reg thread_, lane_, warp_row_, warp_column_, shared_;
  std::vector<Reg> words_from_;                   // addresses of the metadata that are loaded next
  std::vector<std::vector<Reg>> next_, current_;  // [row tile][unit]: metadata of two k-blocks
  kit::Accumulators sums_;
};

}  // namespace

std::optional<Variant> find_mma(const Specs& specs, const Target& target, const Problem& p) {
  const std::string shape = fmt::format("m16n8k{}", instruction_depth(p));
  return specs.find("mma.sp",
                    {{"shape", shape},
                     {"sp", "sp::ordered_metadata"},
                     {"a", p.type.name},
                     {"b", p.type.name},
                     {"d", p.accumulator().name}},
                    target);
}

int shared_bytes(const Problem& p, const Config& c) { return c.stages * stage_of(p, c).pitch(); }

int estimated_registers(const Problem& p, const Config& c) {
  const int rows = c.warp_n() / kInstructionRows, columns = c.warp_m() / kInstructionColumns;
  const int metadata = rows * c.tile_k / p.layout().tile_depth();
  return kOtherRegisters + 4 * rows * columns + 2 * 4 * (rows + columns) + 2 * metadata + 2 * rows;
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  LaunchPlan launch{.entry = kName,
                    .grid = {static_cast<std::uint32_t>(c.grid(p)), 1, 1},
                    .block = {static_cast<std::uint32_t>(c.threads()), 1, 1},
                    .shared_bytes = static_cast<std::uint32_t>(shared_bytes(p, c)),
                    .arguments = params_of(p).arguments()};
  return {.module = Generator(std::move(specs), target, p, c).run(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::sparse_gemm::mma_sync
