// SPDX-License-Identifier: Apache-2.0
#include "gemm/reduction/stream_k_reduction.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace ptxloom::gemm_kernel {
namespace {

constexpr double kMostBlocks = 192;  // SMs of the largest chip
constexpr double kLeastSteps = 4;    // per thread block: fewer are not worth a part of the reduction
constexpr int kMostMoved = 16;       // bytes per access of a thread
constexpr int kUnitRegisters = kMostMoved / 4;
constexpr int kUnitColumns = 8;
constexpr double kTypicalTile = 128, kDeepBytes = 1 << 14;
constexpr int kMostUnits = 33;    // at once: accumulators and the values to add to them
constexpr int kBesideUnits = 72;  // registers of a thread that hold no unit
constexpr int kMostParts = 32;    // read at once
constexpr std::uint64_t kAligned = 256;

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

/// With one thread block per SM, whose register file has four partitions.
int registers_of_thread(const Config& c) { return 512 / ((c.threads() / 32 + 3) / 4); }

std::uint32_t whole_clusters(double blocks, const Config& c) {
  const double clusters = std::min(blocks, kMostBlocks) / c.sharing();
  return static_cast<std::uint32_t>(std::max(clusters, 1.0)) * static_cast<std::uint32_t>(c.sharing());
}

}  // namespace

bool may_stream_k(const Problem& p) {
  const double tiles = std::ceil(p.m / kTypicalTile) * std::ceil(p.n / kTypicalTile) * p.batch;
  return p.groups == GemmGroups::none && tiles < kTypicalSms && double(p.k) * p.a.type.bytes() >= kDeepBytes;
}

double stream_k_blocks(const Problem& p, const Config& c) {
  return tiles_of(p, c) * std::ceil(double(p.k) / c.tile_k);
}

StreamUnits::StreamUnits(const Problem& p, const Config& c)
    : accumulators(std::min(kMostMoved / p.accumulator.bytes(),
                            c.strategy->part(c).mma_rows * kUnitColumns / c.strategy->part(c).threads)),
      rows(accumulators * c.strategy->part(c).threads / kUnitColumns),
      across(c.warp_n() / kUnitColumns),
      count(c.strategy->part(c).rows / rows * across),
      thread_bytes(accumulators * p.accumulator.bytes()),
      bytes(thread_bytes * 32 * c.warps()) {}

int stream_slice_bytes(const Problem& p, const Config& c) {
  const StreamUnits units(p, c);
  return (units.count + 1) / 2 * units.bytes;
}

StreamShare::StreamShare(const StreamPlan& plan, const Problem& p, const Config& c, double sms)
    : blocks(std::min<double>(plan.blocks, sms)),
      parts(std::floor(blocks / tiles_of(p, c))),
      k_blocks(std::ceil(stream_k_blocks(p, c) / (parts > 1 ? tiles_of(p, c) * parts : blocks))) {}

// From the parts that a tile has on a typical chip.
StreamPlan::StreamPlan(const Problem& p, const Config& c, std::uint64_t at)
    : blocks(whole_clusters(stream_k_blocks(p, c) / kLeastSteps, c)), counters(aligned(at)) {
  const StreamUnits units(p, c);
  slot_bytes = static_cast<std::uint32_t>(units.count * units.bytes);
  const auto shared_tiles = static_cast<std::uint64_t>(std::min(tiles_of(p, c), 2.0 * blocks));
  slots = aligned(counters + shared_tiles * sizeof(std::uint32_t));
  workspace_bytes = aligned(slots + (blocks + shared_tiles) * slot_bytes);
  const double parts = std::min(blocks, kTypicalSms) / tiles_of(p, c);
  for (parts_at_once = 2; parts_at_once < std::min<double>(parts, kMostParts);) parts_at_once *= 2;
  const int at_once = std::min(kMostUnits, (registers_of_thread(c) - kBesideUnits) / kUnitRegisters);
  parts_at_once = std::min(parts_at_once, at_once - 1);
  units_at_once = at_once / (parts_at_once + 1);
}

