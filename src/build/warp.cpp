// SPDX-License-Identifier: Apache-2.0
// Shuffles, votes, reductions and barriers.
#include "build/operation.hpp"

namespace ptxloom {
namespace {

/// The name of the second operand in the header.
std::string_view lane_operand(std::string_view mode) {
  return mode == "idx" ? "from" : mode == "bfly" ? "lane_mask" : "delta";
}

}  // namespace

// The clamp says which lanes form a segment (PTX ISA, "shfl.sync"): here always all 32. A 64-bit value is
// shuffled as two halves.
Reg WarpBuilder::shuffle_by(std::string_view name, std::string_view mode, Reg value, Arg by,
                            std::uint32_t clamp, Arg mask, Caller at) {
  const Operation here = operation(name, at);
  here.require_own("value", value.builder);
  here.require(b32, {{"mask", mask}}, Operation::Signs::alike);
  here.require(u32, {{lane_operand(mode), by}}, Operation::Signs::alike);
  if (value.type.bits == 64) {
    std::vector<Reg> halves = unpack(b32, value, at);
    for (Reg& half : halves) half = shuffle_by(name, mode, half, by, clamp, mask, at);
    return pack(value.type, halves, at);
  }
  if (value.type.bits != 32 || value.type == pred)
    here.refuse("operand-type", "operand value is a ." + std::string(value.type.name) + " register",
                "pack or convert it: lanes exchange 32 or 64 bits");
  const Reg d = reg(value.type, at);
  emit({word({"shfl.sync.", mode, ".b32"}), at}, {d, value, by, clamp, mask});
  return d;
}

namespace {
constexpr std::uint32_t kWholeWarp = 31, kWholeWarpUp = 0;
}

Reg WarpBuilder::shuffle(Reg value, Arg from, Arg mask, Caller at) {
  return shuffle_by("shuffle", "idx", value, from, kWholeWarp, mask, at);
}
Reg WarpBuilder::shuffle_up(Reg value, Arg delta, Arg mask, Caller at) {
  return shuffle_by("shuffle_up", "up", value, delta, kWholeWarpUp, mask, at);
}
Reg WarpBuilder::shuffle_down(Reg value, Arg delta, Arg mask, Caller at) {
  return shuffle_by("shuffle_down", "down", value, delta, kWholeWarp, mask, at);
}
Reg WarpBuilder::shuffle_xor(Reg value, Arg lane_mask, Arg mask, Caller at) {
  return shuffle_by("shuffle_xor", "bfly", value, lane_mask, kWholeWarp, mask, at);
}

Reg WarpBuilder::vote(std::string_view name, std::string_view opcode, Reg predicate, Arg mask, Caller at) {
  operation(name, at).require_predicate(predicate);
  return op({opcode, at}, {predicate, mask});
}

Reg WarpBuilder::vote_all(Reg predicate, Arg mask, Caller at) {
  return vote("vote_all", "vote.sync.all.pred", predicate, mask, at);
}
Reg WarpBuilder::vote_any(Reg predicate, Arg mask, Caller at) {
  return vote("vote_any", "vote.sync.any.pred", predicate, mask, at);
}
Reg WarpBuilder::vote_uni(Reg predicate, Arg mask, Caller at) {
  return vote("vote_uni", "vote.sync.uni.pred", predicate, mask, at);
}
Reg WarpBuilder::ballot(Reg predicate, Arg mask, Caller at) {
  return vote("ballot", "vote.sync.ballot.b32", predicate, mask, at);
}

Reg WarpBuilder::active_mask(Caller at) { return op({"activemask.b32", at}, {}); }

Reg WarpBuilder::elect(Arg mask, Caller at) {
  const Reg elected = reg(pred, at);
  emit({"elect.sync", at}, {_, elected, mask});
  return elected;
}

Reg WarpBuilder::match_any(Reg value, Arg mask, Caller at) {
  operation("match_any", at).require_own("value", value.builder);
  return op({value.type.bits == 64 ? "match.any.sync.b64" : "match.any.sync.b32", at}, {value, mask});
}

Reg WarpBuilder::match_all(Reg value, Arg mask, Caller at) {
  operation("match_all", at).require_own("value", value.builder);
  return op({value.type.bits == 64 ? "match.all.sync.b64" : "match.all.sync.b32", at}, {value, mask});
}

Reg WarpBuilder::redux(std::string_view name, Reg value, Arg mask, Caller at) {
  operation(name, at).require(value.type, {{"value", value}});
  const std::string_view kind = name.substr(name.find('_') + 1);
  const bool bits = kind == "and" || kind == "or" || kind == "xor";
  const Reg d = reg(value.type, at);
  emit({word({"redux.sync.", kind, ".", bits ? "b32" : value.type.name}), at}, {d, value, mask});
  return d;
}

Reg WarpBuilder::redux_add(Reg value, Arg mask, Caller at) { return redux("redux_add", value, mask, at); }
Reg WarpBuilder::redux_min(Reg value, Arg mask, Caller at) { return redux("redux_min", value, mask, at); }
Reg WarpBuilder::redux_max(Reg value, Arg mask, Caller at) { return redux("redux_max", value, mask, at); }
Reg WarpBuilder::redux_and(Reg value, Arg mask, Caller at) { return redux("redux_and", value, mask, at); }
Reg WarpBuilder::redux_or(Reg value, Arg mask, Caller at) { return redux("redux_or", value, mask, at); }
Reg WarpBuilder::redux_xor(Reg value, Arg mask, Caller at) { return redux("redux_xor", value, mask, at); }

void WarpBuilder::warp_barrier(Arg mask, Caller at) { emit({"bar.warp.sync", at}, {mask}); }
void WarpBuilder::barrier(Caller at) { emit({"bar.sync", at}, {0}); }
void WarpBuilder::barrier(Arg id, Arg threads, Caller at) { emit({"bar.sync", at}, {id, threads}); }
void WarpBuilder::barrier_arrive(Arg id, Arg threads, Caller at) { emit({"bar.arrive", at}, {id, threads}); }

void WarpBuilder::cluster_barrier(Caller at) {
  emit({"barrier.cluster.arrive", at}, {});
  emit({"barrier.cluster.wait", at}, {});
}

}  // namespace ptxloom
