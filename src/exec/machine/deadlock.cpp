// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <vector>

#include "exec/machine/cluster.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/wait.hpp"
#include "exec/machine/work.hpp"

// Describes who waits for what in a deadlock.
namespace ptxloom::exec {
namespace {

constexpr WaitKind kMembers{
    .code = "barrier-deadlock",
    .hint = "let all lanes of the member mask reach this instruction, or leave the others out of the mask"};

void report_looks(const Warp& warp, std::vector<Wait>& waits) {
  if (!warp.vain() || warp.flow().live() == 0) return;
  const Warp::Look& look = *warp.look();
  waits.push_back({&warp, look.op, look.lanes, look.what(), look.kind});
}

void report_members(const Warp& warp, std::vector<Wait>& waits) {
  for (const Group& group : warp.flow().parked()) {
    const Mask absent = warp.awaited_by(group);
    if (absent == 0) continue;
    std::string what =
        fmt::format("lanes {} wait here for lanes {} of their member mask; {}", describe_lanes(group.lanes),
                    describe_lanes(absent), whereabouts(warp, absent));
    waits.push_back({&warp, &waits_at(warp, group), group.lanes, std::move(what), &kMembers});
  }
}

// Threads that test a barrier in memory come first: those that wait at other barriers often wait for them.
std::vector<Wait> waits_of(const Cluster& cluster) {
  std::vector<Wait> waits;
  const auto for_warps = [&](auto f) {
    for (const Block& block : cluster.blocks())
      for (const Warp& warp : block.warps()) f(warp);
  };
  for_warps([&](const Warp& warp) { report_looks(warp, waits); });
  for (const Block& block : cluster.blocks()) block.states().report(waits);
  for_warps([&](const Warp& warp) { warp.states().report(waits); });
  cluster.states().report(waits);
  for_warps([&](const Warp& warp) { report_members(warp, waits); });
  return waits;
}

}  // namespace

std::string name_of(const Warp& warp) {
  const bool alone = warp.block().cluster().blocks().size() == 1;
  return fmt::format("warp {}{}", warp.index(),
                     alone ? "" : fmt::format(" of block {}", warp.block().rank()));
}

const Operation& waits_at(const Warp& warp, const Group& group) {
  return warp.block().grid().code().operations[group.pc - 1];
}

std::string whereabouts(const Warp& warp, Mask lanes) {
  std::vector<std::string> places;
  const auto add = [&](Mask some, const Operation& op) {
    if ((lanes & some) == 0) return;
    places.push_back(
        fmt::format("lanes {} are at {}", describe_lanes(lanes & some), describe_with_line(warp, op)));
    lanes &= ~some;
  };
  for (const Group& group : warp.flow().parked()) add(group.lanes, waits_at(warp, group));
  if (warp.look()) add(warp.look()->lanes, *warp.look()->op);
  return fmt::format("{}", fmt::join(places, ", "));
}

void report_deadlock(Cluster& cluster) {
  const std::vector<Wait> waits = waits_of(cluster);
  const Wait& first = waits.front();
  std::string text = first.what + ", forever: no other thread can make progress";
  const std::size_t others = std::min<std::size_t>(waits.size(), 8);
  for (std::size_t i = 1; i < others; ++i) {
    text += fmt::format("; {} waits at {}: {}", name_of(*waits[i].warp),
                        describe_with_line(*waits[i].warp, *waits[i].op), waits[i].what);
  }
  if (waits.size() > others) text += fmt::format("; and {} more wait", waits.size() - others);
  fault(*first.warp, *first.op, first.lanes, first.kind->code, text, first.kind->hint);
}

void report_spinning(Cluster& cluster) {
  const Warp* first = nullptr;
  for (const Block& block : cluster.blocks())
    for (const Warp& warp : block.warps())
      if (first == nullptr && warp.flow().running() != 0 && warp.spins() && !warp.vain()) first = &warp;
  std::string text = "it tests memory here forever: no other thread that runs changes it";
  const std::uint64_t left = cluster.work().left();
  if (left != 0 && cluster.grid().code().communicates)
    text += fmt::format(
        "; {} of {} clusters have not started, since a GPU of this target holds no more at once, and none of "
        "those that run ends",
        left, cluster.grid().clusters());
  fault(*first, first->tried(), first->flow().running(), "spin-deadlock", text,
        left != 0 ? "launch no more thread blocks than are resident at once, or let none wait for later ones"
                  : "look for who has to change it: it waits too, has ended, or changes something else");
}

}  // namespace ptxloom::exec
