// SPDX-License-Identifier: Apache-2.0
// Registers and parameters. A value in memory has its type's storage type (src/ir/storage.hpp): PTX has no
// declaration, load or store of bf16, e4m3 and similar types, and linkers crash on some.
#include <algorithm>

#include "build/operation.hpp"
#include "ir/naming.hpp"
#include "ir/storage.hpp"
#include "ptxloom/tensor_map.hpp"

namespace ptxloom {
namespace {

/// The size of the register: no instruction computes on fewer than 16 bits.
int register_bits(const Type& type) { return type == pred ? 1 : std::max<int>(type.bits, 16); }

}  // namespace

// Declared by class: bits of its size, except for floats and predicates, so that any instruction type of that
// size fits.
Reg BuilderCore::reg(Type type, Caller at) {
  std::vector<ir::RegisterDecl>& registers = kernel(at).registers;
  if (type.bits == 0 || type.bits > 128 || ir::is_opaque(type))
    operation("reg", at).refuse(
        "register-type", "there is no register for a ." + std::string(type.name),
        "registers have 1 (pred) to 128 bits; keep the address of a texture in a u64");
  const Type& declared = register_type(type);
  const auto id = static_cast<std::uint32_t>(registers.size());
  registers.push_back(
      {.type = declared, .number = scope_.class_counts[ir::register_class(declared)]++, .name = {}});
  return {type, {id}, scope_.number};
}

std::vector<Reg> BuilderCore::regs(Type type, int count, Caller at) {
  if (count < 0)
    operation("regs", at).refuse("register-count", std::to_string(count) + " registers", "use 0 or more");
  std::vector<Reg> made;
  made.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) made.push_back(reg(type, at));
  return made;
}

Reg BuilderCore::as(Type type, Reg reg, Caller at) {
  if (register_bits(type) != register_bits(reg.type))
    throw Error(ErrorKind::usage, "operand-type",
                place_of(at) + ": as: a ." + std::string(reg.type.name) +
                    " register does not have the size of a ." + std::string(type.name),
                "convert it, or pack and unpack it");
  reg.type = type;
  return reg;
}

Type BuilderCore::stored_type(const Operation& here, Type type) const {
  if (const auto storage = ir::storage_of(type)) return *storage;
  if (type == pred)
    here.refuse("type-without-storage", "a predicate cannot be stored in memory",
                "store select(p, mov(u32, 1), 0)");
  here.refuse("type-without-storage",
              "a ." + std::string(type.name) + " has " + std::to_string(type.bits) +
                  " bits, less than a byte of memory",
              "use b8, and pack and unpack the values (e2m1x2 is one byte)");
}

std::string BuilderCore::within() const { return scope_.subject.empty() ? "" : scope_.subject + ": "; }

// Names with % are those of registers, and of what the builder declares itself.
void BuilderCore::require_name(const std::string& name, const char* code, Caller at) const {
  if (ir::is_identifier(name) && !name.starts_with('%')) return;
  throw Error(ErrorKind::usage, code,
              place_of(at) + ": " + within() + "'" + name + "' cannot be a name in PTX",
              "use letters, digits, _ and $, starting with a letter, and no word that PTX reserves");
}

std::uint32_t BuilderCore::symbol(std::string name, Caller at, ir::Space space) {
  require_name(name, "bad-name", at);
  if (std::ranges::find(kernel(at).symbols, name, &ir::Symbol::name) != kernel(at).symbols.end())
    operation("declare", at)
        .refuse("duplicate-name", "the kernel already has a parameter or an array " + name,
                "use another name");
  return own_symbol(std::move(name), at, space);
}

std::uint32_t BuilderCore::own_symbol(std::string name, Caller at, ir::Space space) {
  ir::Kernel& k = kernel(at);
  k.symbols.push_back({std::move(name), space});
  return static_cast<std::uint32_t>(k.symbols.size() - 1);
}

Reg BuilderCore::param(Type type, std::string name, Caller at) {
  require_kernel("param", at);
  const Type stored = stored_type(operation("param", at), type);
  const std::uint32_t index = symbol(name, at, ir::Space::param);
  kernel(at).parameters.push_back({.name = std::move(name), .type = stored});
  const Reg value = reg(type, at);
  emit({word({"ld.param.", stored.name}), at},
       {value, Address{{.kind = ir::Operand::Kind::address_symbol, .index = index}, scope_.number}});
  return value;
}

Pointer BuilderCore::pointer(Type element, std::string name, Caller at) {
  require_kernel("pointer", at);
  const std::uint32_t index = symbol(name, at, ir::Space::param);
  kernel(at).parameters.push_back({.name = std::move(name), .type = u64, .pointer = ir::Space::global});
  const Reg base = reg(u64, at);
  emit({"ld.param.u64", at},
       {base, Address{{.kind = ir::Operand::Kind::address_symbol, .index = index}, scope_.number}});
  return {base, element};
}

Reg BuilderCore::tensor_map(std::string name, Caller at) {
  require_kernel("tensor_map", at);
  const std::uint32_t index = symbol(name, at, ir::Space::param);
  kernel(at).parameters.push_back({.name = std::move(name),
                                   .type = b8,
                                   .count = sizeof(EncodedTensorMap),
                                   .alignment = alignof(EncodedTensorMap)});
  const Reg address = reg(u64, at);
  emit({"mov.u64", at}, {address, Shared{index, b8, scope_.number}});
  emit({"cvta.param.u64", at}, {address, address});
  return address;
}

// The specs write a numbered register, such as pm3_64, in three parts.
Reg BuilderCore::special(std::string_view name, Caller at) {
  kernel(at);
  constexpr std::string_view kWide = "_64";
  const std::string_view wide = name.ends_with(kWide) ? kWide : "";
  const std::string_view narrow = name.substr(0, name.size() - wide.size());
  const std::size_t digits = narrow.find_last_not_of("0123456789") + 1;
  const std::string_view stem = narrow.substr(0, digits), number = narrow.substr(digits);
  const std::string written = "%" + std::string(name);
  for (const Type type : {u32, u64, pred, b32}) {
    const Choice of_type{"type", type.name};
    auto found = specs().find("mov.special", {{"register", name}, of_type}, target_);
    if (!found && wide.empty())
      found = specs().find("mov.special", {{"register", stem}, {"number", number}, of_type}, target_);
    if (!found)
      found = specs().find("mov.special", {{"register", stem}, {"number", number}, {"wide", wide}, of_type},
                           target_);
    if (!found || found->operand("S").text != written) continue;  // 03 is not 3
    const Reg value = reg(type, at);
    emit({*found, at}, {value, Arg::literal()});
    return value;
  }
  throw Error(ErrorKind::illegal_ptx, "unknown-special-register",
              place_of(at) + ": " + scope_.subject + ": there is no special register %" + std::string(name) +
                  " on " + std::string(target_.name()),
              "`ptxloom show mov` lists them");
}

}  // namespace ptxloom
