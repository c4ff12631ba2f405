// SPDX-License-Identifier: Apache-2.0
#include "quantize/rounding.hpp"

namespace ptxloom::quantize_kernel {
namespace {

constexpr std::size_t kWords = 4;  // of a counter
constexpr int kBias = 127, kF32Mantissa = 23;
constexpr std::uint32_t kExponent = 0x7f80'0000;

std::uint32_t exponent_field(int exponent) {
  return static_cast<std::uint32_t>(exponent + kBias) << kF32Mantissa;
}

}  // namespace

StochasticRounding::StochasticRounding(KernelBuilder& k, const Problem& p, const kit::ParamRegs& in, Reg row)
    : k_(k), p_(p), philox_(k, in["seed"]), row_(row) {}

std::vector<Reg> StochasticRounding::words(std::size_t count, Reg column) const {
  const Reg zero = k_.mov(u32, 0), first = k_.shr(KernelBuilder::as(u32, column), 2);
  std::vector<Reg> all;
  for (std::size_t i = 0; i < count; i += kWords) {
    const Reg number = i == 0 ? first : k_.add(first, i / kWords);
    for (const Reg& word : philox_.draw({number, row_, zero, zero})) all.push_back(word);
  }
  // Of four words a smaller chunk needs the upper ones or the lower ones.
  for (std::size_t left = kWords / 2; count < kWords && left >= count; left /= 2) {
    const Reg upper = k_.ne(k_.and_(column, static_cast<int>(left)), 0);
    for (std::size_t i = 0; i < left; ++i) all[i] = k_.select(upper, all[left + i], all[i]);
  }
  all.resize(count);
  return all;
}

// The sum is rounded down, so its floor is that of the exact sum. Powers of two are multiplied by exactly.
Reg StochasticRounding::round_one(Reg value, Reg word) const {
  const Reg fraction = k_.mul(k_.convert(f32, k_.shr(word, 8)), 0x1p-24F);
  const auto floor_of = [&](Reg x) { return k_.op("cvt.rmi.f32.f32", k_.op("add.rm.f32", x, fraction)); };
  if (p_.format->element.is_integer()) return floor_of(value);
  const Reg field = k_.and_(k_.bit_cast(u32, value), kExponent);
  // Values beyond the range stay there; an infinity must not be multiplied by zero.
  const Reg exponent = k_.min(k_.max(field, exponent_field(p_.format->least_exponent)),
                              exponent_field(p_.format->largest_exponent + 1));
  const Reg distance = k_.sub(exponent, p_.format->mantissa_bits << kF32Mantissa);
  const Reg inverse = k_.sub(k_.mov(u32, 2 * exponent_field(0)), distance);
  return k_.mul(floor_of(k_.mul(value, k_.bit_cast(f32, inverse))), k_.bit_cast(f32, distance));
}

std::vector<Reg> StochasticRounding::round(const std::vector<Reg>& values, Reg column) const {
  const std::vector<Reg> random = words(values.size(), column);
  std::vector<Reg> rounded;
  for (std::size_t i = 0; i < values.size(); ++i) rounded.push_back(round_one(values[i], random[i]));
  return rounded;
}

}  // namespace ptxloom::quantize_kernel
