// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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
    const std::uint64_t element = static_cast<std::uint64_t>(variable.type.bytes());
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

// Names that an entry reaches: functions, transitively, and variables of the module.
class Reach {
 public:
  Reach(const ir::Module& module, const ir::Function& entry) : module_(module) {
    for (const ir::Function& function : module.functions)
      if (function.defined) functions_.emplace(function.name, &function);
    for (const ir::Alias& alias : module.aliases) aliases_.emplace(alias.name, alias.of);
    visit(entry.name);
  }
  bool contains(std::string_view name) const { return names_.contains(name); }

 private:
  void visit(std::string_view first) {
    std::vector<std::string_view> pending{first};
    const auto add = [&](std::string_view name) {
      if (names_.insert(name).second) pending.push_back(name);
    };
    names_.insert(first);
    while (!pending.empty()) {
      const std::string_view name = pending.back();
      pending.pop_back();
      if (const auto alias = aliases_.find(name); alias != aliases_.end()) add(alias->second);
      const auto found = functions_.find(name);
      if (found == functions_.end()) continue;
      for (const ir::Symbol& symbol : found->second->symbols) add(symbol.name);
      if (calls_by_address(*found->second))
        for (const ir::Variable& variable : module_.variables)
          for (const ir::AddressValue& address : variable.addresses) add(address.name);
    }
  }

  static bool calls_by_address(const ir::Function& function) {
    return std::ranges::any_of(
        function.calls, [](const ir::Call& call) { return call.callee.kind == ir::Operand::Kind::reg; });
  }

  const ir::Module& module_;
  std::unordered_map<std::string_view, const ir::Function*> functions_;
  std::unordered_map<std::string_view, std::string_view> aliases_;
  std::unordered_set<std::string_view> names_;
};

bool declares_shared(const std::vector<ir::Variable>& variables) {
  return std::ranges::any_of(variables, [](const ir::Variable& variable) {
    return variable.space == ir::Space::shared && variable.count != 0;
  });
}

std::uint64_t static_shared(const ir::Module& module, const ir::Function& entry) {
  const Reach reach(module, entry);
  SharedLayout of_module;
  for (const ir::Variable& variable : module.variables)
    if (reach.contains(variable.name)) of_module.place(variable);
  SharedLayout forward = of_module, backward = of_module;
  const auto place_own = [&](const ir::Function& function, SharedLayout& layout) {
    if (!function.defined || !reach.contains(function.name)) return;
    for (const ir::Variable& variable : function.variables) layout.place(variable);
  };
  for (const ir::Function& function : module.functions) place_own(function, forward);
  for (auto one = module.functions.rbegin(); one != module.functions.rend(); ++one) place_own(*one, backward);
  return std::min(forward.bytes(), backward.bytes());
}

}  // namespace

void check_shared_size(const ir::Module& module, const Target& target, Diagnostics& out) {
  const bool any =
      declares_shared(module.variables) ||
      std::ranges::any_of(module.functions, [](const auto& f) { return declares_shared(f.variables); });
  if (!any) return;
  const auto most = static_cast<std::uint64_t>(target.info().shared_static);
  for (const ir::Function& entry : module.functions) {
    if (!entry.entry || !entry.defined) continue;
    const std::uint64_t bytes = static_shared(module, entry);
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
