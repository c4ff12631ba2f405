// SPDX-License-Identifier: Apache-2.0
#include "stream_division.hpp"

namespace ptxloom::gemm_kernel {

StreamDivision::StreamDivision(KernelBuilder& k, Reg tiles, Arg steps, Reg block, Reg blocks)
    : k_(k), steps_(steps), block_(block) {
  k.comment("stream-K: this block's share of the steps of all tiles");
  const Reg whole_rounds = k.sub(k.max(k.div(tiles, blocks), 1), 1);
  const Reg shared_tiles = k.sub(tiles, k.mul(whole_rounds, blocks));
  const auto divided = [&](Reg x, Reg by) { return k.add(k.div(k.sub(x, 1), by), 1); };
  const Reg all_steps = k.mov(u32, steps), blocks_of_tile = k.div(blocks, tiles);
  const Reg of_tile = divided(all_steps, k.max(blocks_of_tile, 1));
  const Reg few = k.gt(blocks_of_tile, 1);
  share_ = k.select(few, of_tile, divided(k.mul(shared_tiles, steps), blocks));
  stride_ = k.select(few, k.mul(divided(all_steps, of_tile), of_tile), all_steps);
  all_ = k.mul(tiles, stride_);
  const Reg shared = k.mul(shared_tiles, stride_);
  begin_ = k.min(k.mul(block_, share_), shared);
  end_ = k.min(k.add(begin_, share_), shared);
  whole_at_ = k.mul(k.add(shared_tiles, block_), stride_);
  round_ = k.mul(blocks, stride_);
}

void StreamDivision::for_each(const std::function<void(const StreamPortion&)>& body) {
  const Reg at = k_.mov(u32, k_.select(k_.lt(begin_, end_), begin_, whole_at_));
  const auto more = [&] { return k_.lt(at, all_); };
  k_.if_(more(), [&] {
    k_.do_while([&] {
      k_.pragma("\"nounroll\"");
      k_.comment("stream-K: the next portion of this block: of its share, or a whole tile behind all shares");
      const Reg tile = k_.div(at, stride_), begin = k_.sub(at, k_.mul(tile, stride_));
      const Reg of_share = k_.lt(at, end_), limit = k_.select(of_share, end_, all_);
      const Reg count = k_.min(k_.sub(limit, at), k_.sub(stride_, begin));
      const Reg end = k_.min(k_.add(begin, count), steps_);
      body({.tile = tile, .begin = begin, .end = end, .whole = k_.eq(k_.sub(end, begin), steps_)});
      const Reg next = k_.add(at, count), behind = k_.select(of_share, whole_at_, k_.add(at, round_));
      k_.emit("selp.u32", at, next, behind, k_.lt(next, end_));
      return more();
    });
  });
}

void StreamDivision::for_each_shared(const std::function<void(const SharedTile&)>& body) {
  const Reg after = k_.add(k_.div(k_.sub(end_, 1), stride_), 1);
  k_.for_(k_.div(begin_, stride_), after, 1, [&](Reg tile) {
    k_.pragma("\"nounroll\"");
    const SharedTile shared = this->shared(tile);
    k_.if_(k_.gt(shared.parts, 1), [&] { body(shared); });
  });
}

SharedTile StreamDivision::shared(Reg tile) {
  const Reg start = k_.mul(tile, stride_), first = k_.div(start, share_);
  const Reg last = k_.div(k_.sub(k_.add(start, stride_), 1), share_);
  return {.tile = tile, .first = first, .parts = k_.add(k_.sub(last, first), 1)};
}

}  // namespace ptxloom::gemm_kernel
