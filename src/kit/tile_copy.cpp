// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/tile_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "kit/integers.hpp"
#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kSmallestCopy = 4;  // bytes of a cp.async

// cp.async copies 4, 8 or 16 bytes; only 16 can bypass L1.
std::string_view copy_opcode(int bytes) {
  return bytes == 16 ? "cp.async.cg.shared.global" : "cp.async.ca.shared.global";
}

// How a unit of this many bytes is loaded and stored through registers.
struct UnitType {
  Type type;
  int count;
  std::string_view suffix;
};
UnitType unit_type(int bytes) {
  switch (bytes) {
    case 16:
      return {b64, 2, "v2.b64"};
    case 8:
      return {b64, 1, "b64"};
    case 4:
      return {b32, 1, "b32"};
    case 2:
      return {b16, 1, "b16"};
    default:
      return {b8, 1, "b8"};
  }
}

}  // namespace

CopyAccess copy_access(const Specs& specs, const Target& target, const MatrixOperand& matrix) {
  // cp.async zero-fills the end of a row; plain loads take whole units or none.
  const int wide = alignment(matrix, false);
  const std::vector<Variant> copies = specs.match("cp.async.ca.shared.global");
  const bool has_copy = std::ranges::any_of(copies, [&](Variant v) { return v.since(target).has_value(); });
  if (has_copy && wide >= kSmallestCopy) return {wide, true};
  return {alignment(matrix, true), false};
}

TileCopy::TileCopy(KernelBuilder& k, const TileCopyShape& shape, const SwizzledTile& tile,
                   const TileCopyInputs& in)
    : k_(k),
      tile_(tile),
      size_(shape.type.bytes()),
      k_contiguous_(shape.k_contiguous),
      threads_(shape.threads),
      access_(shape.access.bytes),
      spread_(std::max(shape.slot / access_, 1)),
      asynchronous_(shape.access.asynchronous),
      whole_k_(shape.whole_k),
      whole_rows_(k_contiguous_ ? shape.whole_extent : shape.whole_k),
      whole_columns_(k_contiguous_ ? shape.whole_k : shape.whole_extent),
      depth_(k_contiguous_ ? tile.row_bytes() / spread_ / size_ : tile.rows()) {
  if (!power_of_two(threads_) || !power_of_two(access_) || access_ > 16 || access_ < size_ ||
      (asynchronous_ && access_ < kSmallestCopy) ||
      (shape.slot != 0 &&
       (!power_of_two(shape.slot) || shape.slot < access_ || shape.slot > tile.row_bytes())))
    throw Error(
        ErrorKind::usage, "bad-tile-copy",
        fmt::format("a copy by {} threads in units of {} bytes, of elements of {}", threads_, access_, size_),
        "threads, bytes and slots are powers of two; a unit is at least an element, at most 16 bytes and its "
        "slot; by cp.async it is at least 4 bytes; a slot is at most a row of the tile");
  deal(in.thread);
  shared_ = k.add(in.shared,
                  tile_.address(k, first_row_, spread_ == 1 ? first_byte_ : k.mul(first_byte_, spread_)));

  // Bytes from one stored row to the next, and from one tile to the next along k.
  const Reg row_stride = k.mul_wide(in.ld, size_);
  rows_stride_ = k.mul(row_stride, row_step_);
  tile_stride_ = k_contiguous_ ? k.mov(u64, depth_ * size_) : k.mul(row_stride, depth_);

  const Reg first_element = k.shr(first_byte_, log2(size_));
  const Reg row = k_contiguous_ ? k.add(in.origin, first_row_) : first_row_;
  const Reg element = k_contiguous_ ? first_element : k.add(in.origin, first_element);
  const Reg row_start = k.fma(k.convert(u64, row), row_stride, in.pointer);
  pointer_ = k.mad_wide(element, size_, row_start);

  const Reg rows = k_contiguous_ ? in.extent : in.k;
  const Reg columns = k_contiguous_ ? in.k : in.extent;
  rows_left_ = KernelBuilder::as(s32, k.sub(rows, row));
  row_elements_left_ = KernelBuilder::as(s32, k.sub(columns, element));
}

// Adjacent threads take adjacent units of a row; the remaining threads take the next rows. The last rows may
// be too few for all threads.
void TileCopy::deal(Reg thread) {
  const int per_row = tile_.row_bytes() / (access_ * spread_);
  const int across = std::min(per_row, threads_);
  const int rows_at_once = threads_ / across;
  first_row_ = k_.shr(thread, log2(across));
  first_byte_ = k_.shl(k_.and_(thread, across - 1), log2(access_));
  row_step_ = rows_at_once;
  const int left_over = tile_.rows() % rows_at_once;
  whole_rounds_end_ = tile_.rows() - left_over;
  if (left_over > 0) has_left_over_ = k_.lt(first_row_, left_over);
  columns_count_ = static_cast<std::size_t>(per_row / across);
  for (int row = 0; row < tile_.rows(); row += rows_at_once)
    for (std::size_t column = 0; column < columns_count_; ++column)
      units_.push_back({row, static_cast<int>(column) * across * access_, column});
}