StreamReduction::StreamReduction(KernelBuilder& k, const Problem& p, const Config& c, const StreamPlan& plan,
                                 const StreamReductionInputs& in)
    : k_(k),
      c_(c),
      plan_(plan),
      in_(in),
      units_(p, c),
      type_(p.accumulator),
      bits_(type_.bits == 64 ? b64 : b32),
      block_(k.special("ctaid.x")),
      leads_(k.eq(in.thread, 0)),
      own_(k.fma(in.thread, units_.thread_bytes, in.shared)) {
  if (c.sharing() == 1) return;
  block_ = k.div(block_, c.sharing());
  rank_ = k.special("cluster_ctarank");
}

// Consecutive numbers belong to consecutive ranks.
Reg StreamReduction::of_rank(Reg number) {
  return c_.sharing() == 1 ? number : k_.fma(number, c_.sharing(), rank_);
}

// This thread's address of the first unit.
Reg StreamReduction::slot(Reg block, Reg tile) {
  const Reg first = k_.add(in_.workspace, static_cast<std::int64_t>(plan_.slots));
  const Reg slot = k_.mad_wide(of_rank(k_.add(block, tile)), plan_.slot_bytes, first);
  return k_.mad_wide(in_.thread, units_.thread_bytes, slot);
}

void StreamReduction::write_part(const Accumulators& accumulators, const kit::SharedTile& tile, Reg rows) {
  k_.comment("stream-K: write the accumulators of this part of k to the workspace");
  const Reg to = slot(block_, tile.tile);
  for (const auto& [row, units] : by_rows(accumulators))
    k_.guarded(k_.gt(rows, row), [&] {
      for (const Numbered& unit : units)
        k_.emit(opcode("st.global."), k_.at(to, unit.number * units_.bytes), unit.sums);
    });
  k_.comment("stream-K: count the part once all threads have written theirs");
  barrier();
  k_.guarded(leads_, [&] { rendezvous(tile).arrive(); });
}

// The units of the accumulators, by the row they start at.
std::map<int, std::vector<StreamReduction::Numbered>> StreamReduction::by_rows(
    const Accumulators& accumulators) const {
  const Layout map = layout(c_.mma, "D");
  std::map<int, std::vector<Numbered>> rows;
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    for (std::size_t j = 0; j < accumulators[i].size(); ++j)
      for (int reg = 0; reg < map.registers; reg += units_.accumulators) {
        const LayoutElement& place = map.at(0, reg);
        const int row = static_cast<int>(i) * c_.mma_m + place.row,
                  column = static_cast<int>(j) * c_.mma_n + place.col;
        const auto first = accumulators[i][j].begin() + reg;
        rows[row].push_back({.number = row / units_.rows * units_.across + column / kUnitColumns,
                             .sums = Unit(first, first + units_.accumulators)});
      }
  return rows;
}

std::vector<StreamReduction::Unit> StreamReduction::make_units(int number) {
  std::vector<Unit> made;
  for (int i = 0; i < number; ++i) made.push_back(k_.regs(type_, units_.accumulators));
  return made;
}

void StreamReduction::clear(const Unit& sums) {
  for (const Reg& sum : sums) k_.emit("mov." + std::string(bits_.name), sum, 0);
}

std::string StreamReduction::opcode(std::string_view start) const {
  return vector_opcode(start, bits_, static_cast<std::size_t>(units_.accumulators));
}

// A barrier of all threads that multiply.
void StreamReduction::barrier() { k_.emit("bar.sync", in_.barrier, 32 * c_.warps()); }

GridRendezvous StreamReduction::rendezvous(const kit::SharedTile& tile) {
  const Reg first = k_.add(in_.workspace, static_cast<std::int64_t>(plan_.counters));
  const Reg counter =
      k_.mad_wide(of_rank(tile.tile), static_cast<std::int64_t>(sizeof(std::uint32_t)), first);
  return {k_, counter, tile.parts};
}

void StreamReduction::await(const kit::SharedTile& tile) {
  k_.comment("stream-K: wait for all parts of the tile");
  k_.if_(leads_, [&] { rendezvous(tile).await(); });
  barrier();
}

