// SPDX-License-Identifier: Apache-2.0
// Functions of the module, and calls. Parameters and results are registers, so nothing goes through memory.
#include <algorithm>

#include "build/operation.hpp"
#include "ir/naming.hpp"

namespace ptxloom {

// Parameter registers come first, and have their own names.
void ControlBuilder::declare_interface(const Operation& here, const std::vector<Type>& results,
                                       const std::vector<Type>& parameters) {
  const auto declare = [&](std::vector<ir::Parameter>& into, const std::vector<Type>& types,
                           const char* stem) {
    for (const Type& type : types) {
      if (type == pred)
        here.refuse("operand-type", "a function cannot take or return a predicate",
                    "pass select(p, mov(u32, 1), 0)");
      const Reg made = reg(type, here.at);
      ir::RegisterDecl& declared = kernel(here.at).registers[made.id.id];
      declared.name = std::string("%") + stem + std::to_string(into.size());
      --scope_.class_counts[ir::register_class(declared.type)];
      into.push_back({.name = declared.name, .type = declared.type, .reg = made.id});
    }
  };
  ir::Function& made = kernel(here.at);
  declare(made.results, results, "result");
  declare(made.parameters, parameters, "parameter");
}

Callee ControlBuilder::function(std::string name, std::vector<Type> results, std::vector<Type> parameters,
                                const FunctionBody& body, Caller at) {
  kernel(at);
  require_kernel("function", at);
  Scope outer = std::exchange(scope_, begin_scope("function", std::move(name), at));
  const auto end = [&] { scope_ = std::move(outer); };
  const std::size_t index = scope_.function;
  scope_.nested = true;
  try {
    ir::Function& made = kernel(at);
    made.entry = false;
    made.linkage = ir::Linkage::none;
    const Operation here = operation("function", at);
    declare_interface(here, results, parameters);
    std::vector<Reg> arguments, targets;
    for (std::size_t i = 0; i < results.size(); ++i)
      targets.push_back({results[i], *made.results[i].reg, scope_.number});
    for (std::size_t i = 0; i < parameters.size(); ++i)
      arguments.push_back({parameters[i], *made.parameters[i].reg, scope_.number});
    const std::vector<Reg> values = body(arguments);
    if (values.size() != results.size())
      here.refuse("operand-count",
                  "its body returns " + std::to_string(values.size()) + " registers for " +
                      std::to_string(results.size()) + " results",
                  "return one for each result");
    for (std::size_t i = 0; i < values.size(); ++i) set(targets[i], values[i], at);
    close_scope("function", at);
  } catch (...) {
    module_.functions.resize(index);
    end();
    throw;
  }
  end();
  return {static_cast<std::uint32_t>(index), std::move(results), std::move(parameters), module_number_};
}

void ControlBuilder::require_arguments(const Operation& here, const Callee& callee,
                                       std::span<const Arg> args) const {
  if (callee.builder != module_number_)
    here.require_own("callee", callee.builder == scope_.number ? 0 : callee.builder);
  if (args.size() != callee.parameters.size())
    here.refuse("operand-count", std::to_string(args.size()) + " arguments",
                "the function has " + std::to_string(callee.parameters.size()) + " parameters");
  for (std::size_t i = 0; i < args.size(); ++i) {
    const Type type = callee.parameters[i];
    const std::string name = "argument " + std::to_string(i + 1);
    here.require(type, {{name, args[i]}}, Operation::Signs::alike);
    const ir::Operand::Kind kind = args[i].operand().kind;
    if (kind == ir::Operand::Kind::integer && type.is_float())
      here.refuse("operand-literal",
                  name + " is an integer, but the parameter is a ." + std::string(type.name),
                  "write it with a decimal point, or mov it into a register");
    const bool value = args[i].is_register() || kind == ir::Operand::Kind::integer ||
                       kind == ir::Operand::Kind::f32 || kind == ir::Operand::Kind::f64;
    if (!value)
      here.refuse("operand-kind", name + " is neither a register nor a number",
                  "mov the address into a register");
  }
}

std::vector<Reg> ControlBuilder::call(const Callee& callee, std::initializer_list<Arg> args, Caller at) {
  const Operation here = operation("call", at);
  ir::Kernel& k = kernel(at);
  require_arguments(here, callee, std::span(args.begin(), args.size()));
  std::vector<Reg> results;
  for (const Type& type : callee.results) results.push_back(reg(type, at));
  const std::string& name = module_.functions[callee.function].name;
  auto known = std::ranges::find(k.symbols, name, &ir::Symbol::name);
  if (known == k.symbols.end()) known = k.symbols.insert(known, {name, ir::Space::code});
  const auto symbol = static_cast<std::uint32_t>(known - k.symbols.begin());
  std::vector<Arg> all(results.begin(), results.end());
  all.insert(all.end(), args.begin(), args.end());
  push_operands("call", all, at);
  if (source_lines_) append_location(k, at);
  k.body.push_back({ir::Statement::Kind::call, static_cast<std::uint32_t>(k.calls.size())});
  k.calls.push_back({.callee = {.kind = ir::Operand::Kind::symbol, .index = symbol},
                     .first_operand = static_cast<std::uint32_t>(k.operands.size() - all.size()),
                     .result_count = static_cast<std::uint32_t>(results.size()),
                     .argument_count = static_cast<std::uint32_t>(args.size()),
                     .uniform = false,
                     .targets = {},
                     .guard = scope_.guard});
  return results;
}

}  // namespace ptxloom
