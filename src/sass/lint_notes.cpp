// SPDX-License-Identifier: Apache-2.0
#include "sass/lint_notes.hpp"

#include <algorithm>
#include <optional>

namespace ptxloom::sass {
namespace {

constexpr std::string_view kSlots = "abc";

/// The general register, or the first of several, that is in an operand slot. Instructions that read their
/// operands late, such as loads, do not use the cache.
std::optional<RegisterId> register_in(const HazardStep& step, unsigned slot) {
  if (!step.uses.queue.empty()) return std::nullopt;
  const auto found = std::ranges::find_if(step.uses.reads, [&](const RegisterUse& use) {
    return use.operand == kSlots[slot] && use.index == 0 && file_of(use.id) == RegisterFile::general;
  });
  if (found == step.uses.reads.end()) return std::nullopt;
  return found->id;
}

bool reads(const HazardStep& step, unsigned slot, RegisterId id) {
  return step.uses.queue.empty() && std::ranges::any_of(step.uses.reads, [&](const RegisterUse& use) {
           return use.id == id && use.operand == kSlots[slot];
         });
}

/// Whether the instructions from here on may be others: the operand cache is not followed over branches.
bool leaves_line(const HazardStep& step) {
  return step.uses.flow != Flow::next && step.uses.flow != Flow::region;
}

/// The instruction that ends a kept register: it writes it before any has read it from the slot again.
std::optional<std::size_t> dropped_at(const std::vector<HazardStep>& steps, std::size_t from, unsigned slot,
                                      RegisterId kept) {
  for (std::size_t next = from + 1; next < steps.size(); ++next) {
    if (!steps[next].label.empty() || leaves_line(steps[next - 1])) return std::nullopt;
    if (reads(steps[next], slot, kept)) return std::nullopt;
    if (std::ranges::find(steps[next].uses.writes, kept, &RegisterUse::id) != steps[next].uses.writes.end())
      return next;
  }
  return std::nullopt;
}

}  // namespace

std::vector<IdleReuse> idle_reuse(const std::vector<HazardStep>& steps) {
  std::vector<IdleReuse> idle;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (unsigned slot = 0; slot < kSlots.size(); ++slot) {
      if ((steps[i].control.reuse >> slot & 1U) == 0) continue;
      const std::optional<RegisterId> kept = register_in(steps[i], slot);
      if (!kept) continue;
      const bool own =
          std::ranges::find(steps[i].uses.writes, *kept, &RegisterUse::id) != steps[i].uses.writes.end();
      const std::optional<std::size_t> end = own ? i : dropped_at(steps, i, slot, *kept);
      if (end) idle.push_back({.step = i, .slot = slot, .kept = *kept, .next = *end});
    }
  }
  return idle;
}

}  // namespace ptxloom::sass
