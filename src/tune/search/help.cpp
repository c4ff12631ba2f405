// SPDX-License-Identifier: Apache-2.0
// A helper's side of the protocol in tune/search/helpers.hpp.
#include <utility>

#include "tune/search/helpers.hpp"
#include "tune/worker/wire.hpp"

namespace ptxloom::tune {
namespace {

class Help {
 public:
  Help(const Target& target, const Maker& make, const Linker* linker, std::span<Measurer* const> measurers,
       const SearchOptions& options)
      : ranks_(*options.ranks),
        options_(options),
        code_(measurers.empty() ? Measurer::Code::none : measurers.front()->code()),
        crew_(measurers, make, linker,
              {.code = code_,
               .target = std::string(target.name()),
               .jobs = options.jobs,
               .limit = std::chrono::duration<double>(options.link_seconds)}) {}

  std::optional<std::string> run(std::span<const Share> left_out) {
    greet(left_out);
    try {
      std::optional<std::string> outcome = serve();
      if (!outcome) leave({.code = "interrupted", .message = "it was interrupted", .hint = {}});
      return outcome;
    } catch (const std::exception& error) {
      // Otherwise rank 0 would wait for the work given to this rank.
      leave({.code = "ranks-differ", .message = error.what(), .hint = {}});
      throw;
    }
  }

 private:
  /// nullopt if it is told to stop.
  std::optional<std::string> serve() {
    while (options_.stop == nullptr || !options_.stop->load()) {
      while (std::optional<Tried> tried = crew_.take()) tell(*tried);
      // There is no way to wait for MPI and threads together, so this polls.
      const std::optional<Ranks::Received> received = ranks_.receive(1e-3);
      if (!received) continue;
      const Message message = to_message(received->message);
      if (message.head.at("do") == "outcome") return message.head.at("outcome").get<std::string>();
      follow(message);
    }
    return std::nullopt;
  }

  void leave(const Diagnostic& why) { send({.head = {{"do", "lost"}, {"problem", to_json(why)}}}); }

  void send(const Message& message) { ranks_.send(0, to_text(message)); }

  void greet(std::span<const Share> left_out) {
    nlohmann::json names = nlohmann::json::array(), others = nlohmann::json::array();
    for (std::size_t i = 0; i < crew_.size(); ++i) names.push_back(crew_.measurer(i).name());
    for (const Share& one : left_out)
      others.push_back({{"name", one.name}, {"problem", to_json(*one.left_out)}});
    send({.head = {{"do", "hello"}, {"about", options_.about}, {"devices", names}, {"left_out", others}}});
  }

  void follow(const Message& message) {
    const nlohmann::json& head = message.head;
    const std::string what = head.at("do");
    if (what == "agree") agree(read_rival(message));
    if (what == "rival") crew_.set_rival(std::make_shared<const Rival>(read_rival(message)));
    if (what == "rest") {
      for (std::size_t i = 0; i < crew_.size(); ++i) crew_.leave_out(i);
    }
    if (what == "begin") {
      for (const std::size_t device : head.at("devices")) crew_.take_on(device);
    }
    if (what == "try")
      crew_.put(
          {.index = head.at("index"), .samples = head.at("samples"), .predicted_us = head.at("predicted_us")},
          head.at("config").get<Settings>());
  }

  void agree(const Rival& common) {
    nlohmann::json readings = nlohmann::json::array();
    for (const Reading& reading : time_common(crew_, common, options_.warm_up))
      readings.push_back(to_json(reading));
    for (std::size_t i = 0; i < crew_.size(); ++i) crew_.take_on(i);
    const std::size_t capacity = crew_.capacity();
    for (std::size_t i = 0; i < crew_.size(); ++i) crew_.leave_out(i);
    crew_.set_rival(std::make_shared<const Rival>(common));
    send({.head = {{"do", "agreed"}, {"readings", std::move(readings)}, {"capacity", capacity}}});
  }

  void tell(const Tried& tried) {
    if (tried.lost) {
      return send({.head = {{"do", "lost"},
                            {"device", tried.device},
                            {"problem", to_json(*tried.lost)},
                            {"last", crew_.working() == 0}}});
    }
    const Made& made = tried.made;
    // Rank 0 needs the machine code of correct candidates, and that of wrong ones as evidence.
    const auto& problem = tried.reading.problem;
    const bool wanted =
        code_ != Measurer::Code::none && !made.problem && (!problem || problem->code == "wrong-result");
    Message message{.head = {{"do", "tried"},
                             {"index", made.pick.index},
                             {"device", tried.device},
                             {"rival_us", tried.rival_us},
                             {"link_ms", made.link_ms},
                             {"made", wanted},
                             {"reading", to_json(tried.reading)}}};
    if (made.resources) message.head["resources"] = to_json(*made.resources);
    if (made.problem) message.head["problem"] = to_json(*made.problem);
    if (wanted) message.body = made.candidate.cubin;
    send(message);
  }

  Ranks& ranks_;
  const SearchOptions& options_;
  Measurer::Code code_;
  Crew crew_;
};

}  // namespace

std::optional<std::string> help(const Target& target, const Maker& make, const Linker* linker,
                                std::span<Measurer* const> measurers, const SearchOptions& options,
                                std::span<const Share> left_out) {
  try {
    return Help(target, make, linker, measurers, options).run(left_out);
  } catch (const nlohmann::json::exception&) {
    throw_nonsense("a required field is missing");
  }
}

void release(Ranks& ranks, std::string_view outcome) {
  for (int rank = 1; rank < ranks.size(); ++rank)
    ranks.send(rank, to_text({.head = {{"do", "outcome"}, {"outcome", outcome}}}));
}

}  // namespace ptxloom::tune
