// SPDX-License-Identifier: Apache-2.0
#include "stream_sums.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "wgmma_plan.hpp"

namespace ptxloom::gemm_kernel {
namespace {

constexpr double kMostBlocks = 144;  // SMs of the largest chip that has wgmma
constexpr double kLeastSteps = 4;    // of a block: fewer are not worth its part of the sums
constexpr int kUnit = 16;            // bytes that a thread moves at once
constexpr int kUnitSums = 4, kUnitColumns = 8;
constexpr int kInFlight = 16;  // units that are read before the first is added
constexpr std::uint64_t kAligned = 256;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

/// Of a warpgroup's part of a tile.
int units_across(const Config& c) { return c.group_n() / kUnitColumns; }

/// Of all threads, side by side.
int unit_bytes(const Config& c) { return kUnit * 32 * c.warps(); }

std::uint32_t whole_clusters(double blocks, const Config& c) {
  const double clusters = std::min(blocks, kMostBlocks) / c.sharing();
  return static_cast<std::uint32_t>(std::max(clusters, 1.0)) * static_cast<std::uint32_t>(c.sharing());
}

std::string of_unit(const char* start) { return std::string(start) + "v4.b32"; }

}  // namespace

double stream_steps(const Problem& p, const Config& c) {
  return tiles_of(p, c) * std::ceil(double(p.k) / c.tile_k);
}

int stream_units(const Config& c) { return c.group_m() / kWgmmaRows * units_across(c); }

int stream_slice_bytes(const Config& c) { return (stream_units(c) + 1) / 2 * unit_bytes(c); }

StreamPlan::StreamPlan(const Problem& p, const Config& c, std::uint64_t at)
    : blocks(whole_clusters(stream_steps(p, c) / kLeastSteps, c)),
      counters(aligned(at)),
      slot_bytes(static_cast<std::uint32_t>(stream_units(c) * unit_bytes(c))) {
  const auto shared_tiles = static_cast<std::uint64_t>(std::min(tiles_of(p, c), 2.0 * blocks));
  slots = aligned(counters + shared_tiles * sizeof(std::uint32_t));
  workspace_bytes = aligned(slots + (blocks + shared_tiles) * slot_bytes);
}

StreamSums::StreamSums(KernelBuilder& k, const Problem& p, const Config& c, const StreamPlan& plan,
                       const StreamSumInputs& in)
    : k_(k),
      c_(c),
      plan_(plan),
      in_(in),
      type_(p.accumulator),
      block_(k.special("ctaid.x")),
      leads_(k.eq(in.thread, 0)),
      own_(k.fma(in.thread, kUnit, in.shared)) {
  if (c.sharing() == 1) return;
  block_ = k.div(block_, c.sharing());
  rank_ = k.special("cluster_ctarank");
}

// Neighbouring numbers are those of neighbouring ranks.
Reg StreamSums::of_rank(Reg number) {
  return c_.sharing() == 1 ? number : k_.fma(number, c_.sharing(), rank_);
}

// Of this thread the place of the first unit.
Reg StreamSums::slot(Reg block, Reg tile) {
  const Reg first = k_.add(in_.workspace, static_cast<std::int64_t>(plan_.slots));
  const Reg slot = k_.mad_wide(of_rank(k_.add(block, tile)), plan_.slot_bytes, first);
  return k_.mad_wide(in_.thread, kUnit, slot);
}

void StreamSums::leave(const Accumulators& sums, const SharedTile& tile, Reg rows) {
  k_.comment("stream-K: leave the sums of this part of k in the workspace");
  const Reg to = slot(block_, tile.tile);
  int unit = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const Reg inside = k_.gt(rows, static_cast<int>(i) * kWgmmaRows);
    k_.guarded(inside, [&] {
      for (auto sum = sums[i][0].begin(); sum != sums[i][0].end(); sum += kUnitSums, ++unit)
        k_.emit(of_unit("st.global."), k_.at(to, unit * unit_bytes(c_)), Unit(sum, sum + kUnitSums));
    });
  }
  k_.comment("stream-K: count it, when all threads have");
  k_.emit("bar.sync", in_.barrier, 32 * c_.warps());
  count(tile, "release");
}

StreamSums::Unit StreamSums::make_unit() { return k_.regs(type_, kUnitSums); }

Reg StreamSums::counter(Reg tile) {
  const Reg first = k_.add(in_.workspace, static_cast<std::int64_t>(plan_.counters));
  return k_.mad_wide(of_rank(tile), static_cast<std::int64_t>(sizeof(std::uint32_t)), first);
}

// From 2 * parts - 1 on to zero.
void StreamSums::count(const SharedTile& tile, const char* order) {
  const Reg at = counter(tile.tile), last = k_.sub(k_.shl(tile.parts, 1), 1);
  k_.guarded(leads_, [&] { k_.emit("red." + std::string(order) + ".gpu.global.inc.u32", k_.at(at), last); });
}

