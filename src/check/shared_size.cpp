// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "check/rules.hpp"

// The .shared memory of an entry, counted like ptxas (determined by probing both sides of the limit): all
// variables of the entry and of the functions it can reach, used or not; module variables that one of these
// names; in the order of declaration, each aligned. Arrays without a size belong to the launch.
namespace ptxloom::check_rules {
namespace {

class SharedLayout {
 public:
  void place(const ir::Variable& variable) {
    if (variable.space != ir::Space::shared || variable.count == 0) return;
    const std::uint64_t element = static_cast<std::uint64_t>(variable.type.whole_bytes());
    const std::uint64_t alignment = std::max<std::uint64_t>({variable.alignment, element, 1});
    used_ = (used_ + alignment - 1) / alignment * alignment;
    const std::uint64_t room = kMost - used_;
    used_ += element != 0 && variable.count > room / element ? room : variable.count * element;
  }
  std::uint64_t bytes() const { return used_; }

 private:
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  std::uint64_t used_ = 0;
};

// What a name means to the walk from an entry.
class CallGraph {
 public:
  explicit CallGraph(const ir::Module& module) : module_(module) {
    for (std::size_t i = 0; i < module.functions.size(); ++i)
      if (module.functions[i].defined) functions_.emplace(module.functions[i].name, i);
    for (std::size_t i = 0; i < module.variables.size(); ++i)
      variables_[module.variables[i].name].push_back(i);
    for (const ir::Alias& alias : module.aliases) aliases_.emplace(alias.name, alias.of);
  }

  const ir::Module& module() const { return module_; }
  std::optional<std::size_t> function(std::string_view name) const { return find(functions_, name); }
  /// All of its declarations.
  std::vector<std::size_t> variables(std::string_view name) const {
    return find(variables_, name).value_or(std::vector<std::size_t>());
  }
  std::optional<std::string_view> alias(std::string_view name) const { return find(aliases_, name); }

 private:
  template <class T>
  static std::optional<T> find(const std::unordered_map<std::string_view, T>& in, std::string_view name) {
    const auto found = in.find(name);
    return found == in.end() ? std::nullopt : std::optional(found->second);
  }

  const ir::Module& module_;
  std::unordered_map<std::string_view, std::size_t> functions_;
  std::unordered_map<std::string_view, std::vector<std::size_t>> variables_;
  std::unordered_map<std::string_view, std::string_view> aliases_;
};

// What an entry reaches: functions, transitively, and variables of the module, in their order.
class Reach {
 public:
  Reach(const CallGraph& graph, const ir::Function& entry) : graph_(graph) {
    add(entry.name);
    while (!pending_.empty()) {
      const std::string_view name = pending_.back();
      pending_.pop_back();
      visit(name);
    }
    std::ranges::sort(functions);
    std::ranges::sort(variables);
  }

  std::vector<std::size_t> functions, variables;  ///< indices

 private:
  void add(std::string_view name) {
    if (seen_.insert(name).second) pending_.push_back(name);
  }

  void visit(std::string_view name) {
    if (const auto of = graph_.alias(name)) add(*of);
    for (const std::size_t variable : graph_.variables(name)) variables.push_back(variable);
    const auto function = graph_.function(name);
    if (!function) return;
    functions.push_back(*function);
    const ir::Function& body = graph_.module().functions[*function];
    for (const ir::Symbol& symbol : body.symbols) add(symbol.name);
    if (!calls_by_address(body)) return;
    for (const ir::Variable& variable : graph_.module().variables)
      for (const ir::AddressValue& address : variable.addresses) add(address.name);
  }

  static bool calls_by_address(const ir::Function& function) {
    return std::ranges::any_of(
        function.calls, [](const ir::Call& call) { return call.callee.kind == ir::Operand::Kind::reg; });
  }

  const CallGraph& graph_;
  std::unordered_set<std::string_view> seen_;
  std::vector<std::string_view> pending_;
};

bool declares_shared(const std::vector<ir::Variable>& variables) {
  return std::ranges::any_of(variables, [](const ir::Variable& variable) {
    return variable.space == ir::Space::shared && variable.count != 0;
  });
}

std::uint64_t static_shared(const CallGraph& graph, const ir::Function& entry) {
  const Reach reach(graph, entry);
  const ir::Module& module = graph.module();
  SharedLayout of_module;
  for (const std::size_t i : reach.variables) of_module.place(module.variables[i]);
  SharedLayout forward = of_module, backward = of_module;
  const auto place_own = [&](std::size_t function, SharedLayout& layout) {
    for (const ir::Variable& variable : module.functions[function].variables) layout.place(variable);
  };
  for (const std::size_t i : reach.functions) place_own(i, forward);
  std::for_each(reach.functions.rbegin(), reach.functions.rend(),
                [&](std::size_t i) { place_own(i, backward); });
  return std::min(forward.bytes(), backward.bytes());
}

}  // namespace

void check_shared_size(const ir::Module& module, const Target& target, Diagnostics& out) {
  const bool any =
      declares_shared(module.variables) ||
      std::ranges::any_of(module.functions, [](const auto& f) { return declares_shared(f.variables); });
  if (!any) return;
  const CallGraph graph(module);
  const auto most = static_cast<std::uint64_t>(target.info().shared_static);
  for (const ir::Function& entry : module.functions) {
    if (!entry.entry || !entry.defined) continue;
    const std::uint64_t bytes = static_shared(graph, entry);
    if (bytes <= most) continue;
    const std::string dynamic = std::to_string(target.info().shared_per_block);
    out.push_back(
        {.code = "too-much-shared",
         .message = "kernel " + entry.name + ": " + std::to_string(bytes) +
                    " bytes of static shared memory, but the most on " + std::string(target.name()) + " is " +
                    std::to_string(most),
         .hint = "declare at most " + std::to_string(most) +
                 " bytes, or use an array without a size (.extern .shared): a launch can give it up to " +
                 dynamic + " bytes"});
  }
}

}  // namespace ptxloom::check_rules
