// SPDX-License-Identifier: Apache-2.0
// One search over several ranks, which are threads here.
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "support/errors.hpp"
#include "tune/devices.hpp"

using namespace ptxloom;
using namespace ptxloom::tune;

namespace {

/// Processes that are threads.
class Room {
 public:
  explicit Room(int size) : boxes_(static_cast<std::size_t>(size)) {}
  class Seat : public Ranks {
   public:
    Seat(Room& room, int rank) : room_(room), rank_(rank) {}
    int rank() const override { return rank_; }
    int size() const override { return static_cast<int>(room_.boxes_.size()); }
    int local_rank() const override { return rank_; }
    int local_size() const override { return size(); }
    void send(int to, std::string message) override {
      const std::scoped_lock lock(room_.mutex_);
      room_.boxes_.at(static_cast<std::size_t>(to)).push_back({.from = rank_, .message = std::move(message)});
      room_.changed_.notify_all();
    }
    std::optional<Received> receive(double seconds) override {
      std::unique_lock lock(room_.mutex_);
      auto& box = room_.boxes_.at(static_cast<std::size_t>(rank_));
      room_.changed_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return !box.empty(); });
      if (box.empty()) return std::nullopt;
      Received received = std::move(box.front());
      box.pop_front();
      return received;
    }
    void abort(int) override { std::abort(); }

   private:
    Room& room_;
    int rank_;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::deque<Ranks::Received>> boxes_;
};

/// Rank 0 searches with the first device, the others help with one each.
SearchResult run_ranks(const std::vector<Measurer*>& measurers, const std::vector<std::string>& about,
                       SearchOptions options = {}) {
  Room room(static_cast<int>(measurers.size()));
  std::vector<std::thread> helpers;
  std::vector<std::string> outcomes(measurers.size());
  for (std::size_t rank = 1; rank < measurers.size(); ++rank) {
    helpers.emplace_back([&, rank] {
      Room::Seat seat(room, static_cast<int>(rank));
      Measurer* const mine[] = {measurers[rank]};
      outcomes[rank] = help(Target("sm_90a"), kNothing, nullptr, mine,
                            {.warm_up = 0, .ranks = &seat, .about = about.at(rank)})
                           .value();
    });
  }
  Room::Seat seat(room, 0);
  options.ranks = &seat;
  options.about = about.at(0);
  SearchResult result = run({measurers[0]}, options);
  release(seat, "the end");
  for (std::thread& helper : helpers) helper.join();
  for (std::size_t rank = 1; rank < outcomes.size(); ++rank) CHECK(outcomes[rank] == "the end");
  return result;
}

}  // namespace

TEST_CASE("ranks share one search") {
  Device first("gpu a", 1), second("gpu b", 0.99), third("gpu c", 1.01);
  const std::vector<std::string> same(3, "the same");
  const SearchResult result =
      run_ranks({first.measurer.get(), second.measurer.get(), third.measurer.get()}, same);
  check_each_once(result);
  CHECK(result.best()->config == kBest);
  REQUIRE(result.devices.size() == 3);
  for (const Share& one : result.devices) {
    CAPTURE(one.name, one.rank, one.ratio);
    CHECK(!one.left_out);
    CHECK(one.evaluations > 20);
    CHECK(one.name == (one.rank == 0 ? "gpu a" : one.rank == 1 ? "gpu b" : "gpu c"));
  }
  for (const Measurement& one : result.candidates)
    CHECK(std::abs(one.time_us / time_of(one.config) - 1) < 1e-9);
}

TEST_CASE("a rank that tunes something else, or on a device that differs, is left out") {
  Device first("gpu a", 1), second("gpu b", 1), third("gpu c", 1.2);
  const SearchResult result =
      run_ranks({first.measurer.get(), second.measurer.get(), third.measurer.get()}, {"m=5", "m=6", "m=5"});
  check_each_once(result);
  for (const Share& one : result.devices) {
    if (one.rank == 1) CHECK(one.left_out.value().code == "ranks-differ");
    if (one.rank == 1) CHECK(one.left_out.value().message.find("rank 1 has m=6") != std::string::npos);
    if (one.rank == 2) CHECK(one.left_out.value().code == "device-differs");
    if (one.rank != 0) CHECK(one.evaluations == 0);
  }
}

TEST_CASE("what a rank was given when its device disappears is done by others") {
  Device first("gpu a", 1), second("gpu b", 1);
  Mortal mortal(*second.measurer, 9);
  const SearchResult result = run_ranks({first.measurer.get(), &mortal}, {"same", "same"});
  check_each_once(result);
  CHECK(!result.fault);
  REQUIRE(result.devices.size() == 2);
  CHECK(result.devices[1].left_out.value().code == "worker-lost");
  CHECK(result.devices[1].evaluations == 7);
}

TEST_CASE("when rank 0 has lost its device, the other ranks do the rest") {
  Device first("gpu a", 1), second("gpu b", 1.01), third("gpu c", 0.99);
  Mortal mortal(*first.measurer, 20);
  const SearchResult result =
      run_ranks({&mortal, second.measurer.get(), third.measurer.get()}, {"same", "same", "same"});
  check_each_once(result);
  CHECK(!result.fault);
  REQUIRE(result.best() != nullptr);
  CHECK(result.best()->config == kBest);
  CHECK(result.final.empty());  // nobody is left here who could
  CHECK(result.devices[0].left_out.value().code == "worker-lost");
  for (const Measurement& one : result.candidates)
    CHECK(std::abs(one.time_us / time_of(one.config) - 1) < 1e-9);
}

