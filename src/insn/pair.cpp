// SPDX-License-Identifier: Apache-2.0
#include "insn/pair.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace ptxloom::insn {
namespace {

constexpr std::size_t kRepeats = 3, kMostRepeats = 9;
constexpr double kSteady = 0.005;  // of the figure: more repeats are made until those in the middle agree so
constexpr double kCyclesOfOne = 40000,
                 kCyclesOfMany = 300000;  // of the longer loop, in one thread block and in many
constexpr int kTrialRounds = 4, kFewestRounds = 8, kMostRounds = 4096;
constexpr double kLongEnough = 40000;  // nanoseconds, to tell the clock

}  // namespace

double spread_of(std::vector<double> values) {
  if (values.size() < kRepeats) return 0;
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  if (values[middle] == 0) return 0;
  return std::abs((values[middle + 1] - values[middle - 1]) / values[middle]);
}

Pair::Pair(const Device& device, const DeviceModule& module, const PairNames& names)
    : device_(device),
      few_(module.function(signature_of(names.few))),
      many_(module.function(signature_of(names.many))),
      copies_(names.copies) {}

double Pair::cycles(LaunchShape shape, int warps_per_sm) {
  spread_ = 0;
  const int fewest = std::max(kFewestRounds, shape.rounds);
  shape.rounds = kTrialRounds;
  const double trial = device_.run(many_, shape, warps_per_sm).cycles;
  if (trial <= 0) return 0;
  // Warps do not start at the same time: with many of them the loop must be long beside that.
  const double wanted = shape.blocks > 1 ? kCyclesOfMany : kCyclesOfOne;
  shape.rounds =
      std::clamp(static_cast<int>(wanted / trial * kTrialRounds), fewest, std::max(fewest, kMostRounds));
  std::vector<double> more, nanoseconds;
  while (more.size() < kRepeats ||
         (more.size() < kMostRepeats && (more.size() % 2 == 0 || spread_of(more) > kSteady))) {
    const Clocks few = device_.run(few_, shape, warps_per_sm), many = device_.run(many_, shape, warps_per_sm);
    if (few.cycles <= 0 || many.cycles <= 0) return 0;
    more.push_back(many.cycles - few.cycles);
    nanoseconds.push_back(many.nanoseconds - few.nanoseconds);
  }
  spread_ = spread_of(more);
  std::ranges::sort(more);
  std::ranges::sort(nanoseconds);
  const double cycles = more[more.size() / 2], time = nanoseconds[nanoseconds.size() / 2];
  if (time > kLongEnough) clock_mhz_ = 1000 * cycles / time;
  return cycles / shape.rounds / copies_;
}

}  // namespace ptxloom::insn
