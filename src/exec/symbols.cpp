// SPDX-License-Identifier: Apache-2.0
#include "exec/symbols.hpp"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

namespace ptxloom::exec {
namespace {

std::uint32_t align_up(std::uint32_t offset, std::uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::uint32_t alignment_of(const Type& type, std::uint32_t declared) {
  return declared != 0 ? declared : static_cast<std::uint32_t>(type.bytes());
}

std::uint32_t size_of(const ir::Variable& variable) {
  return static_cast<std::uint32_t>(variable.count) * static_cast<std::uint32_t>(variable.type.bytes());
}

// The next aligned place behind `used` bytes, which then include it.
std::uint32_t place_in(std::uint32_t& used, const ir::Variable& variable) {
  const std::uint32_t offset = align_up(used, alignment_of(variable.type, variable.alignment));
  used = offset + size_of(variable);
  return offset;
}

std::vector<std::byte> initial_bytes(const ir::Variable& variable) {
  std::vector<std::byte> bytes(size_of(variable));
  const std::size_t given = std::min(bytes.size(), variable.initial.size());
  if (given != 0) std::memcpy(bytes.data(), variable.initial.data(), given);
  return bytes;
}

}  // namespace

Symbols::Symbols(const ir::Module& module, Code& code) {
  place_parameters(code);
  for (const ir::Variable& variable : code.kernel.variables) place_variable(code, variable);
  for (const ir::Variable& variable : module.variables) place_variable(code, variable);
  place_dynamic(module, code);
}

// All arrays of unknown size are one, behind the static ones.
void Symbols::place_dynamic(const ir::Module& module, Code& code) {
  std::vector<const ir::Variable*> arrays;
  std::uint32_t alignment = 16;
  for (const std::vector<ir::Variable>* variables :
       {&std::as_const(code.kernel).variables, &module.variables}) {
    for (const ir::Variable& variable : *variables) {
      if (variable.space != ir::Space::shared || variable.count != 0) continue;
      arrays.push_back(&variable);
      alignment = std::max(alignment, alignment_of(variable.type, variable.alignment));
    }
  }
  code.dynamic_shared_offset = align_up(code.static_shared_bytes, alignment);
  for (const ir::Variable* array : arrays) {
    places_[array->name] = {.space = StateSpace::shared, .offset = code.dynamic_shared_offset};
  }
}

const Place* Symbols::find(std::string_view name) const {
  const auto found = places_.find(name);
  return found == places_.end() ? nullptr : &found->second;
}

void Symbols::place_parameters(Code& code) {
  std::uint32_t used = 0;
  for (const ir::Parameter& parameter : code.kernel.parameters) {
    const std::uint32_t offset = align_up(used, alignment_of(parameter.type, parameter.alignment));
    places_[parameter.name] = {.space = StateSpace::param, .offset = offset};
    used = offset + parameter.size();
  }
  code.parameter_bytes = used;
}

void Symbols::place_variable(Code& code, const ir::Variable& variable) {
  Place place;
  switch (variable.space) {
    case ir::Space::shared:
      if (variable.count == 0) return;  // placed last
      place = {.space = StateSpace::shared, .offset = place_in(code.static_shared_bytes, variable)};
      break;
    case ir::Space::local:
      place = {.space = StateSpace::local, .offset = place_in(code.local_bytes, variable)};
      break;
    case ir::Space::constant: {
      auto used = static_cast<std::uint32_t>(code.constants.size());
      place = {.space = StateSpace::constant, .offset = place_in(used, variable)};
      code.constants.resize(used);
      std::ranges::copy(initial_bytes(variable),
                        code.constants.begin() + static_cast<std::ptrdiff_t>(place.offset));
      break;
    }
    case ir::Space::global:
      place = {.space = StateSpace::global, .variable = code.globals.size()};
      code.globals.push_back({.name = variable.name, .data = initial_bytes(variable)});
      break;
    default:
      return;  // what only calls need
  }
  places_[variable.name] = place;
}

}  // namespace ptxloom::exec
