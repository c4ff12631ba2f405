// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ptxloom/plan.hpp"
#include "ptxloom/target.hpp"

/// \file
/// The space that a tuner searches, as data: parameters with their values, rules that say which
/// configurations are admissible, and the demand of a configuration on the chip. All of this is decided
/// before anything is compiled.
namespace [[gnu::visibility("default")]] ptxloom {
namespace tune {

/// A parameter of the configuration and its values. If all of them are numbers, the model expects that values
/// close to each other behave alike.
struct Parameter {
  std::string name;                 ///< its name
  std::vector<std::string> values;  ///< its values, at most 255
};

/// A condition on a configuration. It is evaluated as soon as the parameters that it reads have values, so
/// that large spaces are cut early; `allows` must not read any others.
struct Rule {
  std::string name;                             ///< for people: "stages fit into shared memory"
  std::vector<std::string> reads;               ///< names of the parameters that it reads
  std::function<bool(const Settings&)> allows;  ///< whether a configuration meets it
};

/// How operands reach the place where they are computed with.
enum class Loads {
  registers,  ///< by ordinary loads: a thread waits for each before it goes on
  threads,    ///< by the threads, asynchronously, into shared memory (cp.async)
  bulk,       ///< as whole tiles into shared memory, by the TMA unit
  streamed,   ///< by ordinary loads of threads that compute and store results once they have them: there is
              ///< no pipeline, and warps hide each other's waits
};

/// The demand of a configuration on an SM and on the chip. 0: not known; it then removes nothing, and the
/// model ignores it. Amounts are those of all thread blocks together unless another unit is given.
struct Demand {
  int threads = 0;                 ///< threads of a thread block
  int registers = 0;               ///< registers of a thread, estimated
  std::uint64_t shared_bytes = 0;  ///< static and dynamic shared memory of a thread block
  int cluster = 1;                 ///< thread blocks of a cluster
  std::uint64_t blocks = 0;        ///< thread blocks of the grid; of a persistent grid, its pieces of work
  int most_per_sm = 0;             ///< thread blocks of an SM that are launched at most; 0: all that fit
  bool persistent = false;  ///< a thread block computes one piece of work after another, in one pipeline
  int in_turn = 1;          ///< pieces of work of a thread block in progress: one computes, others store

  std::string unit = {};      ///< the rate in specs/targets.json that bounds the operations: "f16"
  double operations = 0;      ///< operations, padding included
  bool asynchronous = false;  ///< the operations read shared memory and leave the warps free (wgmma)
  double instructions = 0;    ///< instructions of warps that are not hidden behind the operations; all of
                              ///< them if loads are streamed
  double dram_bytes = 0;      ///< bytes that must be moved to or from device memory
  double l2_bytes = 0;        ///< bytes that move between L2 and the SMs
  double shared_traffic =
      0;                    ///< bytes that move between shared memory and registers, or that bulk loads bring
  std::uint64_t steps = 0;  ///< k-blocks of a thread block: each waits for its data, one after the other
  int in_flight = 1;        ///< k-blocks whose data are loaded at the same time
  Loads loads = Loads::registers;  ///< how
  double load_instructions = 0;    ///< instructions of a thread block that load a k-block

  /// What only streamed loads have. Their `steps` are loads of a thread that wait one for the other, and
  /// their `l2_bytes` count whole sectors.
  ///@{
  double sectors = 0;           ///< of 32 bytes that accesses of warps touch; each counts for each access
  int teams = 1;                ///< parts of a thread block that work by themselves: a row each, say
  double shuffles = 0;          ///< of a team, one after the other
  double barriers = 0;          ///< of a thread block, in which a team waits
  double cluster_barriers = 0;  ///< of a cluster
  ///@}

