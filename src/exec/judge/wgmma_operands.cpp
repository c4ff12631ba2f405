// SPDX-License-Identifier: Apache-2.0
#include "exec/judge/wgmma_operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "exec/machine/cluster.hpp"

namespace ptxloom::exec {

void WgmmaOperands::start() {
  const auto& blocks = cluster_->blocks();
  const std::size_t warps = blocks.front().warps().size();
  used_ = false;
  committed_.assign(blocks.size() * warps, 0);
  per_block_ = warps / kWarps;
  groups_.assign(blocks.size() * per_block_, {});
}

Party WgmmaOperands::party_of(const Warp& warp) const {
  return order_->party_of(warp.block().rank(), warp.index());
}

const std::shared_ptr<WgmmaOperands::Product>& WgmmaOperands::product_of(const Actor& actor,
                                                                         Warpgroup& group) {
  auto& products = group.in_flight;
  const auto committed = committed_.begin() + party_of(*actor.warp);
  if (products.empty() || products.back()->op != actor.op || products.back()->issued != order_->now() ||
      products.back()->group[0] != *committed) {
    auto product = std::make_shared<Product>();
    *product = {.op = actor.op, .issuer = actor.warp, .issued = order_->now()};
    std::copy_n(committed, kWarps, product->group.begin());
    products.push_back(std::move(product));
  }
  return products.back();
}

void WgmmaOperands::read(const Actor& actor, const SharedPlace& place) {
  used_ = true;
  Warpgroup& group = group_of(*actor.warp);
  if (group.readers.empty()) group.readers.resize(place.block->shared().size() / kUnit + 1);
  group.readers[place.offset / kUnit] = product_of(actor, group);
}

void WgmmaOperands::wait(const Warp& warp, std::uint32_t pending) {
  if (!used_ || warp.index() / kWarps >= per_block_) return;
  const std::size_t number = party_of(warp), place = warp.index() % kWarps;
  auto& products = group_of(warp).in_flight;
  for (const auto& product : products) {
    if (product->waited[place] == 0 && std::uint64_t{product->group[place]} + pending < committed_[number])
      product->waited[place] = order_->now();
  }
  std::erase_if(products, [](const auto& product) { return std::ranges::count(product->waited, 0) == 0; });
}

bool WgmmaOperands::knows(const Actor& actor, const Warp& other, Time time) const {
  if (actor.warp == &other) return true;
  const Party party = party_of(*actor.warp), warp = party_of(other);
  const auto lane = static_cast<std::uint8_t>(actor.lane);
  return order_->knows(party, lane, warp, kSeveralLanes, time) ||
         order_->knows_over(party, lane, warp, kSeveralLanes, time);
}

bool WgmmaOperands::is_over(const Actor& actor, const Product& product) const {
  const auto& warps = product.issuer->block().warps();
  for (std::size_t i = 0; i < kWarps; ++i) {
    if (product.waited[i] != 0 && knows(actor, warps[product.issuer->index() + i], product.waited[i]))
      return true;
  }
  return false;
}

bool WgmmaOperands::is_after_issue(const Actor& actor, const Product& product) const {
  const auto& warps = product.issuer->block().warps();
  for (std::size_t i = 0; i < kWarps; ++i)
    if (knows(actor, warps[product.issuer->index() + i], product.issued)) return true;
  return false;
}

void WgmmaOperands::report_overwritten(const Actor& actor, const Product& product,
                                       std::uint32_t offset) const {
  const bool races = !is_after_issue(actor, product);
  report(
      actor,
      {.code = races ? "data-race" : "wgmma-overwritten",
       .other_warp = product.issuer,
       .other_op = product.op,
       .address = fmt::format("shared + {:#x}", offset)},
      "wait for the group (wgmma.wait_group) before the memory is written, or released to those who write it",
      [&] {
        return fmt::format("it writes byte {:#x} of shared memory, which {} {}", offset,
                           describe_with_line(*product.issuer, *product.op),
                           races ? "reads, and nothing orders the two"
                                 : "may still read: no wgmma.wait_group for it comes before");
      });
}

void WgmmaOperands::write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes) {
  if (!used_ || bytes == 0) return;
  for (std::size_t i = 0; i < per_block_; ++i) {
    auto& readers = groups_[place.block->rank() * per_block_ + i].readers;
    if (readers.empty()) continue;
    for (std::uint32_t unit = place.offset / kUnit; unit <= (place.offset + bytes - 1) / kUnit; ++unit) {
      const std::shared_ptr<Product> product = std::exchange(readers[unit], nullptr);
      if (product == nullptr || is_over(actor, *product)) continue;
      report_overwritten(actor, *product, std::max(place.offset, unit * kUnit));
      return;
    }
  }
}

}  // namespace ptxloom::exec
