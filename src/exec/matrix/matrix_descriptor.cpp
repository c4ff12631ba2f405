// SPDX-License-Identifier: Apache-2.0
#include "exec/matrix/matrix_descriptor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "exec/judge/judge.hpp"
#include "exec/machine/block.hpp"
#include "exec/machine/fault.hpp"
#include "exec/memory/address.hpp"
#include "ir/naming.hpp"

namespace ptxloom::exec {
namespace {

constexpr std::uint64_t kUnit = 16;  // bytes
constexpr std::uint64_t kLines = 8;  // units of a core matrix
constexpr std::array<std::uint64_t, 4> kWidths{kUnit, 128, 64, 32};

// A 14-bit field with an address or offset in units of 16 bytes.
std::uint64_t encoded(std::uint64_t bits, int low) { return (bits >> low & 0x3fff) << 4; }

// "its matrix descriptor of B, %rd4".
std::string describe_operand(const Warp& warp, const Operation& op, std::size_t operand) {
  const ir::Function& function = warp.block().grid().code().function_of(op);
  const ir::Instruction& instruction = function.instructions[op.instruction];
  const ir::Operand& given = function.operands_of(instruction)[operand];
  const std::string name =
      given.kind == ir::Operand::Kind::reg ? ", " + ir::name_of(function.registers[given.index]) : "";
  return fmt::format("its matrix descriptor of {}{}", instruction.variant.operands()[operand].name, name);
}

}  // namespace

MatrixDescriptor::MatrixDescriptor(std::uint64_t bits)
    : start_(encoded(bits, 0)),
      leading_(encoded(bits, 16)),
      stride_(encoded(bits, 32)),
      base_(bits >> 49 & 7),
      width_(kWidths.at(bits >> 62)) {}

// The offset of unit number `unit` along k. Units beyond the swizzle width are a leading offset further on.
std::uint64_t MatrixDescriptor::offset_along_k(std::uint64_t line, std::uint64_t unit) const {
  const std::uint64_t units = width_ / kUnit;
  return line % kLines * width_ + line / kLines * stride_ + unit % units * kUnit + unit / units * leading_;
}

// The offset of unit number `unit` across the lines, at `k`.
std::uint64_t MatrixDescriptor::offset_across(std::uint64_t unit, std::uint64_t k) const {
  const std::uint64_t units = width_ / kUnit;
  if (units == 1) return unit * stride_ + k % kLines * kUnit + k / kLines * leading_;
  return unit % units * kUnit + unit / units * leading_ + k % kLines * width_ + k / kLines * stride_;
}

std::uint64_t MatrixDescriptor::swizzled(std::uint64_t address) const {
  const std::uint64_t phase = ((address >> 7) - base_) & (width_ / kUnit - 1);
  return address ^ phase << 4;
}

std::string MatrixDescriptor::describe() const {
  return fmt::format("start {:#x}, leading offset {}, stride offset {}, {}", start_, leading_, stride_,
                     width_ == kUnit ? "no swizzling" : fmt::format("swizzling of {} bytes", width_));
}

// Calls f(address) for each unit, in the order of their elements, until it returns false; then it does too.
template <class F>
bool MatrixDescriptor::for_units(const Shape& shape, F f) const {
  const std::size_t per_unit = 8 * kUnit / shape.type.bits;
  if (shape.transposed) {
    for (std::size_t unit = 0; unit < shape.lines / per_unit; ++unit)
      for (std::size_t k = 0; k < shape.depth; ++k)
        if (!f(swizzled(start_ + offset_across(unit, k)))) return false;
  } else {
    for (std::size_t line = 0; line < shape.lines; ++line)
      for (std::size_t unit = 0; unit < shape.depth / per_unit; ++unit)
        if (!f(swizzled(start_ + offset_along_k(line, unit)))) return false;
  }
  return true;
}

std::vector<std::uint32_t> MatrixDescriptor::check(Warp& warp, const Operation& op, std::size_t operand,
                                                   const Shape& shape) const {
  Block& block = warp.block();
  std::vector<std::uint32_t> units;
  units.reserve(shape.lines * shape.depth * shape.type.bits / (8 * kUnit));
  std::uint64_t last = 0;
  const bool inside = for_units(shape, [&](std::uint64_t address) {
    last = address;
    if (!has_shared(block.grid(), address, kUnit)) return false;
    units.push_back(static_cast<std::uint32_t>(address));
    return true;
  });
  if (Judge* judge = warp.judge()) judge->wgmma_reads({&warp, &op, 0}, units);
  if (!inside) {
    fault(warp, op, warp.flow().live(), "out-of-bounds",
          fmt::format("{} ({}), reaches the bytes {:#x} to {:#x} of shared memory; {}",
                      describe_operand(warp, op, operand), describe(), last, last + kUnit - 1,
                      describe_shared(block.grid())),
          "check the start address and the leading and stride offsets of the descriptor, and launch with "
          "enough dynamic shared memory");
  }
  return units;
}

bool SharedMatrix::is_zero(std::span<const std::byte> shared) const {
  std::uint64_t any = 0;
  for (const std::uint32_t unit : units) {
    std::array<std::uint64_t, kUnit / 8> words;
    std::memcpy(words.data(), shared.data() + unit, kUnit);
    any |= words[0] | words[1];
  }
  return any == 0;
}

template <class Element>
void SharedMatrix::read_as(std::span<const std::byte> shared, std::span<std::uint32_t> elements) const {
  constexpr std::size_t count = kUnit / sizeof(Element);
  for (std::size_t number = 0; number < units.size(); ++number) {
    std::array<Element, count> unit;
    std::memcpy(unit.data(), shared.data() + units[number], kUnit);
    if (!shape.transposed) {
      std::copy_n(unit.begin(), count, elements.begin() + static_cast<std::ptrdiff_t>(number * count));
      continue;
    }
    const std::size_t first = number / shape.depth * count * shape.depth + number % shape.depth;
    for (std::size_t i = 0; i < count; ++i) elements[first + i * shape.depth] = unit[i];
  }
}

std::vector<std::uint32_t> SharedMatrix::read(std::span<const std::byte> shared) const {
  std::vector<std::uint32_t> elements(shape.lines * shape.depth);
  switch (shape.type.bits) {
    case 8:
      read_as<std::uint8_t>(shared, elements);
      break;
    case 16:
      read_as<std::uint16_t>(shared, elements);
      break;
    case 32:
      read_as<std::uint32_t>(shared, elements);
      break;
    default: {  // smaller ones, never transposed
      const std::size_t per_unit = 8 * kUnit / shape.type.bits;
      const std::uint32_t mask = (1u << shape.type.bits) - 1;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        const std::size_t bit = i % per_unit * shape.type.bits;
        const auto byte = std::to_integer<std::uint32_t>(shared[units[i / per_unit] + bit / 8]);
        elements[i] = byte >> bit % 8 & mask;
      }
    }
  }
  return elements;
}

}  // namespace ptxloom::exec
