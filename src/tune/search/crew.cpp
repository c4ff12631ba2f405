// SPDX-License-Identifier: Apache-2.0
#include "tune/search/crew.hpp"

#include <algorithm>
#include <utility>

#include "base/reason.hpp"

namespace ptxloom::tune {
namespace {

/// An exception means that the device failed: a candidate's own failure is reported in the reading.
void measure(Measurer& measurer, const Rival* new_rival, Tried& tried) {
  try {
    if (new_rival != nullptr) {
      const Trial rival{.config = new_rival->config, .candidate = new_rival->code};
      measurer.set_rival(&rival);
    }
    tried.reading = measurer.measure(
        {.config = tried.made.config, .candidate = tried.made.candidate, .samples = tried.made.pick.samples});
  } catch (const Error& error) {
    tried.lost = error.diagnostics().front();
  } catch (const std::exception& error) {
    tried.lost = Diagnostic{.code = "device-lost", .message = reason_of(error), .hint = {}};
  }
}

}  // namespace

Crew::Crew(std::span<Measurer* const> measurers, Maker make, const Linker* linker, Feeder::Options options,
           std::function<double(const Made&)> expected)
    : bell_(options.bell),
      expected_(std::move(expected)),
      feeder_(std::move(make), linker, std::move(options)) {
  for (Measurer* measurer : measurers) {
    seats_.push_back(std::make_unique<Seat>());
    seats_.back()->measurer = measurer;
  }
  for (std::size_t i = 0; i < seats_.size(); ++i) seats_[i]->thread = std::thread([this, i] { work(i); });
}

Crew::~Crew() {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  for (const auto& seat : seats_) seat->thread.join();
}

std::size_t Crew::working() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(seats_, [](const auto& seat) { return seat->at_work; }));
}

std::size_t Crew::capacity() const { return working() == 0 ? 0 : feeder_.capacity() + 2 * (working() - 1); }

void Crew::put(const Pick& pick, Settings config) {
  ++under_way_;
  feeder_.put(pick, std::move(config));
}

std::vector<Given> Crew::give_back() {
  std::vector<Given> given;
  for (Made& made : std::exchange(made_, {})) given.emplace_back(made.pick, std::move(made.config));
  under_way_ -= given.size();
  return given;
}

std::optional<Tried> Crew::take() {
  while (std::optional<Made> made = feeder_.take()) {
    if (!made->problem) {
      made_.push_back(std::move(*made));
      continue;
    }
    --under_way_;
    return Tried{.made = std::move(*made)};
  }
  std::optional<Tried> tried;
  {
    const std::scoped_lock lock(mutex_);
    if (!tried_.empty()) {
      tried = std::move(tried_.front());
      tried_.pop_front();
    }
  }
  if (tried && tried->lost)
    retire(*tried);
  else if (tried)
    --under_way_;
  // A single device waits until its last result has been processed.
  if (!tried || working() > 1) hand_out();
  return tried;
}

/// Each of several devices has its next candidate queued while it measures, so it does not wait for the
/// processing of results.
void Crew::hand_out() {
  const std::size_t most = working() > 1 ? 2 : 1;
  const std::scoped_lock lock(mutex_);
  for (std::size_t held = 0; held < most; ++held) {
    for (const auto& seat : seats_) {
      if (made_.empty() || closed_) return;
      if (!seat->at_work || seat->lost || seat->jobs.size() + (seat->measuring ? 1 : 0) != held) continue;
      seat->jobs.push_back(next());
      changed_.notify_all();
    }
  }
}

/// The waiting candidate that is measured next.
Made Crew::next() {
  const auto chosen = expected_ ? std::ranges::min_element(made_, {}, expected_) : made_.begin();
  Made made = std::move(*chosen);
  made_.erase(chosen);
  return made;
}

/// Passes the queue of a lost device to the others.
void Crew::retire(const Tried& tried) {
  const std::scoped_lock lock(mutex_);
  Seat& seat = *seats_[tried.device];
  seat.at_work = false;
  made_.push_front(tried.made);
  for (Made& job : seat.jobs) made_.push_back(std::move(job));
  seat.jobs.clear();
}

void Crew::set_rival(std::shared_ptr<const Rival> rival) {
  const std::scoped_lock lock(mutex_);
  rival_ = std::move(rival);
}

Measurer& Crew::rest(std::size_t device) {
  std::unique_lock lock(mutex_);
  closed_ = true;
  changed_.notify_all();
  changed_.wait(lock, [&] { return !seats_[device]->measuring; });
  return measurer(device);
}

void Crew::work(std::size_t device) {
  Seat& seat = *seats_[device];
  std::shared_ptr<const Rival> given;
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return closed_ || !seat.jobs.empty(); });
    if (closed_) return;
    Tried tried{.made = std::move(seat.jobs.front()), .device = device};
    seat.jobs.pop_front();
    seat.measuring = true;
    const std::shared_ptr<const Rival> rival = rival_;
    lock.unlock();
    if (rival) tried.rival_us = rival->time_us;
    measure(*seat.measurer, rival != given ? rival.get() : nullptr, tried);
    given = rival;
    lock.lock();
    seat.measuring = false;
    seat.lost = tried.lost.has_value();
    tried_.push_back(std::move(tried));
    changed_.notify_all();
    bell_->ring();
    if (seat.lost) return;  // its other candidates wait for take() to pass them on
  }
}

}  // namespace ptxloom::tune
