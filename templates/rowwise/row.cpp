// SPDX-License-Identifier: Apache-2.0
#include "rowwise/row.hpp"

namespace ptxloom::rowwise_kernel {

std::vector<Reg> Part::values(int slot) const {
  std::vector<Reg> packed = kept_[static_cast<std::size_t>(slot)];
  if (zero_)
    for (Reg& word : packed) word = k_.xor_(word, *zero_);
  return kit::unpack_values(k_, type_, window_.shape().vector, packed);
}

// A square has no sign, not even that of NaN. ptxas does not know that.
void Part::convert_again_after(Reg value) {
  if (kit::packed_type(type_, window_.shape().vector) != b32) return;
  zero_ = KernelBuilder::as(b32, k_.shr(k_.bit_cast(u32, k_.mul(value, value)), 31));
}

Row::Row(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in,
         const kit::RowWindow& window, double fill)
    : k_(k), p_(p), c_(c), in_(in), window_(window), fill_(fill) {
  if (c.keeps_row(p)) kept_.emplace(load(window));
}

// With a residual the f32 sums are kept, each in a register, as the two 16-bit summands would be.
Part Row::load(const kit::RowWindow& window) const {
  const auto caching = c_.keeps_row(p_) ? kit::RowCaching::streamed : kit::RowCaching::kept;
  const kit::RowTensor x(k_, window, in_.pointer("x"), p_.pitch_x, caching);
  std::vector<std::vector<Reg>> all = x.load_all(fill_);
  if (!p_.residual) return {k_, window, p_.x, std::move(all)};
  const kit::RowTensor residual(k_, window, in_.pointer("residual"), p_.pitch_x, caching);
  const std::vector<std::vector<Reg>> added = residual.load_all();
  for (std::size_t slot = 0; slot < all.size(); ++slot) {
    const std::vector<Reg> a = kit::unpack_values(k_, p_.x, c_.vector, all[slot]),
                           b = kit::unpack_values(k_, *p_.residual, c_.vector, added[slot]);
    all[slot].clear();
    for (std::size_t i = 0; i < a.size(); ++i) all[slot].push_back(k_.add(a[i], b[i]));
  }
  return {k_, window, f32, std::move(all)};
}

void Row::each_part(const Body& body) {
  if (kept_) return body(*kept_);
  const int slots = c_.slots(p_), parts = (window_.slots() + slots - 1) / slots;
  k_.for_(k_.mov(u32, 0), parts, 1, [&](Reg number) {
    Part part = load(window_.part(number, slots));
    body(part);
  });
}

void Row::store(const std::function<std::vector<Reg>(const Part&, int slot)>& body) {
  each_part([&](const Part& part) {
    const kit::RowTensor y(k_, part.window(), in_.pointer("y"), p_.pitch_y);
    for (int slot = 0; slot < part.slots(); ++slot) y.store(slot, body(part, slot));
  });
}

}  // namespace ptxloom::rowwise_kernel
