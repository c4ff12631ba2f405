// SPDX-License-Identifier: Apache-2.0
#include "scaled_gemm/weights/largest_scales.hpp"

#include <vector>

#include "ptxloom/kit/weight_layout.hpp"
#include "scaled_gemm/weights/halves.hpp"

namespace ptxloom::scaled_gemm {
namespace {

constexpr int kWarpRows = 16, kLanes = 32;
constexpr std::size_t kPlaces = 8;                    // of rows r and r + 8: lane / 4 has its own
constexpr int kLoads = 4;                             // in flight
constexpr int kLowPair = 0x4140, kHighPair = 0x4342;  // prmt: two bytes, each with a zero above it

/// Maxima of all groups that this lane has loaded, for each place.
std::vector<Reg> maxima_of_lane(KernelBuilder& k, const Problem& p, Reg from, Reg lane) {
  std::vector<Reg> largest;
  for (std::size_t i = 0; i < kPlaces; ++i) largest.push_back(k.mov(b32, 0));
  const Reg zero = k.mov(b32, 0);
  const auto groups = static_cast<std::int64_t>(p.b.scales());
  k.for_(lane, k.mov(u32, groups), kLanes * kLoads, [&](Reg group) {
    k.pragma("\"nounroll\"");
    std::vector<Reg> words;
    for (int i = 0; i < kLoads; ++i) {
      const Reg own = k.min(k.add(group, i * kLanes), groups - 1);
      const std::vector<Reg> four = k.regs(b32, kWarpRows / 4);
      k.emit("ld.global.nc.v4.b32", four, k.at(k.mad_wide(own, kit::WeightLayout::kTileRows, from)));
      words.insert(words.end(), four.begin(), four.end());
    }
    for (std::size_t i = 0; i < words.size(); ++i)
      for (std::size_t half = 0; half < 2; ++half) {
        const Reg& place = largest[i * 2 % kPlaces + half];
        const Reg pair = k.op("prmt.b32", words[i], zero, half == 0 ? kLowPair : kHighPair);
        k.set(place, larger_halves(k, place, pair));
      }
  });
  return largest;
}

}  // namespace

Reg largest_scales(KernelBuilder& k, const Problem& p, Reg scales, Reg thread) {
  k.comment("the largest scale of each row");
  const Reg lane = k.and_(thread, kLanes - 1);
  const Reg from = k.mad_wide(k.shr(thread, 5), kWarpRows, scales);
  std::vector<Reg> places = maxima_of_lane(k, p, from, lane);
  const auto exchange = [&](Reg given, int distance) {
    const Reg taken = k.reg(b32);
    k.emit("shfl.sync.bfly.b32", taken, given, distance, kLanes - 1, -1);
    return taken;
  };
  for (int distance = kLanes / 2; distance > 0; distance /= 2) {
    const std::size_t half = places.size() / 2;
    if (half == 0) {
      places[0] = larger_halves(k, places[0], exchange(places[0], distance));
      continue;
    }
    const Reg upper = k.ne(k.and_(lane, distance), 0);
    for (std::size_t i = 0; i < half; ++i) {
      const Reg kept = k.select(upper, places[half + i], places[i]);
      places[i] = larger_halves(k, kept, exchange(k.select(upper, places[i], places[half + i]), distance));
    }
    places.resize(half);
  }
  return places[0];
}

}  // namespace ptxloom::scaled_gemm
