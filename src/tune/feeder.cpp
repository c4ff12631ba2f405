// SPDX-License-Identifier: Apache-2.0
#include "tune/feeder.hpp"

#include <algorithm>
#include <utility>

namespace ptxloom::tune {

Feeder::Feeder(const Linker& linker, const Source& source, std::string target, unsigned jobs)
    : linker_(linker), source_(source), target_(std::move(target)) {
  if (jobs == 0) jobs = std::clamp(std::thread::hardware_concurrency(), 1U, 16U);
  ahead_ = std::size_t{2} * jobs;
  for (unsigned i = 0; i < jobs; ++i) threads_.emplace_back([this] { work(); });
}

Feeder::~Feeder() {
  {
    const std::scoped_lock lock(mutex_);
    end_ = 0;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

std::optional<Linked> Feeder::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return taken_ >= end_ || ready_.contains(taken_); });
  const auto found = ready_.find(taken_);
  if (found == ready_.end()) return std::nullopt;
  Linked linked = std::move(found->second);
  ready_.erase(found);
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  return linked;
}

void Feeder::work() {
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return claimed_ >= end_ || claimed_ < taken_ + ahead_; });
    if (claimed_ >= end_) return;
    const std::size_t index = claimed_++;
    lock.unlock();
    std::optional<Linked> linked = make(index);
    lock.lock();
    if (linked) {
      ready_.emplace(index, std::move(*linked));
    } else {
      end_ = std::min(end_, index);
    }
    lock.unlock();
    changed_.notify_all();
  }
}

std::optional<Linked> Feeder::make(std::size_t index) const {
  Linked linked;
  try {
    std::optional<Candidate> candidate = source_(index);
    if (!candidate) return std::nullopt;
    linked.candidate = std::move(*candidate);
    if (!linked.candidate.cubin.empty()) return linked;
    LinkResult result = linker_.link(linked.candidate.ptx, {.target = target_});
    linked.candidate.cubin = std::move(result.cubin);
    const auto entry = std::ranges::find(result.resources, linked.candidate.launch.entry, &Resources::kernel);
    if (entry != result.resources.end()) linked.resources = *entry;
  } catch (const Error& error) {
    linked.problem = error.diagnostics().front();
  } catch (const std::exception& error) {
    linked.problem = Diagnostic{.code = "candidate-failed", .message = error.what()};
  }
  return linked;
}

}  // namespace ptxloom::tune
