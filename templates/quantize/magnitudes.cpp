// SPDX-License-Identifier: Apache-2.0
#include "quantize/magnitudes.hpp"

#include <array>

#include "ptxloom/kit/reduce.hpp"
#include "quantize/scale.hpp"

namespace ptxloom::quantize_kernel {

Reg Magnitudes::address(Reg row, Reg position) const {
  const Pointer all = in_.pointer(kWorkspace);
  if (p_.computed) return all.base;
  if (p_.scales == Scales::row) return k_.mad_wide(row, sizeof(std::uint32_t), all.base);
  const Reg across = KernelBuilder::as(u32, k_.div(KernelBuilder::as(u32, position), kScaleBlock));
  return k_.mad_wide(k_.fma(k_.div(row, kScaleBlock), p_.scales_per_row(), across), sizeof(std::uint32_t),
                     all.base);
}

Reg Magnitudes::load(Reg row, Reg position) const {
  return k_.op("ld.global.u32", KernelBuilder::at(address(row, position)));
}

Reg Magnitudes::is_first(Reg row, Reg position) const {
  const auto begins = [&](Reg at, bool block) { return k_.eq(block ? k_.and_(at, kScaleBlock - 1) : at, 0); };
  const bool blocks = p_.scales == Scales::block;
  const Reg first = begins(position, blocks);
  return p_.scales == Scales::row ? first : k_.and_(first, begins(row, blocks));
}

/// Of adjacent lanes; all of them learn the result.
Reg Magnitudes::of_lanes(Reg magnitude, int lanes) const {
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    magnitude = larger(k_, magnitude, k_.shuffle_xor(magnitude, distance));
  return magnitude;
}

// Most magnitudes are not larger than what is there already: reading costs less than the atomic operation.
void Magnitudes::include_at(Reg address, Reg magnitude, Reg leads) const {
  k_.if_(leads, [&] {
    const Reg known = k_.op("ld.relaxed.gpu.global.u32", KernelBuilder::at(address));
    k_.guarded(k_.gt(magnitude, known),
               [&] { k_.emit("red.relaxed.gpu.global.max.u32", KernelBuilder::at(address), magnitude); });
  });
}

/// Whether all slots of a thread are in one block.
bool Magnitudes::slots_share(const kit::RowWindow& window) const {
  const int elements = window.slots() * window.stride();
  return p_.scales != Scales::block || int{kScaleBlock} % elements == 0;
}

void Magnitudes::include(const kit::RowWindow& window, Reg row, const std::vector<Reg>& chunks,
                         std::optional<Reg> present) const {
  Reg largest = chunks.front();
  for (std::size_t i = 1; slots_share(window) && i < chunks.size(); ++i)
    largest = larger(k_, largest, chunks[i]);
  const Reg thread = k_.special("tid.x");
  if (p_.computed) {
    // Rows that are not there have the magnitude 0.
    kit::Reducer reducer(k_, kit::Team::block(c_.threads), 1);
    const std::array<float, 1> neutral{0};
    const Reg of_block =
        k_.bit_cast(u32, reducer.reduce({k_.bit_cast(f32, largest)}, neutral, [&](auto a, auto b) {
          return std::vector{k_.bit_cast(f32, larger(k_, k_.bit_cast(u32, a[0]), k_.bit_cast(u32, b[0])))};
        })[0]);
    return include_at(address(row, window.position()), of_block, k_.eq(thread, 0));
  }
  const bool rows = p_.scales == Scales::row;
  // The rows of a warp are in one band of 128, and its chunks of a slot in one block.
  const int lanes = rows ? c_.lanes : kit::kWarpThreads;
  Reg leads = k_.eq(k_.and_(thread, lanes - 1), 0);
  if (present) leads = k_.and_(leads, *present);
  for (int slot = 0; slot < (slots_share(window) ? 1 : window.slots()); ++slot) {
    const Reg position = k_.add(window.position(), std::int64_t{slot} * window.stride());
    const Reg one = slot == 0 ? largest : chunks[static_cast<std::size_t>(slot)];
    const Reg inside = k_.and_(leads, k_.lt(position, p_.n));
    include_at(address(row, position), of_lanes(one, lanes), inside);
  }
}

}  // namespace ptxloom::quantize_kernel
