// SPDX-License-Identifier: Apache-2.0
#include "exec/machine/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>
#include <vector>

#include "base/hash.hpp"
#include "exec/machine/call.hpp"
#include "exec/memory/address.hpp"
#include "ptxloom/error.hpp"
#include "ptxloom/ptx.hpp"

namespace ptxloom::exec {
namespace {

std::uint32_t align_up(std::uint32_t offset, std::uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::uint32_t alignment_of(const Type& type, std::uint32_t declared) {
  return declared != 0 ? declared : static_cast<std::uint32_t>(type.whole_bytes());
}

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;   // of all variables of a space, except .global
constexpr std::uint64_t kMostGlobal = std::uint64_t{1} << 40;  // of one .global variable

[[noreturn]] void no_room(const ir::Variable& variable) {
  throw Error(ErrorKind::out_of_memory, "out-of-device-memory",
              fmt::format("the executor has no room for variable {}, {} elements of .{}", variable.name,
                          variable.count, variable.type.name),
              "the host's memory is the executor's device memory: declare a smaller array");
}

std::uint64_t size_of(const ir::Variable& variable) {
  const auto element = static_cast<std::uint64_t>(variable.type.whole_bytes());
  if (element != 0 && variable.count > kMostGlobal / element) no_room(variable);
  return variable.count * element;
}

// The next aligned offset after `used` bytes, which then include the variable.
std::uint32_t place_in(std::uint32_t& used, const ir::Variable& variable) {
  const std::uint64_t alignment = alignment_of(variable.type, variable.alignment);
  const std::uint64_t offset = (used + alignment - 1) / alignment * alignment;
  const std::uint64_t end = offset + size_of(variable);
  if (end > kMostBytes) no_room(variable);
  used = static_cast<std::uint32_t>(end);
  return static_cast<std::uint32_t>(offset);
}

std::vector<std::byte> initial_bytes(const ir::Variable& variable) try {
  std::vector<std::byte> bytes(size_of(variable));
  const std::size_t given = std::min(bytes.size(), variable.initial.size());
  if (given != 0) std::memcpy(bytes.data(), variable.initial.data(), given);
  return bytes;
} catch (const std::bad_alloc&) {
  no_room(variable);
}

// The address range of a variable: its bytes, rounded up, and a gap on each side.
std::uint64_t address_room(const ir::Variable& variable) { return (size_of(variable) / kGap + 2) * kGap; }

// A function of the program alone. Different programs get different addresses, so that a pointer that one
// leaves to its variable is out of bounds in another, instead of hitting one of that program's variables.
std::uint64_t first_address(const ir::Module& module, std::string_view entry) {
  std::uint64_t room = 0;
  for (const ir::Variable& variable : module.variables) {
    if (variable.space == ir::Space::global) room += address_room(variable);
  }
  if (room == 0) return kFirstVariable;
  const std::uint64_t starts = (window(StateSpace::shared) - kFirstVariable - room) / kGap;
  return kFirstVariable + hash128(fmt::format("{}\n{}", entry, print(module))).low % starts * kGap;
}

}  // namespace

Symbols::Symbols(const ir::Module& module, Code& code)
    : next_address_(first_address(module, code.kernel.name)), functions_(1 + code.callees.size()) {
  place_parameters(code);
  for (std::size_t i = 0; i < functions_.size(); ++i) place_function(code, i);
  for (const ir::Variable& variable : module.variables) {
    place_variable(code, variable, module_);
    name_variable(code, variable);
  }
  place_dynamic(module, code);
  for (const ir::Variable& variable : module.variables) fill_addresses(code, variable);
}

// Fills in the addresses among a variable's initial values, which are all known by now.
void Symbols::fill_addresses(Code& code, const ir::Variable& variable) const {
  const auto placed = module_.find(variable.name);
  if (placed == module_.end()) return;
  const Place& place = placed->second;
  std::byte* data = place.space == StateSpace::global ? code.globals[place.variable].data.data()
                                                      : code.constants.data() + place.offset;
  for (const ir::AddressValue& value : variable.addresses) {
    const auto target = module_.find(value.name);
    const auto callee = find_callee(code.callees, value.name);
    if (!callee && target == module_.end()) {
      throw Error(ErrorKind::refused, "exec-unsupported",
                  "the executor cannot give " + variable.name +
                      " its initial value, which is the address of " + value.name,
                  "run the kernel on a GPU");
    }
    std::uint64_t address =
        (callee ? function_address(*callee)
                : target->second.offset + (value.generic ? window(target->second.space) : 0)) +
        static_cast<std::uint64_t>(value.addend);
    if (value.mask != 0) address = (address & value.mask) >> std::countr_zero(value.mask);
    std::memcpy(data + value.offset, &address, static_cast<std::size_t>(variable.type.whole_bytes()));
  }
}

// All arrays of unknown size share one address, after the static ones.
void Symbols::place_dynamic(const ir::Module& module, Code& code) {
  std::vector<std::pair<const ir::Variable*, Names*>> arrays;
  std::uint32_t alignment = 16;
  const auto collect = [&](const std::vector<ir::Variable>& variables, Names& names) {
    for (const ir::Variable& variable : variables) {
      if (variable.space != ir::Space::shared || variable.count != 0) continue;
      arrays.emplace_back(&variable, &names);
      alignment = std::max(alignment, alignment_of(variable.type, variable.alignment));
    }
  };
  collect(code.kernel.variables, functions_[0]);
  for (std::size_t i = 0; i < code.callees.size(); ++i)
    collect(code.callees[i].function.variables, functions_[i + 1]);
  collect(module.variables, module_);
  code.dynamic_shared_offset = align_up(code.static_shared_bytes, alignment);
  for (const auto& [array, names] : arrays) {
    (*names)[array->name] = {.space = StateSpace::shared, .offset = code.dynamic_shared_offset};
  }
}

const Place* Symbols::find(std::size_t function, std::string_view name) const {
  for (const Names* names : {&functions_[function], &module_}) {
    if (const auto found = names->find(name); found != names->end()) return &found->second;
  }
  return nullptr;
}

void Symbols::place_parameters(Code& code) {
  std::uint32_t used = 0;
  for (const ir::Parameter& parameter : code.kernel.parameters) {
    const std::uint32_t declared =
        parameter.pointer ? 0 : parameter.alignment;  // a pointer's is that of its target
    const std::uint32_t offset = align_up(used, alignment_of(parameter.type, declared));
    functions_[0][parameter.name] = {.space = StateSpace::param, .offset = offset};
    code.parameter_offsets.push_back(offset);
    used = offset + parameter.size();
  }
  code.parameter_bytes = used;
}

// Its variables, arguments and results.
void Symbols::place_function(Code& code, std::size_t index) {
  const ir::Function& function = index == 0 ? code.kernel : code.callees[index - 1].function;
  Names& names = functions_[index];
  Callee* const framed = index != 0 && code.callees[index - 1].recurses ? &code.callees[index - 1] : nullptr;
  const auto name = [&](const std::string& each, std::uint64_t bytes) {
    const Place& place = names.at(each);
    if (place.space != StateSpace::local) return;
    code.locals.push_back({.name = each,
                           .function = static_cast<std::uint32_t>(index),
                           .offset = place.offset,
                           .bytes = bytes,
                           .in_frame = place.in_frame});
  };
  for (const ir::Variable& variable : function.variables) {
    place_variable(code, variable, names, framed);
    if (names.contains(variable.name)) name(variable.name, size_of(variable));
  }
  if (index == 0) return;
  std::uint32_t& used = framed != nullptr ? framed->frame_bytes : code.local_bytes;
  for (const auto* parameters : {&function.parameters, &function.results}) {
    for (const ir::Parameter& parameter : *parameters) {
      if (parameter.reg) continue;
      const std::uint32_t alignment = alignment_of(parameter.type, parameter.alignment);
      const std::uint32_t offset = align_up(used, alignment);
      names[parameter.name] = {.space = StateSpace::local, .offset = offset, .in_frame = framed != nullptr};
      used = offset + parameter.size();
      name(parameter.name, parameter.size());
      if (framed != nullptr) framed->frame_alignment = std::max(framed->frame_alignment, alignment);
    }
  }
  // Never empty: a thread that calls without end shall reach the end of its stack.
  if (framed != nullptr) used = align_up(std::max(used, 1u), framed->frame_alignment);
}

void Symbols::place_variable(Code& code, const ir::Variable& variable, Names& names, Callee* framed) {
  Place place;
  switch (variable.space) {
    case ir::Space::shared:
      if (variable.count == 0) return;  // placed last
      place = {.space = StateSpace::shared, .offset = place_in(code.static_shared_bytes, variable)};
      break;
    case ir::Space::local:
    case ir::Space::function:  // arguments and results of calls
      place = {.space = StateSpace::local,
               .offset = place_in(framed != nullptr ? framed->frame_bytes : code.local_bytes, variable),
               .in_frame = framed != nullptr};
      if (framed != nullptr)
        framed->frame_alignment =
            std::max(framed->frame_alignment, alignment_of(variable.type, variable.alignment));
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
      place = {.space = StateSpace::global, .offset = next_address_, .variable = code.globals.size()};
      code.globals.push_back(
          {.name = variable.name, .address = next_address_, .data = initial_bytes(variable)});
      next_address_ += address_room(variable);
      break;
    default:
      return;
  }
  names[variable.name] = place;
}

// The variables of the module that the host may write.
void Symbols::name_variable(Code& code, const ir::Variable& variable) const {
  const auto placed = module_.find(variable.name);
  if (placed == module_.end()) return;
  const Place& place = placed->second;
  if (place.space == StateSpace::constant) {
    code.variables.push_back({.name = variable.name, .offset = place.offset, .bytes = size_of(variable)});
  } else if (place.space == StateSpace::global) {
    code.variables.push_back({.name = variable.name, .global = place.variable, .bytes = size_of(variable)});
  }
}

}  // namespace ptxloom::exec
