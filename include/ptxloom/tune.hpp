// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxloom/jit.hpp"
#include "ptxloom/launch.hpp"
#include "ptxloom/log.hpp"
#include "ptxloom/plan.hpp"
#include "ptxloom/ranks.hpp"
#include "ptxloom/tuning_space.hpp"

/// \file
/// The search for the fastest configuration of a kernel. A strategy picks configurations from a space, and a
/// function of the user's makes a candidate of each, which is data: PTX or machine code, and how to launch
/// it. Host threads link ahead of the device; a Measurer verifies and times. The best few are measured again
/// in pairs until their order is certain or a tie. This layer knows no template and touches no device: a
/// measurer is a worker process (make_worker), or a function that returns times. tuner.hpp has tuning on a
/// Context.
namespace [[gnu::visibility("default")]] ptxloom {

/// The address of a plan's tensor; 0 for a tensor that the problem does not have.
using AddressOf = std::function<std::uint64_t(std::string_view tensor)>;
/// Encodes a tensor map for the place where the kernel runs: Context::encode, or encode of launch.hpp.
using EncodeMap = std::function<EncodedTensorMap(const TensorMap& map)>;

/// The arguments of a launch, and the encoded tensor maps that they refer to.
class LaunchArguments {
 public:
  /// Throws what `encode` throws: Error(usage, "tensor-map") for a tensor without the alignment that TMA
  /// requires.
  LaunchArguments(const LaunchPlan& plan, const AddressOf& address, const EncodeMap& encode);
  operator std::span<const Argument>() const { return arguments_; }  ///< for Kernel::launch

