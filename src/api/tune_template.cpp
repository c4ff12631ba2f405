// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <sstream>

#include "api/require_record.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/runner.hpp"
#include "ptxloom/tuner.hpp"

namespace ptxloom {
namespace {

constexpr std::size_t kPromising = 6;

/// The given parameters that are the same for all candidates.
Settings common_words(const Settings& given) {
  Settings common;
  for (const auto& [name, value] : given)
    if (!is_build_word(name) && value.find('|') == std::string::npos) common[name] = value;
  return common;
}

/// Given build parameters take part with the given values: "0|128|168".
void add_build_words(tune::Space& space, const Settings& given) {
  for (const auto& [name, value] : given) {
    if (!is_build_word(name)) continue;
    tune::Parameter& parameter = space.parameters.emplace_back(tune::Parameter{.name = name, .values = {}});
    std::istringstream words(value);
    for (std::string word; std::getline(words, word, '|');) parameter.values.push_back(word);
  }
}

}  // namespace

Tunable tunable(const Context& context, const Template& kernel_template, const TuneOptions& options) {
  const Settings problem = kernel_template.problem(options.problem);
  api::know_parameters(context, kernel_template);
  Tunable what{.name = std::string(kernel_template.name()),
               .problem = problem,
               .space = kernel_template.tuning_space(context.specs(), context.target(), problem),
               .standard = kernel_template.config(context.specs(), context.target(), problem, {})};
  what.promising =
      kernel_template.candidates(context.specs(), context.target(), problem, common_words(options.config));
  what.promising.resize(std::min(what.promising.size(), kPromising));
  add_build_words(what.space, options.config);
  what.task = [&kernel_template, problem, seed = options.seed] {
    tune::Task task{.tensors = make_tensors(kernel_template, problem, {}, seed),
                    .operations = kernel_template.operations(problem),
                    .unit = kernel_template.unit(problem),
                    .input_bytes = kernel_template.input_bytes(problem),
                    .product = kernel_template.product(problem)};
    task.expected = kernel_template.expect(problem, task.tensors);
    return task;
  };
  what.make = [context, &kernel_template, problem](const Settings& config) {
    const BuildWords words = split_build_words(config);
    Emitted emitted = kernel_template.emit(context, context.target(), problem, words.config);
    apply_build_words(words.build, emitted.module);
    return tune::Candidate{.ptx = print(emitted.module),
                           .link = link_options(words.build),
                           .launches = std::move(emitted.launches)};
  };
  what.flags = [](const Settings& config) { return link_flags(split_build_words(config).build); };
  return what;
}

TuneResult tune_template(const Context& context, const Template& kernel_template,
                         const TuneOptions& options) {
  return tune_kernel(context, tunable(context, kernel_template, options), options);
}

}  // namespace ptxloom
