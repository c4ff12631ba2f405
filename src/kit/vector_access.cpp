// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/vector_access.hpp"

#include <fmt/format.h>

namespace ptxloom::kit {

std::string vector_opcode(std::string_view opcode, Type type, std::size_t registers) {
  return registers == 1 ? fmt::format("{}.{}", opcode, type.name)
                        : fmt::format("{}.v{}.{}", opcode, registers, type.name);
}

void load_vector(KernelBuilder& k, std::string_view opcode, Type type, const Address& from,
                 std::span<const Reg> values) {
  k.emit(vector_opcode(opcode, type, values.size()), values.size() == 1 ? Arg(values[0]) : Arg(values), from);
}

void store_vector(KernelBuilder& k, std::string_view opcode, Type type, const Address& to,
                  std::span<const Reg> values) {
  k.emit(vector_opcode(opcode, type, values.size()), to, values.size() == 1 ? Arg(values[0]) : Arg(values));
}

Type access_type(Type element) {
  if (element == f32 || element == f64) return element;
  switch (element.bytes()) {
    case 1:
      return b8;
    case 2:
      return b16;
    default:
      return element.bytes() == 4 ? b32 : b64;
  }
}

std::vector<Reg> zeros(KernelBuilder& k, Type element, std::size_t count) {
  const Type type = access_type(element), held = type == b8 ? b16 : type;
  std::vector<Reg> values;
  for (std::size_t i = 0; i < count; ++i) {
    const Reg zero = k.mov(held, Arg::zero(held));
    values.push_back(type == b8 ? zero : KernelBuilder::as(element, zero));
  }
  return values;
}

Reg inside_row(KernelBuilder& k, Reg row_inside, Reg left, int distance) {
  const Reg both = k.reg(pred);
  k.emit("setp.gt.and.s32", both, left, distance, row_inside);
  return both;
}

}  // namespace ptxloom::kit