 private:
  std::vector<std::shared_ptr<const EncodedTensorMap>> maps_;
  std::vector<Argument> arguments_;
};

/// Size of the workspace for launches that run one after the other.
std::uint64_t workspace_bytes(std::span<const LaunchPlan> launches);
/// The signature of the plan's kernel, as its arguments imply it.
KernelSignature signature_of(const LaunchPlan& plan);
/// The launch configuration of a plan. `sms` is the device's number of SMs, which limits a persistent grid;
/// 0, as in the executor, limits it to a few thread blocks.
LaunchConfig launch_config_of(const LaunchPlan& plan, int sms);

/// When a search stops; 0: no limit.
struct Budget {
  double seconds = 0;             ///< duration
  std::uint64_t evaluations = 0;  ///< measured candidates
};
/// The budget in a text: "30" (seconds) or "200evals". Throws Error(usage, "bad-budget").
Budget parse_budget(std::string_view text);

namespace tune {

/// A kernel to be measured: plain data that is sent to another process.
struct Candidate {
  std::string ptx;                       ///< the text that is linked, unless there is machine code
  std::vector<std::byte> cubin = {};     ///< machine code
  LinkOptions link = {};                 ///< options of the linker; the search fills in the target
  std::vector<LaunchPlan> launches;      ///< the work: launches one after the other on one stream
  std::vector<TensorPlan> scratch = {};  ///< buffers of its own, which are poisoned before its first run
};

/// Makes the candidate of a configuration. Several threads call it at once. If it throws, the candidate has
/// failed.
using Maker = std::function<Candidate(const Settings& config)>;

/// What all candidates must compute, and on which data.
struct Task {
  std::vector<HostTensor> tensors;  ///< inputs with their data, and outputs, whose data is ignored
  /// What each output must hold, from a reference that is independent of the candidates.
  std::vector<Expectation> expected;
  double operations = 0;                      ///< operations that every correct kernel needs; 0: not known
  std::string unit = {};                      ///< the rate in specs/targets.json that bounds them: "f16"
  double input_bytes = 0;                     ///< bytes that every correct kernel must read; 0: not known
  std::optional<MatrixProduct> product = {};  ///< the task for the vendor's library
  bool warm = false;  ///< inputs are in the L2 cache; else launches rotate through more data than it holds
};

/// A candidate to be measured.
struct Trial {
  const Settings& config;      ///< its configuration
  const Candidate& candidate;  ///< the candidate
  bool verify = true;          ///< verify it before it is timed
  int samples = 5;  ///< number of times to take; a candidate much slower than the rival may get fewer
};

/// The times of a candidate, or why there are none.
struct Reading {
  /// Microseconds of one pass through its launches: each sample is an average over a graph replay.
  std::vector<double> us;
  std::vector<double> rival_us;  ///< samples of the rival, taken in turns with it; none if there is no rival
  double busy_us = 0;            ///< microseconds that the device was busy with it, as far as they were timed
  std::optional<DeviceHealth> health = {};  ///< of the device
  /// Why there are no times: "wrong-result", "device-fault", "time-limit" ...
  std::optional<Diagnostic> problem = {};
  bool restarted = false;    ///< the candidate brought its worker down, and the worker was started again
  std::string library = {};  ///< of measure_vendor(): "cuBLASLt 13.1.0"
};

/// Verifies and times candidates. One thread at a time uses it, not necessarily the one that called search().
class Measurer {
 public:
  virtual ~Measurer() = default;
  /// The name of the device. Measurers with one name are on one device.
  virtual std::string name() const = 0;
  /// Measures a candidate. It throws only if nothing can be measured any more; a candidate's failure is
  /// reported in the Reading.
  virtual Reading measure(const Trial& trial) = 0;
  /// Sets the candidate that later trials are timed in turns with; it is correct, and is copied. Null: none.
  virtual void set_rival(const Trial* rival) = 0;
  /// What it needs of candidates.
  enum class Code {
    none,  ///< nothing: they are not even made
    ptx,   ///< PTX
    cubin  ///< machine code
  };
  virtual Code code() const = 0;  ///< what it needs of candidates
  /// Verifies and times the vendor's library at the task's product, in turns with the rival. The default has
  /// none: "no-vendor".
  virtual Reading measure_vendor(int samples);
};

/// A measurer that calls a function for the microseconds of a configuration. If the function throws, the
/// candidate has failed. With it a search runs without a device, or tunes what this library cannot launch.
std::unique_ptr<Measurer> make_measurer(std::function<double(const Settings& config)> time_us,
                                        std::string name = "given times");

/// Options of a worker.
struct WorkerOptions {
  std::string device = "gpu";  ///< "gpu", "gpu:1", or "cpu" for the executor, whose times mean nothing
  /// The program. Empty: PTXLOOM_WORKER, else libexec/ptxloom-worker near this program or library.
  std::filesystem::path program = {};
  double candidate_seconds = 10;  ///< limit of a candidate's time in all, after which it is killed
  double start_seconds = 120;     ///< limit of the time to start and to copy the inputs
  std::string name = {};          ///< of the device, for people; empty: `device`
  /// A file that is locked while the device works, so that workers of several processes take turns. Empty: no
  /// other process measures on the device.
  std::filesystem::path turns = {};
  std::vector<std::filesystem::path> specs = {};  ///< folders of overlays (Specs::overlays), for "cpu"
  LibraryOptions libraries = {};                  ///< where it looks for the driver
  Log log = {};                                   ///< gets its messages
};

/// A measurer that is a process of its own, since a candidate can make a device's context unusable. Throws
/// Error(missing, "no-worker"), and the worker's own error if it cannot start ("no-driver" ...).
std::unique_ptr<Measurer> make_worker(const Task& task, WorkerOptions options = {});

/// How a search picks configurations.
enum class Strategy {
  exhaustive,  ///< all, in the order of the space
  random,      ///< all, in random order
  halving,     ///< many with few samples, then a third of them with three times as many, and so on
  guided,      ///< the most promising next, by a model of the chip that learns from the measurements
};
/// The name of an enumerator: "guided".
std::string_view name(Strategy strategy);
/// The strategy of this name. Throws Error(usage, "unknown-strategy").
Strategy parse_strategy(std::string_view name);

/// Predicts the time of a linked candidate, which has this demand, from its machine code, in microseconds;
/// nullopt if it cannot be predicted. Called by several threads at once.
using CodeModel = std::function<std::optional<double>(const Candidate& candidate, const Demand& demand)>;

/// The result for one candidate.
struct Measurement {
  Settings config;          ///< its configuration
  double at_s = 0;          ///< when it was done, in seconds since the search began
  double predicted_us = 0;  ///< microseconds that the model had predicted; 0: no model
  double code_us = 0;       ///< microseconds that SearchOptions::code_model had predicted; 0: nothing
  double time_us = 0;       ///< median, in microseconds
  double spread = 0;        ///< interquartile range over median
  int samples = 0;          ///< number of times
  double link_ms = 0;       ///< milliseconds of linking; 0: nothing was linked, or the same kernel before
  Demand demand = {};       ///< of the configuration
  std::optional<Resources> resources = {};  ///< of the kernel
  std::optional<Diagnostic> problem = {};   ///< why it has no time
  std::filesystem::path saved = {};         ///< for a wrong result: what SearchOptions::save_wrong returned
  std::size_t device = 0;                   ///< index into SearchResult::devices
};

/// One of the devices that share a search.
struct Share {
  std::string name;               ///< Measurer::name
  int rank = 0;                   ///< rank of its process, see Ranks
  std::uint64_t evaluations = 0;  ///< candidates that it has measured
  double ratio = 0;  ///< time of a common candidate over that on the first device; 0: not measured
  std::optional<Diagnostic> left_out = {};  ///< why it takes no part, or no longer does
};

/// Two of the best candidates, timed in turns.
struct Comparison {
  std::size_t candidate = 0;  ///< index into SearchResult::candidates
  std::size_t rival = 0;      ///< index into SearchResult::candidates
  double ratio = 1;           ///< median over the rounds of candidate's time over rival's time
  double low = 1;             ///< lower end of its 95 % confidence interval
  double high = 1;            ///< upper end of its 95 % confidence interval
  int rounds = 0;             ///< number of pairs of times
  /// How the candidate compares.
  enum class Verdict {
    faster,                  ///< faster than the rival
    slower,                  ///< slower than the rival
    tie                      ///< neither is certain
  } verdict = Verdict::tie;  ///< how the candidate compares
};

/// The state of a device during the search.
struct HealthSample {
  double at_s = 0;         ///< seconds since the search began
  std::size_t device = 0;  ///< index into SearchResult::devices
  DeviceHealth health;     ///< its state
};

/// A worker that had to be started again.
struct Restart {
  double at_s = 0;            ///< seconds since the search began
  std::size_t candidate = 0;  ///< index into SearchResult::candidates
  std::string why;            ///< what the candidate did
};

/// How well predictions ordered the candidates.
struct Ranking {
  std::string model;           ///< "cost model" (of the demand) or "machine code" (SearchOptions::code_model)
  std::size_t candidates = 0;  ///< that have a time and a prediction
  double correlation = 0;      ///< Spearman's rank correlation of predicted with measured times, -1 to 1
  std::size_t place = 0;       ///< of the fastest one in the predicted order, from 1 on
};

/// The state of a search after a candidate.
struct Progress {
  std::uint64_t evaluations = 0;      ///< candidates that are measured
  const Measurement& latest;          ///< the candidate
  const Measurement* best = nullptr;  ///< the fastest correct one so far; null if there is none
};

struct SearchResult;

/// Options of search() and help().
struct SearchOptions {
  Budget budget = {};                    ///< when to stop
  Strategy strategy = Strategy::guided;  ///< how to pick configurations
  std::uint64_t seed = 0;                ///< of random choices
  unsigned jobs = 0;                     ///< host threads that make and link; 0: one per core, at most 16
  double link_seconds = 30;              ///< limit of the time to link a candidate
  std::vector<Settings> first = {};      ///< configurations to try before all others
  /// The device that is measured, for the model. Without it the guided strategy knows only the rates of the
  /// target.
  std::optional<DeviceInfo> device = {};
  double least_us =
      0;  ///< microseconds that the limits of the chip allow; a shorter time is refused: "mis-measured"
  /// Predicts times from machine code. The guided strategy combines them with those of the cost model, and of
  /// the candidates that wait for a device it measures the one with the shortest predicted time first. Empty:
  /// candidates are measured in the order in which the strategy picks them.
  CodeModel code_model = {};
  /// With several devices, each times one common candidate first. A device whose time differs from that of
  /// the first one by a larger fraction is left out ("device-differs").
  double margin = 0.1;
  /// Seconds that each device works on the common candidate before: an idle device is cool and clocks higher
  /// than one that has been searching for a while.
  double warm_up = 0.6;
  Ranks* ranks = nullptr;  ///< other processes, which call help() meanwhile; this one is rank 0
  std::string about =
      {};  ///< what is searched, and for which kind of device; ranks with another text are left out
  /// Saves what reproduces a wrong result, and returns where.
  std::function<std::filesystem::path(const Measurement&, const Candidate&)> save_wrong = {};
  const std::atomic<bool>* stop = nullptr;  ///< once it is true, the search ends with what it has found
  std::function<void(const Progress&)> progress = {};  ///< called after each candidate
  /// Called with each correct candidate that is faster than all before it, as soon as it is found, so that
  /// the best is kept even if the process is killed.
  std::function<void(const Measurement& best, std::uint64_t evaluations)> improved = {};
  /// Called with the result before the search waits for candidates that are still being linked or measured: a
  /// program that was told to stop may have only a second to save it.
  std::function<void(const SearchResult&)> found = {};
};

/// What a search returns.
struct SearchResult {
  std::vector<Measurement> candidates;  ///< in the order in which they were tried
  std::optional<std::size_t> winner;    ///< index of the fastest; nullopt if no candidate was correct
  Candidate kernel;                     ///< the winner
  std::vector<Comparison> final;        ///< the comparisons of the best few
  std::vector<HealthSample> health;     ///< the state of the devices during the search
  std::vector<Restart> restarts;        ///< workers that had to be started again
  std::uint64_t evaluations = 0;        ///< candidates that were measured
  double seconds = 0;                   ///< duration
  double device_busy = 0;      ///< fraction of the time that the devices were busy, after the first candidate
  std::vector<Share> devices;  ///< the first that is not left out has compared the best few
  std::vector<Ranking> rankings;    ///< of each model that predicted three candidates or more
  bool interrupted = false;         ///< whether `stop` ended it
  std::optional<Diagnostic> fault;  ///< why nothing could be measured any more
  /// The winner; null if there is none.
  const Measurement* best() const { return winner ? &candidates[*winner] : nullptr; }
};

/// Searches a space. All measurers, at least one, measure the same task, each on a device of its own or in
/// turns with others. `linker` may be null if no measurer needs machine code. If all devices are lost, the
/// result has what was found, and SearchResult::fault. Throws Error(usage, "no-device") without a measurer.
///@{
SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    std::span<Measurer* const> measurers, const SearchOptions& options);
SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    Measurer& measurer, const SearchOptions& options);
///@}

