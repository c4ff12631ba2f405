// SPDX-License-Identifier: Apache-2.0
#include "sass/lint/hazards.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <deque>

namespace ptxloom::sass {
namespace {

constexpr unsigned kAllScoreboards = (1U << kScoreboards) - 1;

unsigned bit(std::optional<unsigned> scoreboard) {
  return scoreboard && *scoreboard < kScoreboards ? 1U << *scoreboard : 0;
}

/// Cycles until the next instruction, at least.
int cycles_of(const ControlCode& control) {
  return control.waits_for_all() ? kMostCycles : std::max(1, static_cast<int>(control.stall));
}

void pass(std::uint8_t& elapsed, int cycles) {
  elapsed = static_cast<std::uint8_t>(std::min<int>(kMostCycles, elapsed + cycles));
}

/// One pass over instructions, from a state.
class Walker {
 public:
  /// `watched`: cycles for which results of fixed latency are kept. `watch`: nothing in the passes before the
  /// last.
  Walker(const std::vector<HazardStep>& steps, const LatencyTable& latencies, int watched, const Watch* watch)
      : steps_(steps), latencies_(latencies), watched_(watched), watch_(watch) {}

  void step(State& state, std::size_t index) const {
    const HazardStep& step = steps_[index];
    wait(state, index);
    const bool executed = !is_never(step.text.guard);
    if (executed) check(state, index);
    if (step.uses.type.empty()) tell_unseen_readers(state, index);
    issue(state, step);
    if (executed) leave(state, index);
    if (!step.uses.drains.empty())
      std::erase_if(state.pending, [&](const Pending& one) {
        return one.operand && steps_[one.step].uses.queue == step.uses.drains;
      });
    for (Recent& one : state.recent) pass(one.elapsed, cycles_of(step.control));
    std::erase_if(state.recent, [&](const Recent& one) { return one.elapsed >= watched_; });
    if (step.control.waits_for_all()) state.pending.clear();
    if (step.uses.type.empty()) state.since_unseen = 0;
    pass(state.since_unseen, cycles_of(step.control));
    if (watch_ != nullptr && watch_->unseen && state.since_unseen < watched_)
      watch_->unseen({.step = index, .writing = {}, .have = state.since_unseen});
  }

  /// Any result may be read behind this instruction, or by it.
  void tell_unseen_readers(const State& state, std::size_t index) const {
    if (watch_ == nullptr || !watch_->unseen) return;
    for (const Recent& one : state.recent)
      watch_->unseen({.step = index, .writing = one.step, .have = one.elapsed});
  }

 private:
  /// What it uses must not be in flight, and is not any more.
  void check(State& state, std::size_t index) const {
    const Uses& uses = steps_[index].uses;
    for (const RegisterUse& use : uses.reads) check_read(state, index, use);
    for (const RegisterUse& use : uses.writes) check_write(state, index, use);
    state.drop(facts_of_guard(steps_[index].text.guard), [&](const auto& one) {
      return std::ranges::find(uses.writes, one.reg(), &RegisterUse::id) != uses.writes.end();
    });
  }

  /// What it leaves in flight, and of predicates.
  void leave(State& state, std::size_t index) const {
    const HazardStep& step = steps_[index];
    const PredicateFacts guard = facts_of_guard(step.text.guard);
    state.drop(guard, [&](const auto& one) { return one.step == index; });
    for (const PathCase& path : state.cases)
      if (!path.when.contradicts(guard))
        add_in_flight(state, static_cast<std::uint32_t>(index), path.when.with(guard));
    const PredicateSet written =
        step.uses.type.empty() ? named_predicates(step.text) : written_predicates(step.uses.writes);
    if (written != 0) state.write_predicates(guard, written, step.uses.clears);
  }

  void wait(State& state, std::size_t index) const {
    const HazardStep& step = steps_[index];
    unsigned waits = step.control.wait;
    const unsigned idle = waits & ~state.set;
    if (watch_ != nullptr && idle != 0) watch_->idle_wait(index, idle);
    if (const auto drain = drain_of(step.text)) {
      const unsigned board = 1U << drain->scoreboard;
      waits |= drain->others;
      if (drain->remain == 0) {
        if (watch_ != nullptr && (board & ~(state.set & ~waits)) != 0) watch_->idle_wait(index, board);
        waits |= board;
      }
      std::erase_if(state.pending, [&](const Pending& one) {
        return (one.any_of & board) != 0 && one.later >= drain->remain;
      });
    }
    std::erase_if(state.pending, [&](const Pending& one) { return (one.any_of & waits) != 0; });
    state.set = static_cast<std::uint8_t>(state.set & ~waits);
  }

