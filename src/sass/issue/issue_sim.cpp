// SPDX-License-Identifier: Apache-2.0
#include "sass/issue/issue_sim.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>

namespace ptxloom::sass {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kShownIteration = 12;  ///< whose events are kept
constexpr double kMostCycles = 4e6;
constexpr std::size_t kOperandSlots = 4;
constexpr std::size_t kMostEvents = 200000, kManyEvents = 4000;
constexpr std::size_t kMostGroups = 8;  ///< of wgmma, that an instruction can leave in flight, and one
constexpr std::size_t kMostBanks = 8;
using BankReads = std::array<double, kMostBanks>;

/// A unit, of one scheduler or of the SM.
struct Unit {
  double free = 0;             ///< when it can begin with the next instruction
  std::deque<double> waiting;  ///< when those in its queue begin
};

struct InFlight {
  double done = 0;
  std::size_t op = kNoOp;
};

struct WarpState {
  std::size_t op = 0;  ///< that it issues next
  double ready = 0;    ///< when its stall count is over
  double last = 0;     ///< when it issued
  double results = 0;  ///< when all results are there
  int iterations = 0;
  bool at_barrier = false;
  std::array<std::vector<InFlight>, kScoreboards> boards;
  double copies = 0, group = 0;
  std::vector<double> groups;
};

/// When an instruction can be issued, and what holds it back until then.
struct Earliest {
  double at = 0;
  StallReason reason = StallReason::stall_count;
  std::size_t producer = kNoOp;

  void later(double time, StallReason why, std::size_t whose = kNoOp) {
    if (time > at) *this = {time, why, whose};
  }
};

struct Scheduler {
  double free = 0;
  int last = -1;  ///< warp that issued
  std::vector<int> warps;
  std::vector<Unit> units;
  BankReads banks{};  ///< when each is free
  struct Kept {
    int warp = -1;
    RegisterId id = 0;
  };
  std::array<std::array<Kept, kOperandSlots>, kMostBanks> kept{};
};

struct Block {
  int arrived = 0;
  double last = 0;
};

class Simulation {
 public:
  Simulation(const IssueTable& table, const std::vector<IssueOp>& ops, const SimOptions& options,
             int iterations)
      : table_(table), ops_(ops), options_(options), iterations_(iterations), shared_(table.units().size()) {
    const auto count = static_cast<std::size_t>(std::max(table.chip().schedulers, 1));
    schedulers_.resize(count);
    warps_.resize(static_cast<std::size_t>(options.warps));
    for (std::size_t i = 0; i < warps_.size(); ++i)
      schedulers_[i % count].warps.push_back(static_cast<int>(i));
    for (Scheduler& one : schedulers_) one.units.resize(table.units().size());
    banks_ = std::clamp(static_cast<std::size_t>(table.chip().banks), std::size_t{0}, kMostBanks);
    blocks_.resize(warps_.size() / static_cast<std::size_t>(options.block_warps) + 1);
    result_.waits.resize(ops.size());
  }

  /// `cycles` of the result is the time until all warps have made all iterations; 0: they never have.
  SimResult run() {
    double now = 0;
    while (done_ < warps_.size()) {
      double next = kNever;
      for (Scheduler& one : schedulers_) next = std::min(next, turn(one, now));
      if (done_ < warps_.size() && (next == kNever || now > kMostCycles)) return {};
      now = std::max(now + 1, std::ceil(next));
    }
    finish();
    return std::move(result_);
  }

 private:
  /// Issues an instruction of a scheduler, if one can be. When it may issue the next.
  double turn(Scheduler& scheduler, double now) {
    if (scheduler.free > now) return scheduler.free;
    double next = kNever;
    Earliest best{kNever};
    int chosen = -1;
    for (const int warp : scheduler.warps) {
      if (state(warp).iterations == iterations_) continue;
      const Earliest at = earliest(scheduler, warp);
      if (at.at > now) {
        next = std::min(next, at.at);
        continue;
      }
      if (chosen < 0 || is_before(scheduler, warp, chosen)) {
        chosen = warp;
        best = at;
      }
    }
    if (chosen < 0) return next;
    issue(scheduler, chosen, now, best);
    return now + 1;
  }

