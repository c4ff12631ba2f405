// SPDX-License-Identifier: Apache-2.0
#include "tune/search/helpers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/reason.hpp"
#include "tune/model/statistics.hpp"
#include "tune/worker/wire.hpp"

namespace ptxloom::tune {

void throw_nonsense(std::string_view why) {
  throw Error(ErrorKind::refused, "ranks-differ",
              fmt::format("a message of another rank cannot be understood: {}", why),
              "run the same version of ptxloom on all ranks");
}

std::string to_text(const Message& message) {
  using Json = nlohmann::json;
  std::string text = message.head.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
  text.append(reinterpret_cast<const char*>(message.body.data()), message.body.size());
  return text;
}

Message to_message(std::string_view text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  Message message{.head = nlohmann::json::parse(text.substr(0, end), nullptr, false)};
  if (!message.head.is_object()) throw_nonsense("it is not JSON");
  text.remove_prefix(std::min(end + 1, text.size()));
  message.body.resize(text.size());
  if (!text.empty()) std::memcpy(message.body.data(), text.data(), text.size());
  return message;
}

Message rival_message(const Rival& rival) {
  Message message = to_message(rival.code);
  message.head["do"] = "rival";
  message.head["config"] = rival.config;
  message.head["time_us"] = rival.time_us;
  return message;
}

Rival read_rival(const Message& message) {
  return {.config = message.head.at("config").get<Settings>(),
          .code = read_candidate(message),
          .time_us = message.head.at("time_us")};
}

Helpers::Helpers(const SearchOptions& options, const Target& target, const Maker& make,
                 std::vector<Share>& devices)
    : options_(options), target_(target.name()), make_(make), devices_(devices) {
  for (int rank = 1; options.ranks != nullptr && rank < options.ranks->size(); ++rank)
    helpers_.push_back({.rank = rank});
}

void Helpers::send(const Helper& helper, const Message& message) {
  options_.ranks->send(helper.rank, to_text(message));
}

void Helpers::set_common(std::shared_ptr<const Rival> common, std::string first, double us) {
  common_ = std::move(common);
  first_ = std::move(first);
  first_us_ = us;
  for (Helper& helper : helpers_) ask(helper);
}

void Helpers::ask(Helper& helper) {
  if (!common_ || helper.stage != Helper::Stage::greeted) return;
  helper.stage = Helper::Stage::agreeing;
  Message message = rival_message(*common_);
  message.head["do"] = "agree";
  send(helper, message);
}

void Helpers::set_rival(std::shared_ptr<const Rival> rival) {
  rival_ = std::move(rival);
  if (helpers_.empty()) return;
  const Message message = rival_message(*rival_);
  for (const Helper& helper : helpers_) {
    if (helper.stage == Helper::Stage::working) send(helper, message);
  }
}

void Helpers::rest() {
  for (const Helper& helper : helpers_) {
    if (helper.stage == Helper::Stage::working) send(helper, {.head = {{"do", "rest"}}});
  }
}

void Helpers::close() {
  common_.reset();  // latecomers are not asked to agree, and results are not used any more
  for (Helper& helper : helpers_) helper.given.clear();
  take();
  for (Helper& helper : helpers_) {
    if (helper.stage != Helper::Stage::absent) continue;
    give_up(helper, {.code = "rank-late",
                     .message = fmt::format("rank {} had not started when the search ended", helper.rank),
                     .hint = "raise the budget, or see what that rank waits for"});
  }
}

bool Helpers::at_work() const {
  return std::ranges::any_of(helpers_, [](const Helper& one) { return one.stage == Helper::Stage::working; });
}

bool Helpers::hopeful() const {
  return at_work() || std::ranges::any_of(
                          helpers_, [](const Helper& one) { return one.stage == Helper::Stage::agreeing; });
}

bool Helpers::has_room() const {
  return std::ranges::any_of(helpers_, [](const Helper& helper) { return helper.room() > 0; });
}

void Helpers::put(const Pick& pick, const Settings& config) {
  Helper& freest = *std::ranges::max_element(helpers_, {}, [](const Helper& one) {
    return std::pair(one.stage == Helper::Stage::working, one.room());
  });
  freest.given[pick.index] = {pick, config};
  send(freest, {.head = {{"do", "try"},
                         {"index", pick.index},
                         {"samples", pick.samples},
                         {"predicted_us", pick.predicted_us},
                         {"config", config}}});
}

std::size_t Helpers::under_way() const {
  std::size_t sum = 0;
  for (const Helper& helper : helpers_) sum += helper.given.size();
  return sum;
}

std::optional<Tried> Helpers::take() {
  while (!helpers_.empty()) {
    const std::optional<Ranks::Received> received = options_.ranks->receive(0);
    if (!received) break;
    Helper& helper = helpers_.at(static_cast<std::size_t>(received->from - 1));
    if (helper.stage == Helper::Stage::gone) continue;
    try {
      if (std::optional<Tried> tried = follow(helper, to_message(received->message))) return tried;
    } catch (const std::exception&) {
      const Diagnostic nonsense{
          .code = "ranks-differ",
          .message = fmt::format("a message of rank {} cannot be understood", helper.rank),
          .hint = "run the same version of ptxloom on all ranks"};
      give_up(helper, nonsense);
    }
  }
  return std::nullopt;
}

std::optional<Tried> Helpers::follow(Helper& helper, const Message& message) {
  const std::string what = message.head.at("do");
  if (what == "hello") greet(helper, message);
  if (what == "agreed") admit(helper, message);
  if (what == "lost") lose(helper, message);
  if (what == "tried" && helper.given.contains(message.head.at("index"))) return read_tried(helper, message);
  return std::nullopt;
}

void Helpers::greet(Helper& helper, const Message& message) {
  const std::string about = message.head.at("about");
  helper.first = devices_.size();
  for (const auto& name : message.head.at("devices")) devices_.push_back({.name = name, .rank = helper.rank});
  helper.devices = devices_.size() - helper.first;
  for (const auto& one : message.head.at("left_out"))
    devices_.push_back(
        {.name = one.at("name"), .rank = helper.rank, .left_out = read_diagnostic(one.at("problem"))});
  if (about != options_.about) {
    const Diagnostic differs{
        .code = "ranks-differ",
        .message = fmt::format("rank {} has {}, but rank 0 has {}", helper.rank, about, options_.about),
        .hint = "start all ranks with the same options and the same version of ptxloom, on GPUs of one kind"};
    return give_up(helper, differs);
  }
  helper.stage = helper.devices == 0 ? Helper::Stage::gone : Helper::Stage::greeted;
  ask(helper);
}

void Helpers::admit(Helper& helper, const Message& message) {
  std::vector<std::size_t> taking_part;
  const auto& readings = message.head.at("readings");
  for (std::size_t i = 0; i < helper.devices; ++i) {
    Share& share = devices_[helper.first + i];
    judge(share, read_reading(readings.at(i)), first_, first_us_, options_.margin);
    if (!share.left_out) taking_part.push_back(i);
  }
  helper.stage = taking_part.empty() ? Helper::Stage::gone : Helper::Stage::working;
  if (taking_part.empty()) return;
  helper.capacity = message.head.at("capacity");
  if (rival_) send(helper, rival_message(*rival_));
  send(helper, {.head = {{"do", "begin"}, {"devices", taking_part}}});
}

Tried Helpers::read_tried(Helper& helper, const Message& message) {
  const nlohmann::json& head = message.head;
  const auto place = helper.given.find(head.at("index").get<std::size_t>());
  Tried tried{
      .made = {.pick = place->second.first, .config = place->second.second, .link_ms = head.at("link_ms")},
      .reading = read_reading(head.at("reading")),
      .device = helper.first + head.at("device").get<std::size_t>(),
      .rival_us = head.at("rival_us")};
  if (head.contains("resources")) tried.made.resources = read_resources(head["resources"]);
  if (head.contains("problem")) tried.made.problem = read_diagnostic(head["problem"]);
  const bool made = head.at("made");
  helper.given.erase(place);
  if (tried.made.problem || !made) return tried;
  try {
    // Only machine code is sent: the rest is made here again, which is cheap compared with linking.
    tried.made.candidate = make_(tried.made.config);
    tried.made.candidate.link.target = target_;
    tried.made.candidate.cubin = message.body;
  } catch (const std::exception& error) {
    tried.made.problem = Diagnostic{.code = "candidate-failed", .message = reason_of(error), .hint = {}};
  }
  return tried;
}

/// Loses one device or, if the message names none, the whole helper.
void Helpers::lose(Helper& helper, const Message& message) {
  const Diagnostic why = read_diagnostic(message.head.at("problem"));
  if (!message.head.contains("device")) return give_up(helper, why);
  devices_.at(helper.first + message.head["device"].get<std::size_t>()).left_out = why;
  if (message.head.at("last")) give_up(helper, why);
}

void Helpers::give_up(Helper& helper, const Diagnostic& why) {
  if (helper.stage == Helper::Stage::absent && helper.devices == 0)
    devices_.push_back({.name = "no device", .rank = helper.rank, .left_out = why});
  helper.stage = Helper::Stage::gone;
  helper.capacity = 0;
  for (std::size_t i = 0; i < helper.devices; ++i) {
    std::optional<Diagnostic>& left_out = devices_.at(helper.first + i).left_out;
    if (!left_out) left_out = why;
  }
  for (auto& [index, given] : helper.given) returned_.push_back(std::move(given));
  helper.given.clear();
}

}  // namespace ptxloom::tune
