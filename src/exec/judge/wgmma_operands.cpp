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
  products_.clear();
}

Party WgmmaOperands::party_of(const Warp& warp) const {
  return order_->party_of(warp.block().rank(), warp.index());
}

std::uint32_t WgmmaOperands::Products::add(const Product& product) {
  if (free_.empty()) {
    all_.push_back(product);
    return static_cast<std::uint32_t>(all_.size() - 1);
  }
  const std::uint32_t number = free_.back();
  free_.pop_back();
  all_[number] = product;
  return number;
}

std::uint32_t WgmmaOperands::product_of(const Actor& actor, Warpgroup& group) {
  const auto committed = committed_.begin() + party_of(*actor.warp);
  if (!group.in_flight.empty()) {
    const Product& last = products_[group.in_flight.back()];
    if (last.op == actor.op && last.issued == order_->now() && last.group[0] == *committed)
      return group.in_flight.back();
  }
  Product product{.op = actor.op, .issuer = actor.warp, .issued = order_->now(), .uses = 1};
  std::copy_n(committed, kWarps, product.group.begin());
  group.in_flight.push_back(products_.add(product));
  return group.in_flight.back();
}

void WgmmaOperands::read(const Actor& actor, std::span<const std::uint32_t> units) {
  if (units.empty()) return;
  used_ = true;
  Warpgroup& group = group_of(*actor.warp);
  if (group.readers.empty()) group.readers.assign(actor.warp->block().shared().size() / kUnit + 1, kNone);
  const std::uint32_t product = product_of(actor, group);
  for (const std::uint32_t unit : units) {
    std::uint32_t& reader = group.readers[unit / kUnit];
    if (reader == product) continue;
    if (reader != kNone) products_.release(reader);
    products_.keep(product);
    reader = product;
  }
}

void WgmmaOperands::wait(const Warp& warp, std::uint32_t pending) {
  if (!used_ || warp.index() / kWarps >= per_block_) return;
  const std::size_t number = party_of(warp), place = warp.index() % kWarps;
  std::erase_if(group_of(warp).in_flight, [&](std::uint32_t in_flight) {
    Product& product = products_[in_flight];
    if (product.waited[place] == 0 && std::uint64_t{product.group[place]} + pending < committed_[number])
      product.waited[place] = order_->now();
    const bool over = std::ranges::count(product.waited, 0) == 0;
    if (over) products_.release(in_flight);
    return over;
  });
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
    std::uint32_t judged = kNone;  // many units in a row are of one product
    for (std::uint32_t unit = place.offset / kUnit; unit <= (place.offset + bytes - 1) / kUnit; ++unit) {
      const std::uint32_t reader = std::exchange(readers[unit], kNone);
      if (reader == kNone) continue;
      const bool fine = reader == judged || is_over(actor, products_[reader]);
      if (!fine) report_overwritten(actor, products_[reader], std::max(place.offset, unit * kUnit));
      products_.release(reader);
      if (!fine) return;
      judged = reader;
    }
  }
}

}  // namespace ptxloom::exec