TEST_CASE("when the devices of all ranks are lost, the search ends with what it has") {
  Device first("gpu a", 1), second("gpu b", 1);
  Mortal mine(*first.measurer, 20), theirs(*second.measurer, 30);
  const SearchResult result = run_ranks({&mine, &theirs}, {"same", "same"});
  REQUIRE(result.fault);
  CHECK(result.fault->code == "worker-lost");
  REQUIRE(result.best() != nullptr);
  CHECK(result.evaluations == 20 - 2 + 30 - 2);
  for (const Share& one : result.devices) CHECK(one.left_out);
}

TEST_CASE("devices that a rank has left out itself reach rank 0, and a rank may have none at all") {
  Device first("gpu a", 1), second("gpu b", 1);
  Room room(3);
  const Diagnostic why{.code = "no-driver", .message = "there is no driver", .hint = {}};
  std::vector<std::thread> helpers;
  for (const int rank : {1, 2}) {
    helpers.emplace_back([&, rank] {
      Room::Seat seat(room, rank);
      const std::vector<Measurer*> mine(rank == 1 ? 1 : 0, second.measurer.get());
      const Share left_out[] = {{.name = rank == 1 ? "gpu c" : "no device", .left_out = why}};
      help(Target("sm_90a"), kNothing, nullptr, mine, {.warm_up = 0, .ranks = &seat, .about = "same"},
           left_out);
    });
  }
  Room::Seat seat(room, 0);
  const SearchResult result = run({first.measurer.get()}, {.warm_up = 0, .ranks = &seat, .about = "same"});
  release(seat, "the end");
  for (std::thread& helper : helpers) helper.join();
  check_each_once(result);
  std::map<std::pair<int, std::string>, bool> left_out;
  for (const Share& one : result.devices) left_out[{one.rank, one.name}] = one.left_out.has_value();
  CHECK(left_out ==
        std::map<std::pair<int, std::string>, bool>{
            {{0, "gpu a"}, false}, {{1, "gpu b"}, false}, {{1, "gpu c"}, true}, {{2, "no device"}, true}});
}

TEST_CASE("a rank that says what makes no sense, or ends by an error, is left out, and nobody waits for it") {
  Device first("gpu a", 1), second("gpu b", 1);
  Room room(3);
  std::string said;
  std::thread confused([&] {
    Room::Seat seat(room, 1);
    Measurer* const mine[] = {second.measurer.get()};
    said = error_of([&] {
             help(Target("sm_90a"), kNothing, nullptr, mine, {.warm_up = 0, .ranks = &seat, .about = "same"});
           })
               .diagnostics()
               .front()
               .code;
  });
  Room::Seat other(room, 2);
  other.send(0, "hello");
  Room::Seat seat(room, 0);
  bool spoilt = false;
  SearchOptions options{.warm_up = 0, .ranks = &seat, .about = "same"};
  options.progress = [&](const Progress& progress) {
    if (progress.latest.device == 0 || std::exchange(spoilt, true)) return;
    other.send(1, "{\"do\": \"try\"}\n");
  };
  const SearchResult result = run({first.measurer.get()}, options);
  release(seat, "the end");
  confused.join();
  CHECK(said == "ranks-differ");
  check_each_once(result);
  REQUIRE(result.devices.size() == 3);
  for (const std::size_t other_device : {1, 2})
    CHECK(result.devices[other_device].left_out.value().code == "ranks-differ");
}

TEST_CASE("a rank that does not come before the search ends is told") {
  Device first("gpu a", 1), second("gpu b", 1);
  Room room(3);
  Room::Seat seat(room, 0), late(room, 1);
  SearchOptions options{.budget = {.evaluations = 9}, .warm_up = 0, .ranks = &seat, .about = "same"};
  const SearchResult result = run({first.measurer.get()}, options);
  REQUIRE(result.devices.size() == 3);
  CHECK(result.evaluations == 9);
  for (const int rank : {1, 2}) {
    const Share& share = result.devices[static_cast<std::size_t>(rank)];
    CHECK(share.rank == rank);
    CHECK(share.left_out.value().code == "rank-late");
  }
  release(seat, "the end");
  Measurer* const mine[] = {second.measurer.get()};
  CHECK(help(Target("sm_90a"), kNothing, nullptr, mine, {.warm_up = 0, .ranks = &late, .about = "same"}) ==
        "the end");
}

TEST_CASE("a helper that is interrupted gives back what it has") {
  Device first("gpu a", 1), second("gpu b", 1);
  Room room(2);
  std::atomic<bool> stop = false;
  std::optional<std::string> outcome = "none";
  std::thread helper([&] {
    Room::Seat seat(room, 1);
    Measurer* const mine[] = {second.measurer.get()};
    outcome = help(Target("sm_90a"), kNothing, nullptr, mine,
                   {.warm_up = 0, .ranks = &seat, .about = "same", .stop = &stop});
  });
  Room::Seat seat(room, 0);
  const SearchResult result =
      run({first.measurer.get()},
          {.warm_up = 0, .ranks = &seat, .about = "same", .progress = [&](const Progress& progress) {
             if (progress.latest.device == 1) stop = true;
           }});
  stop = true;
  helper.join();
  check_each_once(result);
  CHECK(!outcome);
  CHECK(result.devices[1].left_out.value().code == "interrupted");
}
