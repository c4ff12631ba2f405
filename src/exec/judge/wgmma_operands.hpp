// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "exec/judge/order.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/warp.hpp"
#include "exec/memory/address.hpp"

// Shared memory that wgmma.mma_async reads A or B from. It reads from its issue to the wgmma.wait_group that
// covers its group, so a write has to come after that wait by one of the four warps: a warp's own, or one
// that its release of the memory follows (PTX ISA, wgmma.wait_group). A write that is not even ordered after
// the issue by one of them is a data race. That all warps execute a wgmma together orders nothing else.
namespace ptxloom::exec {

class Cluster;

class WgmmaOperands {
 public:
  WgmmaOperands(Cluster& cluster, const Order& order) : cluster_(&cluster), order_(&order) {}
  void start();

  static constexpr std::uint32_t kUnit = 16;  ///< bytes that are read at a time
  static constexpr std::size_t kWarps = 4;    ///< of a warpgroup

  /// The wgmma of an actor, for its whole warpgroup, reads these units of its thread block's shared memory.
  void read(const Actor& actor, std::span<const std::uint32_t> units);
  void commit(const Warp& warp) { ++committed_[party_of(warp)]; }
  /// All but the latest `pending` groups of the warp are done.
  void wait(const Warp& warp, std::uint32_t pending);
  /// An instruction, or the asynchronous copy that it issues, writes.
  void write(const Actor& actor, const SharedPlace& place, std::uint32_t bytes);

 private:
  struct Product {
    const Operation* op = nullptr;
    const Warp* issuer = nullptr;  // the first warp of the warpgroup
    Time issued = 0;
    std::array<std::uint32_t, kWarps> group{};  // by warp: those it had committed
    std::array<Time, kWarps> waited{};          // by warp; 0: it has not
    std::uint32_t uses = 0;                     // numbers of it that are kept
  };
  static constexpr std::uint32_t kNone = ~0U;

  /// Products by numbers. Shared pointers would count with atomic operations, several for each unit.
  class Products {
   public:
    Product& operator[](std::uint32_t number) { return all_[number]; }
    const Product& operator[](std::uint32_t number) const { return all_[number]; }
    std::uint32_t add(const Product& product);
    void keep(std::uint32_t number) { ++all_[number].uses; }
    void release(std::uint32_t number) {
      if (--all_[number].uses == 0) free_.push_back(number);
    }
    void clear() {
      all_.clear();
      free_.clear();
    }

   private:
    std::vector<Product> all_;
    std::vector<std::uint32_t> free_;
  };

  struct Warpgroup {
    std::vector<std::uint32_t> in_flight;  // numbers of products
    std::vector<std::uint32_t> readers;    // by unit: the latest
  };

  Party party_of(const Warp& warp) const;
  Warpgroup& group_of(const Warp& warp) {
    return groups_[warp.block().rank() * per_block_ + warp.index() / kWarps];
  }
  std::uint32_t product_of(const Actor& actor, Warpgroup& group);
  bool knows(const Actor& actor, const Warp& other, Time time) const;
  bool is_over(const Actor& actor, const Product& product) const;
  bool is_after_issue(const Actor& actor, const Product& product) const;
  void report_overwritten(const Actor& actor, const Product& product, std::uint32_t offset) const;

  Cluster* cluster_;
  const Order* order_;
  bool used_ = false;
  std::vector<std::uint32_t> committed_;  // by warp
  std::size_t per_block_ = 0;             // whole warpgroups
  std::vector<Warpgroup> groups_;
  Products products_;
};

}  // namespace ptxloom::exec
