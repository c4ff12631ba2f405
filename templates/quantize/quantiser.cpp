// SPDX-License-Identifier: Apache-2.0
#include "quantize/quantiser.hpp"

#include <array>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/reduce.hpp"
#include "quantize/magnitudes.hpp"
#include "quantize/rounding.hpp"
#include "quantize/transposed.hpp"

namespace ptxloom::quantize_kernel {

Quantiser::Quantiser(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in, Reg row,
                     std::optional<Reg> present)
    : k_(k), p_(p), c_(c), in_(in), row_(row), present_(present) {}

Quantiser::Chunks Quantiser::load(const kit::RowWindow& window, kit::RowCaching caching) const {
  if (p_.transposed) return TransposedRows(k_, window, row_, in_.pointer("x"), p_.pitch_x).load_all();
  const kit::RowTensor x(k_, window, in_.pointer("x"), p_.pitch_x, caching);
  return x.realigns() ? x.load_realigned() : x.load_all(0);
}

std::vector<Reg> Quantiser::values(const std::vector<Reg>& chunk) const {
  return kit::unpack_values(k_, p_.x, c_.vector, chunk);
}

// The magnitudes of 16-bit floats are ordered as their bits, too, so two are compared at once.
Reg Quantiser::magnitude_of_pairs(const std::vector<Reg>& chunk) const {
  std::optional<Reg> largest;
  for (const Reg& pair : chunk) {
    const Reg both = k_.and_(pair, 0x7fff'7fff);
    largest = largest ? k_.op("max.u16x2", *largest, both) : both;
  }
  const std::vector<Reg> halves = k_.unpack(u16, KernelBuilder::as(b32, *largest));
  const Reg one = k_.max(halves[0], halves[1]);
  if (p_.x == f16) return k_.bit_cast(u32, k_.convert(f32, KernelBuilder::as(f16, one)));
  return k_.shl(k_.convert(u32, one), 16);
}

Reg Quantiser::magnitude(const std::vector<Reg>& chunk) const {
  if (p_.x != f32 && c_.vector > 1 && k_.has("max.u16x2")) return magnitude_of_pairs(chunk);
  std::optional<Reg> largest;
  for (const Reg& value : values(chunk)) {
    const Reg one = magnitude_of(k_, value);
    largest = largest ? larger(k_, *largest, one) : one;
  }
  return *largest;
}

// The elements of a group are in adjacent lanes; all of them learn the result.
Reg Quantiser::magnitude_of_group(const std::vector<Reg>& chunk) const {
  Reg largest = magnitude(chunk);
  for (int distance = c_.lanes_per_group(p_) / 2; distance > 0; distance /= 2)
    largest = larger(k_, largest, k_.shuffle_xor(largest, distance));
  return largest;
}

kit::NarrowRows Quantiser::narrow_rows(const kit::RowWindow& window) const {
  return {k_, window, row_, in_.pointer("y"), p_.pitch_y, p_.format->element, p_.packing};
}

std::vector<Reg> Quantiser::narrowed(const kit::RowWindow& window, int slot, const std::vector<Reg>& chunk,
                                     Reg factor) const {
  std::vector<Reg> scaled;
  for (const Reg& value : values(chunk)) scaled.push_back(k_.mul(value, factor));
  if (p_.stochastic) scaled = StochasticRounding(k_, p_, in_, row_).round(scaled, position(window, slot));
  return kit::narrow_values(k_, p_.format->element, scaled);
}

void Quantiser::store(const kit::RowWindow& window, const Chunks& chunks,
                      const std::function<Reg(int slot)>& factor) const {
  const kit::NarrowRows y = narrow_rows(window);
  Chunks words;
  for (int slot = 0; slot < window.slots(); ++slot) {
    words.push_back(narrowed(window, slot, chunks[static_cast<std::size_t>(slot)], factor(slot)));
    if (!y.realigns()) y.store(slot, words.back());
  }
  if (y.realigns()) y.store_realigned(words);
}

// The place of a chunk in its row.
Reg Quantiser::position(const kit::RowWindow& window, int slot) const {
  return k_.add(window.position(), std::int64_t{slot} * window.stride());
}

void Quantiser::store_scale(const kit::RowWindow& window, int slot, Reg stored) const {
  const Reg position = this->position(window, slot);
  Reg stores = k_.eq(k_.and_(position, static_cast<std::int64_t>(p_.group) - 1), 0);
  stores = k_.and_(stores, k_.lt(position, p_.n));
  if (present_) stores = k_.and_(stores, *present_);
  const Reg column = KernelBuilder::as(u32, k_.div(position, p_.group));
  const Reg index = p_.tiled_scales ? p_.tiles().offset(k_, row_, column)
                                    : k_.add(k_.mul_wide(row_, p_.scales_per_row()), k_.convert(u64, column));
  k_.guarded(stores, [&] {
    if (p_.format->scale == f32)
      k_.store(in_.pointer("scale")[index], stored);
    else
      k_.store("global", u8, KernelBuilder::at(k_.add(in_["scale"], index)), KernelBuilder::as(u32, stored));
  });
}

void Quantiser::measure(const kit::RowWindow& window) {
  std::vector<Reg> magnitudes;
  for (const std::vector<Reg>& chunk : load(window, kit::RowCaching::kept))
    magnitudes.push_back(magnitude(chunk));
  Magnitudes(k_, p_, c_, in_).include(window, row_, magnitudes, present_);
}

// Scales that a launch before has measured are stored by the thread that has the first of their elements.
void Quantiser::store_measured(Reg position, std::string_view name, Reg scale) const {
  Reg stores = Magnitudes(k_, p_, c_, in_).is_first(row_, position);
  stores = k_.and_(stores, k_.lt(position, p_.n));
  if (present_) stores = k_.and_(stores, *present_);
  Reg index = k_.mov(u32, 0);
  if (p_.scales == Scales::row) index = row_;
  if (p_.scales == Scales::block)
    index = k_.fma(k_.div(row_, kScaleBlock), p_.scales_per_row(),
                   k_.div(KernelBuilder::as(u32, position), kScaleBlock));
  k_.if_(stores, [&] { k_.store(in_.pointer(name)[index], scale); });
}

// The scale of the tensor, of a row or of a block.
BlockScale Quantiser::measured_scale(Reg position) const {
  const Reg inside = KernelBuilder::as(s32, k_.min(position, static_cast<int>(p_.n) - 1));
  Reg row = row_;
  if (present_) row = k_.min(row_, k_.sub(in_["rows"], 1));
  const BlockScale scale = scale_of(k_, p_, Magnitudes(k_, p_, c_, in_).load(row, inside), {});
  store_measured(position, "scale", scale.stored);
  return scale;
}

// All chunks of a thread have one scale, but with scales of blocks they may be in different blocks.
void Quantiser::part_with_one_scale(const kit::RowWindow& window, const Chunks& chunks) {
  std::optional<Reg> factor;
  if (!p_.measures_first()) factor = k_.op("rcp.rn.f32", in_["scale"]);
  store(window, chunks, [&](int slot) {
    if (p_.measures_first() && (slot == 0 || p_.scales == Scales::block))
      factor = measured_scale(position(window, slot)).factor;
    return *factor;
  });
}

// What the scales of a tensor's groups are multiplied by.
Reg Quantiser::tensor_scale(const kit::RowWindow& window) const {
  if (!p_.computed) return in_["tensor_scale"];
  const Reg scale = scale_of_tensor(k_, p_, Magnitudes(k_, p_, c_, in_).load(row_, window.position()));
  store_measured(window.position(), "tensor_scale", scale);
  return scale;
}

void Quantiser::part(const kit::RowWindow& window) {
  const Chunks chunks = load(window, kit::RowCaching::streamed);
  if (p_.scales != Scales::group) return part_with_one_scale(window, chunks);
  std::optional<Reg> of_tensor;
  if (p_.format->tensor_scale) of_tensor = tensor_scale(window);
  store(window, chunks, [&](int slot) {
    const std::vector<Reg>& chunk = chunks[static_cast<std::size_t>(slot)];
    const BlockScale scale = scale_of(k_, p_, magnitude_of_group(chunk), of_tensor);
    store_scale(window, slot, scale.stored);
    return scale.factor;
  });
}

void Quantiser::each_part(const kit::RowWindow& window,
                          const std::function<void(const kit::RowWindow& part)>& body) const {
  k_.for_(k_.mov(u32, 0), c_.parts(p_), 1, [&](Reg number) { body(window.part(number, c_.slots(p_))); });
}

// The largest one that a thread of the team has.
Reg Quantiser::magnitude_of_team(Reg own) const {
  // The reducer carries the bits as those of an f32.
  kit::Reducer reducer(k_, c_.team(), 1);
  const std::array<float, 1> neutral{0};
  const auto combine = [&](std::span<const Reg> a, std::span<const Reg> b) {
    return std::vector{k_.bit_cast(f32, larger(k_, k_.bit_cast(u32, a[0]), k_.bit_cast(u32, b[0])))};
  };
  return k_.bit_cast(u32, reducer.reduce({k_.bit_cast(f32, own)}, neutral, combine)[0]);
}

Reg Quantiser::magnitude_of_row(const kit::RowWindow& window, const std::optional<Chunks>& kept) const {
  const Reg largest = k_.mov(u32, 0);
  const auto include = [&](const Chunks& chunks) {
    for (const std::vector<Reg>& chunk : chunks) k_.set(largest, larger(k_, largest, magnitude(chunk)));
  };
  if (kept)
    include(*kept);
  else
    each_part(window, [&](const kit::RowWindow& part) { include(load(part, kit::RowCaching::kept)); });
  return magnitude_of_team(largest);
}

void Quantiser::whole_row(const kit::RowWindow& window) {
  std::optional<Chunks> kept;
  if (c_.keeps_row(p_)) kept = load(window, kit::RowCaching::streamed);
  const BlockScale scale = scale_of(k_, p_, magnitude_of_row(window, kept), {});
  Reg stores = k_.eq(kit::thread_in_team(k_, c_.team()), 0);
  if (present_) stores = k_.and_(stores, *present_);
  k_.if_(stores, [&] { k_.store(in_.pointer("scale")[row_], scale.stored); });
  const auto finish = [&](const kit::RowWindow& part, const Chunks& chunks) {
    store(part, chunks, [&](int) { return scale.factor; });
  };
  if (kept) return finish(window, *kept);
  each_part(window, [&](const kit::RowWindow& part) { finish(part, load(part, kit::RowCaching::kept)); });
}

}  // namespace ptxloom::quantize_kernel
