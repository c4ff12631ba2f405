// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "ptxloom/ptx.hpp"
#include "ptxloom/runner.hpp"

namespace ptxloom {
namespace {

/// All configurations worth measuring: first what was best on this device for other versions of the library.
std::vector<Settings> configurations(const Context& context, const Template& kernel_template,
                                     const Settings& problem, const Settings& given) {
  std::vector<Settings> all;
  for (const Record& hint :
       context.records().hints(device_key(context.device()), kernel_template.name(), problem)) {
    try {
      all.push_back(kernel_template.config(context.specs(), context.target(), problem, hint.config));
    } catch (const Error& error) {
      context.log()(LogLevel::info,
                    fmt::format("a record of version {} is of no use: {}", hint.library, error.what()));
    }
  }
  for (Settings& config : kernel_template.candidates(context.specs(), context.target(), problem, given)) {
    if (std::ranges::find(all, config) == all.end()) all.push_back(std::move(config));
  }
  return all;
}

Record make_record(const Context& context, const Template& kernel_template, const Settings& problem,
                   const tune::SearchResult& search) {
  const tune::Measurement& best = *search.best();
  return {.device = device_key(context.device()),
          .kernel_template = std::string(kernel_template.name()),
          .problem = problem,
          .config = best.config,
          .time_us = best.time_us,
          .spread = best.spread,
          .linker = to_string(context.linker().version()),
          .flags = "-O3",
          .resources = best.resources,
          .evaluations = search.evaluations};
}

}  // namespace

TuneResult tune_template(const Context& context, const Template& kernel_template,
                         const TuneOptions& options) {
  const DeviceContext& device = context.device_context();
  const Settings problem = kernel_template.problem(options.problem);
  const std::vector<Settings> configs = configurations(context, kernel_template, problem, options.config);

  tune::Task task{.tensors = make_tensors(kernel_template, problem, {}, options.seed)};
  task.expected = kernel_template.expect(problem, task.tensors);
  const tune::Source source = [&](std::size_t index) -> std::optional<tune::Candidate> {
    if (index >= configs.size()) return std::nullopt;
    Emitted emitted = kernel_template.emit(context, context.target(), problem, configs[index]);
    return tune::Candidate{
        .config = configs[index], .ptx = print(emitted.module), .launch = std::move(emitted.launch)};
  };
  TuneResult result{.problem = problem,
                    .search = tune::search(device, context.linker(), task, source,
                                           {.budget = options.budget,
                                            .jobs = options.jobs,
                                            .target = std::string(context.target().name()),
                                            .stop = options.stop,
                                            .progress = options.progress})};
  if (result.search.best() != nullptr) {
    result.record = make_record(context, kernel_template, problem, result.search);
    try {
      context.records().add(*result.record);
    } catch (const Error& error) {
      result.unkept = error.diagnostics().front();
    }
  }
  return result;
}

}  // namespace ptxloom
