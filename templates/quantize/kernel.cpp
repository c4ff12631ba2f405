// SPDX-License-Identifier: Apache-2.0
#include "quantize/kernel.hpp"

#include <fmt/format.h>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/packed.hpp"
#include "quantize/quantiser.hpp"

namespace ptxloom::quantize_kernel {
namespace {

/// What a profiler shows: quantize_bf16_mxfp8_e4m3_4096_lanes32x8.
std::string kernel_name(const Problem& p, const Config& c) {
  const char* order = p.transposed ? "_transposed" : "";
  const std::string team =
      c.kind == TeamKind::warp ? fmt::format("lanes{}", c.lanes) : fmt::format("block{}", c.threads);
  return fmt::format("quantize_{}_{}_{}{}_{}x{}", p.x.name, p.format->name, p.n, order, team, c.elements);
}

constexpr std::uint32_t kAlignment = 16;  // bytes of the widest access

kit::Params params_of(const Problem& p) {
  const auto scale_bytes = static_cast<std::uint32_t>(p.format->scale.bytes());
  kit::Params params;
  params.size("rows", u32, p.rows).pointer("x", p.x).aligned(kAlignment);
  if (p.format->tensor_scale) params.value("tensor_scale", f32).aligned(sizeof(float));
  if (p.scales == Scales::tensor) params.value("scale", f32).aligned(scale_bytes);
  params.pointer("y", b8).aligned(kAlignment);
  if (p.scales != Scales::tensor)
    params.pointer("scale", p.format->scale == f32 ? f32 : b8).aligned(scale_bytes);
  if (p.stochastic) params.size("seed", u64, p.seed);
  return params;
}

LaunchPlan launch_of(const Problem& p, const Config& c, const kit::Params& params) {
  LaunchPlan launch{.entry = kernel_name(p, c), .arguments = params.arguments()};
  launch.grid[0] = static_cast<std::uint32_t>(c.grid_x(p));
  launch.grid[1] = static_cast<std::uint32_t>(c.grid_y(p));
  launch.block[0] = static_cast<std::uint32_t>(c.threads);
  if (p.tiled_scales && p.tiles().padded()) launch.clear = {{.tensor = "scale", .bytes = p.tiles().bytes()}};
  return launch;
}

// A warp may have rows beyond the last one. Their lanes still take part in shuffles.
void emit_team(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in) {
  const Reg item = team_in_grid(k, c.team(), c.threads);
  if (p.scales == Scales::block) return BlockQuantiser(k, p, c, in, item).run();
  const int parts = p.scales == Scales::row ? 1 : c.parts(p);
  const bool by_y = parts == 1 || p.transposed;  // whether the item is a row
  const Reg row = by_y ? item : k.div(item, parts);
  std::optional<Reg> present;
  if (c.kind == TeamKind::warp) present = k.lt(row, in["rows"]);
  const kit::RowWindow window(k, c.shape(p), row, present);
  Quantiser quantiser(k, p, c, in, row, present);
  if (p.scales == Scales::row) return quantiser.whole_row(window);
  if (parts == 1) return quantiser.part(window);
  const Reg number = by_y ? k.special("ctaid.y") : k.rem(item, parts);
  quantiser.part(window.part(number, c.slots(p)));
}

}  // namespace

bool can_quantise(const Specs& specs, const Target& target, const kit::ScaledFormat& format) {
  return kit::can_narrow(specs, target, format.element) && can_scale(specs, target, format);
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  const kit::Params params = params_of(p);
  LaunchPlan launch = launch_of(p, c, params);
  KernelBuilder k(std::move(specs), launch.entry, target);
  k.require_block(static_cast<std::uint32_t>(c.threads));
  emit_team(k, p, c, params.declare(k));
  return {.module = k.finish(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::quantize_kernel
