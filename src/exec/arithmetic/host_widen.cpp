// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "exec/arithmetic/host_convert.hpp"
#include "exec/machine/lanewise.hpp"

// cvt from floats of at most 8 bits: a table holds the result of each pattern.
namespace ptxloom::exec {
namespace {

using Word = std::uint32_t;

struct Widening {
  std::array<std::uint16_t, 256> wide{};
  int stride = 8;

  Word operator()(Word bits) const { return wide[bits & ((1u << stride) - 1)]; }
};

void run_widening(Warp& warp, const Operation& op, Mask mask) {
  const auto& widening = op.plan_as<Widening>();
  const Lanes<Word> out(warp.registers(), op.slots[0]), in(warp.registers(), op.slots[1]);
  for_lanes(mask, [&](int lane) {
    const Word pair = in[lane];
    out.set(lane, widening(pair) | widening(pair >> widening.stride) << 16);
  });
}

}  // namespace

void emit_widening(Decoder& decoder, const Type& to, const Type& from, const Modifiers& modifiers) {
  const auto widening = std::make_shared<Widening>();
  widening->stride = stride_of(from);
  for (Word bits = 0; bits < 1u << widening->stride; ++bits)
    widening->wide[bits] = static_cast<std::uint16_t>(convert(to, from, bits, modifiers));
  decoder.emit(base::fastest<&run_widening>(), widening);
}

}  // namespace ptxloom::exec