  void check_read(const State& state, std::size_t index, const RegisterUse& use) const {
    if (watch_ == nullptr) return;
    for (const Pending& one : state.pending)
      if (one.id == use.id && !one.operand && is_read(one, index, use))
        tell(Hazard::Kind::read_result, index, one);
    for (const Recent& one : state.recent) {
      if (one.use.id != use.id || !is_read(one, index, use)) continue;
      const Access writer{steps_[one.step].uses.type, one.use}, reader{steps_[index].uses.type, use};
      const std::optional<int> need = latencies_.cycles(writer, reader);
      if (watch_->distance) watch_->distance({one.step, index, writer, reader, one.elapsed, need});
      if (need && one.elapsed < *need)
        watch_->hazard({.kind = Hazard::Kind::short_stall,
                        .step = index,
                        .producer = one.step,
                        .id = use.id,
                        .have = one.elapsed,
                        .need = *need});
    }
  }

  void check_write(const State& state, std::size_t index, const RegisterUse& use) const {
    if (watch_ == nullptr) return;
    for (const Pending& one : state.pending)
      if (one.id == use.id && both(one, index) && !in_order(one, steps_[index].uses))
        tell(one.operand ? Hazard::Kind::overwrite_operand : Hazard::Kind::overwrite_result, index, one);
  }

  void tell(Hazard::Kind kind, std::size_t index, const Pending& one) const {
    if (one.any_of == 0) kind = Hazard::Kind::no_scoreboard;
    watch_->hazard({.kind = kind, .step = index, .producer = one.step, .id = one.id, .any_of = one.any_of});
  }

  /// Whether the instruction is executed where the other is in flight.
  bool both(const auto& in_flight, std::size_t index) const {
    return !facts_of_guard(steps_[index].text.guard).contradicts(in_flight.when);
  }

  /// A guard is read to know whether the instruction is executed, so also where it is not.
  bool is_read(const auto& in_flight, std::size_t index, const RegisterUse& use) const {
    return use.operand == 'g' || both(in_flight, index);
  }

  /// Sets its scoreboards, which tell of earlier instructions, too. It does so even where its guard is false:
  /// ptxas lets a wait for the last of several stores, each under another guard, cover all of them.
  void issue(State& state, const HazardStep& step) const {
    const unsigned write = bit(step.control.write), read = bit(step.control.read), sets = write | read;
    state.set = static_cast<std::uint8_t>(state.set | sets);
    for (Pending& one : state.pending) {
      if ((one.any_of & sets) != 0 && std::has_single_bit(one.any_of) && one.later < kMostCycles) ++one.later;
      const unsigned more = covered(one, step.uses, write, read) & ~one.any_of;
      if (more != 0) one.later = 0;
      one.any_of = static_cast<std::uint8_t>(one.any_of | more);
    }
  }

  /// What the instruction leaves in flight on the paths where these facts hold.
  void add_in_flight(State& state, std::uint32_t number, const PredicateFacts& facts) const {
    const HazardStep& step = steps_[number];
    const unsigned write = bit(step.control.write), read = bit(step.control.read);
    for (const RegisterUse& use : step.uses.writes) {
      const bool fixed = write == 0 && is_fixed(step.uses, use);
      if (fixed) {
        State::add(state.recent, {.use = use, .step = number, .when = facts_for(use.id, facts)});
      } else if (step.uses.results != Results::other) {
        // A predicate is there when the operands have been read: ATOM's tells whether the address is global.
        const unsigned tells = file_of(use.id) == RegisterFile::predicate ? write | read : write;
        State::add(state.pending, {.id = use.id,
                                   .step = number,
                                   .when = facts_for(use.id, facts),
                                   .any_of = static_cast<std::uint8_t>(tells),
                                   .in_order = tells == 0});
      }
    }
    if (read == 0 && !reads_late(step.uses)) return;
    for (const RegisterUse& use : step.uses.reads)
      if (is_read_late(step.uses, use.id))
        State::add(state.pending, {.id = use.id,
                                   .step = number,
                                   .operand = true,
                                   .when = facts_for(use.id, facts),
                                   .any_of = static_cast<std::uint8_t>(write | read),
                                   .in_order = read == 0});
  }

  bool is_fixed(const Uses& uses, const RegisterUse& result) const {
    return uses.results == Results::fixed ||
           (uses.results == Results::either && latencies_.has({uses.type, result}));
  }

  /// Instructions that have a fixed latency on some chips read their operands as they are issued there.
  bool reads_late(const Uses& uses) const {
    const bool fixed = !uses.writes.empty() && is_fixed(uses, uses.writes.front());
    return !uses.queue.empty() && !fixed;
  }

  /// Whether the second instruction reads its operands after the first has.
  bool same_queue(const Uses& first, const Uses& second) const {
    return first.queue == second.queue && reads_late(first) && reads_late(second);
  }

  /// Whether an instruction that writes the register does it later than this even without a wait.
  bool in_order(const Pending& one, const Uses& uses) const {
    const Uses& earlier = steps_[one.step].uses;
    return one.operand ? same_queue(earlier, uses) : !earlier.order.empty() && earlier.order == uses.order;
  }

