// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "ptxloom/tensor_map.hpp"

// Tensor maps for instructions that set a field of one (tensormap.replace): the map as it should be after
// that, as it is before, and the value between them.
namespace ptxloom::conform_kernels {

/// The field by its name in PTX, and of which dimension, or its value where the instruction has that as a
/// literal.
struct ReplacedField {
  std::string_view name;
  std::uint32_t number = 0;
};

/// Gives the map the value that the instruction sets. Its rows are to be of 16 bytes.
void set_literal(TensorMap& map, const ReplacedField& field);

struct BeforeReplacing {
  TensorMap map;            ///< differs from the one that is meant in this field
  std::uint64_t value = 0;  ///< of the field, in the one that is meant
};
BeforeReplacing before_replacing(const TensorMap& meant, const ReplacedField& field);

}  // namespace ptxloom::conform_kernels
