// SPDX-License-Identifier: Apache-2.0
// Reductions over teams of every kind, against sums and maxima in double precision.
#include "ptxloom/kit/reduce.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "kit/running.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using kit::Team;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Grid {
  Team team;
  int block_threads;
  int blocks;  // of the grid
  int teams() const { return block_threads * blocks / team.threads(); }
};

std::vector<Grid> grids() {
  return {{Team::part_of_warp(1), 64, 2},  {Team::part_of_warp(2), 32, 3},  {Team::part_of_warp(8), 96, 2},
          {Team::warp(), 96, 3},           {Team::block(32), 32, 2},        {Team::block(64), 64, 2},
          {Team::block(96), 96, 2},        {Team::block(416), 416, 1},      {Team::block(1024), 1024, 1},
          {Team::cluster(64, 1), 64, 2},   {Team::cluster(32, 2), 32, 4},   {Team::cluster(96, 4), 96, 8},
          {Team::cluster(256, 8), 256, 8}, {Team::cluster(320, 4), 320, 4}, {Team::cluster(32, 16), 32, 16}};
}

/// What each thread learns from `emit`, given a value of its own. Its place is known by team and by thread.
std::vector<float> reduced(const Grid& c, std::vector<float> in, int results,
                           const std::function<std::vector<Reg>(KernelBuilder&, kit::Reducer&, Reg)>& emit) {
  kit::Params params;
  params.pointer("in", f32).pointer("out", f32);
  KernelBuilder k = kit_test::builder();
  k.require_block(static_cast<std::uint32_t>(c.block_threads));
  if (c.team.blocks > 1) k.require_cluster(static_cast<std::uint32_t>(c.team.blocks));
  const kit::ParamRegs regs = params.declare(k);
  const Reg place =
      k.fma(team_in_grid(k, c.team, c.block_threads), c.team.threads(), thread_in_team(k, c.team));
  kit::Reducer reducer(k, c.team);
  const std::vector<Reg> values = emit(k, reducer, k.load(regs.pointer("in")[place]));
  const Reg at = k.mul(place, results);
  for (int i = 0; i < results; ++i)
    k.store(regs.pointer("out")[k.add(at, i)], values[static_cast<std::size_t>(i)]);
  std::vector<float> out(in.size() * static_cast<std::size_t>(results), -1e30F);
  const exec::Launch launch{.grid = {static_cast<std::uint32_t>(c.blocks), 1, 1},
                            .block = {static_cast<std::uint32_t>(c.block_threads), 1, 1}};
  kit_test::run(k.finish(), launch, params.arguments(),
                {kit_test::tensor("in", in), kit_test::tensor("out", out)});
  return out;
}

std::vector<float> random_values(const Grid& c, float scale = 1) {
  std::vector<float> values(static_cast<std::size_t>(c.block_threads * c.blocks));
  for (float& value : values) value = kit_test::random_value(scale);
  return values;
}

std::string name_of(const Grid& c) {
  return std::to_string(c.team.lanes) + " lanes, " + std::to_string(c.team.warps) + " warps, " +
         std::to_string(c.team.blocks) + " blocks, seed " + std::to_string(Catch::getSeed());
}

/// Calls `check(values of a team, results of one of its threads)`.
void each_team(const Grid& c, const std::vector<float>& in, const std::vector<float>& out, int results,
               const std::function<void(std::span<const float>, std::span<const float>)>& check) {
  const auto size = static_cast<std::size_t>(c.team.threads()), width = static_cast<std::size_t>(results);
  for (std::size_t team = 0; team < static_cast<std::size_t>(c.teams()); ++team) {
    const auto all = std::span(out).subspan(team * size * width, size * width);
    for (std::size_t thread = 1; thread < size; ++thread)
      for (std::size_t i = 0; i < width; ++i) REQUIRE(all[thread * width + i] == all[i]);
    check(std::span(in).subspan(team * size, size), all.first(width));
  }
}

}  // namespace

