// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/scale_tiles.hpp"

namespace ptxloom::kit {

std::uint64_t ScaleTiles::offset(std::uint64_t row, std::uint64_t column) const {
  const std::uint64_t tile = row / 128 * tiles_across() + column / 4;
  return tile * 512 + row % 32 * 16 + row / 32 % 4 * 4 + column % 4;
}

Reg ScaleTiles::offset(KernelBuilder& k, Reg row, Reg column) const {
  const Reg in_row = k.add(k.mul(k.and_(row, 31), 16), k.mul(k.and_(k.shr(row, 5), 3), 4));
  const Reg inside = k.add(in_row, k.and_(column, 3));
  const Reg tile = k.mad_wide(k.shr(row, 7), tiles_across(), k.convert(u64, k.shr(column, 2)));
  return k.fma(tile, 512, k.convert(u64, inside));
}

}  // namespace ptxloom::kit
