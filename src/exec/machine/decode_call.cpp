// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "exec/machine/call.hpp"
#include "exec/machine/decoder.hpp"
#include "ptxloom/ptx.hpp"

// Decoding of calls: one operation passes the arguments, and another one after it takes the results.
namespace ptxloom::exec {

void Decoder::place_interface(std::size_t index) {
  Callee& callee = code_.callees[index];
  const auto place = [&](const ir::Parameter& parameter) {
    if (parameter.reg) return Location{.slot = code_.register_slots[index + 1][parameter.reg->id]};
    const Place* found = symbols_.find(index + 1, parameter.name);
    return Location{.in_memory = true,
                    .in_frame = found->in_frame,
                    .offset = static_cast<std::uint32_t>(found->offset),
                    .bytes = parameter.size()};
  };
  for (const ir::Parameter& parameter : callee.function.parameters)
    callee.parameters.push_back(place(parameter));
  for (const ir::Parameter& result : callee.function.results) callee.results.push_back(place(result));
}

// The location of a call's operand that corresponds to `parameter`.
Location Decoder::location(const ir::Operand& operand, const ir::Parameter& parameter) {
  switch (operand.kind) {
    case ir::Operand::Kind::reg:
      return {.slot = registers_[operand.index]};
    case ir::Operand::Kind::sink:
      return {.slot = sink_};
    case ir::Operand::Kind::symbol: {
      const std::string& name = function_->symbols[operand.index].name;
      const auto variable = std::ranges::find(function_->variables, name, &ir::Variable::name);
      const Place* place = symbols_.find(index_, name);
      const std::uint64_t bytes =
          variable == function_->variables.end()
              ? parameter.size()
              : variable->count * static_cast<std::uint64_t>(variable->type.whole_bytes());
      return {.in_memory = true,
              .in_frame = place->in_frame,
              .offset = static_cast<std::uint32_t>(place->offset),
              .bytes = static_cast<std::uint32_t>(bytes)};
    }
    default:
      return {.slot = literal({.type = parameter.type}, operand)};
  }
}

std::vector<Location> Decoder::locations(std::span<const ir::Operand> operands,
                                         const std::vector<ir::Parameter>& parameters) {
  std::vector<Location> locations;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    locations.push_back(location(operands[i], parameters[i]));
  }
  return locations;
}

// An indirect call has a prototype, or a list of functions with the same interface.
const ir::Interface& Decoder::interface_of(const ir::Call& call) const {
  if (call.callee.kind == ir::Operand::Kind::symbol) {
    const std::string& name = function_->symbols[call.callee.index].name;
    const auto callee = find_callee(code_.callees, name);
    if (!callee) refuse(call, name + " is not a function of this module");
    return code_.callees[*callee].function;
  }
  const auto prototype = std::ranges::find(function_->prototypes, *call.targets, &ir::Prototype::label);
  if (prototype != function_->prototypes.end()) return *prototype;
  const auto list = std::ranges::find(function_->targets, *call.targets, &ir::Targets::label);
  if (list == function_->targets.end() || list->names.empty()) refuse(call, "its targets are not declared");
  const auto callee = find_callee(code_.callees, function_->symbols[list->names.front()].name);
  if (!callee) refuse(call, "its targets are not functions of this module");
  return code_.callees[*callee].function;
}

Operation Decoder::operation(const ir::Call& call, Semantic run) {
  Operation operation;
  operation.run = run;
  operation.function = static_cast<std::uint32_t>(index_);
  operation.instruction = static_cast<std::uint32_t>(&call - function_->calls.data());
  operation.is_call = true;
  guard(operation, call.guard);
  return operation;
}

void Decoder::decode(const ir::Call& call) {
  const ir::Interface& interface = interface_of(call);
  if (call.callee.kind == ir::Operand::Kind::symbol)
    check_system_function(
        call, code_.callees[*find_callee(code_.callees, function_->symbols[call.callee.index].name)]);
  const auto arguments = function_->arguments_of(call), results = function_->results_of(call);
  if (arguments.size() != interface.parameters.size() || results.size() != interface.results.size())
    refuse(call, "the number of parameters or results is not that of the function");
  for (const ir::Parameter& parameter : interface.parameters)
    if (parameter.unsized) refuse(call, "the function takes an array of any size");
  auto plan = std::make_shared<CallPlan>();
  if (call.callee.kind == ir::Operand::Kind::reg) {
    plan->address = registers_[call.callee.index];
  } else {
    plan->callee =
        static_cast<std::uint32_t>(*find_callee(code_.callees, function_->symbols[call.callee.index].name));
  }
  plan->arguments = locations(arguments, interface.parameters);
  plan->results = results.size();
  Operation operation = this->operation(call, &run_call);
  operation.plan = std::move(plan);
  code_.operations.push_back(std::move(operation));

  Operation behind = this->operation(call, &run_results);
  behind.plan = std::make_shared<ResultPlan>(ResultPlan{locations(results, interface.results)});
  code_.operations.push_back(std::move(behind));
}

// A call that may never happen, in a function that is called by address only, is refused when it does.
void Decoder::check_system_function(const ir::Call& call, const Callee& callee) const {
  const bool certain = in_kernel() || code_.callees[index_ - 1].certain;
  if (certain && callee.system != nullptr && callee.system->run == nullptr)
    refuse(call, callee.system->lacks);
}

void Decoder::refuse(const ir::Call& call, const std::string& why) const {
  Diagnostic diagnostic{.code = "exec-unsupported",
                        .message = fmt::format("the executor cannot run `{}` of kernel {}: {}",
                                               print(*function_, call), code_.kernel.name, why),
                        .hint = "run the kernel on a GPU"};
  diagnostic.line = static_cast<int>(call.line);
  diagnostic.column = static_cast<int>(call.column);
  throw Error(ErrorKind::refused, {std::move(diagnostic)});
}

}  // namespace ptxloom::exec
