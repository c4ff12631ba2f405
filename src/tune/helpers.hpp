// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tune/channel.hpp"
#include "tune/crew.hpp"

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
/// Throws "ranks-differ" for what is no message.
Message to_message(std::string_view text);
Message rival_message(const Rival& rival);
Rival read_rival(const Message& message);

/// What each device of a crew that is idle takes for the common candidate, many times, after so many seconds
/// of it.
std::vector<Reading> time_common(const Crew& crew, const Rival& common, double warm_up);
/// Sets the share's ratio, and leaves it out if it is too far from 1. `first` is the device that takes
/// `first_us`.
void judge(Share& share, const Reading& reading, const std::string& first, double first_us, double margin);

class Helpers {
 public:
  /// Devices of helpers are added to `devices` as they report.
  Helpers(const SearchOptions& options, const Target& target, const Maker& make, std::vector<Share>& devices);

  /// From now on helpers can begin. `first` is the device that has found it, `us` what it takes for it.
  void set_common(std::shared_ptr<const Rival> common, std::string first, double us);
  void set_rival(std::shared_ptr<const Rival> rival);
  /// Somebody measures.
  bool at_work() const;
  /// Somebody measures, or is about to.
  bool hopeful() const;
  bool has_room() const;
  /// Gives it to the helper with the most room; one must be at work.
  void put(const Pick& pick, const Settings& config);
  std::size_t under_way() const;
  /// What came of one; nullopt where nothing has come. `device` is a place in `devices`.
  std::optional<Tried> take();
  bool has_returned() const { return !returned_.empty(); }
  /// What was given to helpers that are of no use any more.
  std::vector<Given> returned() { return std::exchange(returned_, {}); }
  /// They finish what they measure and begin nothing more.
  void rest();
  /// The search is over: who has not come by now is left out.
  void close();

 private:
  struct Helper {
    enum class Stage { absent, greeted, agreeing, working, gone };
    int rank = 0;
    Stage stage = Stage::absent;
    std::size_t first = 0, devices = 0;  // places in devices_
    std::size_t capacity = 0;            // how many it may be given
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
