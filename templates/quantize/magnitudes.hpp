// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/rows.hpp"
#include "quantize/config.hpp"

// The largest magnitudes of more elements than a team has: of the tensor, or of the rows and blocks of a
// transposed x. A launch of its own finds them, and the one after it reads them. They are in the workspace,
// one after the other, as u32, and are zero before the first of the two launches:
//
//     workspace  | tensor |     or  | row 0 | row 1 | ...     or  | block 0, 0 | block 0, 1 | ...
namespace ptxloom::quantize_kernel {

class Magnitudes {
 public:
  Magnitudes(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in)
      : k_(k), p_(p), c_(c), in_(in) {}

  static std::uint64_t bytes(const Problem& p) { return p.magnitudes() * sizeof(std::uint32_t); }

  /// Includes those of this thread's chunks, one for each slot. All threads of the block call it. `present`:
  /// whether there is such a row.
  void include(const kit::RowWindow& window, Reg row, const std::vector<Reg>& chunks,
               std::optional<Reg> present) const;
  /// The magnitude of what the element at this place shares its scale with.
  Reg load(Reg row, Reg position) const;
  /// Whether this is the first element of those.
  Reg is_first(Reg row, Reg position) const;

 private:
  Reg address(Reg row, Reg position) const;
  void include_at(Reg address, Reg magnitude, Reg leads) const;
  bool slots_share(const kit::RowWindow& window) const;
  Reg of_lanes(Reg magnitude, int lanes) const;

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const kit::ParamRegs& in_;
};

}  // namespace ptxloom::quantize_kernel
