// SPDX-License-Identifier: Apache-2.0
#include "insn/measure.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "insn/chain.hpp"
#include "insn/pair.hpp"

namespace ptxloom::insn {
namespace {

constexpr std::array<int, 7> kWarps = {1, 2, 4, 8, 16, 32, 64};
constexpr int kFileRegisters = 65536, kBlockWarps = 32;

Latency described(const BuiltPair& pair) {
  return {.from = pair.shape.chain.name,
          .cycles = 0,
          .sass = pair.proof.opcodes(),
          .bridge = pair.proof.bridge(),
          .state = std::string(to_string(pair.proof.state)),
          .guarded = pair.shape.guarded,
          .spread = 0};
}

int most_warps(const DeviceInfo& device, const Row& row, const Proof& proof) {
  const int each = (std::max(proof.registers, 8) + 7) / 8 * 8 * kLanes;
  return std::min({row.rule->most_warps, kFileRegisters / each, device.threads_per_sm / kLanes});
}

void measure_throughput(const Device& device, const Row& row, Pair& pair, const BuiltPair& built,
                        Measured& into) {
  const int cluster = frame_of(row).cluster;
  for (const int warps : kWarps) {
    if (warps % row.rule->warps != 0 || warps > most_warps(device.info(), row, built.proof)) continue;
    const int blocks_per_sm = (warps + kBlockWarps - 1) / kBlockWarps;
    const int blocks = device.info().sms * blocks_per_sm / cluster * cluster;
    const double cycles = pair.cycles({.blocks = blocks, .warps = warps / blocks_per_sm}, warps);
    if (cycles <= 0) continue;
    const double work = static_cast<double>(warps) / row.rule->warps * built.shape.streams;
    into.throughputs.push_back({.warps = warps, .per_cycle = work / cycles, .spread = pair.spread()});
    if (pair.clock_mhz() > 0) into.clock_mhz = pair.clock_mhz();
  }
}

}  // namespace

double Measured::best() const {
  double most = 0;
  for (const Throughput& one : throughputs) most = std::max(most, one.per_cycle);
  return most;
}

Measured measure(Device& device, const Row& row, const BuiltRow& built, Data data) {
  constexpr std::array kNames = {"plain", "zero", "random"};
  Measured made{.form = std::string(row.variant.form()),
                .opcode = std::string(row.variant.opcode()),
                .essence = row.essence,
                .data = kNames[static_cast<std::size_t>(data)]};
  made.note = !row.why_not.empty() ? row.why_not : built.failure;
  if (!made.note.empty()) return made;
  device.prepare(row, data);
  std::vector<DeviceModule> modules;
  for (const BuiltModule& module : built.modules) modules.emplace_back(device.context(), module.cubin);
  const int cluster = frame_of(row).cluster;
  for (const BuiltPair& one : built.pairs) {
    if (one.throughput) {
      made.stream = described(one);
      made.length = one.proof.length();
      made.registers = one.proof.registers;
    }
    if (!one.proof.usable()) {
      if (!one.throughput) made.latencies.push_back(described(one));
      continue;
    }
    Pair pair(device, modules[one.module], {.few = one.few, .many = one.many, .copies = one.shape.copies});
    if (one.throughput) {
      measure_throughput(device, row, pair, one, made);
    } else {
      made.latencies.push_back(described(one));
      made.latencies.back().cycles = pair.cycles({.blocks = cluster, .warps = row.rule->warps}, 0);
      made.latencies.back().spread = pair.spread();
    }
  }
  return made;
}

}  // namespace ptxloom::insn
