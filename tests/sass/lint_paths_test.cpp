// SPDX-License-Identifier: Apache-2.0
// What predicates tell the lint of which instructions are executed together, by hand and against executions
// of random code.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch_test_macros.hpp>
#include <random>
#include <set>

#include "lint_code.hpp"

using namespace ptxloom;
using namespace ptxloom::sass;

namespace {

using Found = std::vector<std::string>;

Found lint_of(const std::string& code) { return test::lint_code(code, 80); }

/// One instruction of random code.
struct Step {
  enum class Kind { load, load_shared, drain, add, compare, clear, jump } kind = Kind::add;
  int guard = -1;  ///< -1: none; else a predicate
  bool negated = false;
  unsigned wait = 0;
  int reg = 0, predicate = 0;
  int board = -1;  ///< that a load sets; -1: none. Or that is drained
  int remain = 0;  ///< of a drain
  int stall = 15;
  int target = 0;  ///< step that a jump leads to

  bool loads() const { return kind == Kind::load || kind == Kind::load_shared; }

  std::string text() const {
    const std::string guarded = guard < 0 ? "" : fmt::format("@{}P{} ", negated ? "!" : "", guard);
    std::string waits;
    for (unsigned i = 0; i < kScoreboards; ++i) waits += (wait >> i & 1U) != 0 ? std::to_string(i) : "-";
    const std::string write = loads() && board >= 0 ? std::to_string(board) : "-";
    return fmt::format("[----:B{}:R-:W{}:-:S{:02}] {}{}\n", waits, write, stall, guarded, body());
  }

 private:
  std::string body() const {
    switch (kind) {
      case Kind::load:
        return fmt::format("LDG.E R{}, [R20.64]", reg);
      case Kind::load_shared:
        return fmt::format("LDS R{}, [R20]", reg);
      case Kind::drain:
        return fmt::format("DEPBAR.LE SB{}, 0x{:x}", board, remain);
      case Kind::add:
        return fmt::format("FADD R{}, R{}, R16", 8 + predicate, reg);
      case Kind::compare:
        return fmt::format("ISETP.GE.AND P{}, PT, R16, R17, PT", predicate);
      case Kind::clear:
        return fmt::format("R2P PR, RZ, 0x{:x}", 1U << static_cast<unsigned>(predicate));
      default:
        return fmt::format("BRA `(.L_{})", target);
    }
  }
};

constexpr int kRegisters = 3, kPredicates = 3, kBoards = 2;
constexpr int kGuardCycles = 13;  ///< from an instruction that writes a predicate to a guard, on sm_80

std::vector<Step> random_steps(std::mt19937& random, int count) {
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    Step step{.kind = static_cast<Step::Kind>(below(7))};
    if (below(3) > 0 || step.kind == Step::Kind::jump) step.guard = below(kPredicates);
    if (step.kind == Step::Kind::drain) step.guard = -1;
    step.negated = below(2) == 0;
    if (below(4) == 0) step.wait = 1U << static_cast<unsigned>(below(kBoards));
    step.reg = below(kRegisters);
    step.predicate = below(kPredicates);
    step.board = below(kBoards);
    if (step.kind == Step::Kind::load_shared && below(2) == 0) step.board = -1;
    step.remain = below(3);
    if (below(6) == 0) step.stall = 1 + below(15);
    step.target = i + 1 + below(count - i);
    steps.push_back(step);
  }
  return steps;
}

std::string code_of(const std::vector<Step>& steps) {
  std::string code;
  for (std::size_t i = 0; i < steps.size(); ++i) code += fmt::format(".L_{}:\n{}", i, steps[i].text());
  return code + fmt::format(".L_{}:\n[----:B012345:R-:W-:-:S05] EXIT\n", steps.size());
}

/// A load under way.
struct Load {
  int reg = 0;
  bool shared = false;
  bool ordered = false;     ///< it set no scoreboard, so later shared loads tell it
  bool told[kBoards] = {};  ///< scoreboards that tell it
  int later[kBoards] = {};  ///< how often each was set after it told it
};

/// One execution of the steps.
class Execution {
 public:
  Execution(const std::vector<Step>& steps, std::mt19937& random) : steps_(steps), random_(random) {
    for (bool& one : predicates_) one = random_() % 2 == 0;
  }

  /// Adds the steps that use a register while a load of it is under way, or read a guard too early.
  void run(std::set<std::size_t>& wrong) {
    for (std::size_t at = 0; at < steps_.size(); ++at) {
      const Step& step = steps_[at];
      for (int board = 0; board < kBoards; ++board)
        if ((step.wait >> board & 1U) != 0) complete(board, 0);
      if (step.kind == Step::Kind::drain) complete(step.board, step.remain);
      const int issued = now_;
      now_ += step.stall;
      if (step.guard >= 0 && issued - written_[step.guard] < kGuardCycles) wrong.insert(at);
      const bool early = is_too_early(step);
      if (step.loads() && step.board >= 0) set(step);
      if (step.guard >= 0 && predicates_[step.guard] == step.negated) continue;
      if (early) wrong.insert(at);
      if (step.loads()) load(step);
      if (step.kind == Step::Kind::compare) write(step.predicate, random_() % 2 == 0, issued);
      if (step.kind == Step::Kind::clear) write(step.predicate, false, issued);
      if (step.kind == Step::Kind::jump) at = static_cast<std::size_t>(step.target) - 1;
    }
  }

