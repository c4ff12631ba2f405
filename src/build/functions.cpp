// SPDX-License-Identifier: Apache-2.0
// Functions of the module, and calls. Parameters and a single result are registers. ptxas and nvJitLink
// accept one result only where they compile for linking ("multiple return values found, disabling ABI"), so
// several are packed into one array in .param, as C++ compilers return a struct.
#include <algorithm>

#include "build/operation.hpp"
#include "ir/naming.hpp"

namespace ptxloom {
namespace {

// Where the results lie in the array: each at a multiple of its size, which is that of its register.
struct Packing {
  std::vector<std::int64_t> offsets;
  std::uint32_t bytes = 0;
  std::uint32_t alignment = 1;
};

std::uint32_t round_up(std::uint32_t bytes, std::uint32_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

Packing packing_of(const std::vector<Type>& results) {
  Packing packing;
  for (const Type& type : results) {
    const auto size = static_cast<std::uint32_t>(register_type(type).whole_bytes());
    const std::uint32_t offset = round_up(packing.bytes, size);
    packing.offsets.push_back(offset);
    packing.bytes = offset + size;
    packing.alignment = std::max(packing.alignment, size);
  }
  packing.bytes = round_up(packing.bytes, packing.alignment);
  return packing;
}

// "b32": a register of any type can be moved as bits.
std::string bits_of(const Type& result) { return "b" + std::to_string(register_type(result).bits); }

Address element(std::uint32_t symbol, std::int64_t offset, std::uint32_t builder) {
  return {{.kind = ir::Operand::Kind::address_symbol, .index = symbol, .value = offset}, builder, {}};
}

}  // namespace

// Parameter registers come first, and have their own names.
void ControlBuilder::declare_interface(const Operation& here, const std::vector<Type>& results,
                                       const std::vector<Type>& parameters) {
  for (const auto* types : {&results, &parameters})
    if (std::ranges::find(*types, pred) != types->end())
      here.refuse("operand-type", "a function cannot take or return a predicate",
                  "pass select(p, mov(u32, 1), 0)");
  const auto declare = [&](std::vector<ir::Parameter>& into, const std::vector<Type>& types,
                           const char* stem) {
    for (const Type& type : types) {
      const Reg made = reg(type, here.at);
      ir::RegisterDecl& declared = kernel(here.at).registers[made.id.id];
      declared.name = std::string("%") + stem + std::to_string(into.size());
      --scope_.class_counts[ir::register_class(declared.type)];
      into.push_back({.name = declared.name, .type = declared.type, .reg = made.id});
    }
  };
  ir::Function& made = kernel(here.at);
  if (results.size() > 1) {
    const Packing packing = packing_of(results);
    made.results = {{.name = "%results", .type = b8, .count = packing.bytes, .alignment = packing.alignment}};
  } else {
    declare(made.results, results, "result");
  }
  declare(made.parameters, parameters, "parameter");
}

Callee ControlBuilder::function(std::string name, std::vector<Type> results, std::vector<Type> parameters,
                                const FunctionBody& body, Caller at) {
  kernel(at);
  require_kernel("function", at);
  operation("function", at).require_body(body);
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
    std::vector<Reg> arguments;
    for (std::size_t i = 0; i < parameters.size(); ++i)
      arguments.push_back({parameters[i], *made.parameters[i].reg, scope_.number});
    const std::vector<Reg> values = body(arguments);
    if (values.size() != results.size())
      here.refuse("operand-count",
                  "its body returns " + std::to_string(values.size()) + " registers for " +
                      std::to_string(results.size()) + " results",
                  "return one for each result");
    return_values(here, results, values);
    close_scope("function", at);
  } catch (...) {
    module_.functions.resize(index);
    end();
    throw;
  }
  end();
  return {static_cast<std::uint32_t>(index), std::move(results), std::move(parameters), module_number_};
}

void ControlBuilder::return_values(const Operation& here, const std::vector<Type>& results,
                                   const std::vector<Reg>& values) {
  ir::Function& made = kernel(here.at);
  if (results.size() == 1) return set({results[0], *made.results[0].reg, scope_.number}, values[0], here.at);
  if (results.empty()) return;
  const Packing packing = packing_of(results);
  const std::uint32_t array = own_symbol(made.results[0].name, here.at, ir::Space::function);
  for (std::size_t i = 0; i < values.size(); ++i) {
    here.require(results[i], {{"result " + std::to_string(i + 1), values[i]}}, Operation::Signs::alike);
    emit({word({"st.param.", bits_of(results[i])}), here.at},
         {element(array, packing.offsets[i], scope_.number), values[i]});
  }
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
  require_arguments(here, callee, std::span(args.begin(), args.size()));
  std::vector<Reg> results;
  for (const Type& type : callee.results) results.push_back(reg(type, at));
  if (results.size() < 2) {
    append_call(callee, {results.begin(), results.end()}, args, at);
    return results;
  }
  ir::Kernel& k = kernel(at);
  const Packing packing = packing_of(callee.results);
  const std::string name = "%returned" + std::to_string(k.variables.size());
  k.variables.push_back({.name = name,
                         .space = ir::Space::function,
                         .type = b8,
                         .count = packing.bytes,
                         .alignment = packing.alignment,
                         .array = true});
  const std::uint32_t array = own_symbol(name, at, ir::Space::function);
  append_call(callee, {Shared{array, b8, scope_.number}}, args, at);
  take_results(results, array, packing.offsets, at);
  return results;
}

// ptxas refuses a guard on a load of what a call returned, so a guarded call loads in all threads, and moves
// the results where the guard holds.
void ControlBuilder::take_results(const std::vector<Reg>& results, std::uint32_t array,
                                  const std::vector<std::int64_t>& offsets, Caller at) {
  const std::optional<ir::Guard> guard = std::exchange(scope_.guard, std::nullopt);
  std::vector<Reg> loaded;
  for (std::size_t i = 0; i < results.size(); ++i) {
    loaded.push_back(guard ? reg(results[i].type, at) : results[i]);
    emit({word({"ld.param.", bits_of(results[i].type)}), at},
         {loaded[i], element(array, offsets[i], scope_.number)});
  }
  scope_.guard = guard;
  for (std::size_t i = 0; guard && i < results.size(); ++i) set(results[i], loaded[i], at);
}

void ControlBuilder::append_call(const Callee& callee, const std::vector<Arg>& results,
                                 std::span<const Arg> args, Caller at) {
  ir::Kernel& k = kernel(at);
  const std::string& name = module_.functions[callee.function].name;
  auto known = std::ranges::find(k.symbols, name, &ir::Symbol::name);
  if (known == k.symbols.end()) known = k.symbols.insert(known, {name, ir::Space::code});
  const auto called = static_cast<std::uint32_t>(known - k.symbols.begin());
  std::vector<Arg> all = results;
  all.insert(all.end(), args.begin(), args.end());
  push_operands("call", all, at);
  if (source_lines_) append_location(k, at);
  k.body.push_back({ir::Statement::Kind::call, static_cast<std::uint32_t>(k.calls.size())});
  k.calls.push_back({.callee = {.kind = ir::Operand::Kind::symbol, .index = called},
                     .first_operand = static_cast<std::uint32_t>(k.operands.size() - all.size()),
                     .result_count = static_cast<std::uint32_t>(results.size()),
                     .argument_count = static_cast<std::uint32_t>(args.size()),
                     .uniform = false,
                     .targets = {},
                     .guard = scope_.guard});
}

}  // namespace ptxloom