/// The time of the vendor's library for the same problem, on the same buffers, in turns with the winner.
struct VendorTime {
  std::string library = "cuBLASLt";  ///< its name, with its version if it was found
  double time_us = 0;                ///< median, in microseconds
  double spread = 0;                 ///< interquartile range over median
  double ratio = 1;                  ///< median of its time over the winner's: above 1 the winner is faster
  double low = 1;                    ///< lower end of the ratio's 95 % confidence interval
  double high = 1;                   ///< upper end of the ratio's 95 % confidence interval
  int rounds = 0;                    ///< number of pairs of times
  std::optional<Diagnostic> problem = {};  ///< why there is no time: "no-cublaslt", "vendor-refused" ...
};
/// Times the vendor's library after a search, which must have a winner.
VendorTime time_vendor(Measurer& measurer, const SearchResult& search);

/// What the ranks other than 0 call while rank 0 searches: it makes, links and measures the configurations
/// that rank 0 sends. The options jobs, link_seconds, about, ranks and stop are used. `left_out` are devices
/// of this rank without a measurer, and why, for rank 0 to report. Returns the text that rank 0 sends with
/// release() at the end; nullopt if `stop` becomes true before.
std::optional<std::string> help(const Target& target, const Maker& make, const Linker* linker,
                                std::span<Measurer* const> measurers, const SearchOptions& options,
                                std::span<const Share> left_out = {});
/// Ends help() on all other ranks, which returns `outcome`.
void release(Ranks& ranks, std::string_view outcome);

/// Microseconds that a task takes at least on a device: its operations at the peak rate of the unit, or its
/// inputs, less what the L2 cache may hold, at the peak bandwidth of the memory. 0: nothing is known.
double least_time_us(const Task& task, const DeviceInfo& device);

}  // namespace tune
}  // namespace ptxloom
