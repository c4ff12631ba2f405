// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/grid_order.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace ptxloom::exec {
namespace {

using Known = GridOrder::Known;
using Horizons = GridOrder::Horizons;

constexpr int kFanBits = 3;
constexpr std::size_t kFan = std::size_t{1} << kFanBits;

std::size_t child_of(std::uint64_t cluster, int level) {
  return static_cast<std::size_t>(cluster >> (kFanBits * level)) % kFan;
}

Known joined(const Known& a, const Known& b);

Known joined_leaves(const Known& a, const Known& b) {
  Horizons horizons = a->horizons;
  horizons.resize(std::max(horizons.size(), b->horizons.size()));
  for (std::size_t i = 0; i < b->horizons.size(); ++i) horizons[i].join(b->horizons[i]);
  if (horizons == a->horizons) return a;
  if (horizons == b->horizons) return b;
  return std::make_shared<const GridOrder::Node>(
      GridOrder::Node{.children = {}, .horizons = std::move(horizons)});
}

// One of the two wherever that is all: what is shared need not be looked at again.
Known joined(const Known& a, const Known& b) {
  if (b == nullptr || a == b) return a;
  if (a == nullptr) return b;
  if (a->children.empty()) return joined_leaves(a, b);
  std::vector<Known> children(kFan);
  bool is_a = true, is_b = true;
  for (std::size_t i = 0; i < kFan; ++i) {
    children[i] = joined(a->children[i], b->children[i]);
    is_a &= children[i] == a->children[i];
    is_b &= children[i] == b->children[i];
  }
  if (is_a) return a;
  if (is_b) return b;
  return std::make_shared<const GridOrder::Node>(
      GridOrder::Node{.children = std::move(children), .horizons = {}});
}

}  // namespace

GridOrder::GridOrder(std::uint64_t clusters) {
  for (std::uint64_t held = 1; held < clusters; held <<= kFanBits) ++levels_;
}

void GridOrder::join(Known& known, const Known& more) {
  if (more == nullptr || more == known) return;
  known = joined(known, more);
}

Known GridOrder::of(std::uint64_t cluster, Horizons horizons) const {
  auto node = std::make_shared<const Node>(Node{.children = {}, .horizons = std::move(horizons)});
  for (int level = 0; level < levels_; ++level) {
    std::vector<Known> children(kFan);
    children[child_of(cluster, level)] = std::move(node);
    node = std::make_shared<const Node>(Node{.children = std::move(children), .horizons = {}});
  }
  return node;
}

bool GridOrder::covers(const Known& known, std::uint64_t cluster, Party party, std::uint8_t lane,
                       Time time) const {
  const Node* node = known.get();
  for (int level = levels_ - 1; level >= 0 && node != nullptr; --level)
    node = node->children[child_of(cluster, level)].get();
  return node != nullptr && party < node->horizons.size() && node->horizons[party].covers(time, lane);
}

}  // namespace ptxloom::exec
