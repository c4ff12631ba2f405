// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sass/issue/issue_sim.hpp"
#include "sass/listing/listing.hpp"

// What limits the loops of a kernel: the instructions of an iteration against the units that execute them,
// the latency of what one iteration needs of the one before it, and how both work out for some number of
// warps. docs/issue-model.md explains the figures and what is not modelled.
namespace ptxloom::sass {

struct ModelOptions {
  int warps = 0;        ///< of an SM; 0: as many as the resources of the kernel allow
  int block_warps = 0;  ///< of a thread block; 0: what the kernel requires or allows, else kDefaultBlockWarps
  int shared = 0;       ///< bytes of dynamic shared memory of a thread block
  LoadFrom loads = LoadFrom::l2;
  int conflicts = 1;   ///< accesses to the most loaded bank of shared memory, of each load and store
  bool quick = false;  ///< only the loop that matters most, with fewer iterations
};
inline constexpr int kDefaultBlockWarps = 8;

/// Thread blocks that an SM holds at once.
struct Occupancy {
  int block_warps = 0;
  int blocks = 0;            ///< of an SM; 0: the chip cannot run one
  int warps = 0;             ///< of an SM
  int most_warps = 0;        ///< that the chip can hold
  std::string_view limit{};  ///< "registers", "shared memory", "threads", "thread blocks", "given"
};

/// A bound of the time of an iteration, for all warps together.
struct Bound {
  std::string name{};  ///< "issue", "latency", or a unit
  std::string what{};  ///< of a unit
  double warp = 0;     ///< cycles that one warp occupies it, on one scheduler or on the SM
  double cycles = 0;   ///< an iteration of all warps takes at least this
  double busy = 0;     ///< share of the predicted time
  /// It rests on figures of another chip that nobody has measured or published for this one.
  bool assumed = false;
};

/// Instructions of a kind.
struct MixEntry {
  std::string name{};  ///< unit, "issue" if it needs none, or "other"
  int count = 0;
};

/// A step of the longest chain from an iteration to the next.
struct PathStep {
  std::uint64_t offset = 0;
  std::string text{};
  double cycles = 0;  ///< until the next one may issue
};

struct LoopModel {
  std::uint64_t first = 0, last = 0;  ///< offsets of its first and last instruction
  int depth = 1;
  bool inner = true;
  int instructions = 0;  ///< of an iteration
  int warps = 0;         ///< of an SM that are in it
  int other = 0;         ///< of the loop that this iteration does not execute
  int unknown = 0;       ///< that the data does not have, or of whose tensor products it has but the class
  std::vector<MixEntry> mix{};
  std::vector<Bound> bounds{};  ///< the largest first
  double alone = 0;             ///< cycles of an iteration of one warp that has the SM for itself
  double path = 0;              ///< cycles of the longest chain of dependences from one iteration to the next
  std::vector<PathStep> chain{};  ///< its instructions
  double cycles = 0;              ///< predicted: an iteration of all warps of the SM; 0: no prediction
  std::string bound{};            ///< the name of what limits it, or "not known"
  double operations = 0;          ///< of an iteration of a warp, as the column of issue.json counts them
  double tensor_operations = 0;   ///< those of tensor products
  double shared_bytes = 0;  ///< to and from shared memory, of an iteration of a warp, without bulk copies
  double copied_bytes = 0;  ///< that bulk copies bring, of an iteration of a thread block
  int unknown_copies = 0;   ///< instructions that announce copies of a size that the code does not tell
  double tensor_busy = 0;   ///< share of time
  SimResult sim{};
  std::vector<std::size_t> ops{};  ///< for each op of `sim`: the instruction's index in the function
};

struct FunctionModel {
  std::string name{};
  CubinFunction facts{};
  Occupancy occupancy{};
  std::vector<MixEntry> mix{};  ///< of all its instructions
  int instructions = 0;
  int waiting = 0;                 ///< loops that only wait for something, which are left out
  std::vector<LoopModel> loops{};  ///< in the order of the code
  /// The one that matters most as far as the code tells: the inner loop with most tensor work, else with most
  /// instructions. Null if there is none.
  const LoopModel* hottest() const;
};

struct IssueModel {
  std::string file{}, target{}, nvdisasm{};
  int chip = 0;
  bool assumed = false;  ///< latencies and some intervals are those of another chip
  std::vector<IssueUnit> units{};
  std::vector<FunctionModel> functions{};
};

IssueModel issue_model(const Listing& listing, int chip, const ModelOptions& options);

Occupancy occupancy_of(const CubinFunction& function, int chip, const ModelOptions& options);

std::string_view name_of(StallReason reason);

std::string model_text(const IssueModel& model);
/// One JSON object, docs/json/sass_model.json.
std::string model_json(const IssueModel& model);

}  // namespace ptxloom::sass
