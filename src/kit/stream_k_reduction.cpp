// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/stream_k_reduction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kMostMoved = 16;  // bytes per access of a thread
constexpr int kUnitRegisters = kMostMoved / 4;
constexpr int kUnitColumns = 8;
constexpr int kMostUnits = 33;    // at once: accumulators and the values to add to them
constexpr int kBesideUnits = 72;  // registers of a thread that hold no unit
constexpr int kMostParts = 32;    // read at once
constexpr std::uint64_t kAligned = 256;

/// How many accumulators of a unit a thread has.
int accumulators_of(const StreamKTile& tile) {
  const bool accumulates = tile.type == f32 || tile.type == s32 || tile.type == f64;
  if (!accumulates || tile.part_threads < 1 || tile.mma_rows * kUnitColumns < tile.part_threads)
    throw Error(ErrorKind::usage, "bad-reduction",
                fmt::format("instructions of {} rows of {}, by {} threads, have no unit", tile.mma_rows,
                            tile.type.name, tile.part_threads),
                "accumulators are f32, s32 or f64, and each thread has one of 8 columns at least");
  return std::min(kMostMoved / tile.type.bytes(), tile.mma_rows * kUnitColumns / tile.part_threads);
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + kAligned - 1) / kAligned * kAligned; }

}  // namespace

StreamKUnits::StreamKUnits(const StreamKTile& tile)
    : accumulators(accumulators_of(tile)),
      rows(accumulators * tile.part_threads / kUnitColumns),
      across(tile.part_columns / kUnitColumns),
      count(tile.part_rows / rows * across),
      thread_bytes(accumulators * tile.type.bytes()),
      bytes(thread_bytes * tile.threads) {}

StreamKReads StreamKReads::fitting(int registers, double parts) {
  StreamKReads reads;
  for (reads.parts = 2; reads.parts < std::min<double>(parts, kMostParts);) reads.parts *= 2;
  const int at_once = std::clamp((registers - kBesideUnits) / kUnitRegisters, 2, kMostUnits);
  reads.parts = std::min(reads.parts, at_once - 1);
  reads.units = at_once / (reads.parts + 1);
  return reads;
}

StreamKWorkspace::StreamKWorkspace(const StreamKUnits& units, double tiles, std::uint32_t blocks,
                                   std::uint64_t at)
    : counters(aligned(at)), slot_bytes(static_cast<std::uint32_t>(units.count * units.bytes)) {
  const auto shared_tiles = static_cast<std::uint64_t>(std::min(tiles, 2.0 * blocks));
  slots = aligned(counters + shared_tiles * sizeof(std::uint32_t));
  bytes = aligned(slots + (blocks + shared_tiles) * slot_bytes);
}

StreamKReduction::StreamKReduction(KernelBuilder& k, const StreamKTile& tile,
                                   const StreamKWorkspace& workspace, StreamKReads reads,
                                   const StreamKReductionInputs& in)
    : k_(k),
      tile_(tile),
      workspace_(workspace),
      reads_(reads),
      in_(in),
      units_(tile),
      map_(layout(tile.mma, "D")),
      bits_(tile.type.bits == 64 ? b64 : b32),
      block_(k.special("ctaid.x")),
      leads_(k.eq(in.thread, 0)),
      own_(k.fma(in.thread, units_.thread_bytes, in.shared)) {
  if (tile.sharing == 1) return;
  block_ = k.div(block_, tile.sharing);
  rank_ = k.special("cluster_ctarank");
}

// Consecutive numbers belong to consecutive ranks.
Reg StreamKReduction::of_rank(Reg number) {
  return tile_.sharing == 1 ? number : k_.fma(number, tile_.sharing, rank_);
}

// This thread's address of the first unit.
Reg StreamKReduction::slot(Reg block, Reg tile) {
  const Reg first = k_.add(in_.workspace, static_cast<std::int64_t>(workspace_.slots));
  const Reg slot = k_.mad_wide(of_rank(k_.add(block, tile)), workspace_.slot_bytes, first);
  return k_.mad_wide(in_.thread, units_.thread_bytes, slot);
}

