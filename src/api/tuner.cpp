// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/require_record.hpp"
#include "api/wrong_candidate.hpp"
#include "ptxloom/tuner.hpp"

namespace ptxloom {
namespace {

/// What was found before: on this device by this version, then by others; then what is used without any.
std::vector<Settings> known_configs(const Context& context, const Tunable& what) {
  const DeviceKey device = device_key(context);
  std::vector<Settings> known;
  if (const auto record = context.records().find(device, what.name, what.problem))
    known.push_back(record->config);
  if (const auto record = context.records().nearest(device, what.name, what.problem))
    known.push_back(record->config);
  for (Record& hint : context.records().hints(device, what.name, what.problem))
    known.push_back(std::move(hint.config));
  if (!what.standard.empty()) known.push_back(what.standard);
  std::vector<Settings> each;
  for (Settings& config : known) {
    if (std::ranges::find(each, config) == each.end()) each.push_back(std::move(config));
  }
  return each;
}

Record make_record(const Context& context, const Tunable& what, const tune::SearchResult& search) {
  const tune::Measurement& best = *search.best();
  Record record{.device = device_key(context),
                .kernel_template = what.name,
                .problem = what.problem,
                .config = best.config,
                .time_us = best.time_us,
                .spread = best.spread,
                .flags = what.flags ? what.flags(best.config) : "-O3",
                .resources = best.resources,
                .evaluations = search.evaluations};
  if (context.libraries().has_nvjitlink()) record.linker = to_string(context.linker().version());
  return record;
}

/// The record that another process has made meanwhile.
std::optional<TuneResult> shared_result(const Context& context, const Tunable& what, const Claim& claim) {
  if (!claim.waited()) return std::nullopt;
  auto record = context.records().find(device_key(context), what.name, what.problem);
  if (!record) return std::nullopt;
  return TuneResult{
      .problem = what.problem, .record = std::move(record), .source = TuneResult::Source::record};
}

TuneResult looked_up(const Context& context, const Tunable& what) {
  Record record = api::require_record(context, what.name, what.problem);
  return {.problem = what.problem,
          .search = {.evaluations = record.evaluations},
          .record = std::move(record),
          .source = TuneResult::Source::record};
}

std::string worker_device(const Context& context) {
  return fmt::format("gpu:{}", context.device_context().info().ordinal);
}

}  // namespace

DeviceKey device_key(const Context& context) {
  const DeviceInfo& device = context.device();
  return {.name = device.name,
          .sm = std::string(context.target().name()),
          .sms = device.sms,
          .memory_mhz = device.memory_clock_mhz};
}

TuneResult tune_kernel(const Context& context, const Tunable& what, const TuneOptions& options) {
  if (options.must_hit) return looked_up(context, what);
  // Without a device and without given times there is nothing to measure: said before anything is waited for.
  if (options.measurer == nullptr) context.device_context();
  tune::Admissible space = tune::admit(what.space, context.target(), options.config);
  if (options.sample > 0) space = space.sample(options.sample, options.seed);
  const std::optional<Claim> claim = Claim::wait(context.records(), device_key(context), what.name,
                                                 what.problem, context.log(), options.stop);
  if (!claim) return {.problem = what.problem, .search = {.interrupted = true}, .space = std::move(space)};
  if (auto shared = shared_result(context, what, *claim)) return std::move(*shared);

  const tune::Task task = options.measurer == nullptr ? what.task() : tune::Task();
  std::unique_ptr<tune::Measurer> worker;
  const std::span<const std::filesystem::path> overlays = context.specs().overlays();
  if (options.measurer == nullptr)
    worker = tune::make_worker(task, {.device = worker_device(context),
                                      .candidate_seconds = options.candidate_seconds,
                                      .specs = {overlays.begin(), overlays.end()},
                                      .libraries = context.libraries().options(),
                                      .log = context.log()});
  tune::Measurer& measurer = worker ? *worker : *options.measurer;
  TuneResult result{.problem = what.problem, .space = std::move(space), .standard = what.standard};
  if (worker) result.least_us = tune::least_time_us(task, context.device());
  result.search =
      tune::search(result.space, context.target(), what.make, &context.linker(), measurer,
                   {.budget = options.budget,
                    .strategy = options.strategy,
                    .seed = options.seed,
                    .jobs = options.jobs,
                    .link_seconds = options.link_seconds,
                    .first = options.sample > 0 ? std::vector<Settings>() : known_configs(context, what),
                    .device = context.is_gpu() ? std::optional(context.device()) : std::nullopt,
                    .least_us = result.least_us,
                    .save_wrong =
                        [&](const tune::Measurement& wrong, const tune::Candidate& candidate) {
                          return api::save_wrong(context, what, options.seed, wrong, candidate);
                        },
                    .stop = options.stop,
                    .progress = options.progress});
  if (result.search.best() == nullptr) return result;
  if (options.vendor && worker && task.product && !result.search.interrupted)
    result.vendor = tune::time_vendor(*worker, result.search);
  result.record = make_record(context, what, result.search);
  try {
    context.records().add(*result.record);
  } catch (const Error& error) {
    result.unkept = error.diagnostics().front();
  }
  return result;
}

}  // namespace ptxloom
