// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/bench.hpp"
#include "bench/session_measurer.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/tuner.hpp"
#include "tune/worker/bench.hpp"

// A template's problem with its data on the GPU: kernels of chosen configurations, verified and searched for.
namespace ptxloom::bench {

/// A tensor of this plan that repeats the bytes of `drawn`: drawing 100 million numbers takes longer than
/// timing.
inline HostTensor repeated(const HostTensor& drawn, const TensorPlan& plan) {
  HostTensor tensor{plan, std::vector<std::byte>(plan.bytes())};
  const std::size_t once = drawn.bytes.size(), all = tensor.bytes.size();
  for (std::size_t done = 0; done < all; done += once)
    std::memcpy(tensor.bytes.data() + done, drawn.bytes.data(), std::min(once, all - done));
  return tensor;
}

inline std::string words_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings) text += " " + name + "=" + value;
  return text;
}

class TaskBench {
 public:
  TaskBench(const Context& ctx, Tunable what, tune::Task task)
      : ctx_(ctx),
        what_(std::move(what)),
        task_(std::move(task)),
        bench_(tune::make_gpu_bench(ctx.device_context(), task_)) {}
  TaskBench(const TaskBench&) = delete;
  TaskBench& operator=(const TaskBench&) = delete;

  const Tunable& what() const { return what_; }
  const tune::Task& task() const { return task_; }
  tune::Bench& bench() { return *bench_; }

  std::unique_ptr<tune::Bench::Loaded> load(const Settings& config) {
    tune::Candidate candidate = what_.make(config);
    candidate.cubin = ctx_.linker().link(candidate.ptx, {.target = std::string(ctx_.target().name())}).cubin;
    candidate.ptx.clear();
    return bench_->load(candidate);
  }

  void require_correct(tune::Bench::Loaded& loaded) {
    const Verdict verdict = verify_run(task_.expected, [&](std::byte poison) {
      bench_->prepare(poison);
      bench_->run(loaded);
      for (std::size_t i = 0; i < task_.tensors.size(); ++i)
        if (task_.tensors[i].plan.role == TensorPlan::Role::out) bench_->read(i, task_.tensors[i].bytes);
      return std::span<const HostTensor>(task_.tensors);
    });
    if (!verdict.ok())
      throw Error(ErrorKind::refused, "wrong-result",
                  verdict.first.empty() ? "some elements were not written" : verdict.first);
  }

  /// At least one configuration is correct, or it throws.
  tune::SearchResult search(double seconds) {
    const tune::Admissible space = tune::admit(what_.space, ctx_.target());
    SessionMeasurer measurer(*bench_, task_);
    std::vector<Settings> first = {what_.standard};
    first.insert(first.end(), what_.promising.begin(), what_.promising.end());
    tune::SearchResult found =
        tune::search(space, ctx_.target(), what_.make, &ctx_.linker(), measurer,
                     {.budget = {.seconds = seconds}, .first = first, .device = ctx_.device()});
    if (found.fault) throw Error(ErrorKind::refused, {*found.fault});
    if (found.best() == nullptr)
      throw Error(ErrorKind::refused, "no-correct-candidate", "nothing was correct");
    return found;
  }

 private:
  const Context& ctx_;
  Tunable what_;
  tune::Task task_;
  std::unique_ptr<tune::Bench> bench_;
};

/// One of those that are timed in turns.
struct Turn {
  std::string name;
  std::function<double()> time_us;
  std::vector<double> us = {};

  Turn(std::string of, std::function<double()> time) : name(std::move(of)), time_us(std::move(time)) {}
  Turn(std::string of, tune::Bench& bench, std::shared_ptr<tune::Bench::Loaded> loaded)
      : Turn(std::move(of), [&bench, loaded] { return bench.time_us(*loaded); }) {}
};

/// Each begins a round as often as the others: who works first finds the chip cooler.
inline void time_in_turns(std::vector<Turn>& turns, std::size_t rounds) {
  for (std::size_t round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < turns.size(); ++i) {
      Turn& turn = turns[(i + round) % turns.size()];
      turn.us.push_back(turn.time_us());
    }
}

/// Of several turns of a name the fastest counts.
inline double median_us(const std::vector<Turn>& turns, std::string_view name) {
  double least = 0;
  for (const Turn& turn : turns)
    if (turn.name == name && (least == 0 || median(turn.us) < least)) least = median(turn.us);
  return least;
}

}  // namespace ptxloom::bench
