// SPDX-License-Identifier: Apache-2.0
#include "cluster_sum.hpp"

#include <algorithm>
#include <string>

namespace ptxloom::gemm_kernel {
namespace {

constexpr int kUnit = 16;  // bytes that a thread moves at once

class ClusterSum {
 public:
  ClusterSum(KernelBuilder& k, const Problem& p, const Config& c,
             const std::vector<std::vector<std::vector<Reg>>>& accumulators, const ClusterSumInputs& in)
      : k_(k), c_(c), in_(in), type_(p.accumulator), rank_(k.special("cluster_ctarank")) {
    for (const auto& row : accumulators)
      for (const std::vector<Reg>& tile : row) sums_.insert(sums_.end(), tile.begin(), tile.end());
    place_ = k.fma(in.thread, kUnit, in.shared);
  }

  void run(const KernelBuilder::Body& store) {
    const Reg first = k_.eq(rank_, 0);
    k_.if_(k_.ne(rank_, 0), [&] { leave(); });
    meet();
    k_.if_(first, [&] {
      k_.for_(1, c_.split, 1, [&](Reg rank) {
        k_.pragma("\"nounroll\"");
        k_.comment("split: add the sums of the cluster's next block");
        add(rank);
      });
    });
    k_.comment("split: who has been read may end");
    meet();
    k_.if_(first, store);
  }

 private:
  std::string vector() const {
    return "v" + std::to_string(unit()) + ".b" + std::to_string(8 * type_.bytes());
  }
  std::size_t unit() const { return static_cast<std::size_t>(kUnit / type_.bytes()); }
  int distance(std::size_t index) const { return static_cast<int>(index / unit()) * kUnit * 32 * c_.warps(); }

  void meet() {
    k_.emit("barrier.cluster.arrive.release.aligned");
    k_.emit("barrier.cluster.wait.acquire.aligned");
  }

  void leave() {
    k_.comment("split: leave the sums where the stages were, which nobody reads any more");
    k_.emit("bar.sync", in_.barrier, 32 * c_.warps());
    for (std::size_t i = 0; i < sums_.size(); i += unit()) {
      const std::vector<Reg> some(sums_.begin() + static_cast<std::ptrdiff_t>(i),
                                  sums_.begin() + static_cast<std::ptrdiff_t>(i + unit()));
      k_.emit("st.shared." + vector(), k_.at(place_, distance(i)), some);
    }
  }

  void add(Reg rank) {
    const Reg there = k_.reg(u32);
    k_.emit("mapa.shared::cluster.u32", there, place_, rank);
    const std::string add = "add." + std::string(type_.name);
    for (std::size_t i = 0; i < sums_.size(); i += unit()) {
      const std::vector<Reg> values = k_.regs(sums_[i].type, static_cast<int>(unit()));
      k_.emit("ld.shared::cluster." + vector(), values, k_.at(there, distance(i)));
      for (std::size_t j = 0; j < unit(); ++j) k_.emit(add, sums_[i + j], sums_[i + j], values[j]);
    }
  }

  KernelBuilder& k_;
  const Config& c_;
  const ClusterSumInputs& in_;
  Type type_;
  Reg rank_, place_;
  std::vector<Reg> sums_;
};

}  // namespace

int cluster_sum_bytes(const Problem& p, const Config& c) {
  return c.split == 1 ? 0 : c.tile_m * c.tile_n * p.accumulator.bytes();
}

void emit_cluster_sum(KernelBuilder& k, const Problem& problem, const Config& config,
                      const std::vector<std::vector<std::vector<Reg>>>& accumulators,
                      const ClusterSumInputs& in, const KernelBuilder::Body& store) {
  if (config.split == 1) return store();
  ClusterSum(k, problem, config, accumulators, in).run(store);
}

}  // namespace ptxloom::gemm_kernel
