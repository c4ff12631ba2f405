// SPDX-License-Identifier: Apache-2.0
#include "tune/search/feeder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <list>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

#include "base/hash.hpp"
#include "base/reason.hpp"

namespace ptxloom::tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAhead = 3;  // ready and waiting for the device

std::string key_of(const Candidate& candidate) {
  const LinkOptions& link = candidate.link;
  return to_hex(
      hash128(fmt::format("{} {} {} {} {} {}\n{}", link.target, link.optimisation, link.debug, link.line_info,
                          link.max_registers, fmt::join(link.extra, " "), candidate.ptx)));
}

struct Linking {
  Made made;
  std::optional<Clock::time_point> since;  // when linking started
  bool abandoned = false;
};

}  // namespace

struct Feeder::State {
  Maker make;
  std::optional<Linker> linker;
  Options options;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Made> waiting, ready;
  std::list<std::shared_ptr<Linking>> working;
  std::map<std::string, std::shared_future<LinkResult>, std::less<>> linked;
  bool closed = false;
  std::size_t threads = 0;

  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return closed || !waiting.empty(); });
      if (closed) break;
      const auto job = std::make_shared<Linking>(Linking{.made = std::move(waiting.front()), .since = {}});
      waiting.pop_front();
      working.push_back(job);
      lock.unlock();
      Made made = job->made;
      prepare(made, *job);
      lock.lock();
      if (job->abandoned) return;  // another thread has replaced it
      working.remove(job);
      ready.push_back(std::move(made));
      options.bell->ring();
    }
    --threads;
    changed.notify_all();
  }

  void prepare(Made& made, Linking& job) {
    try {
      if (options.code == Measurer::Code::none) return;
      made.candidate = make(made.config);
      if (options.code == Measurer::Code::cubin && made.candidate.cubin.empty()) link(made, job);
      if (options.predict && !made.candidate.cubin.empty()) made.code_us = predicted(made);
    } catch (const Error& error) {
      made.problem = error.diagnostics().front();
    } catch (const std::exception& error) {
      made.problem = Diagnostic{.code = "candidate-failed", .message = reason_of(error)};
    }
  }

  /// A candidate whose code cannot be read may still be measured.
  double predicted(const Made& made) const {
    try {
      return options.predict(made.candidate, made.pick).value_or(0);
    } catch (const std::exception&) {
      return 0;
    }
  }

  void link(Made& made, Linking& job) {
    Candidate& candidate = made.candidate;
    candidate.link.target = options.target;
    std::promise<LinkResult> promise;
    std::shared_future<LinkResult> result;
    const auto begin = Clock::now();
    bool first = false;
    {
      const std::scoped_lock lock(mutex);
      job.since = begin;
      const auto [known, is_new] = linked.try_emplace(key_of(candidate));
      if (is_new) known->second = promise.get_future().share();
      result = known->second;
      first = is_new;
    }
    if (first) {
      try {
        promise.set_value(linker->link(candidate.ptx, candidate.link));
      } catch (...) {
        promise.set_exception(std::current_exception());
      }
    }
    const LinkResult& found = result.get();
    if (first) made.link_ms = std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
    candidate.cubin = found.cubin;
    // Of several kernels the first one launched represents all.
    for (const Resources& resources : found.resources) {
      if (!candidate.launches.empty() && resources.kernel == candidate.launches.front().entry)
        made.resources = resources;
    }
  }
};

Feeder::Feeder(Maker make, const Linker* linker, Options options) : state_(std::make_shared<State>()) {
  if (options.jobs == 0) options.jobs = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  state_->make = std::move(make);
  if (linker != nullptr) state_->linker = *linker;
  state_->options = std::move(options);
  for (unsigned i = 0; i < state_->options.jobs; ++i) start_thread();
}

Feeder::~Feeder() {
  std::unique_lock lock(state_->mutex);
  state_->closed = true;
  state_->waiting.clear();
  state_->changed.notify_all();
  // Links in progress finish by themselves; those that take too long are left behind.
  while (state_->threads > 0) {
    state_->changed.wait_for(lock, std::chrono::milliseconds(50));
    for (const auto& job : state_->working) {
      if (job->abandoned || !job->since || Clock::now() - *job->since < state_->options.limit) continue;
      job->abandoned = true;
      --state_->threads;
    }
  }
}

void Feeder::start_thread() {
  ++state_->threads;
  std::thread([state = state_] { state->work(); }).detach();
}

std::size_t Feeder::capacity() const { return state_->options.jobs + kAhead; }

void Feeder::put(const Pick& pick, Settings config) {
  const std::scoped_lock lock(state_->mutex);
  state_->waiting.push_back({.pick = pick, .config = std::move(config), .number = put_++});
  ++under_way_;
  state_->changed.notify_all();
}

std::optional<Made> Feeder::overdue() {
  for (const auto& job : state_->working) {
    if (job->abandoned || !job->since || Clock::now() - *job->since < state_->options.limit) continue;
    job->abandoned = true;
    --state_->threads;
    start_thread();
    Made made = job->made;
    made.problem =
        Diagnostic{.code = "link-limit",
                   .message = fmt::format("linking took longer than {:g} s", state_->options.limit.count())};
    return made;
  }
  return std::nullopt;
}

std::optional<Made> Feeder::take() {
  const std::scoped_lock lock(state_->mutex);
  std::optional<Made> made;
  const auto next = std::ranges::min_element(state_->ready, {}, &Made::number);
  if (next != state_->ready.end() && (taken_ > 0 || next->number == 0)) {
    made = std::move(*next);
    state_->ready.erase(next);
  } else {
    made = overdue();
  }
  if (!made) return made;
  --under_way_;
  ++taken_;
  return made;
}

}  // namespace ptxloom::tune
