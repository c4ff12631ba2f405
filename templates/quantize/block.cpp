// SPDX-License-Identifier: Apache-2.0
#include "quantize/quantiser.hpp"

namespace ptxloom::quantize_kernel {

BlockQuantiser::BlockQuantiser(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in,
                               Reg block)
    : k_(k), p_(p), in_(in), block_(block) {
  const Reg thread = k.special("tid.x"), down = k.div(block, p.scales_per_row()),
            across = k.rem(block, p.scales_per_row());
  const Reg first = k.fma(down, kScaleBlock, k.div(thread, c.lanes));
  const int step = c.threads / c.lanes;  // rows of the block that all threads have at once
  for (int slot = 0; slot < c.slots(p); ++slot) {
    const Reg row = slot == 0 ? first : k.add(first, slot * step);
    const Reg present = k.lt(row, in["rows"]);
    rows_.emplace_back(k, p, c, in, row, present);
    windows_.push_back(kit::RowWindow(k, c.shape(p), row, present).part(across, 1));
  }
}

void BlockQuantiser::run() {
  std::vector<std::vector<Reg>> chunks;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    chunks.push_back(rows_[i].load(windows_[i], kit::RowCaching::streamed)[0]);
  Reg largest = rows_[0].magnitude(chunks[0]);
  for (std::size_t i = 1; i < rows_.size(); ++i) largest = larger(k_, largest, rows_[i].magnitude(chunks[i]));
  const BlockScale scale = scale_of(k_, p_, rows_[0].magnitude_of_team(largest), {});
  k_.if_(k_.eq(k_.special("tid.x"), 0), [&] { k_.store(in_.pointer("scale")[block_], scale.stored); });
  for (std::size_t i = 0; i < rows_.size(); ++i)
    rows_[i].store(windows_[i], {chunks[i]}, [&](int) { return scale.factor; });
}

}  // namespace ptxloom::quantize_kernel
