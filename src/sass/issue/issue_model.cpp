// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/issue_model.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "sass/issue/bulk_copies.hpp"
#include "sass/issue/critical_path.hpp"
#include "sass/issue/unknown_results.hpp"

namespace ptxloom::sass {
namespace {

constexpr int kLanes = 32;
constexpr std::string_view kShared = "shared", kMio = "mio", kTensor = "tensor", kL2 = "l2",
                           kIssueBound = "issue", kLatencyBound = "latency", kNotKnown = "not known";

int product(const std::array<int, 3>& extent) { return extent[0] * extent[1] * extent[2]; }

/// The last operand as a number: "0x1" of "WARPGROUP.DEPBAR.LE gsb0, 0x1".
unsigned last_number(const InstructionText& text) {
  unsigned value = 0;
  if (text.operands.empty()) return value;
  std::string_view last = text.operands.back();
  if (last.starts_with("0x")) last.remove_prefix(2);
  std::from_chars(last.data(), last.data() + last.size(), value, 16);
  return value;
}

/// The loops of one function.
class Modeller {
 public:
  Modeller(const ListedFunction& function, const OperandTable& operands, int chip, const IssueTable& table,
           const LatencyTable& latencies, const OwnText& own, const ModelOptions& options)
      : function_(function),
        table_(table),
        latencies_(latencies),
        own_(own),
        options_(options),
        steps_(steps_of(function, operands, chip)) {
    model_.name = std::string(function.facts.name);
    model_.facts = function.facts;
    model_.occupancy = occupancy_of(function.facts, chip, options);
    model_.instructions = static_cast<int>(steps_.size());
  }

