// SPDX-License-Identifier: Apache-2.0
// Threads are numbered within their teams, and teams within the grid.
#include "ptxloom/kit/team.hpp"

#include <fmt/format.h>

#include "kit/running.hpp"
#include "ptxloom/kit/params.hpp"

using namespace ptxloom;
using kit::Team;

namespace {

/// The first `threads` consecutive threads of the grid are team 0, the next ones team 1.
void check_numbers(const Team& team, std::uint32_t block_threads, std::uint32_t blocks) {
  INFO(fmt::format("{} x {} x {}, {} thread blocks of {}", team.lanes, team.warps, team.blocks, blocks,
                   block_threads));
  kit::Params params;
  params.pointer("thread", u32).pointer("team", u32);
  KernelBuilder k = kit_test::builder();
  k.require_block(block_threads);
  if (team.blocks > 1) k.require_cluster(static_cast<std::uint32_t>(team.blocks));
  const kit::ParamRegs in = params.declare(k);
  const Reg at = k.global_thread_x();
  k.store(in.pointer("thread")[at], kit::thread_in_team(k, team));
  k.store(in.pointer("team")[at], kit::team_in_grid(k, team, static_cast<int>(block_threads)));
  std::vector<std::uint32_t> thread(block_threads * blocks, 0xa5a5a5a5), of_team = thread;
  kit_test::run(k.finish(), {.grid = {blocks, 1, 1}, .block = {block_threads, 1, 1}}, params.arguments(),
                {kit_test::tensor("thread", thread), kit_test::tensor("team", of_team)});
  const auto size = static_cast<std::uint32_t>(team.threads());
  for (std::uint32_t i = 0; i < thread.size(); ++i) {
    REQUIRE(thread[i] == i % size);
    REQUIRE(of_team[i] == i / size);
  }
}

}  // namespace

TEST_CASE("threads are numbered in teams, and teams in the grid") {
  for (const int lanes : {1, 2, 8, 32}) check_numbers(Team::part_of_warp(lanes), 96, 3);
  check_numbers(Team::warp(), 160, 2);
  check_numbers(Team::block(96), 96, 5);
  check_numbers(Team::cluster(64, 4), 64, 12);
}

TEST_CASE("teams that cannot reduce together are refused") {
  const auto part = [](int lanes) { return kit_test::verdict([&] { Team::part_of_warp(lanes); }); };
  const auto block = [](int threads) { return kit_test::verdict([&] { Team::block(threads); }); };
  const auto cluster = [](int blocks) { return kit_test::verdict([&] { Team::cluster(64, blocks); }); };
  for (const int lanes : {-1, 0, 3, 33, 64}) CHECK(part(lanes) == "bad-team");
  for (const int threads : {-32, 0, 31, 33, 1056}) CHECK(block(threads) == "bad-team");
  for (const int blocks : {-1, 0, 3, 32}) CHECK(cluster(blocks) == "bad-team");
  CHECK(block(1024) == "accepted");
  CHECK(cluster(16) == "accepted");
}
