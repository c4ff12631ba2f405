// SPDX-License-Identifier: Apache-2.0
#include "rowwise/kernel.hpp"

#include <fmt/format.h>

#include "rowwise/row.hpp"

namespace ptxloom::rowwise_kernel {
namespace {

/// What a profiler shows: rowwise_softmax_bf16_bf16_4096_block256x16.
std::string kernel_name(const Problem& p, const Config& c) {
  std::string text = fmt::format("rowwise_{}_{}_{}_{}", name(p.op), p.x.name, p.y.name, p.n);
  if (c.kind == TeamKind::warp) return text + fmt::format("_lanes{}x{}", c.lanes, c.elements);
  text += fmt::format("_block{}x{}", c.threads, c.elements);
  return c.blocks > 1 ? text + fmt::format("_cluster{}", c.blocks) : text;
}

kit::Params params_of(const Problem& p) {
  kit::Params params;
  params.size("rows", u32, p.rows).pointer("x", p.x);
  if (p.residual) params.pointer("residual", *p.residual);
  if (p.weight) params.pointer("weight", *p.weight);
  if (p.bias) params.pointer("bias", *p.bias);
  params.pointer("y", p.y);
  if (p.quantised()) params.pointer("scale", f32);
  if (p.is_norm()) params.scalar("eps", f32, p.eps);
  return params;
}

LaunchPlan launch_of(const Problem& p, const Config& c, const kit::Params& params) {
  LaunchPlan launch{.entry = kernel_name(p, c), .arguments = params.arguments()};
  launch.grid[0] = static_cast<std::uint32_t>(c.grid(p));
  launch.block[0] = static_cast<std::uint32_t>(c.threads);
  launch.cluster[0] = static_cast<std::uint32_t>(c.blocks);
  return launch;
}

void emit_row(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in, Reg row,
              std::optional<Reg> present) {
  kit::Reducer reducer(k, c.team());
  const kit::RowWindow window(k, c.shape(p), row, present);
  const RowKernel kernel{k, p, c, in, window, reducer, row, present};
  p.is_norm() ? emit_norm(kernel) : emit_softmax(kernel);
}

// A warp may have rows beyond the last one. Their lanes still take part in shuffles.
void emit_team(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in) {
  const Reg row = team_in_grid(k, c.team(), c.threads);
  if (c.kind != TeamKind::warp) return emit_row(k, p, c, in, row, {});
  const Reg present = k.lt(row, in["rows"]);
  if (c.lanes < kit::kWarpThreads) return emit_row(k, p, c, in, row, present);
  k.if_(present, [&] { emit_row(k, p, c, in, row, {}); });
}

}  // namespace

Emitted emit_kernel(std::shared_ptr<const Specs> specs, const Target& target, const Problem& p,
                    const Config& c) {
  const kit::Params params = params_of(p);
  LaunchPlan launch = launch_of(p, c, params);
  KernelBuilder k(std::move(specs), launch.entry, target);
  k.require_block(static_cast<std::uint32_t>(c.threads));
  k.min_blocks_per_sm(static_cast<std::uint32_t>(resident_blocks(target.info(), p, c)));
  if (c.blocks > 1) k.require_cluster(static_cast<std::uint32_t>(c.blocks));
  emit_team(k, p, c, params.declare(k));
  return {.module = k.finish(), .launches = {std::move(launch)}};
}

}  // namespace ptxloom::rowwise_kernel
