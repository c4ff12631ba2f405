// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "ptxloom/kit/tile_result.hpp"

namespace ptxloom::kit {

/// The terms of an epilogue, applied to elements one by one.
class ElementTerms {
 public:
  /// What all elements of a column have in common.
  struct Column {
    std::optional<Reg> scale, bias;
  };

  /// `row`, `column`: position in D of the lane's first element.
  ElementTerms(KernelBuilder& k, const EpilogueTerms& terms, Reg row, Reg column);

  /// The factor for accumulators of the row at this distance from the first.
  Reg row_factor(int row, Reg inside);
  Column column(int column, Reg inside);
  /// The result is of the arithmetic's type. `c`: of the arithmetic's type.
  Reg apply(Reg accumulator, Reg row_factor, const Column& column, std::optional<Reg> c);

 private:
  std::optional<Reg> address(const std::optional<Reg>& vector, Type type, Reg index) const;
  Reg load_or_zero(Type type, Address address, Reg inside);

  KernelBuilder& k_;
  const EpilogueTerms& terms_;
  std::optional<Reg> row_scales_, column_scales_, bias_;  // addresses for the lane's first element
  Reg factor_;                                            // for all accumulators
};

}  // namespace ptxloom::kit
