// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/wgmma/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/kit/pipeline.hpp"
#include "ptxloom/kit/stream_k_division.hpp"
#include "scaled_gemm/products.hpp"
#include "scaled_gemm/weights/weight_groups.hpp"

namespace ptxloom::scaled_gemm::wgmma {
namespace {

constexpr int kBulkUnit = 16;        // bytes
constexpr int kOtherRegisters = 40;  // addresses, scales, temporaries
constexpr int kBesidePromoted = 30;  // the same, if accumulators are promoted, as linked
constexpr int kManyAccumulators = 128;
constexpr int kMostResident = 8;
constexpr int kLeastStagedRows = 32;  // of D; with fewer, threads store their own results
constexpr int kBatchBytes = 16;       // a slice of a cluster's reduction has a multiple of it

int stored_width(const Problem& p) { return std::min(p.swiglu ? kRows / 2 : kRows, 128 / p.d.bytes()); }

int accumulators_of(const Config& c) { return row_tiles_of_warpgroup(c) * c.tile_m / 2; }

// Fragments of a chunk are in use by wgmma while the next ones are made, and words are read ahead. Promoted
// accumulators have sums beside them.
int registers_of(const Problem& p, const Config& c) {
  const int tiles = row_tiles_of_warpgroup(c), fragments = 2 * 4 * chunk_steps(p, c) * tiles;
  const int all =
      p.promotes() ? kBesidePromoted + 2 * accumulators_of(c) : kOtherRegisters + accumulators_of(c);
  const int wide = p.b.wide_scales() ? WeightGroups::scale_registers(p, c.tile_k) : 0;
  return all + fragments + tiles * (p.b.words_in(c.tile_k) + wide);
}

kit::ClusterTile reduction_of(const Config& c) {
  const int slice = c.tile_m / 2 / c.split * f32.bytes();
  const bool sliced = c.tile_m / 2 % c.split == 0 && slice % kBatchBytes == 0 && c.tile_m / c.split % 8 == 0;
  return {.type = f32, .blocks = c.split, .threads = consumer_threads(c), .slices = sliced ? c.split : 1};
}

}  // namespace

int chunk_steps(const Problem& p, const Config& c) {
  if (accumulators_of(c) >= kManyAccumulators) return 1;
  const int chunks = std::min(run_depth(p, c.tile_k), c.tile_k / 2) / instruction_depth(p);
  return p.row_scales() ? std::min(2, chunks) : 2;
}

std::string opcode(const Problem& p, int tile_m) {
  const Type type = p.a.format.element;
  return fmt::format("wgmma.mma_async.sync.aligned.m64n{0}k{1}.{2}.{3}.{3}", tile_m, instruction_depth(p),
                     type == s8 ? "s32" : "f32", type.name);
}

bool shares_boxes(const Problem& p) { return p.separate() || p.groups == Groups::masked; }

bool staged(const Problem& p, const Config& c) {
  const bool rows = kit::alignment(p.d, p.ldd, 0, p.columns(), true) == kBulkUnit;
  return p.d.bits == 16 && c.split == 1 && c.tile_m >= kLeastStagedRows && c.tile_m % kLeastStagedRows == 0 &&
         rows;
}

Plan::Plan(const TargetInfo& chip, const Problem& p, const Config& c)
    : activations(p.a.matrix(), c.tile_m, c.tile_m, c.tile_k, c.share),
      weight_bytes(c.tile_k / p.b.weights().tile_depth() * static_cast<int>(p.b.weights().tile_bytes())),
      scale_groups(WeightGroups::count_of(p, c.tile_k)),
      scale_bytes(scale_groups * kRows * p.b.format.scale.bytes()),
      zero_bytes(p.b.zero_points() ? scale_groups * kRows : 0),
      store{.width = stored_width(p),
            .row_bytes = stored_width(p) * p.d.bytes(),
            .rows = c.tile_m % kStoreRows == 0 ? kStoreRows : kLeastStagedRows},
      reduction(reduction_of(c)),
      registers(registers_of(p, c)) {
  stage.add("activations", activations.bytes(), kit::TmaTile::kAlignment);
  stage.add("weights", row_tiles(c) * weight_bytes, 128).add("scales", row_tiles(c) * scale_bytes, 128);
  stage.add("zeros", row_tiles(c) * zero_bytes, 128);
  stage_bytes = stage.pitch();
  const int reduced = c.split == 1 ? 0 : reduction.shared_bytes(accumulators_of(c));
  shared.add("stages", std::max(c.stages * stage_bytes, reduced), kit::TmaTile::kAlignment);
  shared.add("stores", staged(p, c) ? warpgroups(c) * kStoreBuffers * store.bytes() : 0,
             kit::TmaTile::kAlignment);
  shared.add("table", ByteDequantiser::table_bytes(p), 8);
  shared.add("barriers", kit::Pipeline::bytes(c.stages), 8);
  if (c.stream_k) {
    shared.add("division", kit::StreamKDivision::kBytes, 16);
    stream.emplace(chip, p, c);
  }
  shared_bytes = shared.size();
  if (c.stream_k) return;  // thread blocks wait for each other: one on each SM
  blocks_per_sm = std::clamp(chip.resident_blocks(threads(c), registers, shared_bytes), 1, kMostResident);
}

int Plan::bytes_of_stage() const {
  return activations.bytes() + stage.bytes("weights") + stage.bytes("scales") + stage.bytes("zeros");
}

kit::Params Plan::params(const Problem& p, const Config& c) const {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.map("a", "a", activations.map(p.batch)).aligned(kBulkUnit);
  params.pointer("b", b8).aligned(kBulkUnit).pointer("scale_b", b8).aligned(kBulkUnit);
  if (p.b.zero_points()) params.pointer("zero_b", b8).aligned(kBulkUnit);
  if (p.b.format.tensor_scale) params.pointer("tensor_scale_b", f32).aligned(sizeof(float));
  add_product_params(params, p);
  if (stream) params.workspace(b8);
  if (staged(p, c))
    params
        .map("d_boxes", "d",
             store.map(p.d, p.columns(), static_cast<std::uint32_t>(p.all_rows()), p.ldd, 0, 1))
        .aligned(kBulkUnit);
  if (!staged(p, c) || shares_boxes(p) || c.stream_k)
    params.pointer("d", p.d).aligned(alignment_of(p.d)).size("ldd", u32, p.ldd);
  return params;
}

std::uint64_t grid(const Problem& p, const Config& c) {
  const auto cluster = static_cast<std::uint64_t>(c.split * c.share);
  const std::uint64_t tiles = parts_of(p.m, c.tile_m) * parts_of(p.n, c.tile_n * c.share);
  return tiles * (p.separate() ? p.batch : 1) * cluster;
}

}  // namespace ptxloom::scaled_gemm::wgmma
