// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/jit.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/plan.hpp"

// Which configuration of a kernel is fastest on this device? Candidates come as data: PTX and how to launch
// it. Each is linked (on several host threads, ahead of the device), run on poisoned outputs and verified,
// and only then timed: graph replays over buffers in rotation that are larger than the L2 cache, so that no
// launch finds its data warm. The best few are measured again in turns, so that a drifting clock meets them
// all alike. Winners are kept as records, one JSON object a line, a file for each device kind and host.
namespace [[gnu::visibility("default")]] ptxloom {

/// "0.1.0"
std::string_view library_version();

/// Where a plan's tensor lies. Throws nothing; 0 for a tensor that the problem does not have.
using AddressOf = std::function<std::uint64_t(std::string_view tensor)>;
std::vector<Argument> arguments_of(const LaunchPlan& plan, const AddressOf& address);
LaunchConfig launch_config_of(const LaunchPlan& plan);

/// What a measurement holds for: another device, or another clock of its memory, is another matter.
struct DeviceKey {
  std::string name;  ///< "NVIDIA H200"
  std::string sm;    ///< "sm_90a"
  int sms = 0;
  int memory_mhz = 0;
  friend bool operator==(const DeviceKey&, const DeviceKey&) = default;
};
DeviceKey device_key(const DeviceInfo& info);

/// The fastest configuration found for a problem on a device.
struct Record {
  DeviceKey device;
  std::string kernel_template;
  Settings problem, config;
  double time_us = 0;  ///< median of one launch
  double spread = 0;   ///< between the quartiles, as a part of the median
  std::string library = std::string(library_version());
  std::string linker;  ///< "13.0"
  std::string flags;   ///< of the linker
  std::optional<Resources> resources;
  std::uint64_t evaluations = 0;
};
std::string to_json(const Record& record);
/// Throws Error(usage, "bad-record") that says what is wrong with the line.
Record record_from_json(std::string_view line);

/// A folder of records. Reading merges all its files; a line that cannot be read is passed over with a
/// warning. Writing replaces the file of this device kind and host as a whole, under a lock. Thread-safe.
class Records {
 public:
  explicit Records(std::filesystem::path folder, Log log = {});
  /// In PTXLOOM_RECORDS, else XDG_DATA_HOME/ptxloom/records, else ~/.local/share/ptxloom/records.
  static Records from_environment(Log log = {});

  const std::filesystem::path& folder() const { return folder_; }
  std::vector<Record> all() const;
  /// The fastest of this library version; nullopt if there is none.
  std::optional<Record> find(const DeviceKey& device, std::string_view kernel_template,
                             const Settings& problem) const;
  /// Those of other versions, fastest first: to be verified and measured again before anyone relies on them.
  std::vector<Record> hints(const DeviceKey& device, std::string_view kernel_template,
                            const Settings& problem) const;
  /// Keeps a record, in place of one of the same device, problem and version that is not faster. Throws
  /// Error(usage, "unwritable-file").
  void add(const Record& record) const;
  /// Adds the records of a file; returns how many it had.
  std::size_t merge(const std::filesystem::path& file) const;

 private:
  std::filesystem::path folder_;
  Log log_;
};

/// When to stop; 0 = no such limit.
struct Budget {
  double seconds = 0;
  std::uint64_t evaluations = 0;
};
/// "30" (seconds) or "200evals". Throws Error(usage, "bad-budget").
Budget parse_budget(std::string_view text);

namespace tune {

/// A kernel to be measured: PTX, or a cubin where there is one.
struct Candidate {
  Settings config;
  std::string ptx;
  std::vector<std::byte> cubin;
  LaunchPlan launch;
};

/// What all candidates must compute, and on which data.
struct Task {
  std::vector<HostTensor> tensors;  ///< inputs with their data; of outputs only the plan counts
  Expectation expected;
};

/// What came of one candidate.
struct Measurement {
  Settings config;
  double time_us = 0;
  double spread = 0;
  Resources resources;
  std::optional<Diagnostic> problem;  ///< why it is out: "link-failed", "wrong-result", "launch-config" ...
};

struct Progress {
  std::uint64_t evaluations = 0;
  const Measurement& latest;
  const Measurement* best = nullptr;
};

struct SearchOptions {
  Budget budget;
  unsigned jobs = 0;  ///< host threads that link; 0 = one a core
  std::string target;
  const std::atomic<bool>* stop = nullptr;  ///< set to end early with what was found
  std::function<void(const Progress&)> progress;
};

struct SearchResult {
  std::vector<Measurement> measured;  ///< fastest first, then those that failed
  std::uint64_t evaluations = 0;
  bool interrupted = false;  ///< by `stop`
  std::optional<Diagnostic>
      fault;  ///< a candidate broke the device's context, and nothing could be run after it
  const Measurement* best() const;  ///< nullptr where no candidate was correct
};

/// Candidate number `index`, or nullopt behind the last. Called from several threads.
using Source = std::function<std::optional<Candidate>(std::size_t index)>;

SearchResult search(const DeviceContext& device, const Linker& linker, const Task& task, const Source& source,
                    const SearchOptions& options);

}  // namespace tune
}  // namespace ptxloom
