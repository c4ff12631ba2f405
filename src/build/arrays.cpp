// SPDX-License-Identifier: Apache-2.0
// Arrays of the kernel (shared) and of the module (dynamic shared, constant, global).
#include <algorithm>
#include <bit>
#include <cstring>

#include "build/operation.hpp"

namespace ptxloom {

void MemoryBuilder::require_alignment(const Operation& here, std::string_view name,
                                      std::uint32_t alignment) const {
  if (!std::has_single_bit(alignment))
    here.refuse("bad-alignment", std::string(name) + " is aligned to " + std::to_string(alignment) + " bytes",
                "use a power of two");
}

Shared MemoryBuilder::shared(Type type, std::uint64_t count, std::string name, std::uint32_t alignment,
                             Caller at) {
  const Operation here = operation("shared", at);
  const Type stored = stored_type(here, type);
  if (count == 0)
    here.refuse("bad-size", name + " has no elements",
                "give a count, or use dynamic_shared, whose size the launch sets");
  const auto most = static_cast<std::uint64_t>(target_.info().shared_static);
  if (count > most / static_cast<std::uint64_t>(stored.bytes()))
    here.refuse("bad-size",
                name + " has " + std::to_string(count) + " elements of ." + std::string(stored.name) +
                    ", but static shared memory has " + std::to_string(most) + " bytes",
                "use fewer, or dynamic_shared, whose size the launch sets");
  if (alignment != 0) require_alignment(here, name, alignment);
  const std::uint32_t index = symbol(name, at);
  kernel(at).variables.push_back(
      {.name = std::move(name), .type = stored, .count = count, .alignment = alignment});
  return {index, type, scope_.number};
}

// Kernels of one module may share it: it gets the largest alignment that any requests.
Shared MemoryBuilder::dynamic_shared(std::string name, std::uint32_t alignment, Caller at) {
  require_alignment(operation("dynamic_shared", at), name, alignment);
  const std::uint32_t index = symbol(name, at);
  const auto known = std::ranges::find(module_.variables, name, &ir::Variable::name);
  if (known != module_.variables.end()) {
    known->alignment = std::max(known->alignment, alignment);
  } else {
    module_.variables.push_back({.name = std::move(name),
                                 .type = b8,
                                 .count = 0,
                                 .alignment = alignment,
                                 .linkage = ir::Linkage::external});
  }
  return {index, b8, scope_.number};
}

Global MemoryBuilder::variable(std::string_view space, Type type, std::uint64_t count, std::string name,
                               std::span<const std::byte> values, Caller at) {
  kernel(at);
  const Operation here = operation(space == "const" ? "constant" : "global", at);
  const Type stored = stored_type(here, type);
  if (space != "const" && space != "global")
    here.refuse("bad-space", "a variable of the module cannot be in ." + std::string(space),
                "use const or global");
  require_name(name, "bad-name", at);
  if (std::ranges::find(module_.variables, name, &ir::Variable::name) != module_.variables.end())
    here.refuse("duplicate-name", "the module already has a variable " + name, "use another name");
  const std::uint64_t bytes = count * static_cast<std::uint64_t>(stored.bytes());
  if (count == 0 || (!values.empty() && values.size() != bytes))
    here.refuse("bad-size",
                name + " has " + std::to_string(count) + " elements and " + std::to_string(values.size()) +
                    " bytes of values",
                "give a value for each element, or no values");
  ir::Variable made{.name = std::move(name),
                    .space = space == "const" ? ir::Space::constant : ir::Space::global,
                    .type = stored,
                    .count = count,
                    .linkage = ir::Linkage::visible,
                    .array = true};
  made.initial.resize(values.size());
  if (!values.empty()) std::memcpy(made.initial.data(), values.data(), values.size());
  module_.variables.push_back(std::move(made));
  return {static_cast<std::uint32_t>(module_.variables.size() - 1), type,
          space == "const" ? "const" : "global", module_number_};
}

Reg MemoryBuilder::address_of(Shared array, Caller at) { return mov(u32, array, at); }

Reg MemoryBuilder::address_of(Global array, Caller at) { return mov(u64, array, at); }

Reg MemoryBuilder::address_of(const Address& address, Caller at) {
  const Operation here = operation("address_of", at);
  const Address found = resolve(here, address);
  const ir::Operand& operand = found.operand;
  if (operand.kind != ir::Operand::Kind::address) return add(base_of(here, found), operand.value, at);
  here.require_own("address", found.builder);
  const Type declared = kernel(at).registers[operand.index].type;
  if (declared.bits != 32 && declared.bits != 64)
    here.refuse("operand-type",
                "the base of operand address is a ." + std::string(declared.name) + " register",
                "use a register of type u32 or u64");
  return add(Reg{declared.bits == 64 ? u64 : u32, {operand.index}, found.builder}, operand.value, at);
}

Address MemoryBuilder::at(Reg base, std::int64_t offset) {
  return {{.kind = ir::Operand::Kind::address, .index = base.id.id, .value = offset}, base.builder};
}

Address MemoryBuilder::at(Shared array, std::int64_t offset) {
  return {{.kind = ir::Operand::Kind::address_symbol, .index = array.symbol, .value = array.offset + offset},
          array.builder};
}

}  // namespace ptxloom