// From the start of a unit to the end of its row.
Reg TileCopy::elements_left(int byte) {
  return byte == 0 ? row_elements_left_ : k_.sub(row_elements_left_, byte / size_);
}

// Computes what all rows of a tile have in common.
void TileCopy::begin_columns() {
  columns_.clear();
  flipped_.clear();
  if (asynchronous_ && whole_columns_ && whole_rows_) return;
  for (std::size_t column = 0; column < columns_count_; ++column) {
    const int byte = units_[column].byte;
    columns_.push_back(asynchronous_ ? bytes_left(byte) : k_.gt(elements_left(byte), 0));
  }
}

// Bytes of a unit inside the matrix.
Reg TileCopy::bytes_left(int byte) {
  if (whole_columns_) return k_.mov(u32, access_);
  return k_.shl(k_.min(k_.max(elements_left(byte), 0), access_ / size_), log2(size_));
}

Reg TileCopy::destination(Reg stage, int flip) {
  if (flip == 0) return stage;
  const auto known = flipped_.find(flip);
  return known != flipped_.end() ? known->second : flipped_.emplace(flip, k_.xor_(stage, flip)).first->second;
}

void TileCopy::issue(Reg stage_offset) {
  const Reg stage = k_.add(shared_, stage_offset);
  const Reg along_k = k_contiguous_ ? row_elements_left_ : rows_left_;
  guard_ = std::nullopt;
  left_over_guard_ = has_left_over_;
  if (whole_k_) {
    guard_ = k_.gt(along_k, 0);
    if (has_left_over_) left_over_guard_ = k_.and_(*has_left_over_, *guard_);
  }
  pending_.clear();
  begin_columns();
  Reg row_pointer = pointer_;
  for (const Unit& unit : units_) {
    if (unit.row > 0 && unit.byte == 0) row_pointer = k_.add(row_pointer, rows_stride_);
    const Distance there = tile_.distance(unit.row, unit.byte * spread_);
    pending_.push_back(
        {.row = unit.row, .values = {}, .destination = destination(stage, there.flip), .add = there.add});
    const Address source = KernelBuilder::at(row_pointer, unit.byte);
    asynchronous_ ? copy(unit, source) : load(unit, source);
  }
  k_.emit("add.s64", pointer_, pointer_, tile_stride_);
  k_.emit("sub.s32", along_k, along_k, depth_);
}

// Elements outside the matrix are not read and become zero.
void TileCopy::copy(const Unit& unit, const Address& source) {
  std::optional<Reg> bytes;  // bytes that exist, if it may be fewer than all
  if (!columns_.empty()) bytes = columns_[unit.column];
  if (!whole_rows_) bytes = k_.select(k_.gt(rows_left_, unit.row), *bytes, 0);
  guarded(unit.row, [&] {
    const Address to = KernelBuilder::at(pending_.back().destination, pending_.back().add);
    if (bytes)
      k_.emit(copy_opcode(access_), to, source, access_, KernelBuilder::as(u32, *bytes));
    else
      k_.emit(copy_opcode(access_), to, source, access_);
  });
}

void TileCopy::load(const Unit& unit, const Address& source) {
  // The alignment guarantees that a unit lies entirely inside or outside.
  const UnitType shape = unit_type(access_);
  const Reg inside = k_.and_(k_.gt(rows_left_, unit.row), columns_[unit.column]);
  std::vector<Reg>& values = pending_.back().values;
  for (int i = 0; i < shape.count; ++i) values.push_back(k_.mov(shape.type, 0));
  k_.guarded(inside, [&] {
    const std::string opcode = "ld.global." + std::string(shape.suffix);
    if (shape.count == 1)
      k_.emit(opcode, values[0], source);
    else
      k_.emit(opcode, values, source);
  });
}

void TileCopy::land() {
  if (asynchronous_) return;
  const std::string opcode = "st.shared." + std::string(unit_type(access_).suffix);
  for (const Pending& unit : pending_) {
    guarded(unit.row, [&] {
      const Address to = KernelBuilder::at(unit.destination, unit.add);
      if (unit.values.size() == 1)
        k_.emit(opcode, to, unit.values[0]);
      else
        k_.emit(opcode, to, unit.values);
    });
  }
}

void TileCopy::guarded(int row, const std::function<void()>& body) {
  const std::optional<Reg>& guard = row < whole_rounds_end_ ? guard_ : left_over_guard_;
  guard ? k_.guarded(*guard, body) : body();
}

}  // namespace ptxloom::kit
