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

/// \file
/// What can be done with any template on any context: making its kernel for a problem, running it on given or
/// random data and verifying the result, and linking the kernels of known records ahead of time. Tuning is in
/// tuner.hpp.
namespace [[gnu::visibility("default")]] ptxloom {

/// A template's kernels for one problem, loaded.
struct Specialised {
  Settings problem;                  ///< with all parameters
  Settings config;                   ///< with all parameters
  std::vector<TensorPlan> tensors;   ///< inputs and outputs
  std::vector<LaunchPlan> launches;  ///< at least one, in order
  std::vector<Kernel> kernels;       ///< that of each launch; all have the same PTX and machine code
  bool tuned = false;                ///< whether the configuration is that of a tuning record of this problem
  /// Milliseconds for choosing the configuration and building the IR, or for finding its PTX in the cache.
  double emit_ms = 0;
};

/// Loaded kernels by their text, name and link options; comments in the text do not count. Kernels for
/// different sizes are often the same. Thread-safe.
class KernelPool {
 public:
  /// The kernel of this name in this text; if there is none, the one that `load` returns.
  Kernel find(std::string_view ptx, std::string_view entry, const LinkOptions& link,
              const std::function<Kernel()>& load);
  std::size_t size() const;  ///< number of kernels

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Kernel, std::less<>> kernels_;
};

/// Options of specialise().
struct SpecialiseOptions {
  /// For programs that must not search or link when they run. Throws Error(refused, "no-record") if there is
  /// no record of this problem, Error(refused, "not-cached") if its kernel is not in the cache, and
  /// Error(missing, "no-device") in the executor, which has no records.
  bool must_hit = false;
  /// Loaded kernels to use and to add to. Their variables must not be written to.
  KernelPool* pool = nullptr;
};

/// Makes and loads a template's kernel. Its configuration is that of the tuning record for this device,
/// problem and library version if it agrees with `config`; else the template's own choice. `config` may also
/// have build parameters (build_words.hpp). Throws what the template throws (Template::problem,
/// Template::config), what Context::load throws, and the errors of `must_hit`.
Specialised specialise(const Context& context, const Template& kernel_template, const Settings& problem,
                       const Settings& config = {}, const SpecialiseOptions& options = {});

/// Options of run_template().
struct RunOptions {
  Settings problem;                ///< the problem
  Settings config;                 ///< parameters of the configuration that are fixed
  std::vector<HostTensor> inputs;  ///< by name; the template makes those that are not given
  std::uint64_t seed = 0;          ///< of the inputs that the template makes
  bool verify = true;              ///< whether to compare the outputs with the template's reference
  bool must_hit = false;           ///< as SpecialiseOptions::must_hit
  exec::Observer observer = {};    ///< of the run whose outputs are kept; on a GPU it sees nothing
};

/// What run_template() returns.
struct RunResult {
  Specialised kernel;               ///< the kernel
  std::vector<HostTensor> tensors;  ///< the inputs, and the outputs that the kernel has written
  Verdict verdict;                  ///< the comparison; empty if it was not requested
  double run_ms = 0;                ///< milliseconds of one cold launch until it has completed
  double verify_ms = 0;             ///< milliseconds of computing the reference and comparing
};

/// The tensors of a problem: inputs as given or as Template::inputs makes them, outputs poisoned. Throws
/// Error(usage, "wrong-tensor") for a tensor that the problem does not have, that has another size, or that
/// the template does not make.
std::vector<HostTensor> make_tensors(const Template& kernel_template, const Settings& problem,
                                     std::span<const HostTensor> given, std::uint64_t seed);

/// Runs a template's kernel once, with poisoned outputs, and compares them with the template's reference.
/// Throws what specialise(), make_tensors() and Kernel::launch throw.
RunResult run_template(const Context& context, const Template& kernel_template, const RunOptions& options);

/// The kernel of one record, linked ahead of time.
struct Prebuilt {
  Record record;                      ///< the record
  bool cached = false;                ///< whether the cache had the kernel already
  std::optional<Diagnostic> problem;  ///< why it could not be made or linked
};

/// Links the kernels of these records for a target into the linker's cache, where specialise() finds them on
/// a device of that target. No GPU is needed. Throws Error(missing, "no-nvjitlink").
std::vector<Prebuilt> prebuild(const std::shared_ptr<const Specs>& specs, const Template& kernel_template,
                               const Target& target, const Linker& linker, std::span<const Record> records);

}  // namespace ptxloom
