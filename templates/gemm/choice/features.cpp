// SPDX-License-Identifier: Apache-2.0
#include "gemm/choice/features.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "gemm/config/rules.hpp"
#include "ptxloom/kit/team.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr std::uint64_t kLine = 128;   // bytes of L2's lines
constexpr std::uint64_t kCopied = 16;  // bytes, of which TMA wants a row's pitch to be a multiple

double size_of(const Matrix& m) { return m.type.bytes(); }

/// Whether rows begin at multiples of so many bytes.
template <typename M>
double rows_at(const M& matrix, std::uint64_t bytes) {
  return matrix.ld * static_cast<std::uint64_t>(matrix.type.bytes()) % bytes == 0 ? 1 : 0;
}

/// The part of all tiles that is not padding: `size` elements in tiles of `unit`.
double filled(double size, double unit) { return size / unit / std::ceil(size / unit); }

double waves(const Candidate& c) { return double(c.demand.blocks) / c.sms; }

/// Thread blocks of an SM, of those that it can hold, if the others have as many.
double at_once(const Candidate& c) { return std::min<double>(c.resident, std::max(1.0, waves(c))); }

/// How much of the time whole waves would take is used, if `waves` of them are begun.
double used(double waves) { return waves / std::ceil(waves); }

/// The largest power of two of which a row's pitch in bytes is a multiple; as its logarithm, 8 at most.
template <typename M>
double row_alignment(const M& matrix) {
  return std::countr_zero(matrix.ld * static_cast<std::uint64_t>(matrix.type.bytes()) | 256U);
}

double row_of_stage(const Candidate& c) { return c.config.tile_k * size_of(c.problem.a); }
double stage_bytes(const Candidate& c) { return row_of_stage(c) * (c.config.tile_m + c.config.tile_n); }

double log_of(double amount) { return std::log(amount + 1); }

using C = const Candidate&;
constexpr Feature kFeatures[] = {
    {"log_m", [](C c) { return std::log(double(c.problem.m)); }},
    {"log_n", [](C c) { return std::log(double(c.problem.n)); }},
    {"log_k", [](C c) { return std::log(double(c.problem.k)); }},
    {"fill_m", [](C c) { return filled(c.problem.m, c.config.tile_m); }},
    {"fill_n", [](C c) { return filled(c.problem.n, c.config.tile_n); }},
    {"fill_k", [](C c) { return filled(c.problem.k, c.config.tile_k); }},
    {"element_bytes", [](C c) { return size_of(c.problem.a); }},
    {"result_bytes", [](C c) { return double(c.problem.d.type.bytes()); }},
    {"a_rows_at_lines", [](C c) { return rows_at(c.problem.a, kLine); }},
    {"b_rows_at_lines", [](C c) { return rows_at(c.problem.b, kLine); }},
    {"d_rows_at_lines", [](C c) { return rows_at(c.problem.d, kLine); }},
    {"d_rows_at_16", [](C c) { return rows_at(c.problem.d, kCopied); }},
    {"a_row_alignment", [](C c) { return row_alignment(c.problem.a); }},
    {"b_row_alignment", [](C c) { return row_alignment(c.problem.b); }},
    {"d_row_alignment", [](C c) { return row_alignment(c.problem.d); }},
    {"packs", [](C c) { return c.config.strategy->packs(c.problem) ? 1.0 : 0.0; }},
    {"swap", [](C c) { return double(c.config.swap); }},
    {"tile_m", [](C c) { return double(c.config.tile_m); }},
    {"tile_n", [](C c) { return double(c.config.tile_n); }},
    {"tile_k_bytes", [](C c) { return c.config.tile_k * size_of(c.problem.a); }},
    {"tile_area", [](C c) { return std::log(double(c.config.tile_m) * c.config.tile_n); }},
    {"warps_m", [](C c) { return double(c.config.warps_m); }},
    {"warps_n", [](C c) { return double(c.config.warps_n); }},
    {"warp_m", [](C c) { return double(c.config.warp_m()); }},
    {"warp_n", [](C c) { return double(c.config.warp_n()); }},
    {"prefetch_across", [](C c) { return double(c.config.mma_sync.across_k_blocks); }},
    {"warp_area", [](C c) { return std::log(double(c.config.warp_m()) * c.config.warp_n()); }},
    {"stages", [](C c) { return double(c.config.stages); }},
    {"stage_bytes", stage_bytes},
    {"row_in_flight", [](C c) { return row_of_stage(c) * c.config.stages; }},
    {"in_flight", [](C c) { return stage_bytes(c) * c.config.stages * at_once(c); }},
    {"split", [](C c) { return double(c.config.split); }},
    {"stream_k", [](C c) { return double(c.config.stream_k); }},
    {"staged", [](C c) { return double(c.config.staged); }},
    {"sharing_a", [](C c) { return double(c.config.sharing_a()); }},
    {"sharing_b", [](C c) { return double(c.config.sharing_b()); }},
    {"tiles_in_flight", [](C c) { return double(c.config.tiles_in_flight()); }},
    {"producer_warps", [](C c) { return double(c.config.cooperation().producer_warps); }},
    {"log_tiles", [](C c) { return std::log(double(tiles_of(c.problem, c.config))); }},
    {"waves", [](C c) { return std::log(waves(c)); }},
    {"last_wave", [](C c) { return waves(c) - std::floor(waves(c)); }},
    {"used_waves", [](C c) { return used(waves(c)); }},
    {"used_full_waves", [](C c) { return used(waves(c) / c.resident); }},
    {"full_waves", [](C c) { return std::log(waves(c) / c.resident); }},
    {"warps_at_once", [](C c) { return at_once(c) * c.demand.threads / kit::kWarpThreads; }},
    {"asynchronous", [](C c) { return double(c.demand.asynchronous); }},
    {"threads", [](C c) { return double(c.demand.threads); }},
    {"registers", [](C c) { return double(c.demand.registers); }},
    {"shared_bytes", [](C c) { return double(c.demand.shared_bytes); }},
    {"resident", [](C c) { return double(c.resident); }},
    {"steps", [](C c) { return log_of(double(c.demand.steps)); }},
    {"operations", [](C c) { return log_of(c.demand.operations); }},
    {"instructions", [](C c) { return log_of(c.demand.instructions); }},
    {"dram_bytes", [](C c) { return log_of(c.demand.dram_bytes); }},
    {"l2_bytes", [](C c) { return log_of(c.demand.l2_bytes); }},
    {"shared_traffic", [](C c) { return log_of(c.demand.shared_traffic); }},
    {"epilogue", [](C c) { return log_of(c.demand.epilogue); }},
    {"stored_sectors", [](C c) { return log_of(c.demand.stored_sectors); }},
    {"partial_sectors", [](C c) { return log_of(c.demand.partial_sectors); }},
    {"summed_bytes", [](C c) { return log_of(c.demand.summed_bytes); }},
    {"exchanged_bytes", [](C c) { return log_of(c.demand.exchanged_bytes); }},
    {"prologue_bytes", [](C c) { return log_of(c.demand.prologue_bytes); }},
    {"us", [](C c) { return std::log(c.us); }},
    {"dram_rate", [](C c) { return std::log(c.demand.dram_bytes / c.us); }},
    {"l2_rate", [](C c) { return std::log(c.demand.l2_bytes / c.us); }},
    {"operation_rate", [](C c) { return std::log(c.demand.operations / c.us); }},
    {"us_of_step", [](C c) { return std::log(c.us / std::max<double>(1, double(c.demand.steps))); }},
};

}  // namespace

std::span<const Feature> features() { return kFeatures; }

}  // namespace ptxloom::gemm_kernel
