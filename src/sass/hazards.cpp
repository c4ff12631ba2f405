// SPDX-License-Identifier: Apache-2.0
#include "sass/hazards.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <tuple>

namespace ptxloom::sass {
namespace {

constexpr unsigned kAllScoreboards = (1U << kScoreboards) - 1;
constexpr int kMostElapsed = 255;

auto key(const Pending& one) { return std::tuple(one.id, one.step, one.operand); }
auto key(const Recent& one) { return std::tuple(one.use.id, one.step, one.use.operand, one.use.index); }

/// Unites two sorted lists; `merge` changes an element by one with the same key, and says whether it did.
template <typename T, typename Merge>
bool unite_lists(std::vector<T>& to, const std::vector<T>& from, const Merge& merge) {
  bool changed = false;
  for (const T& other : from) {
    const auto at = std::ranges::lower_bound(to, key(other), {}, [](const T& one) { return key(one); });
    if (at == to.end() || key(*at) != key(other)) {
      to.insert(at, other);
      changed = true;
    } else {
      changed |= merge(*at, other);
    }
  }
  return changed;
}

template <typename T>
void sort_list(std::vector<T>& list) {
  const auto by_key = [](const T& one) { return key(one); };
  std::ranges::sort(list, {}, by_key);
  const auto rest = std::ranges::unique(list, {}, by_key);
  list.erase(rest.begin(), rest.end());
}

template <typename T>
bool lower(T& value, T other) {
  if (other >= value) return false;
  value = other;
  return true;
}

unsigned bit(std::optional<unsigned> scoreboard) {
  return scoreboard && *scoreboard < kScoreboards ? 1U << *scoreboard : 0;
}

/// Cycles until the next instruction, at least. A count of 0 stands behind ERRBAR and its like, which keep
/// the warp longer than any result takes.
int cycles_of(const ControlCode& control) {
  return control.stall == 0 ? kMostElapsed : static_cast<int>(control.stall);
}

/// "P0" and "!P0": at most one of the two instructions is executed.
bool exclude_each_other(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return false;
  return (a.front() == '!' && a.substr(1) == b) || (b.front() == '!' && b.substr(1) == a);
}

/// One pass over instructions, from a state.
class Walker {
 public:
  Walker(const std::vector<HazardStep>& steps, const LatencyTable& latencies, const Watch* watch)
      : steps_(steps), latencies_(latencies), watch_(watch) {}

  void step(State& state, std::size_t index) const {
    const HazardStep& step = steps_[index];
    wait(state, index);
    for (const RegisterUse& use : step.uses.reads) check_read(state, index, use);
    for (const RegisterUse& use : step.uses.writes) check_write(state, index, use);
    if (step.text.guard.empty()) forget(state, step.uses.writes);
    issue(state, index);
    if (!step.uses.drains.empty())
      std::erase_if(state.pending, [&](const Pending& one) {
        return one.operand && steps_[one.step].uses.queue == step.uses.drains;
      });
    for (Recent& one : state.recent)
      one.elapsed =
          static_cast<std::uint8_t>(std::min<int>(kMostElapsed, one.elapsed + cycles_of(step.control)));
    std::erase_if(state.recent, [&](const Recent& one) { return one.elapsed >= latencies_.longest(); });
  }

 private:
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
      if (one.id == use.id && !one.operand && both(one.step, index))
        tell(Hazard::Kind::read_result, index, one);
    for (const Recent& one : state.recent) {
      if (one.use.id != use.id || !both(one.step, index)) continue;
      const Access writer{steps_[one.step].uses.type, one.use}, reader{steps_[index].uses.type, use};
      const std::optional<int> need = latencies_.cycles(writer, reader);
      if (watch_->distance) watch_->distance(writer, reader, one.elapsed, need);
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
      if (one.id == use.id && both(one.step, index) && !in_order(one, steps_[index].uses))
        tell(one.operand ? Hazard::Kind::overwrite_operand : Hazard::Kind::overwrite_result, index, one);
  }

  void tell(Hazard::Kind kind, std::size_t index, const Pending& one) const {
    if (one.any_of == 0) kind = Hazard::Kind::no_scoreboard;
    watch_->hazard({.kind = kind, .step = index, .producer = one.step, .id = one.id, .any_of = one.any_of});
  }

  bool both(std::size_t a, std::size_t b) const {
    return !exclude_each_other(steps_[a].text.guard, steps_[b].text.guard);
  }

