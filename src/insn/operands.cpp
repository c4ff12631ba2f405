// SPDX-License-Identifier: Apache-2.0
#include "insn/operands.hpp"

#include <cmath>
#include <cstring>
#include <random>

#include "conform/demand.hpp"
#include "insn/chain.hpp"
#include "ptxloom/numeric.hpp"

namespace ptxloom::insn {
namespace {

using Random = std::mt19937_64;

/// The type of an element: f16 of f16x2, e4m3 of a b32 that a fragment map says holds such.
Type element_type(const Row& row, const OperandSpec& operand) {
  if (const auto found = find_type(row.variant.fragment(operand.name).type)) return *found;
  if (operand.type.lanes == 1) return operand.type;
  const std::string_view packed = operand.type.name;
  return find_type(packed.substr(0, packed.rfind('x'))).value_or(operand.type);
}

std::uint64_t element(const Type& type, Data data, Random& random) {
  if (data == Data::zero) return 0;
  if (data == Data::plain) return type.is_float() ? encode(type, 1.0) : 1 + random() % 7;
  if (!type.is_float()) return random();
  // Within an eighth of zero, so that long sums of products stay finite.
  const double value = static_cast<double>(random() >> 11) * 0x1p-53 * 0.25 - 0.125;
  return encode(type, value, Rounding::rn, Saturation::satfinite);
}

std::uint64_t word(const Type& type, int bits, Data data, Random& random) {
  std::uint64_t value = 0;
  const int step = std::max<int>(type.bits, 1);
  for (int at = 0; at < std::min(bits, 64); at += step) {
    const std::uint64_t mask = step >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << step) - 1;
    value |= (element(type, data, random) & mask) << at;
  }
  return value;
}

}  // namespace

std::vector<std::byte> operands(const Row& row, const Frame& frame, int streams, Data data) {
  constexpr std::size_t kBlock = 1;  // a matrix descriptor with the swizzle of 128 bytes
  std::vector<std::byte> bytes(static_cast<std::size_t>(streams * kLanes * frame.lane_bytes + 16));
  Random random(1);
  for (int lane = 0; lane < streams * kLanes; ++lane) {
    for (const LoadedField& field : frame.fields) {
      const OperandSpec& operand = row.variant.operands()[static_cast<std::size_t>(field.operand)];
      const Type type = element_type(row, operand);
      std::string demand = row.variant.conform(operand.name);
      if (row.rule->operands.contains(operand.name) || demand == "hint" || demand == "fragment" ||
          demand == "unpublished")
        demand.clear();
      const conform_kernels::Demand wanted(demand, type);
      for (int at = 0; at < field.bytes; at += 8) {
        std::uint64_t value = wanted.meet(word(type, 8 * (field.bytes - at), data, random), kBlock, random);
        if (operand.type == pred) value &= 1;
        std::memcpy(bytes.data() + 16 + lane * frame.lane_bytes + field.offset + at, &value,
                    static_cast<std::size_t>(std::min(8, field.bytes - at)));
      }
    }
  }
  return bytes;
}

std::vector<std::byte> memory(const Row& row, const Frame& frame, std::uint64_t address, std::size_t bytes,
                              Data data) {
  std::vector<std::byte> content(bytes);
  const Type type = find_type(row.variant.conform("memory")).value_or(b32);
  Random random(2);
  for (std::size_t at = 0; at + 8 <= bytes; at += 8) {
    const std::uint64_t own = address + at / static_cast<std::size_t>(frame.slot_bytes) *
                                            static_cast<std::size_t>(frame.slot_bytes);
    const std::uint64_t value = frame.addresses        ? own
                                : data == Data::random ? word(type, 64, data, random)
                                                       : 0;
    std::memcpy(content.data() + at, &value, sizeof value);
  }
  return content;
}

}  // namespace ptxloom::insn