 private:
  void complete(int board, int remain) {
    std::erase_if(loads_, [&](const Load& one) { return one.told[board] && one.later[board] >= remain; });
  }
  /// Shared loads write in their order, so one may overwrite another's result.
  bool is_too_early(const Step& step) const {
    if (!step.loads() && step.kind != Step::Kind::add) return false;
    return std::ranges::any_of(loads_, [&](const Load& one) {
      return one.reg == step.reg && !(one.shared && step.kind == Step::Kind::load_shared);
    });
  }
  void write(int predicate, bool value, int issued) {
    predicates_[predicate] = value;
    written_[predicate] = issued;
  }
  /// Its scoreboard tells earlier loads, too.
  void set(const Step& step) {
    for (Load& one : loads_) {
      if (one.told[step.board]) ++one.later[step.board];
      if (one.ordered && step.kind == Step::Kind::load_shared) one.told[step.board] = true;
    }
  }
  void load(const Step& step) {
    std::erase_if(loads_, [&](const Load& one) { return one.reg == step.reg; });
    Load made{.reg = step.reg, .shared = step.kind == Step::Kind::load_shared, .ordered = step.board < 0};
    if (step.board >= 0) made.told[step.board] = true;
    loads_.push_back(made);
  }

  const std::vector<Step>& steps_;
  std::mt19937& random_;
  std::vector<Load> loads_;
  bool predicates_[kPredicates] = {};
  int written_[kPredicates] = {-100, -100, -100};
  int now_ = 0;
};

}  // namespace

TEST_CASE("a guard excludes its opposite until the predicate is written") {
  const std::string load = "[----:B------:R-:W1:-:S02] @P0 LDG.E R4, [R2.64]\n";
  const std::string compare = "[----:B------:R-:W-:-:S13] ISETP.GE.AND P0, PT, R7, R6, PT\n";
  CHECK(lint_of(load + "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n") == Found{});
  CHECK(lint_of(load + compare + "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n") ==
        Found{"20 missing-wait R4"});
  CHECK(lint_of(load + "[----:B------:R-:W-:-:S13] @P1 ISETP.GE.AND P0, PT, R7, R6, PT\n"
                       "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n") == Found{"20 missing-wait R4"});
  // All lanes of a warp share a uniform register: a lane can read what another lane wrote.
  CHECK(lint_of("[----:B------:R-:W1:-:S02] @P0 R2UR UR4, R2\n"
                "[----:B------:R-:W-:-:S04] @!P0 IMAD R5, R6, UR4, R7\n") == Found{"10 missing-wait UR4"});
  // An instruction that is never executed waits, and does nothing else.
  CHECK(lint_of("[----:B------:R-:W1:-:S02] LDG.E R4, [R2.64]\n"
                "[----:B------:R-:W-:-:S04] @!PT MOV R5, R4\n") == Found{});
}

TEST_CASE("a guard is read even where it is false") {
  // R2P makes P0 false, but it takes a while until a guard has it.
  for (const char* guard : {"", "!"}) {
    CAPTURE(guard);
    CHECK(lint_of("[----:B------:R-:W-:-:S02] R2P PR, RZ, 0x1\n" +
                  fmt::format("[----:B------:R-:W-:-:S04] @{}P0 MOV R4, R9\n", guard)) ==
          Found{"10 short-stall P0"});
    CHECK(lint_of("[----:B------:R-:W-:-:S13] R2P PR, RZ, 0x1\n" +
                  fmt::format("[----:B------:R-:W-:-:S04] @{}P0 MOV R4, R9\n", guard)) == Found{});
  }
}

TEST_CASE("an instruction sets its scoreboards whether its guard is true or not") {
  // ptxas relies on it: the last of several stores tells that all have read their operands.
  const std::string stores =
      "[----:B------:R-:W-:-:S04] @!P4 STS [R15], R10\n"
      "[----:B------:R0:W-:-:S01] @!P0 STS [R15+0xc60], R16\n";
  CHECK(lint_of(stores + "[----:B0-----:R-:W-:-:S04] IMAD R15, R20, R7, R11\n") == Found{});
  CHECK(lint_of(stores + "[----:B------:R-:W-:-:S04] IMAD R15, R20, R7, R11\n") ==
        Found{"20 missing-wait R15", "20 missing-wait R15"});
  const std::string load = "[----:B------:R-:W-:-:S02] LDS R4, [R2]\n";
  CHECK(lint_of(load + "[----:B------:R-:W2:-:S02] @P0 LDS R5, [R2+0x4]\n"
                       "[----:B--2---:R-:W-:-:S04] MOV R6, R4\n") == Found{});
  CHECK(lint_of("[----:B------:R-:W0:-:S02] LDG.E R4, [R2.64]\n"
                "[----:B------:R-:W0:-:S02] @P0 LDG.E R5, [R2.64+0x4]\n"
                "[----:B------:R-:W-:-:S04] DEPBAR.LE SB0, 0x1\n"
                "[----:B------:R-:W-:-:S04] MOV R7, R4\n") == Found{});
}