  double epilogue =
      0;  ///< clocks of a thread block to store the results of one piece of work, alone on an SM
  double stored_sectors = 0;   ///< sectors of 32 bytes that stores touch in L2; each counts for each access
  double partial_sectors = 0;  ///< those that two thread blocks write parts of
  double summed_bytes = 0;     ///< bytes of accumulators that a thread block reads from others of its cluster
  double exchanged_bytes =
      0;                      ///< bytes of accumulators that a thread block writes to the workspace and reads
  double tail = 0;            ///< clocks after the last k-block that nothing hides
  int grid_waits = 0;         ///< how often all thread blocks wait for each other
  double prologue_bytes = 0;  ///< bytes that are rearranged before the first k-block, read and written
};

/// Ratio of bytes moved to bytes requested, for a row of `row_bytes` that is read or written `access_bytes`
/// at a time: device memory moves 64 bytes at once.
double sector_factor(double row_bytes, double access_bytes);

struct Chip;

/// The time that a configuration takes on a typical device of a target, as specs/targets.json names it.
/// `Tuner` corrects the same model by measurements.
class CostModel {
 public:
  explicit CostModel(const Target& target);  ///< of the device that specs/targets.json names for the target
  ~CostModel();
  CostModel(const CostModel&) = delete;
  CostModel& operator=(const CostModel&) = delete;

  double us(const Demand& demand) const;            ///< microseconds; 0 if the demand is not known
  int sms() const;                                  ///< SMs of the device
  int resident_blocks(const Demand& demand) const;  ///< thread blocks that an SM holds at once, at least one

 private:
  std::unique_ptr<const Chip> chip_;
};

/// A space to search.
struct Space {
  std::vector<Parameter> parameters;                   ///< at least one
  std::vector<Rule> rules = {};                        ///< conditions on configurations
  std::function<Demand(const Settings&)> demand = {};  ///< of a configuration; empty: nothing is known
};

/// The configurations of a space that all rules admit, in a compact form, since there may be 10^5 of them.
class Admissible {
 public:
  /// What a rule has removed.
  struct Removed {
    std::string rule;         ///< its name
    std::uint64_t count = 0;  ///< configurations; each counts for the first rule that it breaks
  };

  std::size_t size() const { return demands_.size(); }                      ///< number of configurations
  const std::vector<Parameter>& parameters() const { return parameters_; }  ///< those of the space
  /// A configuration: the index of each parameter's value.
  std::span<const std::uint8_t> point(std::size_t index) const {
    return std::span(points_).subspan(index * parameters_.size(), parameters_.size());
  }
  Settings settings(std::size_t index) const;                                ///< a configuration by name
  const Demand& demand(std::size_t index) const { return demands_[index]; }  ///< demand of a configuration
  std::uint64_t configurations() const { return configurations_; }  ///< number of all, admissible or not
  const std::vector<Removed>& removed() const { return removed_; }  ///< what each rule has removed
  /// The index of a configuration; size() if it is not among them.
  std::size_t find(const Settings& config) const;
  /// Some of the configurations, in this order.
  Admissible only(std::span<const std::size_t> indices) const;
  /// `count` configurations drawn at random, in their order.
  Admissible sample(std::size_t count, std::uint64_t seed) const;

 private:
  friend class Admission;
  std::vector<Parameter> parameters_;
  std::vector<std::uint8_t> points_;
  std::vector<Demand> demands_;
  std::uint64_t configurations_ = 0;
  std::vector<Removed> removed_;
};

/// The configurations of a space that agree with `fixed` ("64|128" is one of these values), that its rules
/// admit, and whose demand the chip can meet. The latter counts as rules with the names "threads of a thread
/// block", "registers of a thread", "registers of a thread block", "shared memory of a thread block" and
/// "thread blocks of a cluster".
///
/// Throws Error(usage, "bad-space") for a space without parameters, for a parameter with no values or more
/// than 255, and for a rule that reads an unknown parameter; Error(usage, "unknown-parameter" or "bad-value")
/// for `fixed` values that the space does not have; Error(refused, "no-configuration"), with what each rule
/// removed, if none is left.
Admissible admit(const Space& space, const Target& target, const Settings& fixed = {});

}  // namespace tune
}  // namespace ptxloom
