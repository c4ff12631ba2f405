// SPDX-License-Identifier: Apache-2.0
// Addresses of elements: base + index * size. The multiplication widens a 32-bit index, signed or unsigned;
// shared memory has 32-bit addresses.
#include <algorithm>

#include "build/operation.hpp"

namespace ptxloom {

std::uint32_t BuilderCore::symbol_of_variable(std::uint32_t variable) {
  if (scope_.globals.size() <= variable) scope_.globals.resize(variable + 1, 0);
  std::uint32_t& known = scope_.globals[variable];
  if (known == 0) {
    std::vector<ir::Symbol>& symbols = module_.functions[scope_.function].symbols;
    const ir::Variable& named = module_.variables[variable];
    symbols.push_back({named.name, named.space});
    known = static_cast<std::uint32_t>(symbols.size());
  }
  return known - 1;
}

// Puts the base of an indexed address into a register: 64 bits, 32 for shared memory.
Reg BuilderCore::base_of(const Operation& here, const Address& address) {
  using Kind = ir::Operand::Kind;
  if (address.operand.kind == Kind::address) {
    const Type declared = kernel(here.at).registers[address.operand.index].type;
    if (declared.bits != 64)
      here.refuse("operand-type",
                  "the base of operand address is a ." + std::string(declared.name) + " register",
                  "use a register of type u64");
    return {u64, {address.operand.index}, address.builder};
  }
  const bool of_module = address.builder == module_number_;
  const Reg base = reg(of_module ? u64 : u32, here.at);
  if (of_module) {
    emit({"mov.u64", here.at}, {base, Global{address.operand.index, b8, {}, module_number_}});
  } else {
    emit({"mov.u32", here.at}, {base, Shared{address.operand.index, b8, address.builder}});
  }
  return base;
}

// The array that an address lies in: of this function, or of the module.
const ir::Variable* BuilderCore::array_of(const Address& address) const {
  const std::uint32_t index = address.operand.index;
  if (address.builder == module_number_) return &module_.variables[index];
  const ir::Function& function = module_.functions[scope_.function];
  for (const std::vector<ir::Variable>* variables : {&function.variables, &module_.variables}) {
    const auto found = std::ranges::find(*variables, function.symbols[index].name, &ir::Variable::name);
    if (found != variables->end()) return &*found;
  }
  return nullptr;
}

// Refuses elements at a literal index that do not lie in their array. The size of dynamic shared memory is
// unknown.
void BuilderCore::require_inside(const Operation& here, const Address& address, std::int64_t elements) const {
  if (address.operand.kind != ir::Operand::Kind::address_symbol) return;
  const ir::Variable* array = array_of(address);
  if (array == nullptr) return;
  const std::int64_t size = stored_type(here, address.index.element).bytes();
  const auto bytes = static_cast<std::int64_t>(array->count) * array->type.bytes();
  const std::int64_t index = address.index.operand.value, begin = address.operand.value;
  const bool unknown = array->count == 0;
  const std::int64_t first = begin + index * size;  // resolve() has looked at the product
  if (first >= 0 && (unknown || first <= bytes - elements * size)) return;
  const std::string what = elements == 1
                               ? "element " + std::to_string(index)
                               : std::to_string(elements) + " elements from " + std::to_string(index) + " on";
  here.refuse(
      "outside-array",
      what + " of " + array->name + ", which has " +
          (index < 0 ? "none before its first" : std::to_string((bytes - begin) / size) + " elements"),
      "use an index inside the array");
}

Address BuilderCore::resolve(const Operation& here, const Address& address, std::int64_t elements) {
  if (!address.is_indexed()) return address;
  if (address.builder != module_number_) here.require_own("address", address.builder);
  const Address::Index& index = address.index;
  const int size = stored_type(here, index.element).bytes();
  Address made{address.operand, address.builder, {}, address.space};
  if (index.operand.kind == ir::Operand::Kind::integer) {
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(index.operand.value, std::int64_t{size}, &offset))
      here.refuse("operand-range",
                  "operand index is " + std::to_string(index.operand.value) + ", which is beyond any address",
                  "use an index whose offset in bytes fits in 64 bits");
    kernel(here.at);  // refuses a builder that was moved from
    require_inside(here, address, elements);
    return made + offset;
  }
  here.require_own("index", index.builder);
  if (!index.type.is_integer() || index.type.lanes > 1 || (index.type.bits != 32 && index.type.bits != 64))
    here.refuse("operand-type", "operand index is a ." + std::string(index.type.name) + " register",
                "convert it: an index is of type u32, s32, u64 or s64");
  const Reg base = base_of(here, address), i{index.type, {index.operand.index}, index.builder};
  if (base.type.bits < index.type.bits)
    here.refuse("operand-type", "operand index is a ." + std::string(index.type.name) + " register",
                "shared memory takes 32-bit indices: convert(u32, index)");
  const Reg element = reg(base.type, here.at);
  const bool widens = base.type.bits > index.type.bits;
  emit({word({widens ? "mad.wide." : "mad.lo.", index.type.name}), here.at}, {element, i, size, base});
  made.operand = {.kind = ir::Operand::Kind::address, .index = element.id.id, .value = address.operand.value};
  made.builder = element.builder;
  return made;
}

}  // namespace ptxloom
