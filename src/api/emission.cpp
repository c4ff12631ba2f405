// SPDX-License-Identifier: Apache-2.0
#include "api/emission.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "ptxloom/build_words.hpp"
#include "tune/worker/plan_json.hpp"

namespace ptxloom::api {

Emitter::Emitter(std::shared_ptr<const Specs> specs, const Template& kernel_template, const Target& target,
                 Cache cache)
    : specs_(std::move(specs)), template_(kernel_template), target_(target) {
  if (!template_.digest().empty() && specs_->overlays().empty()) cache_ = std::move(cache);
}

Emission Emitter::emit(const Settings& problem, const Settings& words) const {
  const BuildWords split = split_build_words(words);
  Settings config = template_.config(*specs_, target_, problem, split.config);
  Emitted emitted = template_.emit(specs_, target_, problem, config);
  apply_build_words(split.build, emitted.module);
  config.insert(split.build.begin(), split.build.end());
  return {.config = std::move(config),
          .launches = std::move(emitted.launches),
          .module = std::move(emitted.module),
          .ptx = {}};
}

std::optional<Emission> Emitter::find(const Settings& problem, const Settings& words) const {
  if (!cache_.enabled()) return std::nullopt;
  const auto value = cache_.find(key(problem, words));
  if (!value) return std::nullopt;
  const std::string_view text(reinterpret_cast<const char*>(value->data()), value->size());
  const std::size_t line = text.find('\n');
  if (line == text.npos) return std::nullopt;
  try {
    const auto head = nlohmann::json::parse(text.substr(0, line));
    std::vector<LaunchPlan> launches;
    for (const auto& launch : head.at("launches")) launches.push_back(tune::read_launch(launch));
    if (launches.empty()) return std::nullopt;
    return Emission{.config = head.at("config").get<Settings>(),
                    .launches = std::move(launches),
                    .module = {},
                    .ptx = std::string(text.substr(line + 1))};
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void Emitter::keep(const Settings& problem, const Settings& words, const Emission& emission,
                   std::string_view ptx) const {
  if (!cache_.enabled()) return;
  auto launches = nlohmann::json::array();
  for (const LaunchPlan& launch : emission.launches) launches.push_back(tune::to_json(launch));
  std::string text = nlohmann::json{{"config", emission.config}, {"launches", std::move(launches)}}.dump();
  text.append("\n").append(ptx);
  cache_.store(key(problem, words), std::as_bytes(std::span(text)));
}

std::string Emitter::key(const Settings& problem, const Settings& words) const {
  return fmt::format("ptxloom emission\n{} {} {}\n{}\n{}", template_.name(), template_.digest(),
                     target_.name(), nlohmann::json(problem).dump(), nlohmann::json(words).dump());
}

}  // namespace ptxloom::api
