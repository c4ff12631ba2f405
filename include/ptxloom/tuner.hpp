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

/// \file
/// Tuning on a context, also with several devices and processes: of a template, or of any kernel of a user.
/// The space is cut to what the device admits, known configurations are tried first, and candidates run in a
/// worker process on the context's device. During the search the context's records have the best
/// configuration so far, and afterwards the winner.
namespace [[gnu::visibility("default")]] ptxloom {

/// Something to be tuned. The worker process does not call the functions; several threads call `make` at
/// once.
struct Tunable {
  std::string name;   ///< its name in records
  Settings problem;   ///< what the result is valid for
  tune::Space space;  ///< the space to search
  tune::Maker make;   ///< makes a candidate of a configuration
  std::function<tune::Task()>
      task;  ///< inputs and expected outputs; not called for a measurer that gives times
  std::function<std::string(const Settings& config)> flags = {};  ///< the linker's options, for the record
  Settings standard = {};  ///< the configuration without tuning; it is tried early, as a comparison
  std::vector<Settings> promising = {};  ///< configurations that may be faster; they are tried next
};

/// Upper limit of TuneOptions::jobs.
inline constexpr unsigned kMostJobs = 256;
/// Upper limit of the seconds in TuneOptions.
inline constexpr double kMostSeconds = 86400;

/// Options of tuning.
struct TuneOptions {
  Settings problem;                 ///< of a template
  Settings config = {};             ///< values that all candidates must have; "64|128": one of these
  Budget budget = {.seconds = 20};  ///< when to stop
  tune::Strategy strategy = tune::Strategy::guided;  ///< how to search
  std::uint64_t seed = 0;                            ///< of inputs and of random choices
  unsigned jobs = 0;  ///< host threads that make and link, at most kMostJobs; 0: one per core, at most 16
  double candidate_seconds = 10;  ///< limit of a candidate's time on the device in all, at most kMostSeconds
  double link_seconds = 30;       ///< limit of the time to link a candidate, at most kMostSeconds
  std::size_t sample = 0;         ///< search only so many admissible configurations, drawn at random; 0: all
  bool must_hit = false;          ///< only look the record up; Error(refused, "no-record") if there is none
  bool issue_model = true;        ///< predict times from machine code, and measure the promising first
  bool vendor = false;            ///< also time the vendor's library, if it is installed and has the problem
  tune::Measurer* measurer = nullptr;  ///< measures in place of a worker; no device is needed then
  /// "gpu:0", "gpu:1", ...: devices that share the search. They must be of the context's kind and agree with
  /// the first one (SearchOptions::margin). In the executor "cpu", once for each worker. Empty: the context's
  /// device.
  std::vector<std::string> devices = {};
  /// Other processes that make the same call, with the same options and seed, at the same time. All share the
  /// search and end with the same record. Each has a context and devices of its own.
  tune::Ranks* ranks = nullptr;
  const std::atomic<bool>* stop = nullptr;  ///< once it is true, the search ends with what it has found
  std::function<void(const tune::Progress&)> progress = {};  ///< called after each candidate
};

/// What tuning returns.
struct TuneResult {
  Settings problem;                       ///< with all parameters
  tune::SearchResult search = {};         ///< the search
  tune::Admissible space = {};            ///< the admissible configurations
  double least_us = 0;                    ///< microseconds that the limits of the chip allow; 0: not known
  Settings standard = {};                 ///< Tunable::standard
  std::optional<Record> record = {};      ///< the winner; nullopt if no candidate was correct
  std::optional<Diagnostic> unkept = {};  ///< why the record could not be written
  std::optional<tune::VendorTime> vendor =
      {};  ///< nullopt: not requested, or the library does not have the problem
  /// Where the record comes from.
  enum class Source {
    search,  ///< a search
    record   ///< nothing was searched: it was looked up, or another process has tuned this meanwhile
  } source = Source::search;  ///< where the record comes from
};

/// The kind of device that records of this context are for. It is also defined in the executor, for times
/// that are given.
DeviceKey device_key(const Context& context);

/// Tunes a kernel. Throws Error(usage, "bad-option") for options out of range; Error(missing, "no-device") in
/// the executor, unless a measurer is given or TuneOptions::devices names "cpu"; with `must_hit`
/// Error(refused, "no-record"); what tune::admit and tune::make_worker throw. All ranks throw what rank 0
/// throws.
TuneResult tune_kernel(const Context& context, const Tunable& what, const TuneOptions& options);

/// A template's problem as a Tunable. It refers to the template.
Tunable tunable(const Context& context, const Template& kernel_template, const TuneOptions& options);
/// Tunes a template's kernel for a problem. Throws as tune_kernel, and what the template throws.
TuneResult tune_template(const Context& context, const Template& kernel_template, const TuneOptions& options);

}  // namespace ptxloom
