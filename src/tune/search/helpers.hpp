// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tune/search/crew.hpp"
#include "tune/worker/channel.hpp"

// The other ranks, as rank 0 sees them while it searches. What is said, each message a JSON object and bytes:
//
//   helper to rank 0   hello {about, devices, those left out and why}
//   rank 0 to helper   agree {rival}                        once rank 0 has a correct candidate
//   helper to rank 0   agreed {readings of each device, capacity}
//   rank 0 to helper   begin {devices that take part}       then any number of
//   rank 0 to helper   try {pick, config}, rival {...}
//   helper to rank 0   tried {...}, lost {...}
//   rank 0 to helper   rest                                 nothing more is to be tried
//   rank 0 to all      outcome                              at the end: see release()
//
// A helper may come late, or never: rank 0 waits for none, and says at the end who has not been heard of.
namespace ptxloom::tune {

/// Error(refused, "ranks-differ")
[[noreturn]] void throw_nonsense(std::string_view why);
std::string to_text(const Message& message);
/// Throws "ranks-differ" if the text is not a message.
Message to_message(std::string_view text);
Message rival_message(const Rival& rival);
Rival read_rival(const Message& message);

/// The times of the common candidate, measured many times on each idle device of a crew after a warm-up of
/// this many seconds.
std::vector<Reading> time_common(const Crew& crew, const Rival& common, double warm_up);
/// Sets the share's ratio, and excludes the device if the ratio is too far from 1. `first` is the device that
/// takes `first_us`.
/// `first_us`.
void judge(Share& share, const Reading& reading, const std::string& first, double first_us, double margin);

class Helpers {
 public:
  /// Devices of helpers are appended to `devices` as they report.
  Helpers(const SearchOptions& options, const Target& target, const Maker& make, std::vector<Share>& devices);

  /// From now on helpers can start. `first` is the device that found the candidate, `us` its time on that
  /// device.
  void set_common(std::shared_ptr<const Rival> common, std::string first, double us);
  void set_rival(std::shared_ptr<const Rival> rival);
  /// Whether any helper measures.
  bool at_work() const;
  /// Whether any helper measures, or may still start.
  bool hopeful() const;
  bool has_room() const;
  /// Gives the pick to the helper with the most room; at least one must be at work.
  void put(const Pick& pick, const Settings& config);
  std::size_t under_way() const;
  /// The result of a pick; nullopt if none has arrived. `device` is an index into `devices`.
  std::optional<Tried> take();
  bool has_returned() const { return !returned_.empty(); }
  /// Picks that were given to helpers which have since been lost.
  std::vector<Given> returned() { return std::exchange(returned_, {}); }
  /// Helpers finish what they are measuring and start nothing more.
  void rest();
  /// The search is over: excludes helpers that have not reported.
  void close();

 private:
  struct Helper {
    enum class Stage { absent, greeted, agreeing, working, gone };
    int rank = 0;
    Stage stage = Stage::absent;
    std::size_t first = 0, devices = 0;  // indices into devices_
    std::size_t capacity = 0;            // how many picks it may hold
    std::map<std::size_t, Given> given;
    std::size_t room() const { return capacity - std::min(capacity, given.size()); }
  };
  std::optional<Tried> follow(Helper& helper, const Message& message);
  void lose(Helper& helper, const Message& message);
  void send(const Helper& helper, const Message& message);
  void greet(Helper& helper, const Message& message);
  void ask(Helper& helper);
  void admit(Helper& helper, const Message& message);
  Tried read_tried(Helper& helper, const Message& message);
  void give_up(Helper& helper, const Diagnostic& why);

  const SearchOptions& options_;
  std::string target_;
  const Maker& make_;
  std::vector<Share>& devices_;
  std::vector<Helper> helpers_;
  std::shared_ptr<const Rival> common_, rival_;
  std::string first_;
  double first_us_ = 0;
  std::vector<Given> returned_;
};

}  // namespace ptxloom::tune
