// SPDX-License-Identifier: Apache-2.0
// What predicates tell the lint of which instructions are executed together, by hand and against executions
// of random code.
#include <fmt/format.h>

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
  enum class Kind { load, add, compare, clear, jump } kind = Kind::add;
  int guard = -1;  ///< -1: none; else a predicate
  bool negated = false;
  unsigned wait = 0;
  int reg = 0, predicate = 0;
  unsigned board = 0;
  int target = 0;  ///< step that a jump leads to

  std::string text() const {
    const std::string guarded = guard < 0 ? "" : fmt::format("@{}P{} ", negated ? "!" : "", guard);
    std::string waits;
    for (unsigned i = 0; i < kScoreboards; ++i) waits += (wait >> i & 1U) != 0 ? std::to_string(i) : "-";
    const std::string write = kind == Kind::load ? std::to_string(board) : "-";
    return fmt::format("[----:B{}:R-:W{}:-:S15] {}{}\n", waits, write, guarded, body());
  }

 private:
  std::string body() const {
    switch (kind) {
      case Kind::load:
        return fmt::format("LDG.E R{}, [R20.64]", reg);
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

constexpr int kRegisters = 3, kPredicates = 3;

std::vector<Step> random_steps(std::mt19937& random, int count) {
  const auto below = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  std::vector<Step> steps;
  for (int i = 0; i < count; ++i) {
    Step step{.kind = static_cast<Step::Kind>(below(5))};
    if (below(3) > 0 || step.kind == Step::Kind::jump) step.guard = below(kPredicates);
    step.negated = below(2) == 0;
    if (below(4) == 0) step.wait = 1U << static_cast<unsigned>(below(2));
    step.reg = below(kRegisters);
    step.predicate = below(kPredicates);
    step.board = static_cast<unsigned>(below(2));
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

/// Follows one execution. Adds the steps that use a register while a load of it is under way.
void execute(const std::vector<Step>& steps, std::mt19937& random, std::set<std::size_t>& wrong) {
  bool predicates[kPredicates];
  for (bool& one : predicates) one = random() % 2 == 0;
  int pending[kRegisters];
  for (int& one : pending) one = -1;
  for (std::size_t at = 0; at < steps.size(); ++at) {
    const Step& step = steps[at];
    for (int& one : pending)
      if (one >= 0 && (step.wait >> one & 1U) != 0) one = -1;
    if (step.guard >= 0 && predicates[step.guard] == step.negated) continue;
    const bool uses = step.kind == Step::Kind::load || step.kind == Step::Kind::add;
    if (uses && pending[step.reg] >= 0) wrong.insert(at);
    if (step.kind == Step::Kind::load) pending[step.reg] = static_cast<int>(step.board);
    if (step.kind == Step::Kind::compare) predicates[step.predicate] = random() % 2 == 0;
    if (step.kind == Step::Kind::clear) predicates[step.predicate] = false;
    if (step.kind == Step::Kind::jump) at = static_cast<std::size_t>(step.target) - 1;
  }
}

}  // namespace

TEST_CASE("a guard excludes its opposite until the predicate is written") {
  const std::string load = "[----:B------:R-:W1:-:S02] @P0 LDG.E R4, [R2.64]\n";
  const std::string compare = "[----:B------:R-:W-:-:S13] ISETP.GE.AND P0, PT, R7, R6, PT\n";
  CHECK(lint_of(load + "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n") == Found{});
  CHECK(lint_of(load + compare + "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n") ==
        Found{"20 missing-wait R4"});
  CHECK(lint_of(load + "[----:B------:R-:W-:-:S13] @P1 ISETP.GE.AND P0, PT, R7, R6, PT\n"
                       "[----:B------:R-:W-:-:S04] @!P0 MOV R4, R9\n") == Found{"20 missing-wait R4"});
  // Of a warp, a uniform register has one value: a lane that reads it need not be one that wrote it.
  CHECK(lint_of("[----:B------:R-:W1:-:S02] @P0 R2UR UR4, R2\n"
                "[----:B------:R-:W-:-:S04] @!P0 IMAD R5, R6, UR4, R7\n") == Found{"10 missing-wait UR4"});
  // An instruction that is never executed waits, and does nothing else.
  CHECK(lint_of("[----:B------:R-:W1:-:S02] LDG.E R4, [R2.64]\n"
                "[----:B------:R-:W-:-:S04] @!PT MOV R5, R4\n") == Found{});
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
    for (int i = 0; i < 400; ++i) execute(steps, random, wrong);
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