  /// The warp that issued last goes on; else the one that has waited longest.
  bool is_before(const Scheduler& scheduler, int a, int b) const {
    if (a == scheduler.last || b == scheduler.last) return a == scheduler.last;
    return state(a).last < state(b).last;
  }

  WarpState& state(int warp) { return warps_[static_cast<std::size_t>(warp)]; }
  const WarpState& state(int warp) const { return warps_[static_cast<std::size_t>(warp)]; }
  Block& block_of(int warp) { return blocks_[static_cast<std::size_t>(warp / options_.block_warps)]; }

  Unit& unit(Scheduler& scheduler, std::size_t index) {
    return table_.units()[index].of_sm ? shared_[index] : scheduler.units[index];
  }
  const Unit& unit(const Scheduler& scheduler, std::size_t index) const {
    return table_.units()[index].of_sm ? shared_[index] : scheduler.units[index];
  }

  Earliest earliest(const Scheduler& scheduler, int warp) const {
    const WarpState& w = state(warp);
    const IssueOp& op = ops_[w.op];
    if (w.at_barrier) return {kNever, StallReason::barrier};
    Earliest at{w.ready};
    for (unsigned board = 0; board < kScoreboards; ++board)
      if ((op.control.wait >> board & 1U) != 0)
        for (const InFlight& one : w.boards[board]) at.later(one.done, StallReason::scoreboard, one.op);
    if (op.row == nullptr) return at;
    wait_for_rest(w, op, at);
    if (options_.units) {
      wait_for_units(scheduler, op, at);
      wait_for_banks(scheduler, warp, op, at);
    }
    return at;
  }

  /// DEPBAR and its like: all but the last few must be done.
  static void wait_for_rest(const WarpState& w, const IssueOp& op, Earliest& at) {
    if (op.row->effect == IssueEffect::group_wait && w.groups.size() > op.remain)
      at.later(w.groups[w.groups.size() - 1 - op.remain], StallReason::scoreboard);
    if (op.row->effect != IssueEffect::drain) return;
    const std::vector<InFlight>& flying = w.boards[op.board];
    if (flying.size() > op.remain) {
      const InFlight& one = flying[flying.size() - 1 - op.remain];
      at.later(one.done, StallReason::scoreboard, one.op);
    }
  }

  void wait_for_units(const Scheduler& scheduler, const IssueOp& op, Earliest& at) const {
    if (op.row->effect == IssueEffect::group) return;  // they queue at the tensor core
    for (const IssueUse& use : op.row->uses) {
      double free = kNever;
      for (const std::size_t index : use.units) free = std::min(free, free_of(scheduler, index));
      at.later(free, StallReason::unit);
    }
  }

  /// When a unit takes the next instruction: when it is free, or has room in its queue.
  double free_of(const Scheduler& scheduler, std::size_t index) const {
    const Unit& one = unit(scheduler, index);
    const auto room = static_cast<std::size_t>(table_.units()[index].queue);
    if (room == 0) return table_.units()[index].of_sm ? 0 : std::floor(one.free);
    return one.waiting.size() < room ? 0 : one.waiting[one.waiting.size() - room];
  }

  /// The registers must be there within the window; what reads more of a bank begins when the bank is free.
  void wait_for_banks(const Scheduler& scheduler, int warp, const IssueOp& op, Earliest& at) const {
    if (banks_ == 0 || !op.row->banks) return;
    const BankReads reads = count_reads(scheduler, warp, op);
    for (std::size_t i = 0; i < banks_; ++i)
      if (reads[i] > 0)
        at.later(scheduler.banks[i] + reads[i] - std::max(table_.chip().window, reads[i]),
                 StallReason::registers);
  }

  /// Registers of each bank that are not kept from the instruction before.
  BankReads count_reads(const Scheduler& scheduler, int warp, const IssueOp& op) const {
    BankReads reads{};
    for (const IssueRead& one : op.reads) {
      const std::size_t bank = one.id % banks_;
      const Scheduler::Kept& kept = scheduler.kept[bank][one.slot % kOperandSlots];
      if (kept.warp != warp || kept.id != one.first) reads[bank] += 1;
    }
    return reads;
  }

