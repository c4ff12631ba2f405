// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/template.hpp"

// What can be done with any template on any context: make its kernel for a problem, run it on given or random
// data and verify what comes out, or search the device for its fastest configuration;
// and the kernels of known records can be linked ahead.
namespace [[gnu::visibility("default")]] ptxloom {

/// A template's kernel for one problem, loaded.
struct Specialised {
  Settings problem, config;  ///< whole
  std::vector<TensorPlan> tensors;
  LaunchPlan launch;
  Kernel kernel;
  bool tuned = false;  ///< the configuration comes from a tuning record
  double emit_ms = 0;  ///< choosing the configuration and building the IR
};

/// The configuration known to be best: of a tuning record for this device, problem and library version that
/// agrees with the given words, else the template's own choice.
Specialised specialise(const Context& context, const Template& kernel_template, const Settings& problem,
                       const Settings& config = {});

struct RunOptions {
  Settings problem;
  Settings config;
  std::vector<HostTensor> inputs;  ///< by name; an absent one is random
  std::uint64_t seed = 0;
  bool verify = true;
  exec::Observer observer = {};  ///< of the run whose outputs are kept; sees nothing on a GPU
};

struct RunResult {
  Specialised kernel;
  std::vector<HostTensor> tensors;  ///< the inputs, and the outputs as the kernel left them
  Verdict verdict;
  double run_ms = 0;     ///< one cold launch, and waiting for it
  double verify_ms = 0;  ///< computing what must come out, and comparing
};

/// The tensors of a problem: inputs as given (checked against the plan: Error(usage, "wrong-tensor")) or
/// random, outputs poisoned.
std::vector<HostTensor> make_tensors(const Template& kernel_template, const Settings& problem,
                                     std::span<const HostTensor> given, std::uint64_t seed);

/// Runs once on poisoned outputs and compares them with what the template says they must hold.
RunResult run_template(const Context& context, const Template& kernel_template, const RunOptions& options);

struct TuneOptions {
  Settings problem;
  Settings config;  ///< words that all candidates must have
  Budget budget = {.seconds = 20};
  std::uint64_t seed = 0;
  unsigned jobs = 0;  ///< host threads that link; 0 = one a core
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const tune::Progress&)> progress;
};

struct TuneResult {
  Settings problem;
  tune::SearchResult search;
  std::optional<Record> record;      ///< the winner; nullopt where no candidate was correct
  std::optional<Diagnostic> unkept;  ///< why the record could not be written
};

/// Measures candidates, hints of other library versions first, and keeps the winner in the context's records.
/// Throws Error(missing, "no-device") on the executor.
TuneResult tune_template(const Context& context, const Template& kernel_template, const TuneOptions& options);

/// The kernel of one record, linked before anyone asks for it.
struct Prebuilt {
  Record record;
  bool cached = false;                ///< it was in the cache already
  std::optional<Diagnostic> problem;  ///< why it could not be made or linked
};

/// Links the kernels of these records for a target into the linker's cache, where `specialise` will find them
/// on a device of that target. Needs no GPU.
std::vector<Prebuilt> prebuild(const std::shared_ptr<const Specs>& specs, const Template& kernel_template,
                               const Target& target, const Linker& linker, std::span<const Record> records);

}  // namespace ptxloom
