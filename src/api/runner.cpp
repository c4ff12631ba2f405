// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/runner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/emission.hpp"
#include "api/host_memory.hpp"
#include "api/require_record.hpp"
#include "api/stopwatch.hpp"
#include "ptxloom/build_words.hpp"
#include "ptxloom/ptx.hpp"
#include "ptxloom/tune.hpp"

namespace ptxloom {
namespace {

/// Whether a record's configuration has the given parameters.
bool agrees(const Record& record, const Settings& given) {
  return std::ranges::all_of(given, [&](const auto& parameter) {
    const auto kept = record.config.find(parameter.first);
    return kept != record.config.end() && kept->second == parameter.second;
  });
}

/// The configuration of this problem's record, for callers that require one.
Settings required_config(const Context& context, const Template& kernel_template, const Settings& problem,
                         const Settings& given) {
  context.device_context();  // refuses the executor, which links nothing and so cannot use a record
  const Record record = api::require_record(context, kernel_template.name(), problem);
  if (agrees(record, given)) return record.config;
  throw Error(ErrorKind::refused, "no-record",
              fmt::format("the record of {} for this problem does not have the requested configuration: {}",
                          kernel_template.name(), api::words_of(record.config)),
              "request no configuration, or clear must_hit (TuneOptions, SpecialiseOptions)");
}

/// The configuration of this problem's record, if this device has one. Records of other problems do not
/// count: the template's own choice is better (docs/results/gemm-h200.md).
std::optional<Settings> recorded_config(const Context& context, const Template& kernel_template,
                                        const Settings& problem, const Settings& given) {
  if (!context.is_gpu()) return std::nullopt;
  const auto record = context.records().find(device_key(context.device()), kernel_template.name(), problem);
  return record && agrees(*record, given) ? std::optional(record->config) : std::nullopt;
}

/// The kernel of a configuration, emitted here or by an earlier process. The executor runs IR, which the
/// cache does not hold.
api::Emission emission_of(const api::Emitter& emitter, const Context& context, const Settings& problem,
                          const Settings& words) {
  if (context.is_gpu()) {
    if (auto known = emitter.find(problem, words)) return std::move(*known);
  }
  return emitter.emit(problem, words);
}

Kernel load(const Context& context, const api::Emission& emission, const LaunchPlan& launch,
            const LinkOptions& link, KernelPool* pool) {
  const auto load_new = [&] {
    return emission.module ? context.load(*emission.module, launch.entry, link)
                           : context.load(emission.ptx, signature_of(launch), link);
  };
  if (pool == nullptr) return load_new();
  return pool->find(emission.module ? print(*emission.module) : emission.ptx, launch.entry, link, load_new);
}

const HostTensor* find_tensor(std::span<const HostTensor> tensors, std::string_view name) {
  const auto found = std::ranges::find(tensors, name, [](const HostTensor& t) { return t.plan.name; });
  return found == tensors.end() ? nullptr : &*found;
}

/// Device buffers for the tensors of one run; the caller keeps the tensors.
class Buffers {
 public:
  Buffers(const Context& context, std::span<const HostTensor> tensors, std::uint64_t workspace)
      : tensors_(tensors) {
    if (workspace != 0) {
      workspace_ = context.alloc(workspace);
      workspace_.fill(std::byte{0});
    }
    for (const HostTensor& tensor : tensors) {
      buffers_.push_back(context.alloc(tensor.plan.bytes()));
      initial_.push_back(tensor.plan.role == TensorPlan::Role::inout ? tensor.bytes
                                                                     : std::vector<std::byte>());
    }
  }
  std::uint64_t address(std::string_view name) const {
    if (name == kWorkspace) return workspace_.address();
    const HostTensor* tensor = find_tensor(tensors_, name);
    return tensor == nullptr ? 0 : buffers_[index_of(*tensor)].address();
  }
  void clear(const ClearPlan& range) {
    const std::vector<std::byte> zeros(range.bytes);
    if (range.tensor == kWorkspace) return workspace_.write(zeros, range.offset);
    const HostTensor* tensor = find_tensor(tensors_, range.tensor);
    if (tensor == nullptr)
      throw Error(ErrorKind::usage, "unknown-tensor",
                  fmt::format("a launch clears tensor {}, which the problem does not have", range.tensor),
                  "name a tensor of the problem, or the workspace");
    buffers_[index_of(*tensor)].write(zeros, range.offset);
  }
  void upload(std::byte poison) {
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      switch (tensors_[i].plan.role) {
        case TensorPlan::Role::in:
          buffers_[i].write(tensors_[i].bytes);
          break;
        case TensorPlan::Role::out:
          buffers_[i].fill(poison);
          break;
        case TensorPlan::Role::inout:
          buffers_[i].write(initial_[i]);
          break;
      }
    }
  }
  void download(const HostTensor& tensor, std::vector<std::byte>& bytes) const {
    buffers_[index_of(tensor)].read(bytes);
  }

