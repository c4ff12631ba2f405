// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/call_graph.hpp"

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "exec/machine/call.hpp"

namespace ptxloom::exec {
namespace {

using Indices = std::vector<std::size_t>;

class CallGraph {
 public:
  CallGraph(const ir::Module& module, const Code& code) : code_(code) {
    for (const ir::Variable& variable : module.variables)
      for (const ir::AddressValue& value : variable.addresses) add(value.name, taken_);
    find_taken(code.kernel);
    for (const Callee& callee : code.callees) find_taken(callee.function);
    for (const Callee& callee : code.callees) calls_.push_back(calls_of(callee.function, true));
  }

  /// The functions that a call from these reaches, these included.
  std::vector<bool> reached_from(Indices open) const {
    std::vector<bool> reached(calls_.size());
    while (!open.empty()) {
      const std::size_t index = open.back();
      open.pop_back();
      if (reached[index]) continue;
      reached[index] = true;
      open.insert(open.end(), calls_[index].begin(), calls_[index].end());
    }
    return reached;
  }
  const Indices& calls_of(std::size_t index) const { return calls_[index]; }

  /// What the kernel calls by name, directly or in functions that it calls by name.
  std::vector<bool> called_by_name() const {
    std::vector<bool> reached(calls_.size());
    Indices open = calls_of(code_.kernel, false);
    while (!open.empty()) {
      const std::size_t index = open.back();
      open.pop_back();
      if (reached[index]) continue;
      reached[index] = true;
      const Indices next = calls_of(code_.callees[index].function, false);
      open.insert(open.end(), next.begin(), next.end());
    }
    return reached;
  }

 private:
  void add(std::string_view name, Indices& to) const {
    if (const auto index = find_callee(code_.callees, name)) to.push_back(*index);
  }

  void find_taken(const ir::Function& function) {
    for (const ir::Instruction& instruction : function.instructions) {
      for (const ir::Operand& operand : function.operands_of(instruction)) {
        if (operand.kind != ir::Operand::Kind::symbol) continue;
        const ir::Symbol& symbol = function.symbols[operand.index];
        if (symbol.space == ir::Space::code) add(symbol.name, taken_);
      }
    }
  }

  Indices calls_of(const ir::Function& function, bool by_address) const {
    Indices calls;
    for (const ir::Call& call : function.calls) {
      if (call.callee.kind == ir::Operand::Kind::symbol) {
        add(function.symbols[call.callee.index].name, calls);
      } else if (by_address) {
        calls.insert(calls.end(), taken_.begin(), taken_.end());
      }
    }
    return calls;
  }

  const Code& code_;
  Indices taken_;
  std::vector<Indices> calls_;
};

}  // namespace

void find_calls(const ir::Module& module, Code& code) {
  const CallGraph graph(module, code);
  const std::vector<bool> certain = graph.called_by_name();
  for (std::size_t i = 0; i < code.callees.size(); ++i) {
    code.callees[i].certain = certain[i];
    code.callees[i].recurses = graph.reached_from(graph.calls_of(i))[i];
  }
}

}  // namespace ptxloom::exec