TEST_CASE("every thread of a team learns its sum and its maximum") {
  for (const Grid& c : grids()) {
    INFO(name_of(c));
    const std::vector<float> in = random_values(c);
    const auto out = reduced(c, in, 2, [](KernelBuilder&, kit::Reducer& reducer, Reg x) {
      const Reg max = reducer.max(x);
      return std::vector{reducer.sum(x), max};
    });
    each_team(c, in, out, 2, [](std::span<const float> values, std::span<const float> result) {
      double sum = 0, all = 0, max = -kInfinity;
      for (const float value : values)
        sum += value, all += std::abs(value), max = std::max<double>(max, value);
      CHECK(std::abs(result[0] - sum) <= all * 0x1p-23 * 10);
      CHECK(result[1] == max);
    });
  }
}

TEST_CASE("reductions one after the other do not disturb each other") {
  for (const Grid& c : grids()) {
    INFO(name_of(c));
    const std::vector<float> in = random_values(c);
    const auto out = reduced(c, in, 1, [](KernelBuilder& k, kit::Reducer& reducer, Reg x) {
      const Reg total = k.mov(f32, 0.0F);
      k.for_(0, 5, 1, [&](Reg i) {
        const Reg scaled = k.mul(x, k.convert(f32, k.add(i, 1)));
        k.set(total, k.add(total, reducer.max(scaled)));
      });
      return std::vector{total};
    });
    each_team(c, in, out, 1, [](std::span<const float> values, std::span<const float> result) {
      const double max = *std::ranges::max_element(values);
      CHECK(std::abs(result[0] - 15 * max) <= 15 * std::abs(max) * 0x1p-22);
    });
  }
}

TEST_CASE("the parts of a softmax are merged") {
  for (const Grid& c : grids()) {
    INFO(name_of(c));
    std::vector<float> in = random_values(c, 40);
    // Teams without a value, teams with one, and teams where some threads have none.
    const auto size = static_cast<std::size_t>(c.team.threads());
    for (std::size_t i = 0; i < in.size(); ++i) {
      if (i / size == 0 && i % size != size / 2) in[i] = -kInfinity;
      if (i / size == 1) in[i] = -kInfinity;
      if (i % 3 == 1) in[i] = -kInfinity;
    }
    const auto out = reduced(c, in, 2, [](KernelBuilder& k, kit::Reducer& reducer, Reg x) {
      const Reg none = k.eq(x, -kInfinity);
      const kit::SoftmaxSum all = reducer.softmax({x, k.select(none, k.mov(f32, 0.0F), 1.0F)});
      return std::vector{all.max, all.sum};
    });
    each_team(c, in, out, 2, [](std::span<const float> values, std::span<const float> result) {
      const float max = *std::ranges::max_element(values);
      double sum = 0;
      for (const float value : values)
        if (value != -kInfinity) sum += std::exp(double(value) - max);
      CHECK(result[0] == max);
      CHECK(std::abs(result[1] - sum) <= sum * 1e-5);
    });
  }
}

TEST_CASE("several sums take one barrier, and a reduction of the caller's own") {
  const Grid c{Team::block(160), 160, 2};
  const std::vector<float> in = random_values(c);
  const auto out = reduced(c, in, 2, [](KernelBuilder& k, kit::Reducer& reducer, Reg x) {
    const std::vector<Reg> both = reducer.sums({x, k.mul(x, x)});
    const std::array neutral{kInfinity};
    const auto least = [&](auto a, auto b) { return std::vector{k.min(a[0], b[0])}; };
    return std::vector{both[1], reducer.reduce({x}, neutral, least).front()};
  });
  each_team(c, in, out, 2, [](std::span<const float> values, std::span<const float> result) {
    double squares = 0;
    for (const float value : values) squares += double(value) * value;
    CHECK(std::abs(result[0] - squares) <= squares * 1e-5);
    CHECK(result[1] == *std::ranges::min_element(values));
  });
}

TEST_CASE("teams and reductions that cannot be are refused") {
  CHECK_THROWS_AS(Team::part_of_warp(3), Error);
  CHECK_THROWS_AS(Team::part_of_warp(64), Error);
  CHECK_THROWS_AS(Team::block(48), Error);
  CHECK_THROWS_AS(Team::block(2048), Error);
  CHECK_THROWS_AS(Team::cluster(64, 3), Error);
  KernelBuilder k = kit_test::builder();
  kit::Reducer reducer(k, Team::warp(), 1);
  const Reg x = k.mov(f32, 1.0F);
  CHECK_THROWS_AS(reducer.sums({x, x}), Error);
}
