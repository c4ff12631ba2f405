// SPDX-License-Identifier: Apache-2.0
#include "ptxloom/kit/packed.hpp"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "ptxloom/error.hpp"
#include "ptxloom/lower.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::kit {
namespace {

constexpr std::uint32_t kHighHalf = 0xffff'0000;

bool is_fp8(Type type) { return type == e4m3 || type == e5m2; }

/// The conversion to a type that not all targets have; empty for others.
std::string conversion_to(Type type) {
  if (type == bf16) return "cvt.rn.bf16.f32";
  return is_fp8(type) ? fmt::format("cvt.rn.satfinite.{}x2.f32", type.name) : "";
}

void require(bool has, Type type, const Target& target) {
  if (!has)
    throw Error(ErrorKind::usage, "operand-type",
                fmt::format("{} has no conversion between {} and f32", target.name(), type.name),
                "use f32, f16 or bf16, or, for results, e4m3 or e5m2");
}

/// One element or pairs, in as many registers as they take.
void require_registers(Type element, int count, std::size_t registers) {
  const bool whole = element == f32 ? count > 0 : count == 1 || (count > 0 && count % 2 == 0);
  if (!whole || std::cmp_not_equal(registers, packed_registers(element, count)))
    throw Error(ErrorKind::usage, "operand-count",
                fmt::format("{} elements of {} in {} registers", count, element.name, registers),
                "give one element or an even number; packed_registers() counts their registers");
}

void require_elements(Type element, std::size_t count) {
  const int elements = static_cast<int>(count);
  require_registers(element, elements, static_cast<std::size_t>(packed_registers(element, elements)));
}

std::vector<Reg> pack_fp8(KernelBuilder& k, Type element, std::span<const Reg> values) {
  std::vector<Reg> packed;
  for (std::size_t i = 0; i < values.size(); i += 2)
    packed.push_back(lower::op(k, conversion_to(element),
                               i + 1 < values.size() ? values[i + 1] : k.mov(f32, 0.0F), values[i]));
  return packed;
}

// A bf16 is the upper half of an f32.
Reg bf16_value(KernelBuilder& k, Reg word, bool high) {
  return k.bit_cast(f32, high ? k.and_(word, kHighHalf) : k.shl(word, 16));
}

std::vector<Reg> unpack_halves(KernelBuilder& k, Type element, int count, std::span<const Reg> packed) {
  std::vector<Reg> values;
  if (element == bf16) {
    if (count == 1) {
      const Reg word = k.convert(u32, k.as(u16, k.bit_cast(u16, packed[0])));
      return {k.bit_cast(f32, k.shl(word, 16))};
    }
    for (const Reg& word : packed)
      for (const bool high : {false, true}) values.push_back(bf16_value(k, word, high));
    return values;
  }
  for (const Reg& half : split_packed(k, element, count, packed))
    values.push_back(k.convert(f32, KernelBuilder::as(f16, half)));
  return values;
}

}  // namespace

bool can_unpack(Type type) { return type == f32 || type == f16 || type == bf16; }

bool can_pack(const Specs& specs, const Target& target, Type type) {
  const std::string conversion = conversion_to(type);
  if (conversion.empty()) return can_unpack(type);
  return lower::support(specs, conversion, target) != lower::Support::none;
}

Type packed_type(Type element, int count) {
  if (element == f32) return f32;
  if (is_fp8(element)) return count == 1 ? b8 : b16;
  return count == 1 ? b16 : b32;
}

int packed_registers(Type element, int count) { return element == f32 ? count : (count + 1) / 2; }

Reg packed_constant(KernelBuilder& k, Type element, int count, double value) {
  require(can_unpack(element), element, k.target());
  const Type type = packed_type(element, count);
  if (type == f32) return k.mov(f32, static_cast<float>(value));
  const std::uint64_t one = encode(element, value);
  return k.mov(type, count == 1 ? one : one << 16 | one);
}

std::vector<Reg> unpack_values(KernelBuilder& k, Type element, int count, std::span<const Reg> packed) {
  require(can_unpack(element), element, k.target());
  require_registers(element, count, packed.size());
  if (element == f32) return {packed.begin(), packed.end()};
  return unpack_halves(k, element, count, packed);
}

std::vector<Reg> pack_values(KernelBuilder& k, Type element, std::span<const Reg> values) {
  require(can_pack(k.specs(), k.target(), element), element, k.target());
  require_elements(element, values.size());
  if (element == f32) return {values.begin(), values.end()};
  if (is_fp8(element)) return pack_fp8(k, element, values);
  const std::string pair = fmt::format("cvt.rn.{}x2.f32", element.name);
  std::vector<Reg> packed;
  if (values.size() > 1 && k.has(pair)) {
    for (std::size_t i = 0; i < values.size(); i += 2) packed.push_back(k.op(pair, values[i + 1], values[i]));
    return packed;
  }
  std::vector<Reg> halves;
  for (const Reg& value : values)
    halves.push_back(KernelBuilder::as(
        b16, element == bf16 ? lower::op(k, conversion_to(bf16), value) : k.convert(element, value)));
  return join_packed(k, element, halves);
}

std::vector<Reg> split_packed(KernelBuilder& k, Type element, int count, std::span<const Reg> packed) {
  require(can_unpack(element) || is_fp8(element), element, k.target());
  require_registers(element, count, packed.size());
  if (element == f32 || count == 1) return {packed.begin(), packed.end()};
  std::vector<Reg> elements;
  for (const Reg& word : packed) {
    if (!is_fp8(element)) {
      for (const Reg& half : k.unpack(b16, word)) elements.push_back(half);
    } else {
      elements.push_back(word);
      elements.push_back(KernelBuilder::as(b16, k.shr(KernelBuilder::as(u16, word), 8)));
    }
  }
  return elements;
}

std::vector<Reg> join_packed(KernelBuilder& k, Type element, std::span<const Reg> elements) {
  require(can_unpack(element), element, k.target());
  require_elements(element, elements.size());
  if (element == f32 || elements.size() == 1) return {elements.begin(), elements.end()};
  std::vector<Reg> packed;
  for (std::size_t i = 0; i < elements.size(); i += 2) packed.push_back(k.pack(b32, elements.subspan(i, 2)));
  return packed;
}

}  // namespace ptxloom::kit