void StreamKReduction::write_part(const Accumulators& accumulators, const SharedTile& tile, Reg rows) {
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
std::map<int, std::vector<StreamKReduction::Numbered>> StreamKReduction::by_rows(
    const Accumulators& accumulators) const {
  std::map<int, std::vector<Numbered>> rows;
  for (std::size_t i = 0; i < accumulators.size(); ++i)
    for (std::size_t j = 0; j < accumulators[i].size(); ++j)
      for (int reg = 0; reg < map_.registers; reg += units_.accumulators) {
        const LayoutElement& place = map_.at(0, reg);
        const int row = static_cast<int>(i) * map_.rows + place.row,
                  column = static_cast<int>(j) * map_.cols + place.col;
        const auto first = accumulators[i][j].begin() + reg;
        rows[row].push_back({.number = row / units_.rows * units_.across + column / kUnitColumns,
                             .sums = Unit(first, first + units_.accumulators)});
      }
  return rows;
}

std::vector<StreamKReduction::Unit> StreamKReduction::make_units(int number) {
  std::vector<Unit> made;
  for (int i = 0; i < number; ++i) made.push_back(k_.regs(tile_.type, units_.accumulators));
  return made;
}

void StreamKReduction::clear(const Unit& sums) {
  for (const Reg& sum : sums) k_.emit("mov." + std::string(bits_.name), sum, 0);
}

std::string StreamKReduction::opcode(std::string_view start) const {
  const std::string vector = units_.accumulators > 1 ? "v" + std::to_string(units_.accumulators) + "." : "";
  return std::string(start) + vector + std::string(bits_.name);
}

// A barrier of all threads that multiply.
void StreamKReduction::barrier() { k_.emit("bar.sync", in_.barrier, tile_.threads); }

GridRendezvous StreamKReduction::rendezvous(const SharedTile& tile) {
  const Reg first = k_.add(in_.workspace, static_cast<std::int64_t>(workspace_.counters));
  const Reg counter =
      k_.mad_wide(of_rank(tile.tile), static_cast<std::int64_t>(sizeof(std::uint32_t)), first);
  return {k_, counter, tile.parts};
}

void StreamKReduction::await(const SharedTile& tile) {
  k_.comment("stream-K: wait for all parts of the tile");
  k_.if_(leads_, [&] { rendezvous(tile).await(); });
  barrier();
}

// Each of `parts` thread blocks gets the same number of units or one more; a warp skips units outside D.
StreamKReduction::Slice StreamKReduction::slice(const SharedTile& tile, Reg rows) {
  const Reg number = k_.sub(block_, tile.first);
  const auto border = [&](Reg part) { return k_.div(k_.mul(part, units_.count), tile.parts); };
  const Reg begin = border(number);
  const Reg down = k_.div(k_.add(KernelBuilder::as(u32, k_.max(rows, 0)), units_.rows - 1), units_.rows);
  const Reg end = k_.min(border(k_.add(number, 1)), k_.mul(down, units_.across));
  return {begin, k_.max(begin, end)};
}

void StreamKReduction::add_up(const SharedTile& tile, const Slice& slice) {
  k_.comment("stream-K: reduce this thread block's slice of the tile, in the order of k");
  const Reg from = k_.mad_wide(slice.begin, units_.bytes, slot(tile.first, tile.tile));
  const Reg to = k_.mov(u32, own_);
  const std::vector<Unit> sums = make_units(reads_.units);
  k_.for_(slice.begin, slice.end, reads_.units, [&](Reg unit) {
    k_.pragma("\"nounroll\"");
    for (const Unit& one : sums) clear(one);
    const Reg left = k_.sub(slice.end, unit);
    add_parts(tile, sums, left, from);
    for (std::size_t i = 0; i < sums.size(); ++i)
      k_.guarded(k_.gt(left, i), [&] {
        k_.emit(opcode("st.shared."), k_.at(to, static_cast<int>(i) * units_.bytes), sums[i]);
      });
    const int moved = reads_.units * units_.bytes;
    k_.emit("add.u32", to, to, moved);
    k_.emit("add.u64", from, from, moved);
  });
}

void StreamKReduction::add_parts(const SharedTile& tile, const std::vector<Unit>& sums, Reg units_left,
                                 Reg from) {
  const int parts = reads_.parts;
  const auto part_bytes = static_cast<std::int64_t>(workspace_.slot_bytes) * tile_.sharing;
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
        k_.emit("add." + std::string(tile_.type.name), to[j], to[j], one[j]);
    });
    k_.emit("add.u64", at, at, parts * part_bytes);
  });
}

void StreamKReduction::add(const SharedTile& tile, Reg rows,
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

}  // namespace ptxloom::kit
