// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

#include "target/rates.hpp"

// Peak arithmetic: SMs x operations of an SM per clock x boost clock. A multiply-add is two operations.
namespace ptxloom::target {

struct Peak {
  std::string_view type;  ///< of the operands: "f16"
  std::string_view sums;  ///< type of the sums of tensor products; empty: the CUDA cores compute it
  std::string_view unit;  ///< of ChipRates::operations, which is at least as fast; empty: none
  int rate = 0;           ///< operations of an SM per clock
  int sparse_rate = 0;    ///< the same with 2:4 sparsity; 0: there is none
  double dense = 0;       ///< operations per second
  double sparse = 0;      ///< the same with 2:4 sparsity; 0: there is none
};

/// The peaks of a product, without those of types for which its chip has no units.
std::vector<Peak> peaks_of(const Product& product);

/// The products that a person means: a part of a name in any case, with blanks or dashes for underscores
/// ("rtx 4090"), or a target or chip ("sm_90a", "90"). Those whose name is exactly this alone if there are
/// any.
std::vector<Product> find_products(std::string_view wanted);

}  // namespace ptxloom::target
