// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/builder.hpp"

namespace ptxloom {

// base + index * size: an unsigned or signed 32-bit index is widened by the multiplication.
Address KernelBuilder::element_address(const Pointer::Element& element) {
  const int size = element.pointer.element.bytes();
  if (element.index.kind == ir::Operand::Kind::integer)
    return at(element.pointer.base, element.index.value * size);
  const Reg index{element.index_type, {element.index.index}};
  if (index.type.bits == 32) return at(mad_wide(index, size, element.pointer.base));
  return at(fma(index, size, as(index.type, element.pointer.base)));
}

Reg KernelBuilder::load(const Pointer::Element& element) {
  return load("global", element.pointer.element, element_address(element));
}

void KernelBuilder::store(const Pointer::Element& element, Arg value) {
  store("global", element.pointer.element, element_address(element), value);
}

namespace {
// Loads and stores know sizes, integers and f32 / f64; other types travel as bits.
std::string_view memory_word(Type type) {
  if (type.is_integer() || type == f32 || type == f64) return type.name;
  return type.bits <= 8    ? "b8"
         : type.bits <= 16 ? "b16"
         : type.bits <= 32 ? "b32"
         : type.bits <= 64 ? "b64"
                           : "b128";
}
}  // namespace

Reg KernelBuilder::load(std::string_view space, Type type, Address address) {
  const Reg d = reg(type);
  emit(word({"ld.", space, ".", memory_word(type)}), d, address);
  return d;
}

void KernelBuilder::store(std::string_view space, Type type, Address address, Arg value) {
  emit(word({"st.", space, ".", memory_word(type)}), address, value);
}

void KernelBuilder::barrier() { emit("bar.sync", 0); }

}  // namespace ptxloom