  FunctionModel model() {
    std::vector<std::size_t> all(steps_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    model_.mix = mix_of(all);
    const CodeLoops found = loops_of(steps_, function_.facts.kernel, [&](std::size_t step) {
      const IssueRow* const row = row_of(step);
      return row != nullptr && (row->effect == IssueEffect::poll || row->effect == IssueEffect::sleep);
    });
    model_.waiting = found.waiting;
    const BulkCopies copies(function_, steps_, found.loops, table_, own_);
    for (const CodeLoop& loop : found.loops) model_.loops.push_back(described(loop, copies.in(loop)));
    const LoopModel* const hottest = model_.hottest();
    for (std::size_t i = 0; i < found.loops.size() && model_.occupancy.blocks > 0; ++i)
      if (!options_.quick || &model_.loops[i] == hottest) predict(model_.loops[i], found.loops[i]);
    return std::move(model_);
  }

 private:
  const IssueRow* row_of(std::size_t step) const {
    return table_.row_of(steps_[step].text, steps_[step].uses.type);
  }

  /// All but what takes long.
  LoopModel described(const CodeLoop& loop, const BulkBytes& copied) const {
    LoopModel made{.first = offset(loop.steps.front()),
                   .last = offset(loop.steps.back()),
                   .depth = loop.depth,
                   .inner = loop.inner,
                   .instructions = static_cast<int>(loop.steps.size()),
                   .other = static_cast<int>(loop.instructions - loop.steps.size())};
    made.mix = mix_of(loop.steps);
    made.ops = loop.steps;
    const std::vector<IssueOp> ops = ops_of(loop);
    for (const std::size_t step : loop.steps) {
      const IssueRow* const row = row_of(step);
      if (row == nullptr) continue;
      const double operations = row->operations.at(table_.size_of(steps_[step].text));
      made.operations += operations;
      if (is_tensor(*row)) made.tensor_operations += operations;
    }
    made.unknown =
        static_cast<int>(std::ranges::count_if(ops, [&](const IssueOp& op) { return !is_known(op.row); }));
    if (model_.occupancy.blocks == 0) return made;
    made.warps = warps_of(ops).first;
    made.copied_bytes = copied.bytes;
    made.unknown_copies = copied.unknown;
    add_bounds(made, ops);
    return made;
  }

  void predict(LoopModel& made, const CodeLoop& loop) const {
    const CriticalPath path = critical_path(steps_, loop, table_, latencies_);
    made.path = path.cycles;
    for (const ChainStep& one : path.chain)
      made.chain.push_back({offset(one.step), function_.instructions[one.step].text, one.cycles});
    std::vector<IssueOp> ops = ops_of(loop);
    made.alone = simulated(ops, {.warps = 1, .block_warps = 1, .units = false}).cycles;
    made.bounds.push_back({.name = std::string(kLatencyBound),
                           .what = "one warp, waiting for its own results",
                           .warp = made.alone,
                           .cycles = made.alone,
                           .assumed = table_.assumed()});
    std::ranges::stable_sort(made.bounds, std::greater(), &Bound::cycles);
    made.bound = waits_for_unknown(ops) ? kNotKnown : made.bounds.front().name;
    const int block = warps_of(ops).second;
    made.sim = simulated(ops, {.warps = made.warps, .block_warps = block});
    made.cycles = at_least(made, made.sim.cycles);
    if (made.cycles > 0 && made.copied_bytes > 0) add_copies(made, ops, block);
    add_shares(made);
  }

  /// No time is below a bound. The simulated one may be, by some percent: it is the difference of two runs,
  /// and the shorter one may waste more cycles until all warps are under way. 0 stays 0.
  static double at_least(const LoopModel& made, double cycles) {
    return cycles > 0 ? std::max(cycles, made.bounds.front().cycles) : 0;
  }

  SimResult simulated(const std::vector<IssueOp>& ops, SimOptions how) const {
    if (options_.quick) {
      how.few /= 2;
      how.more /= 2;
    }
    return simulate(table_, ops, how);
  }

  /// Cycles of each unit that bulk copies occupy, of one warp's share of the bytes.
  std::vector<double> copies_of(const LoopModel& loop, int block) const {
    const double bytes = loop.copied_bytes / block;
    std::vector<double> cycles(table_.units().size());
    const IssueRow* const row = table_.expect_row();
    if (row == nullptr) return cycles;
    for (const IssueUse& use : row->uses) cycles[use.units.front()] += use.cycles.per_byte * bytes;
    return cycles;
  }

  /// Copies arrive all the time, so they leave the loop's own accesses less of a unit: the others take so
  /// much longer.
  void add_copies(LoopModel& made, std::vector<IssueOp>& ops, int block) const {
    const std::vector<double> copies = copies_of(made, block);
    const double least = made.cycles;
    for (IssueOp& op : ops) {
      for (std::size_t i = 0; op.row != nullptr && i < op.row->uses.size(); ++i) {
        const double taken = copies[op.row->uses[i].units.front()] * made.warps / least;
        if (taken > 0 && taken < 1) op.cycles[i] /= 1 - taken;
      }
    }
    made.sim = simulated(ops, {.warps = made.warps, .block_warps = block});
    made.cycles = std::max(made.sim.cycles, least);
  }

  /// What a row of a class says of tensor products without counting their operations is a guess.
  bool is_known(const IssueRow* row) const {
    if (row == nullptr) return false;
    return !is_tensor(*row) || !row->of_class || row->operations.at({}) > 0;
  }

  bool is_tensor(const IssueRow& row) const {
    return std::ranges::any_of(
        row.uses, [&](const IssueUse& use) { return table_.units()[use.units.front()].name == kTensor; });
  }

  /// Warps of an SM and of a thread block that are in a loop: whole warpgroups if it has wgmma.
  std::pair<int, int> warps_of(const std::vector<IssueOp>& ops) const {
    constexpr int kWarpgroup = 4;
    const int warps = model_.occupancy.warps, block = model_.occupancy.block_warps;
    const bool groups = std::ranges::any_of(
        ops, [](const IssueOp& op) { return op.row != nullptr && op.row->effect == IssueEffect::group; });
    if (!groups || block < kWarpgroup) return {warps, block};
    const int whole = block / kWarpgroup * kWarpgroup;
    return {warps / block * whole, whole};
  }

  std::uint64_t offset(std::size_t step) const { return function_.instructions[step].offset; }

  std::vector<IssueOp> ops_of(const CodeLoop& loop) const {
    std::vector<IssueOp> ops;
    for (std::size_t i = 0; i < loop.steps.size(); ++i) {
      const std::size_t step = loop.steps[i], next = loop.steps[(i + 1) % loop.steps.size()];
      IssueOp op = op_of(step);
      op.taken = next != step + 1;
      ops.push_back(std::move(op));
    }
    return ops;
  }

  IssueOp op_of(std::size_t step) const {
    const HazardStep& code = steps_[step];
    IssueOp op{.step = step, .control = code.control, .row = row_of(step), .cycles = {}, .reads = {}};
    for (const RegisterUse& use : code.uses.writes)
      op.fixed = std::max<double>(op.fixed, latencies_.longest({code.uses.type, use}));
    if (op.row == nullptr) return op;
    const IssueSize size = table_.size_of(code.text);
    op.latency = table_.latency_of(*op.row, size);
    op.read = op.row->read;
    for (const IssueUse& use : op.row->uses) add_use(op, use, size);
    if (op.row->effect == IssueEffect::group) op.ends_group = has_group(code.text);
    if (op.row->effect == IssueEffect::group_wait) op.remain = last_number(code.text);
    if (const auto drain = drain_of(code.text)) {
      op.board = drain->scoreboard;
      op.remain = drain->remain;
    }
    for (const RegisterUse& use : code.uses.reads)
      if (file_of(use.id) == RegisterFile::general && use.operand >= 'a' && use.operand <= 'c')
        op.reads.push_back(
            {static_cast<unsigned>(use.operand - 'a'), use.id, static_cast<RegisterId>(use.id - use.index)});
    return op;
  }

  /// Cycles of a unit, as the options have it.
  void add_use(IssueOp& op, const IssueUse& use, const IssueSize& size) const {
    const IssueUnit& unit = table_.units()[use.units.front()];
    double cycles = use.cycles.at(size);
    if (unit.of_warp) op.hold = cycles;
    if (unit.of_warp || (unit.name == kL2 && op.row->global && options_.loads == LoadFrom::l1)) cycles = 0;
    if (unit.name == kShared && size.columns == 0) {
      cycles *= options_.conflicts;
      op.latency += table_.chip().wave * (options_.conflicts - 1);
    }
    if (unit.name == kMio && brings_words(*op.row)) cycles *= options_.conflicts;
    op.cycles.push_back(cycles);
  }

  /// Whether it is a load from shared memory: each word of a bank comes back by itself.
  bool brings_words(const IssueRow& row) const {
    return !row.fixed && !row.global && row.latency.fixed > 0 &&
           std::ranges::any_of(row.uses, [&](const IssueUse& use) {
             return table_.units()[use.units.front()].name == kShared;
           });
  }

  /// A wgmma that names a scoreboard of groups ends one.
  static bool has_group(const InstructionText& text) {
    return std::ranges::any_of(text.operands, [](std::string_view one) { return one.starts_with("gsb"); });
  }

  /// By the unit that does the work, which is the last that a row names. What needs none is issued, that is
  /// all.
  std::vector<MixEntry> mix_of(const std::vector<std::size_t>& steps) const {
    const std::size_t units = table_.units().size();
    std::vector<std::string> names;
    for (const IssueUnit& unit : table_.units()) names.push_back(unit.name);
    names.insert(names.end(), {std::string(kIssueBound), "other"});
    std::vector<int> counts(names.size());
    for (const std::size_t step : steps) {
      const IssueRow* const row = row_of(step);
      ++counts[row == nullptr ? units + 1 : row->uses.empty() ? units : row->uses.back().units.front()];
    }
    std::vector<MixEntry> mix;
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts[i] > 0) mix.push_back({names[i], counts[i]});
    std::ranges::stable_sort(mix, std::greater(), &MixEntry::count);
    return mix;
  }