 private:
  std::size_t index_of(const HostTensor& tensor) const {
    return static_cast<std::size_t>(&tensor - tensors_.data());
  }

  std::span<const HostTensor> tensors_;
  std::vector<Buffer> buffers_;
  Buffer workspace_;
  std::vector<std::vector<std::byte>> initial_;  // initial contents of inout tensors
};

void launch_once(const Context& context, const Specialised& specialised, Buffers& buffers,
                 const exec::Observer& observer) {
  for (std::size_t i = 0; i < specialised.launches.size(); ++i) {
    const LaunchPlan& launch = specialised.launches[i];
    for (const ClearPlan& range : launch.clear) buffers.clear(range);
    const LaunchArguments arguments(
        launch, [&](std::string_view name) { return buffers.address(name); },
        [&](const TensorMap& map) { return context.encode(map); });
    specialised.kernels[i].launch_observed(launch_config_of(launch, context.device().sms), arguments,
                                           observer);
  }
  context.synchronize();
}

void check_given(const std::vector<TensorPlan>& plans, std::span<const HostTensor> given) {
  for (const HostTensor& tensor : given) {
    const auto plan = std::ranges::find(plans, tensor.plan.name, &TensorPlan::name);
    if (plan == plans.end()) {
      std::string names;
      for (const TensorPlan& known : plans) names += (names.empty() ? "" : ", ") + known.name;
      throw Error(ErrorKind::usage, "wrong-tensor",
                  fmt::format("the problem has no tensor '{}'", tensor.plan.name),
                  "its tensors are: " + names);
    }
    if (plan->role == TensorPlan::Role::out || tensor.bytes.size() == plan->bytes()) continue;
    throw Error(ErrorKind::usage, "wrong-tensor",
                fmt::format("tensor {} has {} bytes, but {} are given", plan->name, plan->bytes(),
                            tensor.bytes.size()),
                "give the size that the problem requires, in C order");
  }
}

std::vector<std::byte> take_made(std::span<HostTensor> made, const TensorPlan& plan) {
  const auto found = std::ranges::find(made, plan.name, [](const HostTensor& t) { return t.plan.name; });
  if (found != made.end()) return std::move(found->bytes);
  throw Error(ErrorKind::usage, "wrong-tensor",
              fmt::format("the template makes no data for its input {}", plan.name),
              "return all inputs from Template::inputs");
}

void check_memory(const std::vector<TensorPlan>& plans) {
  std::uint64_t bytes = 0;
  for (const TensorPlan& plan : plans) bytes += plan.bytes();
  api::check_host_memory(bytes);
}

}  // namespace

