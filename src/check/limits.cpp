// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>

#include "check/needs.hpp"
#include "check/rules.hpp"
#include "ir/storage.hpp"
#include "target/launch_limits.hpp"

// How much a module may declare: .const per module, parameters per entry (PTX ISA, "State Spaces"), .local
// per thread (specs/targets.json, "launch"), and how far it may be aligned. Of .local ptxas accepts more,
// which no launch can have, and counts modulo 2^32.
namespace ptxloom::check_rules {
namespace {

constexpr std::uint64_t kMostConstant = 65536;
constexpr std::uint32_t kMostParameters = 32764;

std::uint64_t saturated(std::uint64_t a, std::uint64_t b) {
  constexpr std::uint64_t most = std::uint64_t{1} << 40;  // enough for any sum
  return b != 0 && a > most / b ? most : a * b;
}

std::uint64_t bytes_of(const std::vector<ir::Variable>& variables, ir::Space space) {
  std::uint64_t bytes = 0;
  for (const ir::Variable& variable : variables)
    if (variable.space == space && variable.linkage != ir::Linkage::external)
      bytes += saturated(variable.count, static_cast<std::uint64_t>(variable.type.whole_bytes()));
  return bytes;
}

class LimitsCheck {
 public:
  LimitsCheck(const ir::Module& module, Diagnostics& out) : module_(module), out_(out) {}

  void run() {
    limit("the module", bytes_of(module_.variables, ir::Space::constant), "of .const", kMostConstant);
    limit_local("the module", module_.variables);
    for (const ir::Variable& variable : module_.variables) align("", variable);
    for (const ir::Function& function : module_.functions) check(function);
  }

 private:
  void check(const ir::Function& function) {
    const std::string name = (function.entry ? "kernel " : "function ") + function.name;
    limit_local(name, function.variables);
    if (function.entry) limit(name, bytes_of_parameters(function), "of parameters", kMostParameters);
    for (const ir::Variable& variable : function.variables) align(name + ": ", variable);
    for (const ir::Parameter& parameter : function.parameters) align(name + ": ", parameter);
  }

  void limit(const std::string& where, std::uint64_t bytes, const char* what, std::uint64_t most) {
    if (bytes <= most) return;
    out_.push_back({.code = "too-much-data",
                    .message = where + " has " + std::to_string(bytes) + " bytes " + what +
                               ", but the most is " + std::to_string(most),
                    .hint = "keep the data in .global, and pass a pointer to it"});
  }

  void limit_local(const std::string& where, const std::vector<ir::Variable>& variables) {
    limit(where, bytes_of(variables, ir::Space::local), "of .local", target::launch_limits().local);
  }

  void align(const std::string& where, const auto& declared) {
    if (declared.alignment <= ir::kMostAlignment) return;
    out_.push_back({.code = "bad-alignment",
                    .message = where + declared.name + " is aligned to " +
                               std::to_string(declared.alignment) + " bytes, but the most is " +
                               std::to_string(ir::kMostAlignment),
                    .hint = "no access needs more than 1024"});
  }

  const ir::Module& module_;
  Diagnostics& out_;
};

}  // namespace

void check_limits(const ir::Module& module, Diagnostics& out) { LimitsCheck(module, out).run(); }

}  // namespace ptxloom::check_rules