  void issue(Scheduler& scheduler, int warp, double now, const Earliest& at) {
    WarpState& w = state(warp);
    const std::size_t number = w.op;
    const IssueOp& op = ops_[number];
    account(w, now, at);
    for (unsigned board = 0; board < kScoreboards; ++board)
      if ((op.control.wait >> board & 1U) != 0) w.boards[board].clear();
    scheduler.free = now + table_.chip().dispatch + (op.taken ? table_.chip().bubble : 0);
    scheduler.last = warp;
    const double begin = occupy(scheduler, warp, number, now);
    w.last = now;
    w.ready = now + std::max<double>(op.control.stall, op.taken ? table_.chip().taken : 1) + op.hold;
    complete(w, number, begin);
    if (op.control.waits_for_all()) w.ready = std::max(w.ready, w.results);
    if (op.row != nullptr && op.row->effect == IssueEffect::barrier) arrive(warp, begin);
    w.op = (number + 1) % ops_.size();
    if (w.op == 0) end_iteration(w, w.ready);
  }

  /// Occupies units and registers; when the last unit begins.
  double occupy(Scheduler& scheduler, int warp, std::size_t number, double now) {
    const IssueOp& op = ops_[number];
    double begin = now;
    if (op.row == nullptr || !options_.units) return begin;
    for (std::size_t i = 0; i < op.row->uses.size(); ++i) {
      if (op.cycles[i] == 0) continue;
      const IssueUse& use = op.row->uses[i];
      const auto index = *std::ranges::min_element(
          use.units, {}, [&](std::size_t one) { return unit(scheduler, one).free; });
      Unit& one = unit(scheduler, index);
      begin = std::max(begin, one.free);
      one.free = begin + op.cycles[i];
      note(scheduler, {number, index, warp, begin, one.free});
    }
    for (const IssueUse& use : op.row->uses)
      for (const std::size_t index : use.units)
        if (table_.units()[index].queue > 0) wait_in(unit(scheduler, index), begin, now);
    if (banks_ > 0 && op.row->banks) use_banks(scheduler, warp, op, now);
    return begin;
  }

  static void wait_in(Unit& one, double begin, double now) {
    while (!one.waiting.empty() && one.waiting.front() <= now) one.waiting.pop_front();
    if (begin > now) one.waiting.push_back(begin);
  }

  void use_banks(Scheduler& scheduler, int warp, const IssueOp& op, double now) const {
    const BankReads reads = count_reads(scheduler, warp, op);
    for (std::size_t i = 0; i < banks_; ++i)
      scheduler.banks[i] = std::max(scheduler.banks[i], now) + reads[i];
    for (const IssueRead& one : op.reads)
      scheduler.kept[one.id % banks_][one.slot % kOperandSlots] = {
          (op.control.reuse >> one.slot & 1U) != 0 ? warp : -1, one.first};
  }

  void complete(WarpState& w, std::size_t number, double begin) const {
    const IssueOp& op = ops_[number];
    const IssueEffect effect = op.row == nullptr ? IssueEffect::none : op.row->effect;
    double done = begin + op.latency;
    if (effect == IssueEffect::copy) w.copies = std::max(w.copies, done);
    if (effect == IssueEffect::commit) done = std::max(begin, w.copies);
    if (effect == IssueEffect::group) w.group = std::max(w.group, begin + op.latency);
    if (op.ends_group) w.groups.push_back(w.group);
    if (effect != IssueEffect::copy && effect != IssueEffect::group)
      w.results = std::max({w.results, done, begin + op.fixed});
    const auto set = [&](const std::optional<unsigned>& board, double time) {
      if (board && *board < kScoreboards) w.boards[*board].push_back({time, number});
    };
    set(op.control.write, done);
    set(op.control.read, begin + op.read);
    for (std::vector<InFlight>& board : w.boards)
      std::erase_if(board, [&](const InFlight& one) { return one.done <= w.last; });
    if (w.groups.size() > kMostGroups) w.groups.erase(w.groups.begin());
  }

  void arrive(int warp, double begin) {
    Block& block = block_of(warp);
    block.last = std::max(block.last, begin);
    state(warp).at_barrier = true;
    const int first = warp / options_.block_warps * options_.block_warps;
    const int end = std::min(first + options_.block_warps, options_.warps);
    if (++block.arrived < end - first) return;
    const double go_on = block.last + ops_[state(warp).op].latency;
    for (int other = first; other < end; ++other) {
      WarpState& w = state(other);
      result_.stalls[static_cast<std::size_t>(StallReason::barrier)] += std::max(0.0, go_on - w.ready);
      w.ready = std::max(w.ready, go_on);
      w.last = std::max(w.last, w.ready - 1);
      w.at_barrier = false;
    }
    block = {};
  }