Specialised specialise(const Context& context, const Template& kernel_template, const Settings& problem,
                       const Settings& config, const SpecialiseOptions& options) {
  api::Stopwatch watch;
  const Settings whole = kernel_template.problem(problem);
  api::know_parameters(context, kernel_template);
  const api::Emitter emitter(context, kernel_template, context.target(), context.linker().cache());
  const std::optional<Settings> recorded = options.must_hit
                                               ? required_config(context, kernel_template, whole, config)
                                               : recorded_config(context, kernel_template, whole, config);
  std::optional<api::Emission> emission;
  if (recorded) {
    try {
      emission = emission_of(emitter, context, whole, *recorded);
    } catch (const Error& error) {
      if (options.must_hit) throw;
      context.log()(LogLevel::warning, fmt::format("a tuning record is not admissible: {}", error.what()));
    }
  }
  const bool tuned = emission.has_value();
  if (!emission) emission = emission_of(emitter, context, whole, config);
  const double emit_ms = watch.lap();

  LinkOptions link = link_options(split_build_words(emission->config).build);
  link.cached_only = options.must_hit;
  std::vector<Kernel> kernels;
  for (const LaunchPlan& launch : emission->launches)
    kernels.push_back(load(context, *emission, launch, link, options.pool));
  if (emission->module && context.is_gpu())
    emitter.keep(whole, tuned ? *recorded : config, *emission, kernels.front().ptx());
  return {.problem = whole,
          .config = std::move(emission->config),
          .tensors = kernel_template.tensors(whole),
          .launches = std::move(emission->launches),
          .kernels = std::move(kernels),
          .tuned = tuned,
          .emit_ms = emit_ms};
}

std::vector<HostTensor> make_tensors(const Template& kernel_template, const Settings& problem,
                                     std::span<const HostTensor> given, std::uint64_t seed) {
  const std::vector<TensorPlan> plans = kernel_template.tensors(problem);
  check_given(plans, given);
  check_memory(plans);
  std::vector<HostTensor> made;
  const bool complete = std::ranges::all_of(plans, [&](const TensorPlan& plan) {
    return plan.role == TensorPlan::Role::out || find_tensor(given, plan.name) != nullptr;
  });
  if (!complete) made = kernel_template.inputs(problem, seed);
  check_given(plans, made);
  std::vector<HostTensor> tensors;
  for (const TensorPlan& plan : plans) {
    const HostTensor* own = find_tensor(given, plan.name);
    if (plan.role == TensorPlan::Role::out)
      tensors.push_back(poisoned_tensor(plan));
    else if (own != nullptr)
      tensors.push_back({plan, own->bytes});
    else
      tensors.push_back({plan, take_made(made, plan)});
  }
  return tensors;
}

RunResult run_template(const Context& context, const Template& kernel_template, const RunOptions& options) {
  const Settings problem = kernel_template.problem(options.problem);
  RunResult result{
      .kernel = specialise(context, kernel_template, problem, options.config, {.must_hit = options.must_hit}),
      .tensors = make_tensors(kernel_template, problem, options.inputs, options.seed)};
  api::Stopwatch verifying;
  std::vector<Expectation> expected;
  if (options.verify) {
    expected = kernel_template.expect(problem, result.tensors);
    check_expected(expected, result.tensors);
  }
  result.verify_ms = verifying.lap();

  Buffers buffers(context, result.tensors, workspace_bytes(result.kernel.launches));
  const auto run = [&](std::byte poison, const exec::Observer& observer) {
    buffers.upload(poison);
    api::Stopwatch running;
    launch_once(context, result.kernel, buffers, observer);
    return running.lap();
  };
  result.run_ms = run(kPoison, options.observer);
  for (HostTensor& tensor : result.tensors) {
    if (tensor.plan.role != TensorPlan::Role::in) buffers.download(tensor, tensor.bytes);
  }
  if (!options.verify) return result;

  verifying.lap();
  std::vector<HostTensor> again;
  result.verdict = verify_run(expected, [&](std::byte poison) -> std::span<const HostTensor> {
    if (poison == kPoison) return result.tensors;
    run(poison, {.judge = options.observer.judge});
    for (std::size_t i = 0; i < result.tensors.size(); ++i) {
      if (result.tensors[i].plan.role == TensorPlan::Role::in) continue;
      again.push_back(result.tensors[i]);
      buffers.download(result.tensors[i], again.back().bytes);
    }
    return again;
  });
  result.verify_ms += verifying.lap();
  return result;
}

}  // namespace ptxloom
