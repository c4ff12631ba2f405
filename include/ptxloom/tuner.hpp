// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ptxloom/context.hpp"
#include "ptxloom/record.hpp"
#include "ptxloom/template.hpp"
#include "ptxloom/tune.hpp"

// Tuning on a context, or with several devices and processes together: the space is cut to what the device
// admits, what is known already is tried first, candidates run in a worker process on the context's device,
// and the best so far is kept in the context's records as the search goes, in the end the winner. For
// templates, and for any kernel that a user brings.
namespace [[gnu::visibility("default")]] ptxloom {

/// Something to be tuned. The callbacks are not called in the worker; `make` by several threads at once.
struct Tunable {
  std::string name;  ///< what records call it
  Settings problem;  ///< what the result holds for
  tune::Space space;
  tune::Maker make;
  std::function<tune::Task()> task;  ///< inputs and what must come out; not called where times are given
  std::function<std::string(const Settings& config)> flags = {};  ///< of the linker, for the record
  Settings standard = {};  ///< what is used where nothing is known; tried early, to be compared with
  std::vector<Settings> promising = {};  ///< what may be faster: tried behind it
};

/// Limits of what TuneOptions takes: more is a mistake.
inline constexpr unsigned kMostJobs = 256;
inline constexpr double kMostSeconds = 86400;

struct TuneOptions {
  Settings problem;      ///< of a template
  Settings config = {};  ///< words that all candidates must have; "64|128": one of these
  Budget budget = {.seconds = 20};
  tune::Strategy strategy = tune::Strategy::guided;
  std::uint64_t seed = 0;
  unsigned jobs = 0;  ///< host threads that make and link, at most kMostJobs; 0 = one a core, at most 16
  double candidate_seconds = 10;  ///< what a candidate may take on the device in all, at most kMostSeconds
  double link_seconds = 30;       ///< what the linker may take for one, at most kMostSeconds
  std::size_t sample = 0;         ///< search only so many of the admissible configurations, drawn by the seed
  bool must_hit = false;          ///< only looks the record up: without one Error(refused, "no-record")
  bool vendor = false;  ///< times the vendor's library too, where it has the problem and is installed
  tune::Measurer* measurer = nullptr;  ///< in place of a worker; then no device is needed
  /// "gpu:0", "gpu:1", ...: share the search, if they are of the context's kind and agree with the first (see
  /// SearchOptions::margin). On the executor "cpu", as many times as there are to be workers. Empty: the
  /// context's own.
  std::vector<std::string> devices = {};
  /// Other processes that call this with the same words, and the same seed, at the same time: all share the
  /// search and end with the same record. Each brings its own context and devices.
  tune::Ranks* ranks = nullptr;
  const std::atomic<bool>* stop = nullptr;
  std::function<void(const tune::Progress&)> progress = {};
};

struct TuneResult {
  Settings problem;
  tune::SearchResult search = {};
  tune::Admissible space = {};
  double least_us = 0;                          ///< what the chip's limits allow
  Settings standard = {};                       ///< Tunable::standard
  std::optional<Record> record = {};            ///< the winner; nullopt where no candidate was correct
  std::optional<Diagnostic> unkept = {};        ///< why the record could not be written
  std::optional<tune::VendorTime> vendor = {};  ///< nullopt: not asked for, or it has no such thing
  /// `record`: it was looked up, or another process has tuned this meanwhile, and nothing was searched.
  enum class Source { search, record } source = Source::search;
};

/// What records of this context are about; on the executor too, for times that are given.
DeviceKey device_key(const Context& context);

/// Throws Error(usage, "bad-option") for options out of range, Error(missing, "no-device") on the executor
/// unless a measurer is given or TuneOptions::devices names "cpu", what tune::admit throws, and what starting
/// a worker throws. Of several ranks all throw what rank 0 does. With `must_hit`: Error(refused,
/// "no-record").
TuneResult tune_kernel(const Context& context, const Tunable& what, const TuneOptions& options);

/// A template's problem as something to be tuned. Refers to the template.
Tunable tunable(const Context& context, const Template& kernel_template, const TuneOptions& options);
TuneResult tune_template(const Context& context, const Template& kernel_template, const TuneOptions& options);

}  // namespace ptxloom
