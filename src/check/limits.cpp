// SPDX-License-Identifier: Apache-2.0
#include <string>

#include "check/rules.hpp"

// How much a module may declare (PTX ISA, "State Spaces"): .const per module, parameters per entry.
namespace ptxloom::check_rules {
namespace {

constexpr std::uint64_t kMostConstant = 65536;
constexpr std::uint32_t kMostParameters = 32764, kMostParametersBefore81 = 4352;

void add(std::string message, std::uint64_t most, Diagnostics& out) {
  out.push_back({.code = "too-much-data",
                 .message = std::move(message) + ", but the most is " + std::to_string(most),
                 .hint = "keep the data in .global, and pass a pointer to it"});
}

}  // namespace

void check_limits(const ir::Module& module, Diagnostics& out) {
  std::uint64_t constant = 0;
  for (const ir::Variable& variable : module.variables)
    if (variable.space == ir::Space::constant && variable.linkage != ir::Linkage::external)
      constant += variable.count * static_cast<std::uint64_t>(variable.type.bytes());
  if (constant > kMostConstant)
    add("the module has " + std::to_string(constant) + " bytes of .const", kMostConstant, out);
  const std::uint32_t most = module.version < Version{8, 1} ? kMostParametersBefore81 : kMostParameters;
  for (const ir::Function& function : module.functions) {
    if (!function.entry) continue;
    const std::uint32_t size = ir::signature(function).size();
    if (size > most)
      add("kernel " + function.name + ": " + std::to_string(size) + " bytes of parameters", most, out);
  }
}

}  // namespace ptxloom::check_rules