  /// Cycles of each unit for an iteration of a warp. What several units can do is shared among the least busy
  /// ones: over many iterations each gets its part.
  std::vector<double> loads_of(const std::vector<IssueOp>& ops) const {
    std::vector<double> loads(table_.units().size());
    for (const bool choice : {false, true}) {
      for (const IssueOp& op : ops) {
        for (std::size_t i = 0; op.row != nullptr && i < op.row->uses.size(); ++i) {
          const std::vector<std::size_t>& units = op.row->uses[i].units;
          if ((units.size() > 1) == choice) share(loads, units, op.cycles[i]);
        }
      }
    }
    return loads;
  }

  /// Adds cycles to the least busy of some units, so that the busiest of those has as few as can be.
  static void share(std::vector<double>& loads, std::vector<std::size_t> units, double cycles) {
    std::ranges::sort(units, {}, [&](std::size_t one) { return loads[one]; });
    double sum = cycles;
    for (std::size_t count = 1; count <= units.size(); ++count) {
      sum += loads[units[count - 1]];
      const double level = sum / static_cast<double>(count);
      if (count < units.size() && level > loads[units[count]]) continue;
      for (std::size_t i = 0; i < count; ++i) loads[units[i]] = level;
      return;
    }
  }

  void add_bounds(LoopModel& made, const std::vector<IssueOp>& ops) const {
    const int schedulers = std::max(table_.chip().schedulers, 1);
    const double each = (made.warps + schedulers - 1) / schedulers;
    const double issue = table_.chip().dispatch * static_cast<double>(ops.size());
    made.bounds.push_back({std::string(kIssueBound), "instructions issued", issue, issue * each});
    const std::vector<double> loads = loads_of(ops), copies = copies_of(made, warps_of(ops).second);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const double cycles = loads[i] + copies[i];
      if (cycles == 0) continue;
      const IssueUnit& unit = table_.units()[i];
      made.bounds.push_back({.name = unit.name,
                             .what = unit.what,
                             .warp = cycles,
                             .cycles = cycles * (unit.of_sm ? made.warps : each),
                             .assumed = unit.assumed});
      if (unit.name == kShared) made.shared_bytes = loads[i] * kSharedBytes / options_.conflicts;
    }
  }

