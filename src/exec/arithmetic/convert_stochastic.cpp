// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <memory>

#include "base/numeric_arithmetic.hpp"
#include "exec/arithmetic/rounding.hpp"
#include "exec/machine/decoder.hpp"
#include "exec/machine/lanewise.hpp"

// cvt.rs: stochastic rounding (PTX ISA 9.7.9.21). The random bits are added to the discarded bits of the
// mantissa with their top bits aligned: a value rounds away from zero if that carries, else towards zero. So,
// among all patterns of n random bits, the fraction that rounds away is the discarded fraction, to n bits.
//
// Which of the 32 random bits serve which element follows the manual's text: its figures, and hardware that
// has the instruction, were not available. In the narrow types two elements share 16 bits.
namespace ptxloom::exec {
namespace {

/// Takes the random bits of element `element`, 0 being the lowest, from those of the instruction.
using RandomBits = std::uint32_t (*)(std::uint32_t random, int element);

std::uint32_t thirteen_of_half(std::uint32_t random, int element) {
  return random >> (16 * element) & 0x1fff;
}
std::uint32_t half(std::uint32_t random, int element) { return random >> (16 * element) & 0xffff; }
std::uint32_t half_for_two(std::uint32_t random, int element) { return half(random, element / 2); }
std::uint32_t bytes_of_both_halves(std::uint32_t random, int element) {
  const std::uint32_t bytes = random >> (8 * (element / 2));
  return (bytes >> 16 & 0xff) << 8 | (bytes & 0xff);
}

struct StochasticPlan {
  const base::FloatFormat* format = nullptr;
  Saturation saturation = Saturation::none;
  bool relu = false;
  RandomBits random = nullptr;
  int random_width = 16;
  int elements = 2;
  int stride = 16;  // bits from one element to the next
};

/// Whether adding the random bits to the discarded bits carries.
bool carries(const StochasticPlan& plan, const base::Number& number, std::uint32_t random) {
  const base::FloatFormat& format = *plan.format;
  const int exponent = std::max(base::leading_exponent(number), format.min_exponent());
  const int discarded = exponent - format.mantissa_bits - number.exponent;
  if (discarded <= 0 || discarded > 100)
    return false;  // beyond 100 the fraction is smaller than any random bit
  const base::uint128 one = base::uint128{1} << discarded, fraction = number.significand & (one - 1);
  // In units of the lowest bit of either.
  const int width = std::max(discarded, plan.random_width);
  return (fraction << (width - discarded)) + (base::uint128{random} << (width - plan.random_width)) >=
         base::uint128{1} << width;
}

std::uint64_t round_stochastically(const StochasticPlan& plan, std::uint64_t value, std::uint32_t random) {
  const base::FloatFormat& format = *plan.format;
  const base::Number number = base::unpack(base::kF32, value);
  if (number.negative && !number.is_nan() && plan.relu) return 0;
  const int largest = base::leading_exponent(base::unpack(format, format.max_finite()));
  if (number.kind != base::Number::Kind::finite || base::leading_exponent(number) > largest)
    return base::round(format, number, Rounding::rn, plan.saturation);
  const std::uint64_t toward_zero = base::round(format, number, Rounding::rz, Saturation::satfinite);
  if (!carries(plan, number, random)) return toward_zero;
  const bool at_end = (toward_zero & ~format.sign(true)) == format.max_finite();
  return at_end && plan.saturation == Saturation::satfinite ? toward_zero : toward_zero + 1;
}

// The inputs start with the highest element; the random bits come last.
void run_stochastic(Warp& warp, const Operation& op, Mask mask) {
  const auto& plan = op.plan_as<StochasticPlan>();
  const Lanes<std::uint32_t> out(warp.registers(), op.slots[0]), random(warp.registers(), op.slots.back());
  for_lanes(mask, [&](int lane) {
    std::uint64_t result = 0;
    for (int i = 0; i < plan.elements; ++i) {
      const Slot& slot = op.slots[static_cast<std::size_t>(plan.elements - i)];
      const std::uint32_t value = Lanes<std::uint32_t>(warp.registers(), slot)[lane];
      result |= round_stochastically(plan, value, plan.random(random[lane], i)) << (i * plan.stride);
    }
    out.set(lane, static_cast<std::uint32_t>(result));
  });
}

void emit(Decoder& decoder, StochasticPlan plan) {
  std::string_view type = decoder.word("d");
  type.remove_suffix(2);  // x2, x4
  plan.format = base::find_format(*find_type(type));
  plan.relu = decoder.has("relu");
  decoder.emit(&run_stochastic, std::make_shared<StochasticPlan>(plan));
}

void decode_pair(Decoder& decoder) {
  const Modifiers modifiers = modifiers_of(decoder);
  const bool is_f16 = decoder.word("d") == "f16x2";
  emit(decoder, {.saturation = modifiers.saturation,
                 .random = is_f16 ? thirteen_of_half : half,
                 .random_width = is_f16 ? 13 : 16});
}

void decode_four(Decoder& decoder) {
  const bool is_f4 = decoder.word("d") == "e2m1x4";
  emit(decoder, {.saturation = Saturation::satfinite,
                 .random = is_f4 ? bytes_of_both_halves : half_for_two,
                 .elements = 4,
                 .stride = is_f4 ? 4 : 8});
}

constexpr std::array kForms{
    Semantics{"cvt.rs", decode_pair, {FlowRule::smear}},
    Semantics{"cvt.rs.x4", decode_four, {FlowRule::smear}},
};

}  // namespace

std::span<const Semantics> stochastic_semantics() { return kForms; }

}  // namespace ptxloom::exec
