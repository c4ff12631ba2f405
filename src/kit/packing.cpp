// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/packing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint32_t kUnitBytes = 16;  // bytes a lane writes at once; alignment of packed rows' units
constexpr std::uint32_t kLine = 128;      // alignment of packed rows: a TMA box fetches no unused lines
constexpr int kUnitRegisters = 4;         // per unit
constexpr std::uint32_t kUnitsOfLane = 8, kUnitsOfRound = 32 * kUnitsOfLane;
constexpr std::uint32_t kPieces = 2048, kMostRounds = 8;  // enough for all warps
constexpr std::uint64_t kCounter = 256;                   // bytes for it; alignment of the matrices

/// Bytes up to its last element, in the last batch.
std::uint64_t bytes_of(const PackSource& source) {
  const MatrixOperand& from = source.from;
  return span(from.rows, from.cols, from.ld, from.stride, source.to.batches) *
         static_cast<std::uint64_t>(from.type.bytes());
}

}  // namespace

bool takes_tma_loads(const MatrixOperand& matrix) { return alignment(matrix, false) == kUnitBytes; }

PackPlan::PackPlan(std::span<const MatrixBatches> matrices) : bytes_(kCounter) {
  for (const MatrixBatches& given : matrices) {
    PackedMatrix& one = matrices_.emplace_back(PackedMatrix{.matrix = given.matrix});
    const bool several = one.matrix.stride > 0;
    if (several) one.batches = given.batches;
    if (takes_tma_loads(one.matrix)) continue;
    one.packed = true;
    one.at = bytes_;
    const std::uint64_t length = rounded_up<std::uint64_t>(one.matrix.row_bytes(), kLine);
    one.row_units = static_cast<std::uint32_t>((one.matrix.row_bytes() + kUnitBytes - 1) / kUnitBytes);
    one.matrix.ld = length / static_cast<std::uint64_t>(one.matrix.type.bytes());
    if (several) one.matrix.stride = one.matrix.rows * one.matrix.ld;
    bytes_ += rounded_up(one.batches * one.matrix.rows * length, kCounter);
  }
}

bool PackPlan::any() const {
  return std::ranges::any_of(matrices_, [](const PackedMatrix& one) { return one.packed; });
}

std::uint32_t PackPlan::rounds() const {
  std::uint32_t units = 0;
  for (const PackedMatrix& one : matrices_) units += one.units();
  return std::clamp(units / (kPieces * kUnitsOfRound), 1U, kMostRounds);
}

std::uint32_t PackPlan::pieces(const PackedMatrix& packed) const {
  const std::uint32_t piece = rounds() * kUnitsOfRound;
  return (packed.units() + piece - 1) / piece;
}

std::uint32_t PackPlan::pieces() const {
  std::uint32_t all = 0;
  for (const PackedMatrix& one : matrices_) all += pieces(one);
  return all;
}

Packing::Packing(KernelBuilder& k, const PackPlan& plan, std::vector<PackSource> sources, Reg workspace)
    : k_(k), plan_(plan), sources_(std::move(sources)), workspace_(workspace) {
  std::vector<const PackedMatrix*> packed, given;
  for (const PackedMatrix& one : plan.matrices())
    if (one.packed) packed.push_back(&one);
  for (const PackSource& one : sources_) given.push_back(&one.to);
  if (packed.empty() || !std::ranges::is_permutation(given, packed))
    throw Error(ErrorKind::usage, "bad-packing",
                fmt::format("{} sources for a plan that packs {} matrices", given.size(), packed.size()),
                "give a source for each packed matrix of the plan, and at least one");
}

void Packing::run(Reg thread, int warps) {
  const Reg lane = k_.and_(thread, 31), warp = k_.shr(thread, 5), blocks = k_.special("nctaid.x");
  k_.comment("pack: this warp's pieces; neighbouring thread blocks pack neighbouring pieces");
  const Reg first = k_.fma(warp, blocks, k_.special("ctaid.x"));
  k_.for_(first, plan_.pieces(), k_.mul(blocks, warps), [&](Reg piece) {
    k_.pragma("\"nounroll\"");
    copy_piece(piece, lane);
  });
  k_.comment("pack: count this thread block once all its threads have written their units");
  k_.emit("fence.proxy.async.global");
  k_.barrier();
  k_.guarded(k_.eq(thread, 0), [&] { rendezvous().arrive(); });
}

kit::GridRendezvous Packing::rendezvous() { return {k_, workspace_, k_.special("nctaid.x")}; }