  /// The share of the predicted time for which each unit is busy.
  static void add_shares(LoopModel& made) {
    for (Bound& one : made.bounds) {
      one.busy = made.cycles > 0 ? std::min(one.cycles / made.cycles, 1.0) : 0;
      if (one.name == kTensor) made.tensor_busy = one.busy;
    }
  }

  static constexpr double kSharedBytes = 4.0 * kLanes;  // of a cycle

  const ListedFunction& function_;
  const IssueTable& table_;
  const LatencyTable& latencies_;
  const OwnText& own_;
  const ModelOptions& options_;
  std::vector<HazardStep> steps_;
  FunctionModel model_;
};

/// Work of a loop, to choose the one that matters most.
std::pair<double, int> weight_of(const LoopModel& loop) {
  double tensor = 0;
  for (const Bound& one : loop.bounds)
    if (one.name == kTensor) tensor = one.warp;
  return {tensor, loop.instructions};
}

}  // namespace

const LoopModel* FunctionModel::hottest() const {
  const LoopModel* found = nullptr;
  for (const LoopModel& loop : loops)
    if (loop.inner && (found == nullptr || weight_of(*found) < weight_of(loop))) found = &loop;
  return found;
}

Occupancy occupancy_of(const CubinFunction& function, int chip, const ModelOptions& options) {
  const TargetInfo& info = Target("sm_" + std::to_string(chip)).info();
  Occupancy made;
  made.most_warps = info.threads_per_sm / kLanes;
  const int threads = std::max(product(function.block), product(function.max_block));
  made.block_warps = options.block_warps > 0 ? options.block_warps
                     : threads > 0           ? (threads + kLanes - 1) / kLanes
                                             : kDefaultBlockWarps;
  if (options.warps > 0) {
    made.warps = options.warps;
    made.block_warps = std::min(made.block_warps, made.warps);
    made.blocks = made.warps / made.block_warps;
    made.limit = "given";
    return made;
  }
  const int by_threads = info.threads_per_sm / (made.block_warps * kLanes);
  const int by_registers = info.resident_blocks(made.block_warps * kLanes, std::max(function.registers, 1));
  const int shared = function.shared + options.shared;
  const int by_shared = shared > info.shared_per_block ? 0
                        : shared > 0                   ? info.shared_per_sm / shared
                                                       : info.blocks_per_sm;
  made.blocks = std::min({by_threads, by_registers, by_shared, info.blocks_per_sm});
  made.limit = made.blocks == by_shared && shared > 0 ? "shared memory"
               : made.blocks == by_threads            ? "threads"
               : made.blocks == info.blocks_per_sm    ? "thread blocks"
                                                      : "registers";
  made.warps = made.blocks * made.block_warps;
  return made;
}

IssueModel issue_model(const Listing& listing, int chip, const ModelOptions& options) {
  const OperandTable& operands = OperandTable::compiled();
  const LatencyTable latencies(chip);
  const IssueTable table(chip, options.loads);
  IssueModel made{.file = listing.file,
                  .target = listing.target,
                  .nvdisasm = listing.nvdisasm,
                  .chip = chip,
                  .assumed = table.assumed(),
                  .units = table.units(),
                  .functions = {}};
  const OwnText own(chip);
  for (ListedFunction function : listing.functions) {
    if (listing.nvdisasm.empty()) own.complete(function);
    made.functions.push_back(Modeller(function, operands, chip, table, latencies, own, options).model());
  }
  return made;
}

std::string_view name_of(StallReason reason) {
  constexpr std::array<std::string_view, kStallReasons> kNames = {
      "stall count", "scoreboard", "unit busy", "register banks", "barrier", "not selected"};
  return kNames[static_cast<std::size_t>(reason)];
}

}  // namespace ptxloom::sass