  static void forget(State& state, const std::vector<RegisterUse>& writes) {
    const auto is_written = [&](RegisterId id) {
      return std::ranges::find(writes, id, &RegisterUse::id) != writes.end();
    };
    std::erase_if(state.pending, [&](const Pending& one) { return is_written(one.id); });
    std::erase_if(state.recent, [&](const Recent& one) { return is_written(one.use.id); });
  }

  /// Adds what the instruction sets and writes.
  void issue(State& state, std::size_t index) const {
    const HazardStep& step = steps_[index];
    const unsigned write = bit(step.control.write), read = bit(step.control.read);
    for (Pending& one : state.pending)
      if ((one.any_of & (write | read)) != 0 && one.later < kMostElapsed) ++one.later;
    state.set = static_cast<std::uint8_t>(state.set | write | read);
    cover_earlier(state, step.uses, write, read);
    const auto number = static_cast<std::uint32_t>(index);
    std::erase_if(state.pending, [&](const Pending& one) { return one.step == number; });
    std::erase_if(state.recent, [&](const Recent& one) { return one.step == number; });
    for (const RegisterUse& use : step.uses.writes) {
      const bool fixed = write == 0 && is_fixed(step.uses, use);
      if (fixed) {
        state.recent.push_back({use, number, 0});
      } else if (step.uses.results != Results::other) {
        // A predicate is there when the operands have been read: ATOM's tells whether the address is global.
        const unsigned tells = file_of(use.id) == RegisterFile::predicate ? write | read : write;
        state.pending.push_back({use.id, number, false, static_cast<std::uint8_t>(tells), 0, tells == 0});
      }
    }
    if (read == 0 && !reads_late(step.uses)) return;
    for (const RegisterUse& use : step.uses.reads)
      if (is_read_late(step.uses, use.id))
        state.pending.push_back(
            {use.id, number, true, static_cast<std::uint8_t>(write | read), 0, read == 0});
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

  /// What completes in order is complete when a later instruction is: its scoreboards tell it too.
  void cover_earlier(State& state, const Uses& uses, unsigned write, unsigned read) const {
    for (Pending& one : state.pending) {
      if (!one.in_order) continue;
      const Uses& earlier = steps_[one.step].uses;
      unsigned more = 0;
      if (one.operand) {
        if (same_queue(earlier, uses)) more = write | read;
      } else if (!earlier.order.empty() && earlier.order == uses.order) {
        more = write;
      }
      one.any_of = static_cast<std::uint8_t>(one.any_of | more);
    }
  }

  const std::vector<HazardStep>& steps_;
  const LatencyTable& latencies_;
  const Watch* watch_;
};

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
  std::from_chars(remain.data(), remain.data() + remain.size(), drain.remain, 16);
  for (std::size_t i = 2; i < text.operands.size(); ++i)
    for (const char c : text.operands[i])
      if (c >= '0' && c < '0' + kScoreboards) drain.others |= 1U << static_cast<unsigned>(c - '0');
  return drain;
}

bool State::unite(const State& other) {
  const bool pending_changed = unite_lists(pending, other.pending, [](Pending& to, const Pending& from) {
    // Only what covers it on both paths does.
    const auto both = static_cast<std::uint8_t>(to.any_of & from.any_of);
    return static_cast<int>(lower(to.later, from.later)) + static_cast<int>(lower(to.any_of, both)) > 0;
  });
  const bool recent_changed = unite_lists(
      recent, other.recent, [](Recent& to, const Recent& from) { return lower(to.elapsed, from.elapsed); });
  const auto united = static_cast<std::uint8_t>(set | other.set);
  const bool set_changed = united != set;
  set = united;
  return pending_changed || recent_changed || set_changed;
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
  std::vector<bool> queued(blocks.size(), true);
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].entered) entry[i].set = kAllScoreboards;
    work.push_back(i);
  }
  const auto run = [&](std::size_t block, const Walker& walker) {
    State state = entry[block];
    for (std::size_t i = blocks[block].begin; i < blocks[block].end; ++i) walker.step(state, i);
    sort_list(state.pending);
    sort_list(state.recent);
    return state;
  };
  const Walker silent(steps, latencies, nullptr);
  while (!work.empty()) {
    const std::size_t block = work.front();
    work.pop_front();
    queued[block] = false;
    const State leaving = run(block, silent);
    for (const std::size_t next : blocks[block].next) {
      if (!entry[next].unite(leaving) || queued[next]) continue;
      queued[next] = true;
      work.push_back(next);
    }
  }
  const Walker loud(steps, latencies, &watch);
  for (std::size_t block = 0; block < blocks.size(); ++block) run(block, loud);
}

}  // namespace ptxloom::sass
