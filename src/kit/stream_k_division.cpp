// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/stream_k_division.hpp"

namespace ptxloom::kit {

void StreamKDivision::divide(Reg tiles, Reg k_blocks, Reg block, Reg blocks) {
  k_.comment("stream-K: this thread block's share of the k-blocks of all tiles");
  const Reg whole_rounds = k_.sub(k_.max(k_.div(tiles, blocks), 1), 1);
  const Reg shared_tiles = k_.sub(tiles, k_.mul(whole_rounds, blocks));
  const auto divided = [&](Reg x, Reg by) { return k_.add(k_.div(k_.sub(x, 1), by), 1); };
  const Reg blocks_of_tile = k_.div(blocks, tiles), few = k_.gt(blocks_of_tile, 1);
  const Reg of_tile = divided(k_blocks, k_.max(blocks_of_tile, 1));
  const Reg share = k_.select(few, of_tile, divided(k_.mul(shared_tiles, k_blocks), blocks));
  const Reg stride = k_.select(few, k_.mul(divided(k_blocks, of_tile), of_tile), k_blocks);
  const Reg shared = k_.mul(shared_tiles, stride);
  const Reg begin = k_.min(k_.mul(block, share), shared), end = k_.min(k_.add(begin, share), shared);
  const Reg whole_at = k_.mul(k_.add(shared_tiles, block), stride);
  const std::vector<Reg> own{begin, end, whole_at, k_.mul(blocks, stride)};
  const std::vector<Reg> common{k_blocks, stride, k_.mul(tiles, stride), share};
  k_.emit("st.shared.v4.u32", k_.at(shared_), own);
  k_.emit("st.shared.v4.u32", k_.at(shared_, kBytes / 2), common);
}

// Volatile: otherwise it would be read once and stay in registers.
StreamKDivision::Division StreamKDivision::read() {
  const std::vector<Reg> own = k_.regs(u32, 4), common = k_.regs(u32, 4);
  k_.emit("ld.volatile.shared.v4.u32", own, k_.at(shared_));
  k_.emit("ld.volatile.shared.v4.u32", common, k_.at(shared_, kBytes / 2));
  return {own[0], own[1], own[2], own[3], common[0], common[1], common[2], common[3]};
}

void StreamKDivision::for_each(const std::function<void(const StreamKPortion&)>& body) {
  const Division start = read();
  const Reg at = k_.mov(u32, k_.select(k_.lt(start.begin, start.end), start.begin, start.whole_at));
  k_.if_(k_.lt(at, start.all), [&] {
    k_.do_while([&] {
      k_.pragma("\"nounroll\"");
      k_.comment(
          "stream-K: the next portion of this thread block: the rest of its share, or a whole tile after all "
          "shares");
      const Division d = read();
      const Reg tile = k_.div(at, d.stride), begin = k_.sub(at, k_.mul(tile, d.stride));
      const Reg of_share = k_.lt(at, d.end), limit = k_.select(of_share, d.end, d.all);
      const Reg count = k_.min(k_.sub(limit, at), k_.sub(d.stride, begin));
      const Reg end = k_.min(k_.add(begin, count), d.k_blocks);
      const Reg next = k_.add(at, count), behind = k_.select(of_share, d.whole_at, k_.add(at, d.round));
      k_.emit("selp.u32", at, next, behind, k_.lt(next, d.end));
      const Reg more = k_.lt(at, d.all);
      body({.tile = tile, .begin = begin, .end = end, .whole = k_.eq(k_.sub(end, begin), d.k_blocks)});
      return more;
    });
  });
}

void StreamKDivision::for_each_shared(const std::function<void(const SharedTile&)>& body) {
  const Division d = read();
  const Reg after = k_.add(k_.div(k_.sub(d.end, 1), d.stride), 1);
  k_.for_(k_.div(d.begin, d.stride), after, 1, [&](Reg tile) {
    k_.pragma("\"nounroll\"");
    const SharedTile shared = this->shared(tile);
    k_.if_(k_.gt(shared.parts, 1), [&] { body(shared); });
  });
}

SharedTile StreamKDivision::shared(Reg tile) {
  const Division d = read();
  const Reg start = k_.mul(tile, d.stride), first = k_.div(start, d.share);
  const Reg last = k_.div(k_.sub(k_.add(start, d.stride), 1), d.share);
  return {.tile = tile, .first = first, .parts = k_.add(k_.sub(last, first), 1)};
}

}  // namespace ptxloom::kit
