// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/block_scale/scale_loads.hpp"

#include <array>
#include <string>

#include "ptxloom/error.hpp"
#include "ptxloom/layout.hpp"

namespace ptxloom::scaled_gemm::block_scale {
namespace {

constexpr int kLaneBits = 5;

/// How many rows each bit of the lane's number moves the row that it holds. A lane without scales may load
/// any.
std::array<int, kLaneBits> row_moves(const Layout& map, const Variant& mma) {
  std::array<int, kLaneBits> moves{};
  for (int bit = 0; bit < kLaneBits; ++bit)
    if (const auto there = map.lane(1 << bit); !there.empty())
      moves[static_cast<std::size_t>(bit)] = there[0].row - map.at(0, 0).row;
  for (const LayoutElement& e : map.elements()) {
    int row = map.at(0, 0).row;
    for (int bit = 0; bit < kLaneBits; ++bit)
      if ((e.lane >> bit & 1) != 0) row += moves[static_cast<std::size_t>(bit)];
    if (e.row != row || e.reg != 0)
      throw Error(ErrorKind::refused, "fragment-map",
                  std::string(mma.opcode()) + ": scales are not laid out row by row over the lanes",
                  "use a shape whose `ptxloom layout` shows a row in each lane");
  }
  return moves;
}

}  // namespace

ScaleLoads::ScaleLoads(KernelBuilder& k, Variant mma, std::string_view name, const Operand& operand,
                       const ScaleShape& shape, const ScaleInputs& in)
    : k_(k), in_(in), groups_(shape.groups) {
  const Layout map = layout(mma, name);
  rows_of_mma_ = map.rows;
  tiles_ = shape.rows / map.rows;
  words_ = operand.scales() % kPerRegister == 0;
  row_ = in.origin;
  const std::array<int, kLaneBits> moves = row_moves(map, mma);
  for (int bit = 0; bit < kLaneBits; ++bit)
    if (const int move = moves[static_cast<std::size_t>(bit)]; move != 0)
      row_ = k.fma(k.and_(k.shr(in.lane, bit), 1), move, row_);
  last_ = k.sub(in.extent, 1);
}

std::vector<Reg> ScaleLoads::load(Reg column) {
  std::vector<Reg> loaded;
  const Reg begin = k_.mad_wide(column, 1, in_.pointer);
  for (int tile = 0; tile < tiles_; ++tile) {
    const Reg row = k_.min(k_.add(row_, tile * rows_of_mma_), last_);
    const Reg address = k_.mad_wide(row, in_.count, begin);
    for (int group = 0; group < groups_; group += kPerRegister)
      loaded.push_back(words_ ? word(address, column, group) : bytes(address, column, group));
  }
  return loaded;
}

std::size_t ScaleLoads::index(std::size_t tile, int group) const {
  return tile * static_cast<std::size_t>(groups_ / kPerRegister) +
         static_cast<std::size_t>(group / kPerRegister);
}

Reg ScaleLoads::word(Reg address, Reg column, int group) {
  const Reg all = k_.mov(b32, 0);
  k_.guarded(k_.lt(k_.add(column, group), in_.count),
             [&] { k_.emit("ld.global.b32", all, KernelBuilder::at(address, group)); });
  return all;
}

Reg ScaleLoads::bytes(Reg address, Reg column, int group) {
  constexpr std::array<int, kPerRegister> kInsert = {0x3214, 0x3240, 0x3410, 0x4210};
  Reg all = k_.mov(b32, 0);
  for (int i = 0; i < kPerRegister; ++i) {
    const Reg one = k_.mov(b32, 0);
    k_.guarded(k_.lt(k_.add(column, group + i), in_.count),
               [&] { k_.emit("ld.global.b8", one, KernelBuilder::at(address, group + i)); });
    all = k_.op("prmt.b32", all, one, kInsert[static_cast<std::size_t>(i)]);
  }
  return all;
}

}  // namespace ptxloom::scaled_gemm::block_scale