void StreamSums::await(const SharedTile& tile) {
  k_.comment("stream-K: wait for all parts of the tile");
  k_.if_(leads_, [&] {
    const Reg at = counter(tile.tile), there = k_.reg(u32);
    k_.do_while([&] {
      k_.emit("ld.acquire.gpu.global.u32", there, k_.at(at));
      return k_.lt(there, tile.parts);
    });
  });
  count(tile, "relaxed");
  k_.emit("bar.sync", in_.barrier, 32 * c_.warps());
}

// Each of `parts` blocks as many units as the others, or one more; of those the warp's that lie in D.
StreamSums::Slice StreamSums::slice(const SharedTile& tile, Reg rows) {
  const Reg number = k_.sub(block_, tile.first);
  const auto border = [&](Reg part) { return k_.div(k_.mul(part, stream_units(c_)), tile.parts); };
  const Reg begin = border(number);
  const Reg down = k_.div(k_.add(KernelBuilder::as(u32, k_.max(rows, 0)), kWgmmaRows - 1), kWgmmaRows);
  const Reg end = k_.min(border(k_.add(number, 1)), k_.mul(down, units_across(c_)));
  return {begin, k_.max(begin, end)};
}

// All parts of the first unit, then those of the next one, as one sequence: many are read at once.
void StreamSums::add_up(const SharedTile& tile, const Slice& slice) {
  k_.comment("stream-K: add up this block's slice of the tile, in the order of k");
  const Reg from = k_.mad_wide(slice.begin, unit_bytes(c_), slot(tile.first, tile.tile));
  const Reg to = k_.mov(u32, own_), part_read = k_.mov(u32, 0), part_added = k_.mov(u32, 0);
  const Unit sums = make_unit();
  for (const Reg& sum : sums) k_.emit("mov.b32", sum, 0);
  std::vector<Unit> parts;
  for (int i = 0; i < kInFlight; ++i) parts.push_back(make_unit());
  const Reg total = k_.mul(k_.sub(slice.end, slice.begin), tile.parts);
  k_.for_(0, total, kInFlight, [&](Reg i) {
    k_.pragma("\"nounroll\"");
    const Reg left = k_.sub(total, i);
    read(tile, parts, left, from, part_read);
    add(tile, parts, left, sums, to, part_added);
  });
}

void StreamSums::read(const SharedTile& tile, const std::vector<Unit>& into, Reg left, Reg from, Reg part) {
  const std::uint32_t part_bytes = plan_.slot_bytes * static_cast<std::uint32_t>(c_.sharing());
  const Reg parts = k_.mul_wide(k_.sub(tile.parts, 1), part_bytes);
  const Reg to_next_unit = k_.sub(unit_bytes(c_), parts), to_next_part = k_.mov(u64, part_bytes);
  for (std::size_t i = 0; i < into.size(); ++i) {
    k_.guarded(k_.gt(left, i), [&] { k_.emit(of_unit("ld.global."), into[i], k_.at(from)); });
    const Reg ended = ends(tile, part);
    k_.emit("add.u64", from, from, k_.select(ended, to_next_unit, to_next_part));
    advance(part, ended);
  }
}

void StreamSums::add(const SharedTile& tile, const std::vector<Unit>& read, Reg left, const Unit& sums,
                     Reg to, Reg part) {
  for (std::size_t i = 0; i < read.size(); ++i) {
    const Reg inside = k_.gt(left, i), ended = ends(tile, part), complete = k_.and_(inside, ended);
    k_.guarded(inside, [&] {
      for (std::size_t j = 0; j < sums.size(); ++j)
        k_.emit("add." + std::string(type_.name), sums[j], sums[j], read[i][j]);
    });
    k_.guarded(complete, [&] {
      k_.emit(of_unit("st.shared."), k_.at(to), sums);
      for (const Reg& sum : sums) k_.emit("mov.b32", sum, 0);
      k_.emit("add.u32", to, to, unit_bytes(c_));
    });
    advance(part, ended);
  }
}

// Whether it is the last one of a unit.
Reg StreamSums::ends(const SharedTile& tile, Reg part) { return k_.eq(k_.add(part, 1), tile.parts); }

void StreamSums::advance(Reg part, Reg ends) {
  k_.emit("add.u32", part, part, 1);
  k_.emit("selp.b32", part, 0, part, ends);
}

void StreamSums::add(const SharedTile& tile, Reg rows,
                     const std::function<void(const Accumulators& unit, Reg row, Reg column)>& store) {
  await(tile);
  const Slice slice = this->slice(tile, rows);
  add_up(tile, slice);
  k_.comment("stream-K: store it");
  k_.for_(slice.begin, slice.end, 1, [&](Reg unit) {
    k_.pragma("\"nounroll\"");
    const Unit sums = make_unit();
    k_.emit(of_unit("ld.shared."), sums, k_.at(k_.fma(k_.sub(unit, slice.begin), unit_bytes(c_), own_)));
    const Reg down = k_.div(unit, units_across(c_)), across = k_.rem(unit, units_across(c_));
    store({{sums}}, k_.mul(down, kWgmmaRows), k_.mul(across, kUnitColumns));
  });
}

}  // namespace ptxloom::gemm_kernel
