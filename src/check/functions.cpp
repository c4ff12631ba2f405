// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "check/rules.hpp"

// Functions as a module declares them: consistently each time, with a body somewhere, with aliases that can
// stand for their target, and with compatible directives.
namespace ptxloom::check_rules {
namespace {

bool same(const std::vector<ir::Parameter>& a, const std::vector<ir::Parameter>& b) {
  const auto alignment = [](const ir::Parameter& p) {
    return p.alignment != 0 && !p.pointer ? p.alignment : static_cast<std::uint32_t>(p.type.whole_bytes());
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](const ir::Parameter& x, const ir::Parameter& y) {
                      return x.type == y.type && x.count == y.count && x.unsized == y.unsized &&
                             x.reg.has_value() == y.reg.has_value() && alignment(x) == alignment(y);
                    });
}

bool same_interface(const ir::Function& a, const ir::Function& b) {
  return a.entry == b.entry && a.noreturn == b.noreturn && same(a.parameters, b.parameters) &&
         same(a.results, b.results);
}

// Without an ABI ptxas assembles a whole program, but nothing that is to be linked.
void check_results(const ir::Function& function, Diagnostics& out) {
  if (function.results.size() < 2) return;
  out.push_back({.severity = Severity::warning,
                 .code = "no-abi",
                 .message = "function " + function.name + " returns " +
                            std::to_string(function.results.size()) +
                            " values: nvJitLink and ptxas -c refuse the module",
                 .hint = "return one array in .param, as C++ compilers return a struct"});
}

/// Whether the module has no function behind the name, and does not say that another module has it. ptxas
/// refuses that also with -c, and where nothing calls it.
bool is_unresolved(const ir::Module& module, const ir::Function& function) {
  const auto resolves = [&](const ir::Function& other) {
    return other.name == function.name && (other.defined || other.linkage == ir::Linkage::external);
  };
  const auto names_it = [&](const ir::Alias& alias) { return alias.name == function.name; };
  return std::ranges::none_of(module.functions, resolves) && std::ranges::none_of(module.aliases, names_it);
}

std::string alias_problem(const ir::Function& name, const ir::Function& of) {
  if (name.defined) return name.name + " has a body";
  if (of.linkage == ir::Linkage::external || of.linkage == ir::Linkage::weak)
    return of.name + (of.linkage == ir::Linkage::weak ? " is .weak" : " is .extern");
  if (!same_interface(name, of)) return "their parameters or results differ";
  return {};
}

}  // namespace

void check_functions(const ir::Module& module, const ModuleNames& names, Diagnostics& out) {
  for (const ir::Function& function : module.functions) {
    check_results(function, out);
    const ir::Function& meant = *names.function(function.name);
    if (!same_interface(function, meant))
      out.push_back({.code = "mismatched-declaration",
                     .message = function.name + " is declared twice, with other parameters or results",
                     .hint = "make the declarations equal to the definition"});
    if (!meant.defined && function.linkage != ir::Linkage::external && is_unresolved(module, function))
      out.push_back({.code = "undefined-function",
                     .message = "function " + function.name + " is declared without .extern, and has no body",
                     .hint = "write .extern before .func, or define it"});
  }
  for (const ir::Alias& alias : module.aliases) {
    const ir::Function *const name = names.function(alias.name), *const of = names.function(alias.of);
    if (name == nullptr || of == nullptr) continue;  // reported by the reader
    const std::string problem = alias_problem(*name, *of);
    if (!problem.empty())
      out.push_back({.code = "bad-alias",
                     .message = alias.name + " cannot be an .alias of " + alias.of + ": " + problem,
                     .hint = "declare " + alias.name + " without a body, with the interface of " + alias.of});
  }
}

void check_directives(const Scope& scope, Diagnostics& out) {
  const ir::Kernel& kernel = scope.kernel;
  const auto add = [&](const std::string& message, std::string hint) {
    out.push_back({.code = "directive-conflict",
                   .message = "kernel " + kernel.name + ": " + message,
                   .hint = std::move(hint)});
  };
  if (kernel.maxntid && kernel.reqntid) add(".maxntid and .reqntid exclude each other", "leave one out");
  if (kernel.reqnctapercluster && kernel.maxclusterrank)
    add(".reqnctapercluster and .maxclusterrank exclude each other", "leave one out");
  if (kernel.blocksareclusters && !(kernel.reqntid && kernel.reqnctapercluster))
    add(".blocksareclusters needs .reqntid and .reqnctapercluster", "write both");
}

}  // namespace ptxloom::check_rules
