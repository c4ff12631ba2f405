// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "ptxloom/kit/narrow.hpp"
#include "ptxloom/kit/params.hpp"
#include "ptxloom/kit/rows.hpp"
#include "quantize/config.hpp"
#include "quantize/scale.hpp"

// What a team does with its row, or with its part of one.
namespace ptxloom::quantize_kernel {

class Quantiser {
 public:
  /// `present`: whether there is such a row; nullopt: there always is.
  Quantiser(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in, Reg row,
            std::optional<Reg> present);

  /// Includes the magnitudes of one part of the row in those that are measured first.
  void measure(const kit::RowWindow& window);
  /// One part of the row, with a scale for each group, or with scales that are given or measured.
  void part(const kit::RowWindow& window);
  /// The whole row with one scale.
  void whole_row(const kit::RowWindow& window);

 private:
  friend class BlockQuantiser;
  using Chunks = std::vector<std::vector<Reg>>;

  Chunks load(const kit::RowWindow& window, kit::RowCaching caching) const;
  std::vector<Reg> values(const std::vector<Reg>& chunk) const;
  Reg magnitude(const std::vector<Reg>& chunk) const;
  Reg magnitude_of_pairs(const std::vector<Reg>& chunk) const;
  Reg magnitude_of_group(const std::vector<Reg>& chunk) const;
  Reg magnitude_of_row(const kit::RowWindow& window, const std::optional<Chunks>& kept) const;
  Reg magnitude_of_team(Reg own) const;
  kit::NarrowRows narrow_rows(const kit::RowWindow& window) const;
  std::vector<Reg> narrowed(const kit::RowWindow& window, int slot, const std::vector<Reg>& chunk,
                            Reg factor) const;
  void store(const kit::RowWindow& window, const Chunks& chunks,
             const std::function<Reg(int slot)>& factor) const;
  Reg position(const kit::RowWindow& window, int slot) const;
  void part_with_one_scale(const kit::RowWindow& window, const Chunks& chunks);
  BlockScale measured_scale(Reg position) const;
  Reg tensor_scale(const kit::RowWindow& window) const;
  void store_scale(const kit::RowWindow& window, int slot, Reg stored) const;
  void store_measured(Reg position, std::string_view name, Reg scale) const;
  void each_part(const kit::RowWindow& window,
                 const std::function<void(const kit::RowWindow& part)>& body) const;

  KernelBuilder& k_;
  const Problem& p_;
  const Config& c_;
  const kit::ParamRegs& in_;
  Reg row_;
  std::optional<Reg> present_;
};

/// A block of 128 x 128 with one scale. Some lanes share a row of it; the chunks of a thread are in different
/// rows.
class BlockQuantiser {
 public:
  BlockQuantiser(KernelBuilder& k, const Problem& p, const Config& c, const kit::ParamRegs& in, Reg block);

  void run();

 private:
  KernelBuilder& k_;
  const Problem& p_;
  const kit::ParamRegs& in_;
  Reg block_;
  std::vector<Quantiser> rows_;          // of this thread
  std::vector<kit::RowWindow> windows_;  // the chunk in each of them
};

}  // namespace ptxloom::quantize_kernel