  void end_iteration(WarpState& w, double now) {
    ++w.iterations;
    if (&w == warps_.data() && w.iterations == kShownIteration) event_begin_ = now;
    if (&w == warps_.data() && w.iterations == kShownIteration + 1) result_.event_cycles = now - event_begin_;
    if (w.iterations < iterations_) return;
    ++done_;
    end_ = std::max(end_, now);
  }

  /// What the warp did since it issued last.
  void account(const WarpState& w, double now, const Earliest& at) {
    ++issues_;
    const auto add = [&](StallReason why, double cycles) {
      if (cycles > 0) result_.stalls[static_cast<std::size_t>(why)] += cycles;
    };
    add(StallReason::stall_count, w.ready - w.last - 1);
    add(at.reason, at.reason == StallReason::stall_count ? 0 : at.at - w.ready);
    add(StallReason::not_selected, now - std::max(at.at, w.ready));
    if (at.reason == StallReason::scoreboard && at.producer != kNoOp && at.at > w.ready)
      result_.waits[at.producer] += at.at - w.ready;
  }

  /// What was issued an iteration before may be at a unit in the one that is shown.
  void note(const Scheduler& scheduler, const IssueEvent& event) {
    const int iteration = state(0).iterations;
    if (&scheduler != schedulers_.data() || iteration > kShownIteration || iteration < kShownIteration - 2)
      return;
    std::vector<IssueEvent>& events = result_.events;
    if (events.size() == kMostEvents && iteration < kShownIteration)
      std::erase_if(events, [&](const IssueEvent& one) { return one.end <= event.begin; });
    if (events.size() < kMostEvents) events.push_back(event);
  }

  /// Those of the iteration that is shown, with times from its beginning.
  void cut_events() {
    for (IssueEvent& one : result_.events) {
      one.begin -= event_begin_;
      one.end -= event_begin_;
    }
    std::erase_if(result_.events,
                  [&](const IssueEvent& one) { return one.end <= 0 || one.begin >= result_.event_cycles; });
    if (result_.events.size() > kManyEvents)
      std::erase_if(result_.events, [](const IssueEvent& one) { return one.warp != 0; });
  }

  /// What still waits for a unit belongs to the time: else a queue that grows would hide some of the work.
  double end_of_work() const {
    double end = end_;
    for (const Unit& one : shared_) end = std::max(end, one.free);
    for (const Scheduler& scheduler : schedulers_)
      for (const Unit& one : scheduler.units) end = std::max(end, one.free);
    return end;
  }

  void finish() {
    result_.cycles = end_of_work();
    cut_events();
    const double warp_iterations = static_cast<double>(iterations_) * static_cast<double>(warps_.size());
    for (double& one : result_.stalls) one /= warp_iterations;
    for (double& one : result_.waits) one /= warp_iterations;
    result_.issued = static_cast<double>(issues_) / warp_iterations;
  }

  const IssueTable& table_;
  const std::vector<IssueOp>& ops_;
  SimOptions options_;
  int iterations_;
  std::vector<Unit> shared_;
  std::vector<Scheduler> schedulers_;
  std::vector<WarpState> warps_;
  std::vector<Block> blocks_;
  SimResult result_;
  std::size_t done_ = 0;
  long issues_ = 0;
  std::size_t banks_ = 0;
  double end_ = 0, event_begin_ = 0;
};

}  // namespace

SimResult simulate(const IssueTable& table, const std::vector<IssueOp>& ops, const SimOptions& options) {
  if (ops.empty() || options.warps < 1) return {};
  const SimResult few = Simulation(table, ops, options, options.few).run();
  SimResult more = Simulation(table, ops, options, options.more).run();
  if (few.cycles == 0 || more.cycles == 0) return {};
  more.run_cycles = more.cycles;
  more.cycles = (more.cycles - few.cycles) / (options.more - options.few);
  return more;
}

}  // namespace ptxloom::sass
