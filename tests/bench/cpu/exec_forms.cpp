// SPDX-License-Identifier: Apache-2.0
// Every instruction of the specs that does something to the registers of a lane, or of a warp, in the CPU
// executor: those that conform can try and that have neither memory nor matrices. Claims: 1,000 million
// lane-operations a second on one core, 300 million with judging. Prints, by form, how many variants there
// are, how many fall short, and the slowest; with a form's name or `all`, each of its variants. Operands are
// conform's: of like magnitude, of any, special ones, next to ties, and random bits, a warp of each in turns.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "bench/bench.hpp"
#include "conform/inputs.hpp"
#include "conform/subject.hpp"
#include "ptxloom/exec.hpp"

using namespace ptxloom;
using namespace ptxloom::bench;
using namespace ptxloom::conform_kernels;

namespace {

constexpr double kClaim = 1000, kJudgedClaim = 300;  // million lane-operations a second
constexpr std::uint32_t kThreads = 8 * kBlockThreads;
constexpr int kUnrolled = 64, kRuns = 5, kFewTurns = 2, kTurns = 24;

struct Rate {
  std::string opcode;
  double plain = 0, judged = 0;

  bool falls_short() const { return plain < kClaim || judged < kJudgedClaim; }
};

bool is_of_lanes(const Subject& subject) {
  const Around& around = subject.around;
  if (!subject.why_not.empty() || around.global || around.shared || around.data || !around.before.empty())
    return false;
  return std::ranges::all_of(subject.variant.operands(), [&](const OperandSpec& operand) {
    return operand.kind == OperandSpec::Kind::value && subject.variant.fragment(operand.name).empty();
  });
}

/// conform's kernel with its instruction in a loop.
std::string loop_text(const Subject& subject, const Target& target, int turns) {
  const std::size_t one[] = {0};
  std::string text = module_text(std::span(&subject, 1), one, target);
  const std::size_t begin = text.rfind("\n" + std::string(subject.variant.opcode()) + " ") + 1,
                    end = text.find('\n', begin) + 1;
  const std::string instruction = text.substr(begin, end - begin);
  std::string loop = ".reg .b32 %turn; .reg .pred %again;\nmov.u32 %turn, 0;\nloop:\n";
  for (int i = 0; i < kUnrolled; ++i) loop += instruction;
  loop += fmt::format("add.u32 %turn, %turn, 1;\nsetp.lt.u32 %again, %turn, {};\n@%again bra loop;\n", turns);
  return text.replace(begin, end - begin, loop);
}

/// Million lane-operations a second.
double rate_of(const Subject& subject, const Target& target, const std::shared_ptr<const Specs>& specs,
               std::uint64_t seed, bool judge, int turns) {
  const ParseResult read = parse(loop_text(subject, target, turns), specs);
  if (!read.ok()) throw std::logic_error(to_string(read.diagnostics.front()));
  const exec::Program program(read.module, entry_name(0));
  std::vector<std::byte> in = inputs(subject, kThreads, seed);
  std::vector<std::byte> out(kThreads * static_cast<std::size_t>(subject.out.bytes));
  exec::Memory memory;
  const std::uint64_t parameters[] = {memory.map(in.data(), in.size()), memory.map(out.data(), out.size()), 0,
                                      0, 0};
  const exec::Launch launch{.grid = {kThreads / kBlockThreads, 1, 1},
                            .block = {kBlockThreads, 1, 1},
                            .parameters = std::as_bytes(std::span(parameters)),
                            .jobs = 1,
                            .judge = judge};
  double least = 1e30;
  for (int i = 0; i < kRuns; ++i)
    least = std::min(least, cpu_milliseconds_of([&] { program.run(memory, launch); }));
  return double{kThreads} * turns * kUnrolled / least / 1000;
}

/// What is not very slow is measured for longer, so that loads and stores count for little.
double rate_of(const Subject& subject, const Target& target, const std::shared_ptr<const Specs>& specs,
               std::uint64_t seed, bool judge) {
  const double first = rate_of(subject, target, specs, seed, judge, kFewTurns);
  return first < kJudgedClaim / 3 ? first : rate_of(subject, target, specs, seed, judge, kTurns);
}

/// Nothing where the executor has no semantics or, for operands of conform, a fault: alloca of any size.
std::optional<Rate> rate_of(const Subject& subject, const Target& target,
                            const std::shared_ptr<const Specs>& specs, std::uint64_t seed) {
  try {
    // Judging refuses to divide by zero.
    const bool divides = subject.variant.form() == "div.int";
    return Rate{.opcode = std::string(subject.variant.opcode()),
                .plain = rate_of(subject, target, specs, seed, false),
                .judged = divides ? kJudgedClaim : rate_of(subject, target, specs, seed, true)};
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The variants of a form, each on the first target that has it.
std::vector<Rate> rates_of(const std::shared_ptr<const Specs>& specs, std::string_view form,
                           std::span<const Target> targets, std::uint64_t seed) {
  std::vector<Rate> rates;
  std::set<std::string_view> known;
  for (const Target& target : targets) {
    for (const Subject& subject : subjects(*specs, form, target)) {
      if (!is_of_lanes(subject) || !known.insert(subject.variant.opcode()).second) continue;
      if (const auto rate = rate_of(subject, target, specs, seed)) rates.push_back(*rate);
    }
  }
  std::ranges::sort(rates, {}, &Rate::plain);
  return rates;
}

void print(std::string_view form, std::span<const Rate> rates, bool each) {
  const auto shown = each ? rates : rates.first(1);
  const auto short_of = std::ranges::count_if(rates, &Rate::falls_short);
  const double judged = std::ranges::min(rates, {}, &Rate::judged).judged;
  fmt::print("{:<18} {:>5} {:>5} {:>7.0f} {:>7.0f}  {}\n", form, rates.size(), short_of, shown[0].plain,
             judged, shown[0].opcode);
  if (!each) return;
  for (const Rate& rate : shown)
    fmt::print("  {:<60} {:>7.0f} {:>7.0f}{}\n", rate.opcode, rate.plain, rate.judged,
               rate.falls_short() ? "  short" : "");
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> wanted(argv + 1, argv + argc);
  const auto specs = std::make_shared<const Specs>();
  const Target targets[] = {specs->target("sm_90a"), specs->target("sm_100a"), specs->target("sm_120a")};
  const std::uint64_t seed = std::random_device{}();
  fmt::print("{:<18} {:>5} {:>5} {:>7} {:>7}  slowest, M lane-operations a second; seed {}\n", "form",
             "count", "short", "plain", "judged", seed);
  std::size_t count = 0, short_of = 0;
  for (const std::string_view form : specs->forms()) {
    const bool each = std::ranges::find(wanted, form) != wanted.end();
    if (!wanted.empty() && !each && wanted[0] != "all") continue;
    const std::vector<Rate> rates = rates_of(specs, form, targets, seed);
    if (rates.empty()) continue;
    print(form, rates, !wanted.empty());
    std::fflush(stdout);
    count += rates.size();
    short_of += static_cast<std::size_t>(std::ranges::count_if(rates, &Rate::falls_short));
  }
  fmt::print("{} of {} variants fall short of {:.0f}, or judged of {:.0f}\n", short_of, count, kClaim,
             kJudgedClaim);
}
