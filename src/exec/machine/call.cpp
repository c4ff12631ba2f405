// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <set>
#include <string>

#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint64_t kFunctions = 0x7200'0000'0000'0000;  // base of their addresses
constexpr std::uint64_t kFunctionStep = 16;

const Code& code_of(const Warp& warp) { return warp.block().grid().code(); }

// The function that a lane calls.
std::uint32_t callee_of(Warp& warp, const Operation& op, int lane, const CallPlan& plan) {
  if (!plan.address) return plan.callee;
  const std::uint64_t address = Lanes<std::uint64_t>(warp.registers(), *plan.address)[lane];
  const std::uint64_t index = (address - kFunctions) / kFunctionStep;
  const auto& callees = code_of(warp).callees;
  if (index < callees.size() && address % kFunctionStep == 0 &&
      callees[index].parameters.size() == plan.arguments.size())
    return static_cast<std::uint32_t>(index);
  fault(warp, op, lane_bit(lane), "call-address",
        fmt::format("{:#x} is not the address of a function with {} parameters", address,
                    plan.arguments.size()),
        "take the address of a function with mov, and call it with a matching prototype");
}

using Value = std::array<std::uint64_t, 2>;

// A sixteen-byte value occupies two rows of lanes.
Value read(Warp& warp, const Slot& slot, int lane) {
  if (slot.bytes == 0) return {Lanes<bool>(warp.registers(), slot)[lane] ? 1u : 0u};
  if (slot.bytes == 4) return {Lanes<std::uint32_t>(warp.registers(), slot)[lane]};
  Slot high = slot;
  high.offset += 8 * kLanes;
  return {Lanes<std::uint64_t>(warp.registers(), slot)[lane],
          slot.bytes == 16 ? Lanes<std::uint64_t>(warp.registers(), high)[lane] : 0};
}

void write(Warp& warp, const Slot& slot, int lane, const Value& value) {
  if (slot.bytes == 0) return Lanes<bool>(warp.registers(), slot).set(lane, value[0] != 0);
  if (slot.bytes == 4)
    return Lanes<std::uint32_t>(warp.registers(), slot).set(lane, static_cast<std::uint32_t>(value[0]));
  Lanes<std::uint64_t>(warp.registers(), slot).set(lane, value[0]);
  if (slot.bytes != 16) return;
  Slot high = slot;
  high.offset += 8 * kLanes;
  Lanes<std::uint64_t>(warp.registers(), high).set(lane, value[1]);
}

void copy(Warp& warp, int lane, const Location& from, const Location& to) {
  if (from.in_memory && to.in_memory) {
    std::memcpy(warp.local(lane) + to.offset, warp.local(lane) + from.offset, std::min(from.bytes, to.bytes));
    return;
  }
  Value value{};
  if (!from.in_memory) {
    value = read(warp, from.slot, lane);
  } else {
    std::memcpy(&value, warp.local(lane) + from.offset, std::min<std::size_t>(from.bytes, sizeof value));
  }
  if (!to.in_memory) return write(warp, to.slot, lane, value);
  std::memcpy(warp.local(lane) + to.offset, &value, std::min<std::size_t>(to.bytes, sizeof value));
}

void enter(Warp& warp, const Operation& op, int lane, std::uint32_t index, std::uint32_t return_to) {
  const Callee& callee = code_of(warp).callees[index];
  const std::string& name = callee.function.name;
  if (!callee.function.defined) {
    fault(warp, op, lane_bit(lane), "no-function", fmt::format("{} has no body in this module", name),
          "link the module that defines it, or run the kernel on a GPU");
  }
  auto& frames = warp.calls().frames(lane);
  if (std::ranges::find(frames, index, &CallStack::Frame::callee) != frames.end()) {
    fault(warp, op, lane_bit(lane), "recursion", fmt::format("the thread is already in {}", name),
          "use a loop, or run the kernel on a GPU: the executor does not support recursion");
  }
  frames.push_back(
      {.callee = index, .return_to = return_to, .stack_pointer = warp.calls().stack_pointer(lane)});
}

// Splits the lanes of the mask into sets with the same key(lane).
template <class Key, class F>
void for_groups(Mask mask, Key key, F f) {
  while (mask != 0) {
    const auto first = key(std::countr_zero(mask));
    Mask lanes = 0;
    for_lanes(mask, [&](int lane) { lanes |= Mask{key(lane) == first} << lane; });
    mask &= ~lanes;
    f(lanes, first);
  }
}

}  // namespace

std::uint64_t function_address(std::size_t callee) { return kFunctions + kFunctionStep * callee; }

std::optional<std::size_t> find_callee(std::span<const Callee> callees, std::string_view name) {
  const auto name_of = [](const Callee& callee) -> std::string_view { return callee.function.name; };
  const auto found = std::ranges::find(callees, name, name_of);
  if (found == callees.end()) return std::nullopt;
  return static_cast<std::size_t>(found - callees.begin());
}

std::vector<Callee> callees_of(const ir::Module& module, const ir::Function& kernel) {
  std::vector<Callee> callees;
  std::set<std::string, std::less<>> seen{kernel.name};
  const std::function<void(const std::string&)> visit = [&](const std::string& name) {
    const ir::Function* function = module.find(name);
    if (function == nullptr || function->entry || !seen.insert(name).second) return;
    const auto alias = std::ranges::find(module.aliases, name, &ir::Alias::name);
    if (alias != module.aliases.end()) function = module.find(alias->of);
    if (function == nullptr) return;
    for (const ir::Symbol& symbol : function->symbols) visit(symbol.name);
    callees.push_back({.function = *function});
    callees.back().function.name = name;
  };
  for (const ir::Variable& variable : module.variables) {  // function tables
    for (const ir::AddressValue& value : variable.addresses) visit(value.name);
  }
  for (const ir::Symbol& symbol : kernel.symbols) visit(symbol.name);
  return callees;
}

void run_call(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<CallPlan>();
  const std::uint32_t return_to = warp.flow().current().pc;
  const auto callee = [&](int lane) { return callee_of(warp, op, lane, plan); };
  for_groups(mask, callee, [&](Mask lanes, std::uint32_t index) {
    const Callee& called = code_of(warp).callees[index];
    for_lanes(lanes, [&](int lane) {
      enter(warp, op, lane, index, return_to);
      for (std::size_t i = 0; i < plan.arguments.size(); ++i)
        copy(warp, lane, plan.arguments[i], called.parameters[i]);
    });
    warp.flow().branch(lanes, called.entry);
  });
}

void run_results(Warp& warp, const Operation& op, Mask mask) {
  const auto& results = op.plan_as<ResultPlan>().results;
  for_lanes(mask, [&](int lane) {
    const Callee& called = code_of(warp).callees[warp.calls().returned(lane)];
    for (std::size_t i = 0; i < results.size(); ++i) copy(warp, lane, called.results[i], results[i]);
  });
}

void run_return(Warp& warp, const Operation&, Mask mask) {
  const auto return_to = [&](int lane) { return warp.calls().frames(lane).back().return_to; };
  for_groups(mask, return_to, [&](Mask lanes, std::uint32_t target) {
    for_lanes(lanes, [&](int lane) {
      auto& frames = warp.calls().frames(lane);
      warp.calls().stack_pointer(lane) = frames.back().stack_pointer;
      warp.calls().returned(lane) = frames.back().callee;
      frames.pop_back();
    });
    warp.flow().branch(lanes, target);
  });
}

}  // namespace ptxloom::exec
