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

// Which configuration of a kernel is fastest? A strategy picks configurations out of a space, a callback of
// the user's makes each a candidate, that is data: PTX or machine code and how to launch it. Host threads
// link ahead of the device; a Measurer verifies and times. The best few are measured again in pairs until
// their order is certain or a tie. This layer knows no template and touches no device: a measurer may be a
// worker process (make_worker) or a callback that returns given times.
namespace [[gnu::visibility("default")]] ptxloom {

/// Where a plan's tensor lies. Throws nothing; 0 for a tensor that the problem does not have.
using AddressOf = std::function<std::uint64_t(std::string_view tensor)>;
/// A tensor map as kernels take it where they run: Context::encode, or encode of launch.hpp.
using EncodeMap = std::function<EncodedTensorMap(const TensorMap& map)>;

/// The arguments of a launch, with the encoded tensor maps that some of them refer to.
class LaunchArguments {
 public:
  /// Throws what `encode` throws: Error(usage, "tensor-map") for a tensor that is not aligned as copies need
  /// it.
  LaunchArguments(const LaunchPlan& plan, const AddressOf& address, const EncodeMap& encode);
  operator std::span<const Argument>() const { return arguments_; }

 private:
  std::vector<std::shared_ptr<const EncodedTensorMap>> maps_;
  std::vector<Argument> arguments_;
};

/// What launches need that run one after the other.
std::uint64_t workspace_bytes(std::span<const LaunchPlan> launches);
/// The parameters of the plan's kernel, by its arguments.
KernelSignature signature_of(const LaunchPlan& plan);
/// `sms` of the device; 0, as on the executor: a persistent grid shrinks to a few blocks all the same.
LaunchConfig launch_config_of(const LaunchPlan& plan, int sms);

/// When to stop; 0 = no such limit.
struct Budget {
  double seconds = 0;
  std::uint64_t evaluations = 0;
};
/// "30" (seconds) or "200evals". Throws Error(usage, "bad-budget").
Budget parse_budget(std::string_view text);

namespace tune {

/// A kernel to be measured. Plain data, for it crosses into another process.
struct Candidate {
  std::string ptx;  ///< what is linked, unless `cubin` holds machine code already
  std::vector<std::byte> cubin = {};
  LinkOptions link = {};                 ///< the target is filled in
  std::vector<LaunchPlan> launches;      ///< one after the other on one stream: together they are the work
  std::vector<TensorPlan> scratch = {};  ///< buffers of its own, poisoned before it runs for the first time
};

/// A candidate of a configuration. Called from several threads at once; what it throws is the candidate's
/// problem.
using Maker = std::function<Candidate(const Settings& config)>;

/// What all candidates must compute, and on which data.
struct Task {
  std::vector<HostTensor> tensors;            ///< inputs with their data; of outputs only the plan counts
  Expectation expected;                       ///< from a reference that has nothing to do with the candidates
  double operations = 0;                      ///< that no correct kernel can do without; 0 = not known
  std::string unit = {};                      ///< the rate of specs/targets.json that bounds them: "f16"
  double input_bytes = 0;                     ///< that every correct kernel must read; 0 = not known
  std::optional<MatrixProduct> product = {};  ///< the same, for the vendor's library
  bool warm = false;  ///< inputs are in the L2 cache; otherwise launches rotate through more than it holds
};

struct Trial {
  const Settings& config;
  const Candidate& candidate;
  bool verify = true;  ///< before it is timed; false where it was verified before
  int samples = 5;     ///< times to take; a candidate far behind the rival may get fewer
};

struct Reading {
  std::vector<double>
      us;  ///< of one pass through the launches, each a median-like average over a graph replay
  std::vector<double> rival_us;  ///< of the rival in turns with it; as many, or none where there is no rival
  double busy_us = 0;            ///< the device's time for all of it, as far as it was timed
  std::optional<DeviceHealth> health = {};
  std::optional<Diagnostic> problem =
      {};                    ///< why there are no times: "wrong-result", "device-fault", "time-limit" ...
  bool restarted = false;    ///< the candidate took its worker down, which was started again
  std::string library = {};  ///< of measure_vendor: "cuBLASLt 13.1.0"
};

/// Where candidates are verified and timed. One thread at a time uses it, which need not be the one that
/// called search().
class Measurer {
 public:
  virtual ~Measurer() = default;
  /// What people call the device. Measurers of one name stand for one device.
  virtual std::string name() const = 0;
  /// Throws only where nothing can be measured any more; what a candidate does is told in the Reading.
  virtual Reading measure(const Trial& trial) = 0;
  /// What later trials are timed in turns with: a correct candidate, or none (nullptr). It is copied.
  virtual void set_rival(const Trial* rival) = 0;
  /// What candidates must bring: machine code, PTX, or nothing (then they are not even made).
  enum class Code { none, ptx, cubin };
  virtual Code code() const = 0;
  /// Verifies and times the vendor's library at the task's product, in turns with the rival.
  virtual Reading measure_vendor(int samples);
};

/// Times that a callback gives, in microseconds; what it throws is the candidate's problem. To try a search
/// without a device, or to tune what this library cannot launch.
std::unique_ptr<Measurer> make_measurer(std::function<double(const Settings& config)> time_us,
                                        std::string name = "given times");

struct WorkerOptions {
  std::string device = "gpu";  ///< "gpu", "gpu:1", or "cpu": the executor, whose times mean nothing
  std::filesystem::path program =
      {};  ///< empty: PTXLOOM_WORKER, else libexec/ptxloom-worker near this program or library
  double candidate_seconds = 10;  ///< what a candidate may take in all before it is killed
  double start_seconds = 120;     ///< what starting and copying the inputs may take
  std::string name = {};          ///< of the device, for people; empty: `device`
  /// A file that is locked while the device works, so that workers of several processes take turns at it;
  /// empty: nobody else measures there.
  std::filesystem::path turns = {};
  std::vector<std::filesystem::path> specs = {};  ///< folders of overlays (Specs::overlays), for "cpu"
  LibraryOptions libraries = {};                  ///< where it finds the driver
  Log log = {};
};

/// A process of its own for device work, for what runs there can break a context for good. Throws
/// Error(missing, "no-worker"), and what the worker says where it cannot start: "no-driver", ...
std::unique_ptr<Measurer> make_worker(const Task& task, WorkerOptions options = {});

enum class Strategy {
  exhaustive,  ///< all, in the order of the space
  random,      ///< all, in an order drawn by the seed
  halving,     ///< many with few samples; a third of them with three times as many, and so on
  guided,      ///< the most promising next, by a model of the chip that learns from what was measured
};
std::string_view name(Strategy strategy);
/// Throws Error(usage, "unknown-strategy").
Strategy parse_strategy(std::string_view name);

/// What came of one candidate, in the order of trying.
struct Measurement {
  Settings config;
  double at_s = 0;          ///< when it was done, since the search began
  double predicted_us = 0;  ///< by the model before it was measured; 0 = no model
  double time_us = 0;       ///< median
  double spread = 0;        ///< between the quartiles, as a part of the median
  int samples = 0;
  double link_ms = 0;  ///< 0: the same kernel was linked before, or nothing was
  Demand demand = {};  ///< of the configuration
  std::optional<Resources> resources = {};
  std::optional<Diagnostic> problem = {};
  std::filesystem::path saved = {};  ///< of a wrong one: what SearchOptions::save_wrong said
  std::size_t device = 0;            ///< place in SearchResult::devices
};

/// One of the devices that a search was spread over.
struct Share {
  std::string name;               ///< Measurer::name
  int rank = 0;                   ///< of the process it belongs to, see Ranks
  std::uint64_t evaluations = 0;  ///< candidates that ran here
  double ratio = 0;  ///< what a common candidate takes here, over the first device; 0 = not asked
  std::optional<Diagnostic> left_out = {};  ///< why it took no part, or no longer
};

/// Two of the best, timed in turns.
struct Comparison {
  std::size_t candidate = 0, rival = 0;  ///< places in SearchResult::candidates
  double ratio = 1;                      ///< median of candidate over rival, round by round
  double low = 1, high = 1;              ///< where it lies with 95 % confidence
  int rounds = 0;
  enum class Verdict { faster, slower, tie } verdict = Verdict::tie;  ///< of the candidate
};

struct HealthSample {
  double at_s = 0;
  std::size_t device = 0;  ///< place in SearchResult::devices
  DeviceHealth health;
};

struct Restart {
  double at_s = 0;
  std::size_t candidate = 0;
  std::string why;
};

struct Progress {
  std::uint64_t evaluations = 0;
  const Measurement& latest;
  const Measurement* best = nullptr;
};

struct SearchResult;

struct SearchOptions {
  Budget budget = {};
  Strategy strategy = Strategy::guided;
  std::uint64_t seed = 0;
  unsigned jobs = 0;                 ///< host threads that make and link; 0 = one a core, at most 16
  double link_seconds = 30;          ///< a candidate that takes longer is out
  std::vector<Settings> first = {};  ///< configurations to try before all others
  /// Of the device that is measured, for the model: without it the guided strategy knows the rates of the
  /// target alone.
  std::optional<DeviceInfo> device = {};
  double least_us = 0;  ///< what the chip's limits allow: faster is refused as "mis-measured"
  /// Of several devices each times one common candidate first. One that differs from the first device, which
  /// has found it, by a larger part than this is left out ("device-differs").
  double margin = 0.1;
  /// Seconds that each works on it before: a device that has idled is cool, and clocks higher than one that
  /// has searched for a while.
  double warm_up = 0.6;
  Ranks* ranks = nullptr;  ///< other processes that help: each calls help() meanwhile. This one is rank 0
  std::string about =
      {};  ///< what is searched and for which kind of device; ranks that say otherwise are left out
  /// Keeps what reproduces a wrong result, and says where.
  std::function<std::filesystem::path(const Measurement&, const Candidate&)> save_wrong = {};
  const std::atomic<bool>* stop = nullptr;  ///< set to end early with what was found
  std::function<void(const Progress&)> progress = {};
  /// Is told of each correct candidate that is faster than all before it, as it is found: whoever is killed
  /// has kept the best so far.
  std::function<void(const Measurement& best, std::uint64_t evaluations)> improved = {};
  /// Gets the result before what is still being linked and measured is waited for: who was told to stop may
  /// have no more than a second for keeping it.
  std::function<void(const SearchResult&)> found = {};
};

struct SearchResult {
  std::vector<Measurement> candidates;
  std::optional<std::size_t> winner;  ///< none where no candidate was correct
  Candidate kernel;                   ///< the winner's
  std::vector<Comparison> final;
  std::vector<HealthSample> health;
  std::vector<Restart> restarts;
  std::uint64_t evaluations = 0;
  double seconds = 0;
  double device_busy = 0;           ///< part of the time, from the first candidate's end on, of all devices
  std::vector<Share> devices;       ///< the first that is not left out has compared the best few
  bool interrupted = false;         ///< by `stop`
  std::optional<Diagnostic> fault;  ///< why nothing could be measured any more
  const Measurement* best() const { return winner ? &candidates[*winner] : nullptr; }
};

/// `linker` may be null where the measurers ask for no machine code. All of them measure the same task, each
/// on a device of its own or in turns with others; at least one.
SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    std::span<Measurer* const> measurers, const SearchOptions& options);
SearchResult search(const Admissible& space, const Target& target, const Maker& make, const Linker* linker,
                    Measurer& measurer, const SearchOptions& options);

/// The vendor's library at the same problem, on the same buffers, in turns with the winner.
struct VendorTime {
  std::string library = "cuBLASLt";  ///< with its version where it was found
  double time_us = 0, spread = 0;
  double ratio = 1;          ///< median of its time over the winner's: how many times as fast the winner is
  double low = 1, high = 1;  ///< where the ratio lies with 95 % confidence
  int rounds = 0;
  std::optional<Diagnostic> problem = {};  ///< why there is no time: "no-cublaslt", "vendor-refused" ...
};
/// For a search with a winner.
VendorTime time_vendor(Measurer& measurer, const SearchResult& search);

/// What a rank other than 0 does while rank 0 searches: it makes, links and measures what it is given. Of the
/// options, jobs, link_seconds, about, ranks and stop count. `left_out`: devices of this rank that are no
/// measurers, and why, for rank 0 to tell. Returns what rank 0 sends with release() at the end; nullopt where
/// `stop` is set before.
std::optional<std::string> help(const Target& target, const Maker& make, const Linker* linker,
                                std::span<Measurer* const> measurers, const SearchOptions& options,
                                std::span<const Share> left_out = {});
/// Ends help() on all other ranks.
void release(Ranks& ranks, std::string_view outcome);

/// Microseconds below which no kernel can do a task: its operations at the unit's peak, its inputs over the
/// device's memory less what the L2 cache may hold of them. 0 where nothing is known.
double least_time_us(const Task& task, const DeviceInfo& device);

}  // namespace tune
}  // namespace ptxloom
