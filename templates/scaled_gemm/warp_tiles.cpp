// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/warp_tiles.hpp"

#include <bit>

#include "ptxloom/kit/epilogue.hpp"
#include "ptxloom/kit/mma.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr int kMostTile = 128, kMostWarps = 4;  // in each direction
constexpr int kMostStages = 4;
constexpr int kInstructionRows = 16;

bool is_tile(int extent, int least) {
  return extent >= least && extent <= kMostTile && std::has_single_bit(static_cast<unsigned>(extent));
}

// Gates and values are adjacent tiles of the instruction, of 8 columns.
kit::Accumulators gated(KernelBuilder& k, const Problem& p, const Results& results, const WarpPart& part) {
  const std::vector<kit::AccumulatorPlace> places = kit::accumulator_places(part.mma);
  const Reg own = k.fma(k.and_(part.lane, 3), 2, part.column);
  const Reg own_row = k.add(part.row, k.shr(part.lane, 2));
  const auto row_of = [&](std::size_t tile, int row) {
    const int distance = static_cast<int>(tile) * kInstructionRows + row;
    return p.scaled_rows() ? results.row(k.add(own_row, distance)) : ResultRow{};
  };
  const auto column_of = [&](std::size_t tile, int column) {
    return results.column(k.add(own, static_cast<int>(tile) * kGateColumns + column));
  };
  kit::Accumulators made;
  for (std::size_t t = 0; t < part.accumulators.size(); ++t) {
    const auto& row = part.accumulators[t];
    made.emplace_back();
    for (std::size_t j = 0; j < row.size(); j += 2) {
      std::vector<Reg>& tile = made.back().emplace_back();
      for (std::size_t i = 0; i < row[j].size(); ++i) {
        const ResultRow own_terms = row_of(t, places[i].row);
        tile.push_back(
            results.gated(results.scaled(row[j][i], own_terms, column_of(j, places[i].column)),
                          results.scaled(row[j + 1][i], own_terms, column_of(j + 1, places[i].column))));
      }
    }
  }
  return made;
}

}  // namespace

kit::Params plain_params(const Problem& p) {
  constexpr std::uint32_t kAlignment = 16;      // bytes, of A and B
  constexpr std::uint32_t kScaleAlignment = 4;  // of their scales: block_scale loads four at once
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.pointer("a", b8).aligned(kAlignment).pointer("b", b8).aligned(kAlignment);
  if (p.a.scaled())
    params.pointer("scale_a", b8).aligned(kScaleAlignment).pointer("scale_b", b8).aligned(kScaleAlignment);
  else if (p.whole_scales != WholeScales::none)
    params.pointer("scale_a", f32).aligned(f32.bytes()).pointer("scale_b", f32).aligned(f32.bytes());
  if (p.a.format.tensor_scale) params.pointer("tensor_scale_a", f32).aligned(sizeof(float));
  if (p.b.format.tensor_scale) params.pointer("tensor_scale_b", f32).aligned(sizeof(float));
  add_product_params(params, p);
  params.pointer("d", p.d)
      .aligned(alignment_of(p.d))
      .size("lda", u32, p.a.ld)
      .size("ldb", u32, p.b.ld)
      .size("ldd", u32, p.ldd);
  return params;
}

std::uint64_t tile_grid(const Problem& p, const Config& c) {
  return parts_of(p.m, c.tile_m) * parts_of(p.n, c.tile_n) * (p.separate() ? p.batch : 1);
}

std::vector<Rule> warp_tile_rules(const std::string& strategy) {
  const std::string name = "strategy " + strategy;
  return {
      fixed_rule<&Config::split>(strategy, "split"),
      fixed_rule<&Config::share>(strategy, "share"),
      no_stream_rule(strategy),
      {name + " has tile_m=16, 32, 64 or 128",
       {"tile_m"},
       [](const Target&, const Problem&, const Config& c) { return is_tile(c.tile_m, 16); }},
      {name + " has tile_n=32, 64 or 128",
       {"tile_n"},
       [](const Target&, const Problem&, const Config& c) { return is_tile(c.tile_n, 32); }},
      {name + " has warps_n=1, 2 or 4",
       {"warps_n"},
       [](const Target&, const Problem&, const Config& c) { return c.warps_n <= kMostWarps; }},
      {name + " has 2 to 4 stages",
       {"stages"},
       [](const Target&, const Problem&, const Config& c) { return c.stages <= kMostStages; }},
      {"a warp must have whole instructions of 16 rows",
       {"tile_m", "warps_m"},
       [](const Target&, const Problem&, const Config& c) { return warp_m(c) % 16 == 0 && warp_m(c) > 0; }},
      {"a warp must have whole instructions of 8 columns",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem&, const Config& c) { return warp_n(c) % 8 == 0; }},
      {"with swiglu=yes a warp must have whole groups of 16 columns",
       {"tile_n", "warps_n"},
       [](const Target&, const Problem& p, const Config& c) { return !p.swiglu || warp_n(c) % 16 == 0; }},
      group_rule(),
      grid_rule<tile_grid>({"tile_m", "tile_n"})};
}

void store_warp_part(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in,
                     const kit::TileOrigin& tile, const WarpPart& part) {
  const std::uint64_t bytes = std::uint64_t{p.m} * p.ldd * static_cast<std::uint64_t>(p.d.bytes());
  const Reg d = own_matrix(k, tile, in["d"], p.separate(), bytes);
  const Results results(k, p, in, tile);
  const kit::EpiloguePart epilogue{.mma = part.mma,
                                   .accumulators = p.swiglu ? gated(k, p, results, part) : part.accumulators,
                                   .row = part.row,
                                   .column = p.swiglu ? k.div(part.column, 2) : part.column,
                                   .thread = part.lane};
  kit::store_tile(k, epilogue,
                  {.d = {d, p.d},
                   .rows = tile.rows,
                   .columns = p.swiglu ? k.div(in["n"], 2) : in["n"],
                   .pitch = in["ldd"],
                   .vector = kit::EpilogueMatrix::vector_of(p.ldd, p.columns())},
                  [&](KernelBuilder&, Reg value, Reg row, Reg at) {
                    const ResultRow own = results.row(row);
                    if (!p.swiglu) value = results.scaled(value, own, results.column(at));
                    return results.result(value, own, at);
                  });
}

}  // namespace ptxloom::scaled_gemm
