// SPDX-License-Identifier: Apache-2.0
#include "quantize/transposed.hpp"

#include <fmt/format.h>

#include "ptxloom/kit/packed.hpp"

namespace ptxloom::quantize_kernel {

TransposedRows::TransposedRows(KernelBuilder& k, const kit::RowWindow& window, Reg row, Pointer base,
                               std::uint64_t pitch)
    : k_(k),
      window_(window),
      type_(base.element),
      pitch_(static_cast<std::int64_t>(pitch) * base.element.bytes()) {
  const Reg own = k.mad_wide(row, type_.bytes(), base.base);
  first_ = k.fma(k.convert(u64, KernelBuilder::as(u32, window.position())), pitch_, own);
}

Reg TransposedRows::address(int slot, int element) const {
  const std::int64_t elements = std::int64_t{slot} * window_.stride() + element;
  return elements == 0 ? first_ : k_.add(first_, elements * pitch_);
}

void TransposedRows::load(int slot, const std::vector<Reg>& elements) const {
  const std::string load = fmt::format("ld.global.L1::no_allocate.{}", kit::packed_type(type_, 1).name);
  const auto load_one = [&](int i) {
    k_.emit(load, elements[static_cast<std::size_t>(i)], KernelBuilder::at(address(slot, i)));
  };
  const int vector = window_.shape().vector;
  window_.whole(slot, [&] {
    for (int i = 0; i < vector; ++i) load_one(i);
  });
  window_.ends(slot, [&] {
    for (int i = 0; i < vector; ++i) k_.guarded(*window_.inside(slot, i), [&] { load_one(i); });
  });
}

std::vector<std::vector<Reg>> TransposedRows::load_all() const {
  std::vector<std::vector<Reg>> chunks;
  for (int slot = 0; slot < window_.slots(); ++slot) {
    std::vector<Reg> elements;
    for (int i = 0; i < window_.shape().vector; ++i)
      elements.push_back(kit::packed_constant(k_, type_, 1, 0));
    load(slot, elements);
    chunks.push_back(std::move(elements));
  }
  for (std::vector<Reg>& chunk : chunks) chunk = kit::join_packed(k_, type_, chunk);
  return chunks;
}

}  // namespace ptxloom::quantize_kernel