// The pieces of a source follow those of the one before.
void Packing::copy_piece(Reg piece, Reg lane) {
  const std::function<void(std::size_t, Reg)> copy = [&](std::size_t source, Reg number) {
    if (source + 1 == sources_.size()) return copy_rounds(sources_[source], number, lane);
    const std::uint32_t pieces = plan_.pieces(sources_[source].to);
    k_.if_(
        k_.lt(number, pieces), [&] { copy_rounds(sources_[source], number, lane); },
        [&] { copy(source + 1, k_.sub(number, pieces)); });
  };
  copy(0, piece);
}

void Packing::copy_rounds(const PackSource& source, Reg piece, Reg lane) {
  const Reg begin = k_.fma(piece, plan_.rounds() * kUnitsOfRound, lane);
  k_.for_(0, plan_.rounds(), 1, [&](Reg round) {
    k_.pragma("\"nounroll\"");
    copy_units(source, k_.fma(KernelBuilder::as(u32, round), kUnitsOfRound, begin));
  });
}

// The bytes after the last whole word of the matrix, as a word.
Reg Packing::load_tail(const PackSource& source) {
  const auto whole = static_cast<std::int64_t>(bytes_of(source) & ~std::uint64_t{3});
  Reg tail = k_.mov(u32, 0);
  if (bytes_of(source) % 4 >= 2)
    tail = k_.convert(u32, k_.load("global.nc", u16, k_.at(source.pointer, whole)));
  if (bytes_of(source) % 2 == 0) return tail;
  const std::int64_t last = static_cast<std::int64_t>(bytes_of(source)) - 1;
  const Reg byte = k_.reg(u32);
  k_.emit("ld.global.nc.u8", byte, k_.at(source.pointer, last));
  return k_.or_(tail, k_.shl(byte, 8 * (last - whole)));
}

// Rows are numbered through all batches.
Reg Packing::row_address(const PackSource& source, Reg row) {
  const MatrixOperand& from = source.from;
  Reg begin = source.pointer;
  if (from.stride > 0) {
    const auto rows = static_cast<std::int64_t>(from.rows);
    const auto stride = static_cast<std::int64_t>(from.stride) * from.type.bytes();
    begin = k_.fma(k_.convert(u64, k_.div(row, rows)), stride, begin);
    row = k_.rem(row, rows);
  }
  return k_.mad_wide(row, static_cast<std::int64_t>(from.pitch_bytes()), begin);
}

// Reads the words that a unit straddles, then assembles the unit; several units at a time. Bytes after a
// row's end do not matter, but nothing past the matrix is read.
void Packing::copy_units(const PackSource& source, Reg first) {
  const Reg tail = load_tail(source);
  const Reg whole_end =
      k_.add(source.pointer, static_cast<std::int64_t>(bytes_of(source) & ~std::uint64_t{3}));
  struct Unit {
    Reg inside, shift, to;
    std::vector<Reg> words;
  };
  std::vector<Unit> all;
  const Reg to = k_.add(workspace_, static_cast<std::int64_t>(source.to.at));
  const auto packed_pitch = static_cast<std::int64_t>(source.to.matrix.pitch_bytes());
  for (std::uint32_t i = 0; i < kUnitsOfLane; ++i) {
    const Reg number = i == 0 ? first : k_.add(first, 32 * i);
    const Reg row = k_.div(number, source.to.row_units), unit = k_.rem(number, source.to.row_units);
    const Reg address = k_.mad_wide(unit, kUnitBytes, row_address(source, row));
    Unit& one = all.emplace_back(Unit{.inside = k_.lt(number, source.to.units()),
                                      .shift = k_.shl(k_.and_(k_.convert(u32, address), 3), 3),
                                      .to = k_.mad_wide(unit, kUnitBytes, k_.mad_wide(row, packed_pitch, to)),
                                      .words = {}});
    const Reg begin = KernelBuilder::as(u64, k_.and_(address, ~std::int64_t{3}));
    for (int j = 0; j <= kUnitRegisters; ++j) {
      const Reg word = one.words.emplace_back(k_.mov(b32, tail)), whole = k_.reg(pred);
      k_.emit("setp.lt.and.u64", whole, j == 0 ? begin : k_.add(begin, 4 * j), whole_end, one.inside);
      k_.guarded(whole, [&] { k_.emit("ld.global.nc.b32", word, k_.at(begin, 4 * j)); });
    }
  }
  for (const Unit& one : all) {
    const std::vector<Reg> packed = k_.regs(b32, kUnitRegisters);
    for (std::size_t j = 0; j < packed.size(); ++j)
      k_.emit("shf.r.wrap.b32", packed[j], one.words[j], one.words[j + 1], one.shift);
    k_.guarded(one.inside, [&] { k_.emit("st.global.v4.b32", k_.at(one.to), packed); });
  }
}

void Packing::await() {
  k_.comment("load: wait until all thread blocks have packed their pieces");
  rendezvous().await();
  k_.emit("fence.proxy.async.global");
}

}  // namespace ptxloom::kit
