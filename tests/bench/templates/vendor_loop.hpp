// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/plan.hpp"
#include "tune/worker/vendor_product.hpp"

// Products of several sizes by one cuBLASLt call each, all in one graph: what a kernel for groups is held
// against. The graph leaves out what the host would spend on the calls.
namespace ptxloom::bench {

class VendorLoop {
 public:
  struct Product {
    std::uint64_t m = 0;
    std::array<std::uint64_t, 4> tensors = {};  ///< addresses of a, b, c and d
  };
  enum class Choice {
    standard,  ///< the algorithm that cuBLASLt proposes first
    fastest    ///< the fastest of the first few, for each m
  };

  /// `shape`: of all products, but for m.
  VendorLoop(const DeviceContext& device, MatrixProduct shape, std::vector<Product> products)
      : device_(device), stream_(device), start_(device), stop_(device), products_(std::move(products)) {
    std::erase_if(products_, [](const Product& one) { return one.m == 0; });
    for (const Product& one : products_) {
      shape.m = one.m;
      if (!by_m_.contains(one.m)) by_m_.emplace(one.m, Algorithms{tune::VendorProduct(device, shape)});
    }
    for (const Product& one : products_) choose(one, by_m_.at(one.m));
  }

  std::string name() const { return by_m_.begin()->second.product.name(); }

  void run(Choice choice) {
    launch_all(choice, stream_);
    stream_.synchronize();
  }

  /// Microseconds of all products, averaged over a replay of a few milliseconds.
  double time_us(Choice choice) {
    Replay& replay = replays_[choice];
    if (replay.graphs.empty()) {
      record(replay, choice, 1);
      const double once = timed([&] { replay.graphs.back().launch(stream_); });
      record(replay, choice, std::clamp(static_cast<int>(std::ceil(kReplayUs / once)), 1, kMostPasses));
    }
    return timed([&] { replay.graphs.back().launch(stream_); }) / replay.passes;
  }

 private:
  static constexpr std::size_t kTried = 8;
  static constexpr int kLaunches = 4, kMostPasses = 64;
  static constexpr double kReplayUs = 4000;

  struct Algorithms {
    tune::VendorProduct product;
    std::size_t fastest = 0;
    bool chosen = false;
  };
  struct Replay {
    std::vector<Graph> graphs;
    int passes = 1;
  };

  double timed(const auto& work) {
    start_.record(stream_);
    work();
    stop_.record(stream_);
    return 1000.0 * static_cast<double>(stop_.elapsed_ms(start_));
  }

  // B of another product each time: one alone might stay in L2.
  void choose(const Product& own, Algorithms& of) {
    if (std::exchange(of.chosen, true)) return;
    double least = HUGE_VAL;
    for (std::size_t i = 0; i < std::min(kTried, of.product.algorithms()); ++i) {
      const auto launch = [&] {
        for (int turn = 0; turn < kLaunches; ++turn) {
          std::array<std::uint64_t, 4> tensors = own.tensors;
          tensors[1] = products_[number_++ % products_.size()].tensors[1];
          of.product.launch(i, tensors, stream_);
        }
      };
      launch();
      const double us = timed(launch);
      if (us < least) least = us, of.fastest = i;
    }
  }

  void launch_all(Choice choice, CUstream_st* stream) const {
    for (const Product& one : products_) {
      const Algorithms& algorithms = by_m_.at(one.m);
      algorithms.product.launch(choice == Choice::fastest ? algorithms.fastest : 0, one.tensors, stream);
    }
  }

  void record(Replay& replay, Choice choice, int passes) {
    replay.graphs.assign(1, Graph(device_, [&](CUstream_st* stream) {
                           for (int i = 0; i < passes; ++i) launch_all(choice, stream);
                         }));
    replay.passes = passes;
    replay.graphs.back().launch(stream_);  // warms up
    stream_.synchronize();
  }

  const DeviceContext& device_;
  Stream stream_;
  Event start_, stop_;
  std::vector<Product> products_;
  std::map<std::uint64_t, Algorithms> by_m_;
  std::map<Choice, Replay> replays_;
  std::size_t number_ = 0;
};

}  // namespace ptxloom::bench
