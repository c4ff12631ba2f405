// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/grid_order.hpp"

#include <catch2/catch_test_macros.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>
#include <utility>
#include <vector>

// What clusters know of each other, against plain maps of times.
namespace ptxloom::exec::test::grid_order_test {
namespace {

constexpr std::uint64_t kClusters = 77;  // three levels of the tree, the first with two children
constexpr Party kParties = 3;

using Times = std::map<std::uint64_t, std::vector<Time>>;  // by cluster, and party

struct Pair {
  GridOrder::Known known;
  Times times;
};

GridOrder::Known known_of(const GridOrder& order, std::uint64_t cluster, const std::vector<Time>& times) {
  GridOrder::Horizons horizons;
  for (const Time time : times) horizons.push_back({.all = time});
  return order.of(cluster, std::move(horizons));
}

void join(Pair& pair, const Pair& more) {
  GridOrder::join(pair.known, more.known);
  for (const auto& [cluster, times] : more.times) {
    auto& mine = pair.times[cluster];
    mine.resize(kParties);
    for (Party i = 0; i < kParties; ++i) mine[i] = std::max(mine[i], times[i]);
  }
}

bool same(const GridOrder& order, const Pair& pair) {
  for (std::uint64_t cluster = 0; cluster < kClusters; ++cluster) {
    const auto found = pair.times.find(cluster);
    for (Party party = 0; party < kParties; ++party) {
      const Time time = found == pair.times.end() ? 0 : found->second[party];
      if (time != 0 && !order.covers(pair.known, cluster, party, 0, time)) return false;
      if (order.covers(pair.known, cluster, party, 0, time + 1)) return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("what clusters know is what was joined, and joining changes no other") {
  const GridOrder order(kClusters);
  std::mt19937 random(std::random_device{}());
  std::vector<Pair> pairs(12);
  for (int step = 0; step < 2000; ++step) {
    Pair& to = pairs[random() % pairs.size()];
    if (random() % 2 == 0) {
      const std::uint64_t cluster = random() % kClusters;
      std::vector<Time> times(kParties);
      for (Time& time : times) time = static_cast<Time>(1 + random() % 50);
      join(to, {known_of(order, cluster, times), {{cluster, times}}});
    } else {
      join(to, Pair(pairs[random() % pairs.size()]));
    }
  }
  for (const Pair& pair : pairs) CHECK(same(order, pair));
}

TEST_CASE("joining what is known already keeps the tree, so that clusters share it") {
  const GridOrder order(kClusters);
  GridOrder::Known all;
  for (std::uint64_t cluster = 0; cluster < kClusters; ++cluster)
    GridOrder::join(all, known_of(order, cluster, {5, 6, 7}));
  GridOrder::Known less = known_of(order, 40, {5, 1, 7});
  GridOrder::Known joined = all;
  GridOrder::join(joined, less);
  CHECK(joined == all);
  GridOrder::join(less, all);
  CHECK(less == all);
  GridOrder::join(joined, known_of(order, 3, {9, 1, 1}));
  CHECK(joined != all);
  REQUIRE(all->children[1] != nullptr);  // clusters from 64
  CHECK(joined->children[1] == all->children[1]);
}

TEST_CASE("what one cluster did covers the lanes that published it") {
  const GridOrder order(1);
  const GridOrder::Known known = order.of(0, {{.all = 2, .some = 5, .lanes = 0b100}});
  CHECK(order.covers(known, 0, 0, 2, 5));
  CHECK(!order.covers(known, 0, 0, 1, 5));
  CHECK(order.covers(known, 0, 0, 1, 2));
  CHECK(!order.covers(nullptr, 0, 0, 1, 1));
}

}  // namespace ptxloom::exec::test::grid_order_test
