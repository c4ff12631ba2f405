// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/machine/grid.hpp"
#include "exec/machine/location.hpp"
#include "exec/machine/recursion.hpp"

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
      callees[index].parameters.size() == plan.arguments.size() &&
      callees[index].results.size() == plan.results)
    return static_cast<std::uint32_t>(index);
  fault(warp, op, lane_bit(lane), "call-address",
        fmt::format("{:#x} is not the address of a function with {} parameters and {} results", address,
                    plan.arguments.size(), plan.results),
        "take the address of a function with mov, and call it with a matching prototype");
}

void enter(Warp& warp, const Operation& op, int lane, std::uint32_t index, std::uint32_t return_to) {
  const Callee& callee = code_of(warp).callees[index];
  const std::string& name = callee.function.name;
  if (!callee.function.defined) {
    fault(warp, op, lane_bit(lane), "no-function", fmt::format("{} has no body in this module", name),
          "link the module that defines it, or run the kernel on a GPU");
  }
  CallStack::Frame frame{
      .callee = index, .return_to = return_to, .stack_pointer = warp.calls().stack_pointer(lane)};
  if (callee.recurses) begin_frame(warp, op, lane, callee, frame);
  warp.calls().frames(lane).push_back(std::move(frame));
}

// The results stay where they are, except those in registers of a function that the thread is in again.
void leave(Warp& warp, int lane, const CallStack::Frame& frame) {
  const Callee& callee = code_of(warp).callees[frame.callee];
  CallStack::Returned& returned = warp.calls().returned(lane);
  returned.callee = frame.callee;
  returned.base = frame.base;
  if (!callee.recurses) return;
  returned.results.clear();
  for (const Location& result : callee.results)
    returned.results.push_back(result.in_memory ? Value{} : read(warp, result.slot, lane));
  end_frame(warp, lane, callee, frame);
}

bool stays_in_memory(const Location& from, const Location& to) { return from.in_memory && to.in_memory; }

// The arguments that are in registers, or go there. They are read before the call begins: a function that
// calls itself has one set of registers.
std::vector<Value> take(Warp& warp, int lane, const std::vector<Location>& from,
                        const std::vector<Location>& to) {
  std::vector<Value> values;
  for (std::size_t i = 0; i < from.size(); ++i)
    if (!stays_in_memory(from[i], to[i]))
      values.push_back(read(warp, Located{from[i], warp.calls().base(lane)}, lane));
  return values;
}

// Arguments in the frame of the caller, or those taken, become parameters in that of the function.
void pass(Warp& warp, int lane, const std::vector<Location>& from, std::uint64_t caller,
          const std::vector<Value>& values, const std::vector<Location>& to) {
  auto value = values.begin();
  for (std::size_t i = 0; i < from.size(); ++i) {
    const Located parameter{to[i], warp.calls().base(lane)};
    stays_in_memory(from[i], to[i]) ? copy(warp, lane, {from[i], caller}, parameter)
                                    : write(warp, parameter, lane, *value++);
  }
}

void run_system(Warp& warp, const Operation& op, Mask lanes, std::uint32_t index) {
  const Callee& callee = code_of(warp).callees[index];
  if (callee.system->run == nullptr) {
    fault(warp, op, lanes, "exec-unsupported",
          fmt::format("{}: {}", callee.function.name, callee.system->lacks), "run the kernel on a GPU");
  }
  for_lanes(lanes, [&](int lane) {
    warp.calls().returned(lane).callee = index;
    warp.calls().returned(lane).base = 0;
  });
  callee.system->run({warp, op, callee}, lanes);
}

// None for a declaration that is not that of the driver's function.
const SystemFunction* system_function_of(const ir::Function& function) {
  const SystemFunction* const found = function.defined ? nullptr : find_system_function(function.name);
  if (found == nullptr || found->run == nullptr) return found;
  std::vector<std::uint32_t> declared, wanted;
  for (const ir::Parameter& parameter : function.parameters) declared.push_back(parameter.size());
  for (const std::uint8_t bytes : found->parameters)
    if (bytes != 0) wanted.push_back(bytes);
  for (const ir::Parameter& result : function.results) declared.push_back(result.size());
  if (found->result != 0) wanted.push_back(found->result);
  return declared == wanted ? found : nullptr;
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

std::uint64_t SystemCall::argument(int lane, std::size_t index) const {
  const Value value = read(warp_, Located{callee_.parameters[index]}, lane);
  return callee_.parameters[index].bytes == 4 ? static_cast<std::uint32_t>(value.bits[0]) : value.bits[0];
}

void SystemCall::set_result(int lane, std::uint64_t value) const {
  write(warp_, Located{callee_.results[0]}, lane, {.bits = {value}});
}

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
    callees.back().system = system_function_of(*function);
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
      const std::uint64_t caller = warp.calls().base(lane);
      const std::vector<Value> values = take(warp, lane, plan.arguments, called.parameters);
      if (called.system == nullptr) enter(warp, op, lane, index, return_to);
      pass(warp, lane, plan.arguments, caller, values, called.parameters);
    });
    if (called.system != nullptr) return run_system(warp, op, lanes, index);
    warp.flow().branch(lanes, called.entry);
  });
}

void run_results(Warp& warp, const Operation& op, Mask mask) {
  const auto& results = op.plan_as<ResultPlan>().results;
  for_lanes(mask, [&](int lane) {
    const CallStack::Returned& returned = warp.calls().returned(lane);
    const Callee& called = code_of(warp).callees[returned.callee];
    const std::uint64_t base = warp.calls().base(lane);
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (called.recurses && !called.results[i].in_memory) {
        write(warp, Located{results[i], base}, lane, returned.results[i]);
      } else {
        copy(warp, lane, {called.results[i], returned.base}, {results[i], base});
      }
    }
  });
}

void run_return(Warp& warp, const Operation&, Mask mask) {
  const auto return_to = [&](int lane) { return warp.calls().frames(lane).back().return_to; };
  for_groups(mask, return_to, [&](Mask lanes, std::uint32_t target) {
    for_lanes(lanes, [&](int lane) {
      auto& frames = warp.calls().frames(lane);
      const CallStack::Frame frame = std::move(frames.back());
      frames.pop_back();
      warp.calls().stack_pointer(lane) = frame.stack_pointer;
      leave(warp, lane, frame);
    });
    warp.flow().branch(lanes, target);
  });
}

}  // namespace ptxloom::exec
