// SPDX-License-Identifier: Apache-2.0
#include "build/operation.hpp"

namespace ptxloom {

Reg MemoryBuilder::load(const Element& element, Caller at) {
  const Operation here = operation("load", at);
  return load(element.space, element.type, resolve(here, element.address), at);
}

std::vector<Reg> MemoryBuilder::load(const Element& first, int count, Caller at) {
  const Operation here = operation("load", at);
  const Type stored = stored_type(here, first.type);
  const Address address = resolve(here, first.address, count);
  std::vector<Reg> values = regs(first.type, count, at);
  emit({word({"ld.", first.space, ".v", std::to_string(count), ".", stored.name}), at}, {values, address});
  return values;
}

void MemoryBuilder::store(const Element& element, Arg value, Caller at) {
  const std::int64_t elements = value.is_vector() ? static_cast<std::int64_t>(value.count()) : 1;
  const Address address = resolve(operation("store", at), element.address, elements);
  store(element.space, element.type, address, value, at);
}

Reg MemoryBuilder::load(std::string_view space, Type type, Address address, Caller at) {
  const Type stored = stored_type(operation("load", at), type);
  const Reg d = reg(type, at);
  emit({word({"ld.", space, ".", stored.name}), at}, {d, address});
  return d;
}

void MemoryBuilder::store(std::string_view space, Type type, Address address, Arg value, Caller at) {
  const Operation here = operation("store", at);
  const Type stored = stored_type(here, type), given = value.type();
  if (value.is_vector()) {
    for (std::size_t i = 0; i < value.count(); ++i)
      here.require(type, {{"value", value.element(i)}}, Operation::Signs::alike);
    return emit({word({"st.", space, ".v", std::to_string(value.count()), ".", stored.name}), at},
                {address, value});
  }
  const auto whole = [](const Type& t) { return t.is_integer() || t.kind == TypeKind::bits; };
  const bool narrows = value.is_register() && whole(type) && whole(given) && given.bits > type.bits;
  if (!narrows) here.require(type, {{"value", value}}, Operation::Signs::alike);
  emit({word({"st.", space, ".", stored.name}), at}, {address, value});
}

}  // namespace ptxloom