  static bool is_read_late(const Uses& uses, RegisterId id) {
    const RegisterFile file = file_of(id);
    return file == RegisterFile::general || (file == RegisterFile::uniform && uses.late_uniform);
  }

  /// What completes in order is complete when a later instruction is. Scoreboards of this one that tell it.
  unsigned covered(const Pending& one, const Uses& uses, unsigned write, unsigned read) const {
    if (!one.in_order) return 0;
    const Uses& earlier = steps_[one.step].uses;
    if (one.operand) return same_queue(earlier, uses) ? write | read : 0;
    return !earlier.order.empty() && earlier.order == uses.order ? write : 0;
  }

  const std::vector<HazardStep>& steps_;
  const LatencyTable& latencies_;
  int watched_;
  const Watch* watch_;
};

/// What holds after the last instruction of a block, if execution goes on with the next one, or elsewhere.
PredicateFacts facts_of_edge(const HazardStep& last, bool next) {
  const PredicateFacts guard = facts_of_guard(last.text.guard);
  if (last.uses.flow == Flow::end) return next ? guard.opposite() : guard;
  if (last.uses.flow != Flow::branch) return {};
  // `BRA P1, L` is not taken either if P1 is false.
  if (next) return last.text.operands.size() > 1 ? PredicateFacts{} : guard.opposite();
  return guard;
}

std::vector<CodeBlock> blocks_of_steps(const std::vector<HazardStep>& steps, bool kernel) {
  std::vector<FlowStep> flow;
  for (const HazardStep& step : steps) flow.push_back({&step.text, &step.uses, step.label});
  return blocks_of(flow, kernel);
}

}  // namespace

std::optional<Drain> drain_of(const InstructionText& text) {
  if (text.opcode != "DEPBAR" || text.operands.size() < 2 || !text.operands[0].starts_with("SB"))
    return std::nullopt;
  const std::string_view board = text.operands[0].substr(2);
  std::string_view remain = text.operands[1];
  if (remain.starts_with("0x")) remain.remove_prefix(2);
  Drain drain;
  std::from_chars(board.data(), board.data() + board.size(), drain.scoreboard);
  if (drain.scoreboard >= kScoreboards) return std::nullopt;  // three bits of the code, of damaged code too
  std::from_chars(remain.data(), remain.data() + remain.size(), drain.remain, 16);
  for (std::size_t i = 2; i < text.operands.size(); ++i)
    for (const char c : text.operands[i])
      if (c >= '0' && c < '0' + kScoreboards) drain.others |= 1U << static_cast<unsigned>(c - '0');
  return drain;
}

std::vector<HazardStep> steps_of(const ListedFunction& function, const OperandTable& operands, int chip) {
  std::vector<HazardStep> steps;
  for (const ListedInstruction& one : function.instructions) {
    HazardStep& step = steps.emplace_back();
    step.text = split_text(one.text);
    step.uses = operands.uses_of(step.text, chip);
    step.control = one.control;
    step.label = one.label;
  }
  return steps;
}

void follow(const std::vector<HazardStep>& steps, bool kernel, const LatencyTable& latencies,
            const Watch& watch) {
  const std::vector<CodeBlock> blocks = blocks_of_steps(steps, kernel);
  std::vector<State> entry(blocks.size());
  std::deque<std::size_t> work;
  std::vector<bool> queued(blocks.size());
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (!blocks[i].entered && i > 0) continue;
    entry[i] = State::begin();
    if (blocks[i].entered)
      entry[i].set = kAllScoreboards;
    else
      entry[i].since_unseen = kMostCycles;
    queued[i] = true;
    work.push_back(i);
  }
  const auto run = [&](State state, const CodeBlock& block, const Walker& walker) {
    for (std::size_t i = block.begin; i < block.end; ++i) walker.step(state, i);
    if (block.left) walker.tell_unseen_readers(state, block.end - 1);
    state.tidy();
    return state;
  };
  const int watched = latencies.longest() + watch.longer;
  const Walker silent(steps, latencies, watched, nullptr);
  while (!work.empty()) {
    const std::size_t at = work.front();
    work.pop_front();
    queued[at] = false;
    const State leaving = run(entry[at], blocks[at], silent);
    for (std::size_t edge = 0; edge < blocks[at].next.size(); ++edge) {
      const std::size_t next = blocks[at].next[edge];
      State going = leaving;
      going.assume(facts_of_edge(steps[blocks[at].end - 1], edge == 0 && next == at + 1));
      if (!going.reached || !entry[next].unite(going) || queued[next]) continue;
      queued[next] = true;
      work.push_back(next);
    }
  }
  const Walker loud(steps, latencies, watched, &watch);
  for (std::size_t i = 0; i < blocks.size(); ++i)
    run(entry[i].reached ? entry[i] : State::begin(), blocks[i], loud);
}

}  // namespace ptxloom::sass
