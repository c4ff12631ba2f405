// SPDX-License-Identifier: Apache-2.0
#include "build/operation.hpp"
#include "ir/storage.hpp"

namespace ptxloom {

// base + index * size: an unsigned or signed 32-bit index is widened by the multiplication.
Address KernelBuilder::element_address(std::string_view name, const Pointer::Element& element, Caller at) {
  const Operation operation{name, name_, number_, at};
  const Pointer& pointer = element.pointer;
  operation.require_own("pointer", pointer.base.builder);
  const int size = stored_type(operation, pointer.element).bytes();
  if (element.index.kind == ir::Operand::Kind::integer) {
    std::int64_t offset = 0;
    if (__builtin_mul_overflow(element.index.value, std::int64_t{size}, &offset))
      operation.refuse(
          "operand-range",
          "operand index is " + std::to_string(element.index.value) + ", which no address reaches",
          "an offset in bytes has 64 bits");
    return KernelBuilder::at(pointer.base, offset);
  }
  const Reg index{element.index_type, {element.index.index}, element.index_builder};
  operation.require_own("index", index.builder);
  if (!index.type.is_integer() || index.type.lanes > 1 || (index.type.bits != 32 && index.type.bits != 64))
    operation.refuse("operand-type", "operand index is a ." + std::string(index.type.name) + " register",
                     "an index is of type u32, s32, u64 or s64");
  if (index.type.bits == 32) return KernelBuilder::at(mad_wide(index, size, pointer.base, at));
  return KernelBuilder::at(fma(index, size, as(index.type, pointer.base), at));
}

Reg KernelBuilder::load(const Pointer::Element& element, Caller at) {
  return load("global", element.pointer.element, element_address("load", element, at), at);
}

void KernelBuilder::store(const Pointer::Element& element, Arg value, Caller at) {
  store("global", element.pointer.element, element_address("store", element, at), value, at);
}

Reg KernelBuilder::load(std::string_view space, Type type, Address address, Caller at) {
  const Type stored = stored_type({"load", name_, number_, at}, type);
  const Reg d = reg(type, at);
  emit({word({"ld.", space, ".", stored.name}), at}, {d, address});
  return d;
}

void KernelBuilder::store(std::string_view space, Type type, Address address, Arg value, Caller at) {
  const Operation operation{"store", name_, number_, at};
  const Type stored = stored_type(operation, type), given = value.type();
  const auto whole = [](const Type& t) { return t.is_integer() || t.kind == TypeKind::bits; };
  const bool narrows = value.is_register() && whole(type) && whole(given) && given.bits > type.bits;
  if (!narrows) operation.require(type, {{"value", value}}, Operation::Signs::alike);
  emit({word({"st.", space, ".", stored.name}), at}, {address, value});
}

void KernelBuilder::barrier(Caller at) { emit({"bar.sync", at}, {0}); }

}  // namespace ptxloom
