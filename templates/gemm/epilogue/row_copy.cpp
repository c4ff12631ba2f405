// SPDX-License-Identifier: Apache-2.0
#include "gemm/epilogue/row_copy.hpp"

#include <algorithm>
#include <string>

namespace ptxloom::gemm_kernel {
namespace {

constexpr int kPatternRows = 8;   // period of a swizzle
constexpr int kRowsOfThread = 2;  // at a time

void move(KernelBuilder& k, Address from, Address to, int bytes) {
  const int registers = bytes == 16 ? 2 : 1;
  const Type type = bytes >= 8 ? b64 : bytes == 4 ? b32 : bytes == 2 ? b16 : b8;
  const std::vector<Reg> values = k.regs(type == b8 ? b16 : type, registers);
  const auto word = [&](std::string_view opcode) {
    return vector_opcode(opcode, type, static_cast<std::size_t>(registers));
  };
  if (registers > 1) {
    k.emit(word("ld.shared."), values, from);
    k.emit(word("st.global."), to, values);
  } else {
    k.emit(word("ld.shared."), values[0], from);
    k.emit(word("st.global."), to, values[0]);
  }
}

}  // namespace

RowCopy::RowCopy(KernelBuilder& k, const Problem& p, const kit::SwizzledTile& part, const RowCopyInputs& in)
    : k_(k),
      part_(part),
      size_(p.d.type.bytes()),
      unit_(alignment(p.d, p.n, true)),
      across_(std::min(part.row_bytes() / unit_, in.threads)),
      rows_at_once_(in.threads / across_),
      ld_(in.d.ld),
      row_(k.div(in.thread, across_)) {
  const Reg byte = k.mul(k.rem(in.thread, across_), unit_);
  const Reg column = k.add(in.column, k.div(byte, size_)), row_of_d = k.add(in.row, row_);
  const Reg before = k.mul(k.convert(u64, row_of_d), k.convert(u64, ld_));
  first_ = {.from = k.add(in.shared, part.address(k, row_, byte)),
            .to = k.mad_wide(column, size_, k.fma(before, size_, in.d.pointer)),
            .rows_left = KernelBuilder::as(s32, k.sub(in.m, row_of_d))};
  columns_left_ = KernelBuilder::as(s32, k.sub(in.n, column));
}

// A few rows per thread at a time, by whole periods of the swizzle: more would not fit into registers.
void RowCopy::copy(int bytes, int row, int column) {
  Place place = first_;
  if (row > 0) {
    place.to = k_.add(place.to, k_.mul_wide(ld_, row * size_));
    place.rows_left = k_.sub(place.rows_left, row);
  }
  const int rows = std::max(kPatternRows, kRowsOfThread * rows_at_once_);
  if (part_.rows() <= rows) return copy_rows(place, part_.rows(), bytes, column);
  const Place moving{.from = k_.mov(u32, place.from),
                     .to = k_.mov(u64, place.to),
                     .rows_left = k_.mov(s32, place.rows_left)};
  k_.for_(0, part_.rows() / rows, 1, [&](Reg) {
    k_.pragma("\"nounroll\"");
    copy_rows(moving, rows, bytes, column);
    k_.emit("add.u64", moving.to, moving.to, k_.mul_wide(ld_, rows * size_));
    k_.emit("add.u32", moving.from, moving.from, rows * part_.row_bytes());
    k_.emit("sub.s32", moving.rows_left, moving.rows_left, rows);
  });
}

void RowCopy::copy_rows(const Place& place, int rows, int bytes, int column) {
  const Reg stride = k_.mul_wide(ld_, rows_at_once_ * size_);
  Reg to = place.to;
  for (int y = 0; y < rows; y += rows_at_once_) {
    if (y > 0) to = k_.add(to, stride);
    for (int x = 0; x < part_.row_bytes(); x += across_ * unit_) {
      const kit::Distance there = part_.distance(y, x);
      const Reg at = there.flip == 0 ? place.from : k_.xor_(place.from, there.flip);
      Reg inside = inside_row(k_, k_.gt(place.rows_left, y), columns_left_, column + x / size_);
      if (rows_at_once_ > part_.rows()) inside = k_.and_(inside, k_.lt(row_, part_.rows()));
      k_.guarded(inside,
                 [&] { move(k_, k_.at(at, bytes + there.add), k_.at(to, column * size_ + x), unit_); });
    }
  }
}

}  // namespace ptxloom::gemm_kernel
