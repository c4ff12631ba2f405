// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/template.hpp"

// What can be done with any template on any context: make its kernel for a problem, run it on given or random
// data and verify what comes out; and the kernels of known records can be linked ahead. Tuning is in
// tuner.hpp.
namespace [[gnu::visibility("default")]] ptxloom {

/// A template's kernel for one problem, loaded.
struct Specialised {
  Settings problem, config;  ///< whole
  std::vector<TensorPlan> tensors;
  LaunchPlan launch;
  Kernel kernel;
  bool tuned = false;  ///< the configuration comes from a tuning record of this very problem
  std::optional<Settings> borrowed_from = {};  ///< it comes from a record of this, the nearest problem
  /// Choosing the configuration and building the IR, or finding in the cache what a process before has built.
  double emit_ms = 0;
};

/// Kernels that are loaded, by their text and how it is linked: one that differs from another in comments
/// only is loaded once. A kernel that is specialised for other sizes often is the same. Thread-safe.
class KernelPool {
 public:
  /// The kernel with this text, or else what `load` gives.
  Kernel find(std::string_view ptx, const LinkOptions& link, const std::function<Kernel()>& load);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

struct SpecialiseOptions {
  /// For programs that must not search or link when they run: where there is no record of this very problem,
  /// Error(refused, "no-record"); where its kernel is not in the cache, Error(refused, "not-cached"); on the
  /// executor, which has no records, Error(missing, "no-device").
  bool must_hit = false;
  /// Where kernels are looked for that are loaded already, and kept. Nobody may write to their variables.
  KernelPool* pool = nullptr;
};

/// The configuration known to be best: of a tuning record for this device, problem and library version that
/// agrees with the given words, else of the record for the nearest problem, if it fits this one, else the
/// template's own choice. The words may be build words (build_words.hpp) too.
Specialised specialise(const Context& context, const Template& kernel_template, const Settings& problem,
                       const Settings& config = {}, const SpecialiseOptions& options = {});

struct RunOptions {
  Settings problem;
  Settings config;
  std::vector<HostTensor> inputs;  ///< by name; an absent one is random
  std::uint64_t seed = 0;
  bool verify = true;
  bool must_hit = false;         ///< SpecialiseOptions::must_hit
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