// Each of `parts` thread blocks gets the same number of units or one more; a warp skips units outside D.
StreamReduction::Slice StreamReduction::slice(const kit::SharedTile& tile, Reg rows) {
  const Reg number = k_.sub(block_, tile.first);
  const auto border = [&](Reg part) { return k_.div(k_.mul(part, units_.count), tile.parts); };
  const Reg begin = border(number);
  const Reg down = k_.div(k_.add(KernelBuilder::as(u32, k_.max(rows, 0)), units_.rows - 1), units_.rows);
  const Reg end = k_.min(border(k_.add(number, 1)), k_.mul(down, units_.across));
  return {begin, k_.max(begin, end)};
}

void StreamReduction::add_up(const kit::SharedTile& tile, const Slice& slice) {
  k_.comment("stream-K: reduce this thread block's slice of the tile, in the order of k");
  const Reg from = k_.mad_wide(slice.begin, units_.bytes, slot(tile.first, tile.tile));
  const Reg to = k_.mov(u32, own_);
  const std::vector<Unit> sums = make_units(plan_.units_at_once);
  k_.for_(slice.begin, slice.end, plan_.units_at_once, [&](Reg unit) {
    k_.pragma("\"nounroll\"");
    for (const Unit& one : sums) clear(one);
    const Reg left = k_.sub(slice.end, unit);
    add_parts(tile, sums, left, from);
    for (std::size_t i = 0; i < sums.size(); ++i)
      k_.guarded(k_.gt(left, i), [&] {
        k_.emit(opcode("st.shared."), k_.at(to, static_cast<int>(i) * units_.bytes), sums[i]);
      });
    const int moved = plan_.units_at_once * units_.bytes;
    k_.emit("add.u32", to, to, moved);
    k_.emit("add.u64", from, from, moved);
  });
}

void StreamReduction::add_parts(const kit::SharedTile& tile, const std::vector<Unit>& sums, Reg units_left,
                                Reg from) {
  const int parts = plan_.parts_at_once;
  const auto part_bytes = static_cast<std::int64_t>(plan_.slot_bytes) * c_.sharing();
  const std::vector<Unit> read = make_units(static_cast<int>(sums.size()) * parts);
  const Reg at = k_.mov(u64, from);
  k_.for_(0, tile.parts, parts, [&](Reg part) {
    k_.pragma("\"nounroll\"");
    const Reg left = k_.sub(tile.parts, part);
    const auto for_each = [&](const std::function<void(int unit, int part, const Unit& read)>& body) {
      for (int i = 0; i < static_cast<int>(read.size()); ++i) {
        const int unit = i / parts, number = i % parts;
        const Reg there = k_.gt(left, number);
        k_.guarded(unit == 0 ? there : k_.and_(there, k_.gt(units_left, unit)),
                   [&] { body(unit, number, read[static_cast<std::size_t>(i)]); });
      }
    };
    for_each([&](int unit, int number, const Unit& into) {
      k_.emit(opcode("ld.global."), into, k_.at(at, unit * units_.bytes + number * part_bytes));
    });
    for_each([&](int unit, int, const Unit& one) {
      const Unit& to = sums[static_cast<std::size_t>(unit)];
      for (std::size_t j = 0; j < to.size(); ++j)
        k_.emit("add." + std::string(type_.name), to[j], to[j], one[j]);
    });
    k_.emit("add.u64", at, at, parts * part_bytes);
  });
}

void StreamReduction::add(const kit::SharedTile& tile, Reg rows,
                          const std::function<void(const Accumulators& unit, Reg row, Reg column)>& store) {
  await(tile);
  const Slice slice = this->slice(tile, rows);
  add_up(tile, slice);
  k_.comment("stream-K: store the slice");
  k_.for_(slice.begin, slice.end, 1, [&](Reg unit) {
    k_.pragma("\"nounroll\"");
    const Unit sums = make_units(1).front();
    k_.emit(opcode("ld.shared."), sums, k_.at(k_.fma(k_.sub(unit, slice.begin), units_.bytes, own_)));
    const Reg down = k_.div(unit, units_.across), across = k_.rem(unit, units_.across);
    store({{sums}}, k_.mul(down, units_.rows), k_.mul(across, kUnitColumns));
  });
}

}  // namespace ptxloom::gemm_kernel
