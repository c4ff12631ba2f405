// SPDX-License-Identifier: Apache-2.0
#include "quantize/kernel.hpp"

#include <fmt/format.h>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/packed.hpp"
#include "quantize/magnitudes.hpp"
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

/// The launch that measures magnitudes reads x only.
kit::Params params_of(const Problem& p, bool measures) {
  const auto scale_bytes = static_cast<std::uint32_t>(p.format->scale.bytes());
  kit::Params params;
  params.size("rows", u32, p.rows).pointer("x", p.x).aligned(kAlignment);
  if (p.measures_first()) params.workspace(u32);
  if (measures) return params;
  if (p.format->tensor_scale && p.computed) params.pointer("tensor_scale", f32).aligned(sizeof(float));
  if (p.format->tensor_scale && !p.computed) params.value("tensor_scale", f32).aligned(sizeof(float));
  const bool given = p.scales == Scales::tensor && !p.computed;
  if (given) params.value("scale", f32).aligned(scale_bytes);
  params.pointer("y", b8).aligned(kAlignment);
  if (!given) params.pointer("scale", p.format->scale == f32 ? f32 : b8).aligned(scale_bytes);
  if (p.stochastic) params.size("seed", u64, p.seed);
  return params;
}

LaunchPlan launch_of(const Problem& p, const Config& c, const kit::Params& params) {
  LaunchPlan launch{.entry = kernel_name(p, c), .arguments = params.arguments()};
  launch.grid[0] = static_cast<std::uint32_t>(c.grid_x(p));
  launch.grid[1] = static_cast<std::uint32_t>(c.grid_y(p));
  launch.block[0] = static_cast<std::uint32_t>(c.threads);
  if (p.measures_first()) launch.workspace_bytes = Magnitudes::bytes(p);
  return launch;
}

/// The largest magnitudes only grow, so they are cleared each time.
LaunchPlan measuring_launch(const Problem& p, const Config& c, const kit::Params& params) {
  LaunchPlan launch = launch_of(p, c, params);
  launch.entry += "_magnitudes";
  launch.clear = {{.tensor = std::string(kWorkspace), .bytes = Magnitudes::bytes(p)}};
  return launch;
}

LaunchPlan quantising_launch(const Problem& p, const Config& c, const kit::Params& params) {
  LaunchPlan launch = launch_of(p, c, params);
  if (p.tiled_scales && p.tiles().padded()) launch.clear = {{.tensor = "scale", .bytes = p.tiles().bytes()}};
  return launch;
}

// A warp may have rows beyond the last one. Their lanes still take part in shuffles.
void emit_team(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in, bool measures) {
  const Reg item = team_in_grid(k, c.team(), c.threads);
  if (p.whole_blocks()) return BlockQuantiser(k, p, c, in, item).run();
  const int parts = p.whole_rows() ? 1 : c.parts(p);
  const bool by_y = parts == 1 || p.transposed;  // whether the item is a row
  const Reg row = by_y ? item : k.div(item, parts);
  std::optional<Reg> present;
  if (c.kind == TeamKind::warp) present = k.lt(row, in["rows"]);
  const kit::RowWindow window(k, c.shape(p), row, present);
  Quantiser quantiser(k, p, c, in, row, present);
  if (p.whole_rows()) return quantiser.whole_row(window);
  const auto run = [&](const kit::RowWindow& part) {
    measures ? quantiser.measure(part) : quantiser.part(part);
  };
  if (parts == 1) return run(window);
  run(window.part(by_y ? k.special("ctaid.y") : k.rem(item, parts), c.slots(p)));
}

void emit_launch(KernelBuilder& k, const Problem& p, const Config& c, const kit::Params& params,
                 bool measures) {
  k.require_block(static_cast<std::uint32_t>(c.threads));
  emit_team(k, p, c, params.declare(k), measures);
}

}  // namespace

bool can_quantise(const Specs& specs, const Target& target, const kit::ScaledFormat& format) {
  return kit::can_narrow(specs, target, format.element) && can_scale(specs, target, format);
}

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  const kit::Params params = params_of(p, false);
  std::vector<LaunchPlan> launches = {quantising_launch(p, c, params)};
  KernelBuilder k(std::move(specs), launches.front().entry, target);
  emit_launch(k, p, c, params, false);
  if (p.measures_first()) {
    const kit::Params measured = params_of(p, true);
    launches.insert(launches.begin(), measuring_launch(p, c, measured));
    k.next_kernel(launches.front().entry);
    emit_launch(k, p, c, measured, true);
  }
  return {.module = k.finish(), .launches = std::move(launches)};
}

}  // namespace ptxloom::quantize_kernel
