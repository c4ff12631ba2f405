// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/mma.hpp"

#include <fmt/format.h>

#include "ptxloom/error.hpp"
#include "target/mma.hpp"

namespace ptxloom::kit {
namespace {

/// The column of B of product number `step` in a row of products. Odd rows run backwards (serpentine order),
/// so that the first product of a row reads the registers of B that the last one before it has read.
std::size_t column_at(std::size_t row, std::size_t step, std::size_t columns) {
  return row % 2 == 0 ? step : columns - 1 - step;
}

}  // namespace

bool multiplies_fp8_as_f16(const Target& target) { return target::mma_of(target.number()).fp8_as_f16; }

std::vector<AccumulatorPlace> accumulator_places(Variant mma) {
  const Layout map = layout(mma, "D");
  std::vector<AccumulatorPlace> places;
  for (int reg = 0; reg < map.registers; ++reg) {
    const LayoutElement& first = map.at(0, reg);
    places.push_back({first.row, first.col});
    for (int lane = 0; lane < map.lanes; ++lane) {
      const LayoutElement& here = map.at(lane, reg);
      const int row = first.row + lane / 32 * 16 + lane % 32 / 4;
      if (here.reg != reg || here.row != row || here.col != first.col + lane % 4 * 2)
        throw Error(ErrorKind::refused, "fragment-map",
                    std::string(mma.opcode()) + ": accumulators are not laid out in 8 x 4 lanes",
                    "use a shape whose accumulators are, one to a register");
    }
  }
  return places;
}

MmaTiles::MmaTiles(KernelBuilder& k, Variant mma, int m, int n) : k_(k), mma_(mma) {
  const Layout d = layout(mma, "D");
  rows_ = m / d.rows;
  columns_ = n / d.cols;
  if (m <= 0 || n <= 0 || m % d.rows != 0 || n % d.cols != 0)
    throw Error(ErrorKind::usage, "bad-fragments", fmt::format("{} x {} elements by {}", m, n, mma.opcode()),
                fmt::format("they are multiples of {} and {}", d.rows, d.cols));
}

Accumulators MmaTiles::zeros() {
  const OperandSpec& d = mma_.operand("D");
  const Type type = d.type == f32 || d.type == f64 ? d.type : b32;
  Accumulators made;
  for (int i = 0; i < rows_; ++i) {
    auto& row = made.emplace_back();
    for (int j = 0; j < columns_; ++j) {
      row.push_back(k_.regs(type, d.registers()));
      for (const Reg& r : row.back()) k_.emit("mov." + std::string(type.name), r, Arg::zero(type));
    }
  }
  return made;
}

void MmaTiles::multiply(const Fragments::Tiles& a, const Fragments::Tiles& b, const Accumulators& d,
                        bool anew) {
  std::vector<Reg> zeros;
  if (anew) zeros.assign(d[0][0].size(), k_.mov(d[0][0][0].type, Arg::zero(d[0][0][0].type)));
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t step = 0; step < b.size(); ++step) {
      const std::size_t j = column_at(i, step, b.size());
      const Arg sum = operand("D", d[i][j]);
      k_.emit(mma_, sum, operand("A", a[i]), operand("B", b[j]), anew ? operand("C", zeros) : sum);
    }
}

void MmaTiles::multiply_sparse(const Fragments::Tiles& a, const Fragments::Tiles& b, const Accumulators& d,
                               const std::vector<Reg>& metadata, int selector) {
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t step = 0; step < b.size(); ++step) {
      const std::size_t j = column_at(i, step, b.size());
      const Arg sum = operand("D", d[i][j]);
      k_.emit(mma_, sum, operand("A", a[i]), operand("B", b[j]), sum, metadata.at(i), selector);
    }
}

// An operand of one register is a vector in some forms, and not in others.
Arg MmaTiles::operand(std::string_view name, const std::vector<Reg>& registers) const {
  return mma_.operand(name).count == 0 ? Arg(registers.front()) : Arg(registers);
}

}  // namespace ptxloom::kit
