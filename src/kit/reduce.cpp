// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/reduce.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numbers>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr int kBytes = 4;
constexpr float kLowest = -std::numeric_limits<float>::infinity();

int round_up_to_power(int x) { return static_cast<int>(std::bit_ceil(static_cast<unsigned>(x))); }

}  // namespace

Reg exp_below(KernelBuilder& k, Reg x, Reg max) {
  return k.exp2(k.mul(k.sub(x, max), std::numbers::log2e_v<float>));
}

Reg finite_max(KernelBuilder& k, Reg max) { return k.select(k.eq(max, kLowest), 0.0F, max); }

// No fma, which would round one of the products and not the other.
SoftmaxSum merge(KernelBuilder& k, const SoftmaxSum& a, const SoftmaxSum& b) {
  const Reg max = k.max(a.max, b.max), base = finite_max(k, max);
  const Reg sum = k.add(k.mul(a.sum, exp_below(k, a.max, base)), k.mul(b.sum, exp_below(k, b.max, base)));
  return {.max = max, .sum = sum};
}

Reducer::Reducer(KernelBuilder& k, const Team& team, int values, std::string name)
    : k_(k), team_(team), values_(values) {
  if (team.in_warp()) return;
  const int slot_bytes = values * kBytes;
  const Shared buffers =
      k.shared(f32, static_cast<std::uint64_t>(2 * values * partials()), std::move(name), 8);
  lane_ = k.and_(k.special("tid.x"), kWarpThreads - 1);
  offset_ = k.mov(u32, 0);
  read_from_ = KernelBuilder::as(u32, k.address_of(buffers));
  Reg slot = k.shr(k.special("tid.x"), 5);
  if (team.blocks == 1) {
    writes_ = k.eq(lane_, 0);
    write_to_ = k.fma(slot, slot_bytes, read_from_);
    return;
  }
  slot = k.fma(k.special("cluster_ctarank"), team.warps, slot);
  writes_ = k.lt(lane_, team.blocks);
  // Lane i writes to thread block i. The other lanes map an address that they do not use.
  write_to_ =
      k.op("mapa.shared::cluster.u32", k.fma(slot, slot_bytes, read_from_), k.and_(lane_, team.blocks - 1));
  k.cluster_barrier();  // before it the shared memory of another thread block may not exist yet
}

Reg Reducer::sum(Reg x) { return sums({x}).front(); }

Reg Reducer::max(Reg x) {
  const std::array neutral{kLowest};
  return reduce({x}, neutral, [this](auto a, auto b) { return std::vector{k_.max(a[0], b[0])}; }).front();
}

std::vector<Reg> Reducer::sums(std::vector<Reg> x) {
  const std::vector<float> neutral(x.size(), 0.0F);
  return reduce(std::move(x), neutral, [this](auto a, auto b) {
    std::vector<Reg> both;
    for (std::size_t i = 0; i < a.size(); ++i) both.push_back(k_.add(a[i], b[i]));
    return both;
  });
}

SoftmaxSum Reducer::softmax(const SoftmaxSum& part) {
  const std::array neutral{kLowest, 0.0F};
  const std::vector<Reg> all = reduce({part.max, part.sum}, neutral, [this](auto a, auto b) {
    const SoftmaxSum both = merge(k_, {a[0], a[1]}, {b[0], b[1]});
    return std::vector{both.max, both.sum};
  });
  return {.max = all[0], .sum = all[1]};
}

std::vector<Reg> Reducer::reduce(std::vector<Reg> x, std::span<const float> neutral, const Combine& combine) {
  if (x.size() > static_cast<std::size_t>(values_) || x.size() != neutral.size())
    throw Error(
        ErrorKind::usage, "bad-reduction",
        fmt::format("{} values with {} neutral ones, in a reducer of {}", x.size(), neutral.size(), values_),
        "give the Reducer the largest number of values that it reduces at once");
  within_warp(x, team_.lanes, combine);
  if (team_.in_warp()) return x;
  publish(x);
  team_.blocks == 1 ? k_.barrier() : k_.cluster_barrier();
  x = collect(x.size(), neutral, combine);
  k_.set(offset_, k_.xor_(offset_, values_ * partials() * kBytes));
  return x;
}

void Reducer::within_warp(std::vector<Reg>& x, int lanes, const Combine& combine) {
  for (int apart = lanes / 2; apart > 0; apart /= 2) {
    std::vector<Reg> others;
    for (const Reg& value : x) others.push_back(k_.shuffle_xor(value, apart));
    x = combine(x, others);
  }
}

void Reducer::publish(std::span<const Reg> x) {
  const Reg address = k_.add(write_to_, offset_);
  const std::string_view space = team_.blocks == 1 ? "shared" : "shared::cluster";
  k_.guarded(writes_, [&] {
    for (std::size_t i = 0; i < x.size(); ++i)
      k_.store(space, f32, KernelBuilder::at(address, static_cast<std::int64_t>(i) * kBytes), x[i]);
  });
}

// A lane reads every 32nd partial result. With fewer than 32, lanes read in groups that all reduce the same.
std::vector<Reg> Reducer::collect(std::size_t count, std::span<const float> neutral, const Combine& combine) {
  const int lanes = std::min(round_up_to_power(partials()), kWarpThreads);
  const Reg lane = lanes == kWarpThreads ? lane_ : k_.and_(lane_, lanes - 1);
  const Reg base = k_.fma(lane, values_ * kBytes, k_.add(read_from_, offset_));
  std::vector<Reg> all;
  for (int first = 0; first < partials(); first += lanes) {
    std::vector<Reg> x;
    const auto load = [&] {
      for (std::size_t i = 0; i < count; ++i)
        k_.emit("ld.shared.f32", x[i],
                KernelBuilder::at(base, (first * values_ + static_cast<std::int64_t>(i)) * kBytes));
    };
    for (std::size_t i = 0; i < count; ++i) x.push_back(k_.mov(f32, neutral[i]));
    const bool whole = first + lanes <= partials();
    whole ? load() : k_.guarded(k_.lt(lane, partials() - first), load);
    all = all.empty() ? x : combine(all, x);
  }
  within_warp(all, lanes, combine);
  return all;
}

}  // namespace ptxloom::kit
