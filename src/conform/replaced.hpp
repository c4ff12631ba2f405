// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "ptxloom/tensor_map.hpp"

// Tensor maps for instructions that set a field (tensormap.replace): the map as it should be afterwards, as
// it is before, and the value that makes the difference.
namespace ptxloom::conform_kernels {

/// The field by its PTX name, and its dimension, or its value if the instruction has that as a literal.
struct ReplacedField {
  std::string_view name;
  std::uint32_t number = 0;
};

/// Gives the map the value that the instruction sets. Its rows must have 16 bytes.
void set_literal(TensorMap& map, const ReplacedField& field);

struct BeforeReplacing {
  TensorMap map;            ///< differs from the intended one in this field
  std::uint64_t value = 0;  ///< of the field in the intended map
};
BeforeReplacing before_replacing(const TensorMap& meant, const ReplacedField& field);

}  // namespace ptxloom::conform_kernels