TEST_CASE("DEPBAR counts what sets its own scoreboard") {
  const std::string load = "[----:B------:R-:W-:-:S02] LDS R4, [R2]\n";
  CHECK(lint_of(load +
                "[----:B------:R-:W2:-:S02] LDS R5, [R2+0x4]\n[----:B------:R-:W3:-:S02] LDS R6, [R2+0x8]\n"
                "[----:B------:R-:W3:-:S02] LDS R7, [R2+0xc]\n[----:B------:R-:W-:-:S04] DEPBAR.LE SB2, 0x1\n"
                "[----:B------:R-:W-:-:S04] MOV R8, R4\n") == Found{"50 missing-wait R4"});
}

TEST_CASE("a thread's predicate does not tell that a register of the warp is written") {
  const std::string first = "[----:B------:R-:W1:-:S02] R2UR UR4, R2\n";
  const std::string second = "[----:B------:R-:W2:-:S02] {}R2UR UR4, R3\n";
  const std::string use = "[----:B--2---:R-:W-:-:S04] IMAD R5, R6, UR4, R7\n";
  const auto found = [&](const char* guard) {
    Found all = lint_of(first + fmt::format(fmt::runtime(second), guard) + use);
    std::erase_if(all, [](const std::string& one) { return !one.starts_with("20 "); });
    return all;
  };
  CHECK(found("") == Found{});
  CHECK(found("@P0 ") == Found{"20 missing-wait UR4"});
  CHECK(found("@UP0 ") == Found{"20 missing-wait UR4"});
}

TEST_CASE("branches tell what a predicate is") {
  const std::string code =
      "[----:B------:R-:W1:-:S02] @P0 LDG.E R4, [R2.64]\n"
      "[----:B------:R-:W-:-:S05] @{}P0 BRA `(.L_2)\n"
      "[----:B-1----:R-:W-:-:S04] MOV R7, R8\n"
      ".L_2:\n"
      "[----:B------:R-:W-:-:S04] MOV R5, R4\n";
  CHECK(lint_of(fmt::format(fmt::runtime(code), "!")) == Found{});
  CHECK(lint_of(fmt::format(fmt::runtime(code), "")) == Found{"30 missing-wait R4"});
  // The loop ends when P2 is false, so its last load was not executed.
  const std::string loop =
      ".L_1:\n"
      "[----:B-1----:R-:W-:-:S04] FADD R8, R8, R4\n"
      "[----:B------:R-:W-:-:S13] ISETP.GE.AND P2, PT, R7, R6, PT\n"
      "[----:B------:R-:W1:-:S02] @P2 LDG.E R4, [R2.64]\n"
      "[----:B------:R-:W-:-:S05] @{}P2 BRA `(.L_1)\n"
      "[----:B------:R-:W-:-:S04] MOV R4, R9\n";
  CHECK(lint_of(fmt::format(fmt::runtime(loop), "")) == Found{});
  CHECK(lint_of(fmt::format(fmt::runtime(loop), "!")) == Found{"40 missing-wait R4"});
}

TEST_CASE("R2P of RZ makes predicates false") {
  const std::string code =
      "[----:B------:R-:W-:-:S02] @!P1 R2P PR, RZ, 0x78\n"
      "[----:B------:R-:W-:-:S13] @P1 R2P PR, R90, 0x78\n"
      "[----:B------:R-:W2:-:S02] @P3 LDG.E R64, [R84.64]\n"
      "[----:B------:R-:W-:-:S13] @P1 R2P PR, R91, 0x78\n"
      "[----:B------:R-:W-:-:S05] @{}P1 BRA `(.L_2)\n"
      "[----:B--2---:R-:W-:-:S04] MOV R7, R64\n"
      ".L_2:\n"
      "[----:B------:R-:W-:-:S04] MOV R64, R9\n";
  CHECK(lint_of(fmt::format(fmt::runtime(code), "!")) == Found{});
  CHECK(lint_of(fmt::format(fmt::runtime(code), "")) == Found{"60 missing-wait R64"});
}

TEST_CASE("what some execution of random code does too early is found") {
  const unsigned seed = std::random_device{}();
  CAPTURE(seed);
  std::mt19937 random(seed);
  std::size_t early = 0, alarms = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<Step> steps = random_steps(random, 8 + round % 10);
    std::set<std::size_t> wrong;
    for (int i = 0; i < 400; ++i) Execution(steps, random).run(wrong);
    std::set<std::size_t> found;
    for (const std::string& one : lint_of(code_of(steps))) found.insert(std::stoul(one, nullptr, 16) / 16);
    CAPTURE(code_of(steps));
    for (const std::size_t at : wrong) {
      CAPTURE(at);
      CHECK(found.contains(at));
    }
    early += wrong.size();
    alarms += found.size();
  }
  CHECK(early > 100);
  // Nearly all that is reported happens in one of the 400 executions.
  CHECK(static_cast<double>(alarms) < 1.05 * static_cast<double>(early));
}
