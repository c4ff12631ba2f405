// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/cluster_reduction.hpp"

#include <fmt/format.h>

#include <string>

#include "ptxloom/error.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::size_t kMoved = 16;     // bytes that a thread moves at once
constexpr std::size_t kInFlight = 32;  // registers read before the first is added

/// Part `number` of `count` of each wgmma's registers, which are ordered by column.
Accumulators slice_of(const Accumulators& accumulators, int number, int count) {
  if (count == 1) return accumulators;
  Accumulators slice = accumulators;
  for (auto& row : slice)
    for (std::vector<Reg>& tile : row) {
      const auto size = static_cast<std::ptrdiff_t>(tile.size()) / count;
      tile = {tile.begin() + number * size, tile.begin() + (number + 1) * size};
    }
  return slice;
}

void require(const ClusterTile& t, const Accumulators& accumulators) {
  const auto refuse = [](const std::string& what, const char* hint) {
    throw Error(ErrorKind::usage, "bad-reduction", "a reduction in a cluster: " + what, hint);
  };
  if (t.slices != 1 && t.slices != t.blocks)
    refuse(fmt::format("{} slices, {} thread blocks", t.slices, t.blocks),
           "take one slice, or one for each thread block");
  std::size_t registers = 0;
  for (const auto& row : accumulators)
    for (const std::vector<Reg>& one : row) {
      if (one.size() % static_cast<std::size_t>(t.slices) != 0)
        refuse(fmt::format("{} registers of an instruction in {} slices", one.size(), t.slices),
               "take one slice");
      registers += one.size() / static_cast<std::size_t>(t.slices);
    }
  if (registers == 0 || registers * static_cast<std::size_t>(t.type.bytes()) % kMoved != 0)
    refuse(fmt::format("{} accumulators of {} in a slice", registers, t.type.name),
           "a slice of a thread is a multiple of 16 bytes: take a larger tile, or fewer slices");
}

class ClusterReduction {
 public:
  ClusterReduction(KernelBuilder& k, const ClusterTile& tile, const ClusterReductionInputs& in)
      : k_(k), tile_(tile), in_(in), type_(tile.type), rank_(k.special("cluster_ctarank")) {
    place_ = k.fma(in.thread, static_cast<std::int64_t>(kMoved), in.shared);
  }

  void run(const Accumulators& sums,
           const std::function<void(const Accumulators& slice, int number)>& store) {
    const int slices = tile_.slices;
    k_.comment("split: write the accumulators over the stages, which nobody reads any more");
    k_.emit("bar.sync", in_.barrier, tile_.threads);
    for (int i = 0; i < slices; ++i) leave(units_of(slice_of(sums, i, slices)), i);
    k_.emit("barrier.cluster.arrive.release.aligned");
    wait();
    for (int i = 0; i < slices; ++i)
      k_.if_(k_.eq(rank_, i), [&] { add(units_of(slice_of(sums, i, slices)), i); });
    k_.comment("split: wait until the other thread blocks have read them");
    k_.emit("barrier.cluster.arrive.relaxed.aligned");
    for (int i = 0; i < slices; ++i) k_.if_(k_.eq(rank_, i), [&] { store(slice_of(sums, i, slices), i); });
    wait();
  }

 private:
  using Unit = std::vector<Reg>;  // what a thread moves at once

  std::vector<Unit> units_of(const Accumulators& sums) const {
    std::vector<Unit> units;
    for (const auto& row : sums)
      for (const std::vector<Reg>& tile : row)
        for (const Reg& sum : tile) {
          if (units.empty() || units.back().size() == kMoved / static_cast<std::size_t>(type_.bytes()))
            units.emplace_back();
          units.back().push_back(sum);
        }
    return units;
  }

  /// The units of a slice follow each other; each holds the units of all threads side by side.
  int distance(std::size_t unit, std::size_t units, int slice) const {
    return static_cast<int>((static_cast<std::size_t>(slice) * units + unit) * kMoved) * tile_.threads;
  }
  std::string opcode(const std::string& start) const {
    return start + "v" + std::to_string(kMoved / static_cast<std::size_t>(type_.bytes())) + ".b" +
           std::to_string(8 * type_.bytes());
  }

  void wait() { k_.emit("barrier.cluster.wait.acquire.aligned"); }

  void leave(const std::vector<Unit>& units, int slice) {
    for (std::size_t i = 0; i < units.size(); ++i)
      k_.emit(opcode("st.shared."), k_.at(place_, distance(i, units.size(), slice)), units[i]);
  }

  // Adds what the other thread blocks hold of this slice, starting with the next one's. Reads have a long
  // latency, so many are in flight.
  void add(const std::vector<Unit>& units, int slice) {
    std::vector<std::pair<Reg, Reg>> read;  // an accumulator and the value to add to it
    const auto flush = [&] {
      for (const auto& [sum, value] : read) k_.emit("add." + std::string(type_.name), sum, sum, value);
      read.clear();
    };
    for (int other = 1; other < tile_.blocks; ++other) {
      const int rank = (slice + other) % tile_.blocks;
      k_.comment("split: read the accumulators of thread block " + std::to_string(rank));
      const Reg there = k_.reg(u32);
      k_.emit("mapa.shared::cluster.u32", there, place_, rank);
      for (std::size_t i = 0; i < units.size(); ++i) {
        const Unit values = k_.regs(units[i][0].type, static_cast<int>(units[i].size()));
        k_.emit(opcode("ld.shared::cluster."), values, k_.at(there, distance(i, units.size(), slice)));
        for (std::size_t j = 0; j < values.size(); ++j) read.emplace_back(units[i][j], values[j]);
        if (read.size() >= kInFlight) flush();
      }
    }
    flush();
  }

  KernelBuilder& k_;
  const ClusterTile& tile_;
  const ClusterReductionInputs& in_;
  Type type_;
  Reg rank_, place_;
};

}  // namespace

int ClusterTile::shared_bytes(int accumulators) const { return accumulators * threads * type.bytes(); }

void reduce_in_cluster(KernelBuilder& k, const ClusterTile& tile, const Accumulators& accumulators,
                       const ClusterReductionInputs& in,
                       const std::function<void(const Accumulators& slice, int number)>& store) {
  require(tile, accumulators);
  ClusterReduction(k, tile, in).run(accumulators, store);
}

}  // namespace ptxloom::kit
