// SPDX-License-Identifier: Apache-2.0
#include "sparse_gemm/wgmma/plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxloom/kit/pipeline.hpp"
#include "sparse_gemm/results.hpp"

namespace ptxloom::sparse_gemm::wgmma {
namespace {

constexpr int kOtherRegisters = 50;
constexpr int kMostResident = 4;
constexpr std::uint32_t kAlignment = 16;  // bytes

}  // namespace

std::optional<Variant> find_mma(const Specs& specs, const Target& target, const Problem& p, int tile_m) {
  const std::string n = std::to_string(tile_m), shape = fmt::format("m64n{}k{}", n, instruction_depth(p));
  return specs.find("wgmma.mma_async",
                    {{"shape", shape},
                     {"N", n},
                     {"sp", "sp"},
                     {"ratio", "2"},
                     {"a", p.type.name},
                     {"b", p.type.name},
                     {"d", p.accumulator().name},
                     {"source", "descriptor"}},
                    target);
}

Plan::Plan(const TargetInfo& chip, const Problem& p, const Config& c)
    : values(p.values(), c.tile_n, c.tile_n, c.tile_k / 2),
      activations(p.a(), c.tile_m, c.tile_m, c.tile_k),
      registers(kOtherRegisters + row_tiles(c) * (c.tile_m / 2 + (chunks(p, c) + 2) * chunk_units(p) + 2)) {
  stage.add("values", values.bytes(), kit::TmaTile::kAlignment);
  stage.add("activations", activations.bytes(), kit::TmaTile::kAlignment);
  stage_bytes = stage.pitch();
  shared.add("stages", c.stages * stage_bytes, kit::TmaTile::kAlignment);
  shared.add("barriers", kit::Pipeline::bytes(c.stages), 8);
  shared_bytes = shared.size();
  blocks_per_sm = std::clamp(chip.resident_blocks(threads(c), registers, shared_bytes), 1, kMostResident);
}

kit::Params Plan::params(const Plan& plan, const Problem& p) {
  kit::Params params;
  params.size("m", u32, p.m).size("n", u32, p.n).size("k", u32, p.k);
  params.map("a", "a", plan.activations.map()).aligned(kAlignment);
  params.map("values", "values", plan.values.map()).aligned(kAlignment);
  params.pointer("metadata", b8).aligned(kAlignment);
  add_result_params(params, p);
  return params;
}

}  // namespace ptxloom::sparse_gemm::wgmma
