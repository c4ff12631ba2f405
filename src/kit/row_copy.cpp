// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/row_copy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

#include "ptxloom/error.hpp"
#include "ptxloom/kit/vector_access.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kPatternRows = 8;   // period of a swizzle
constexpr int kRowsOfThread = 2;  // at a time
constexpr int kWidestUnit = 16;   // bytes

bool is_power_of_two(int number) { return number > 0 && std::has_single_bit(static_cast<unsigned>(number)); }

[[noreturn]] void refuse(std::string what, std::string hint) {
  throw Error(ErrorKind::usage, "bad-row-copy", "a copy of rows: " + std::move(what), std::move(hint));
}

// Before the members, which divide by these numbers.
const RowCopyShape& checked(const RowCopyShape& shape) {
  if (!is_power_of_two(shape.threads))
    refuse(fmt::format("{} threads", shape.threads), "let a power of two of threads copy");
  if (!is_power_of_two(shape.unit) || shape.unit > kWidestUnit || shape.unit % shape.type.bytes() != 0)
    refuse(fmt::format("units of {} bytes of {}", shape.unit, shape.type.name),
           "a unit is 1, 2, 4, 8 or 16 bytes, and whole elements: alignment() of the matrix");
  return shape;
}

}  // namespace

RowCopy::RowCopy(KernelBuilder& k, const RowCopyShape& shape, const SwizzledTile& tile,
                 const RowCopyInputs& in)
    : k_(k),
      tile_(tile),
      size_(checked(shape).type.bytes()),
      unit_(shape.unit),
      across_(std::min(tile.row_bytes() / unit_, shape.threads)),
      rows_at_once_(shape.threads / across_),
      ld_(in.ld) {
  check(shape);
  row_ = k.div(in.thread, across_);
  const Reg byte = k.mul(k.rem(in.thread, across_), unit_);
  const Reg column = k.add(in.column, k.div(byte, size_)), row = k.add(in.row, row_);
  const Reg before = k.mul(k.convert(u64, row), k.convert(u64, ld_));
  first_ = {.from = k.add(in.shared, tile.address(k, row_, byte)),
            .to = k.mad_wide(column, size_, k.fma(before, size_, in.pointer)),
            .rows_left = KernelBuilder::as(s32, k.sub(in.rows, row))};
  columns_left_ = KernelBuilder::as(s32, k.sub(in.columns, column));
}

// Rows of one iteration, whole periods of the swizzle: more would not fit into registers.
int RowCopy::group() const { return std::max(kPatternRows, kRowsOfThread * rows_at_once_); }

void RowCopy::check(const RowCopyShape& shape) const {
  const int rows = tile_.rows(), least = rows > group() ? group() : rows_at_once_;
  if (rows > least && rows % least != 0)
    refuse(fmt::format("{} threads do not copy {} rows of {} bytes in whole rounds", shape.threads, rows,
                       tile_.row_bytes()),
           fmt::format("let the tile have a multiple of {} rows, or fewer threads copy", least));
}

void RowCopy::copy(int bytes, int row, int column) {
  Place place = first_;
  if (row > 0) {
    place.to = k_.add(place.to, k_.mul_wide(ld_, row * size_));
    place.rows_left = k_.sub(place.rows_left, row);
  }
  const int rows = group();
  if (tile_.rows() <= rows) return copy_rows(place, tile_.rows(), bytes, column);
  const Place moving{.from = k_.mov(u32, place.from),
                     .to = k_.mov(u64, place.to),
                     .rows_left = k_.mov(s32, place.rows_left)};
  k_.for_(0, tile_.rows() / rows, 1, [&](Reg) {
    k_.pragma("\"nounroll\"");
    copy_rows(moving, rows, bytes, column);
    k_.emit("add.u64", moving.to, moving.to, k_.mul_wide(ld_, rows * size_));
    k_.emit("add.u32", moving.from, moving.from, rows * tile_.row_bytes());
    k_.emit("sub.s32", moving.rows_left, moving.rows_left, rows);
  });
}

void RowCopy::copy_rows(const Place& place, int rows, int bytes, int column) {
  const Reg stride = k_.mul_wide(ld_, rows_at_once_ * size_);
  Reg to = place.to;
  for (int y = 0; y < rows; y += rows_at_once_) {
    if (y > 0) to = k_.add(to, stride);
    for (int x = 0; x < tile_.row_bytes(); x += across_ * unit_) {
      const Distance there = tile_.distance(y, x);
      const Reg at = there.flip == 0 ? place.from : k_.xor_(place.from, there.flip);
      Reg inside = inside_row(k_, k_.gt(place.rows_left, y), columns_left_, column + x / size_);
      if (rows_at_once_ > tile_.rows()) inside = k_.and_(inside, k_.lt(row_, tile_.rows()));
      k_.guarded(inside, [&] { copy_unit(k_.at(at, bytes + there.add), k_.at(to, column * size_ + x)); });
    }
  }
}

void RowCopy::copy_unit(const Address& from, const Address& to) {
  const Type type = unit_ >= 8 ? b64 : unit_ == 4 ? b32 : unit_ == 2 ? b16 : b8;
  const std::vector<Reg> values = k_.regs(type == b8 ? b16 : type, unit_ == kWidestUnit ? 2 : 1);
  load_vector(k_, "ld.shared", type, from, values);
  store_vector(k_, "st.global", type, to, values);
}

}  // namespace ptxloom::kit
