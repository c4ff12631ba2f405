// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "api/code_model.hpp"
#include "api/require_record.hpp"
#include "api/tune_devices.hpp"
#include "api/tune_outcome.hpp"
#include "api/wrong_candidate.hpp"
#include "base/reason.hpp"
#include "ptxloom/tuner.hpp"

namespace ptxloom {
namespace {

/// Configurations found before: on this device by this version, then by other versions; then the defaults.
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
  std::ranges::copy(what.promising, std::back_inserter(known));
  std::vector<Settings> each;
  for (Settings& config : known) {
    if (std::ranges::find(each, config) == each.end()) each.push_back(std::move(config));
  }
  return each;
}

Record make_record(const Context& context, const Tunable& what, const tune::Measurement& best,
                   std::uint64_t evaluations, bool provisional) {
  Record record{.device = device_key(context),
                .kernel_template = what.name,
                .problem = what.problem,
                .config = best.config,
                .time_us = best.time_us,
                .spread = best.spread,
                .flags = what.flags ? what.flags(best.config) : "-O3",
                .resources = best.resources,
                .evaluations = evaluations,
                .provisional = provisional,
                .made = record_time()};
  if (context.libraries().has_nvjitlink()) record.linker = to_string(context.linker().version());
  return record;
}

/// The record that another process has made meanwhile.
std::optional<TuneResult> shared_result(const Context& context, const Tunable& what, const Claim& claim) {
  if (!claim.waited()) return std::nullopt;
  auto record = context.records().find(device_key(context), what.name, what.problem);
  if (!record || record->provisional) return std::nullopt;  // that search was killed
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

}  // namespace

DeviceKey device_key(const Context& context) {
  const DeviceInfo& device = context.device();
  return {.name = device.name,
          .sm = std::string(context.target().name()),
          .sms = device.sms,
          .memory_mhz = device.memory_clock_mhz};
}

namespace {

std::optional<DeviceInfo> device_of(const Context& context) {
  return context.is_gpu() ? std::optional(context.device()) : std::nullopt;
}

/// Ranks must agree on this to help each other.
std::string about(const Context& context, const Tunable& what, const TuneOptions& options,
                  const tune::Admissible& space) {
  const DeviceKey device = device_key(context);
  std::string words = fmt::format("{} {},", library_version(), what.name);
  for (const auto& [name, value] : what.problem) words += fmt::format(" {}={}", name, value);
  return fmt::format("{}, seed {}, {} configurations, {}, {}, {} SMs, memory at {} MHz", words, options.seed,
                     space.size(), device.name, device.sm, device.sms, device.memory_mhz);
}

api::TuneDevices devices_for(const Context& context, const tune::Task& task, const TuneOptions& options) {
  if (options.measurer == nullptr) return api::start_devices(context, task, options);
  return {.measurers = {options.measurer}};
}

/// Rejects an unlimited number of threads and NaN seconds before anything is started.
void check_options(const TuneOptions& options) {
  const auto check = [](bool good, const char* name, const std::string& value, const std::string& range) {
    if (good) return;
    throw Error(ErrorKind::usage, "bad-option", fmt::format("TuneOptions::{} is {}", name, value),
                "it may be " + range);
  };
  const auto check_seconds = [&](const char* name, double seconds) {
    check(seconds > 0 && seconds <= kMostSeconds, name, fmt::format("{}", seconds),
          fmt::format("more than 0 and at most {}", kMostSeconds));
  };
  check(options.jobs <= kMostJobs, "jobs", fmt::format("{}", options.jobs),
        fmt::format("0 to {}", kMostJobs));
  check_seconds("candidate_seconds", options.candidate_seconds);
  check_seconds("link_seconds", options.link_seconds);
  check(options.budget.seconds >= 0 && std::isfinite(options.budget.seconds), "budget.seconds",
        fmt::format("{}", options.budget.seconds), "0 (no such limit) or more");
}

/// On the device that compared the best few.
tune::VendorTime time_vendor(const tune::SearchResult& search, const api::TuneDevices& devices) {
  std::size_t device = 0;
  while (device + 1 < devices.measurers.size() && search.devices[device].left_out) ++device;
  try {
    return tune::time_vendor(*devices.measurers[device], search);
  } catch (const Error& error) {
    return {.problem = error.diagnostics().front()};
  }
}

/// The reason why the record could not be written, if any. That does not fail the search.
std::optional<Diagnostic> keep(const Context& context, const Record& record) {
  try {
    context.records().add(record);
    return std::nullopt;
  } catch (const Error& error) {
    return error.diagnostics().front();
  }
}

tune::Admissible admit(const Context& context, const Tunable& what, const TuneOptions& options) {
  // Without a device and without given times there is nothing to measure: reported before any waiting.
  if (options.measurer == nullptr && options.devices.empty()) context.device_context();
  tune::Admissible space = tune::admit(what.space, context.target(), options.config);
  return options.sample > 0 ? space.sample(options.sample, options.seed) : std::move(space);
}

/// For rank 0, or the only one.
TuneResult lead(const Context& context, const Tunable& what, const TuneOptions& options) {
  TuneResult result{
      .problem = what.problem, .space = admit(context, what, options), .standard = what.standard};
  const std::optional<Claim> claim = Claim::wait(context.records(), device_key(context), what.name,
                                                 what.problem, context.log(), options.stop);
  result.search.interrupted = !claim;
  if (!claim) return result;
  if (auto shared = shared_result(context, what, *claim)) return std::move(*shared);

  const tune::Task task = options.measurer == nullptr ? what.task() : tune::Task();
  const api::TuneDevices devices = devices_for(context, task, options);
  if (context.is_gpu()) result.least_us = tune::least_time_us(task, context.device());
  result.search = tune::search(
      result.space, context.target(), what.make, &context.linker(), devices.measurers,
      {.budget = options.budget,
       .strategy = options.strategy,
       .seed = options.seed,
       .jobs = options.jobs,
       .link_seconds = options.link_seconds,
       .first = options.sample > 0 ? std::vector<Settings>() : known_configs(context, what),
       .device = device_of(context),
       .least_us = result.least_us,
       .code_model =
           options.issue_model ? api::code_model(context.target(), device_of(context)) : tune::CodeModel(),
       .ranks = options.ranks,
       .about = about(context, what, options, result.space),
       .save_wrong =
           [&](const tune::Measurement& wrong, const tune::Candidate& candidate) {
             return api::save_wrong(context, what, options.seed, wrong, candidate);
           },
       .stop = options.stop,
       .progress = options.progress,
       .improved =
           [&](const tune::Measurement& best, std::uint64_t evaluations) {
             keep(context, make_record(context, what, best, evaluations, true));
           },
       .found =
           [&](const tune::SearchResult& search) {
             if (search.best() == nullptr) return;
             result.record = make_record(context, what, *search.best(), search.evaluations, false);
             result.unkept = keep(context, *result.record);
           }});
  std::ranges::copy(devices.left_out, std::back_inserter(result.search.devices));
  // Last, because loading the library may end the worker.
  if (options.vendor && context.is_gpu() && !devices.workers.empty() && task.product && result.record &&
      !result.search.interrupted)
    result.vendor = time_vendor(result.search, devices);
  return result;
}

/// For any other rank. An error here is reported by rank 0, which excludes this rank.
TuneResult assist(const Context& context, const Tunable& what, const TuneOptions& options) {
  tune::Task task;
  api::TuneDevices devices;
  const auto unable = [&](const Diagnostic& why) {
    devices.left_out = {{.name = "no device", .left_out = why}};
  };
  TuneResult result{.problem = what.problem, .standard = what.standard};
  try {
    result.space = admit(context, what, options);
    if (options.measurer == nullptr) task = what.task();
    devices = devices_for(context, task, options);
  } catch (const Error& error) {
    unable(error.diagnostics().front());
  } catch (const std::exception& error) {
    unable({.code = "bad-task", .message = reason_of(error), .hint = {}});
  }
  const std::optional<std::string> outcome =
      tune::help(context.target(), what.make, &context.linker(), devices.measurers,
                 {.jobs = options.jobs,
                  .link_seconds = options.link_seconds,
                  .ranks = options.ranks,
                  .about = about(context, what, options, result.space),
                  .stop = options.stop},
                 devices.left_out);
  result.search.interrupted = !outcome;
  if (!outcome) return result;
  api::read_outcome(*outcome, result);
  // Ranks of one host share a file of records, and rank 0 has written that of its own host.
  if (result.record && options.ranks->local_rank() == 0) result.unkept = keep(context, *result.record);
  return result;
}

}  // namespace

TuneResult tune_kernel(const Context& context, const Tunable& what, const TuneOptions& options) {
  check_options(options);
  if (options.must_hit) return looked_up(context, what);
  if (options.ranks == nullptr || options.ranks->size() == 1) return lead(context, what, options);
  if (options.ranks->rank() != 0) return assist(context, what, options);
  try {
    TuneResult result = lead(context, what, options);
    tune::release(*options.ranks, api::to_outcome(result));
    return result;
  } catch (const Error& error) {
    tune::release(*options.ranks, api::to_outcome(error));
    throw;
  } catch (const std::exception& error) {
    tune::release(*options.ranks, api::to_outcome(Error(ErrorKind::refused, "bad-task", reason_of(error))));
    throw;
  }
}

}  // namespace ptxloom
